"""A folder of JSON, npz and safetensors files, replaced atomically through one manifest. Pickle is never used.

A save takes the folder's lock, records in a journal which files it will write, writes them under new names, and
replaces ``manifest.json`` in one step. Until then the folder is unchanged; afterwards the files of the earlier run
are deleted. Readers take no lock: if the manifest changes while they read, they read again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from filelock import FileLock, Timeout
from numpy.typing import NDArray

from whatfor.files import open_regular, replacing
from whatfor.limits import check_limit
from whatfor.npz import read_arrays, write_arrays
from whatfor.text import either, one_line

FORMAT, FULL = 6, (errno.ENOSPC, errno.EDQUOT)
MANIFEST, JOURNAL, LOCK = "manifest.json", ".journal.json", ".lock"
MANIFEST_PART = f".{MANIFEST}.part"
#: The name of a file of a run: its part, and random digits.
RUN_FILE = re.compile(r"(run|arrays|ledger|states|belief)-[0-9a-f]{16}\.(json|npz|safetensors)")
#: Limits on the length of manifests and journals, and of documents.
MAX_MANIFEST_BYTES, MAX_DOCUMENT_BYTES = 1 << 20, 1 << 28
#: The most characters in an error message.
MAX_MESSAGE = 1_000
#: How many seconds a save waits for another save to finish.
LOCK_SECONDS = 30.0
#: How often a reader tries again when the run is replaced while it reads.
MAX_READS = 50


class FolderError(ValueError):
    """A run folder cannot be read or written; the message is one line.

    >>> from whatfor import load
    >>> load("no/such/folder")
    Traceback (most recent call last):
    whatfor.folder.FolderError: there is no run at no/such/folder: no such folder; name a folder that run.save() or whatfor train has written
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message, MAX_MESSAGE))


class Contents(NamedTuple):
    """The contents of a folder, by name."""

    documents: dict[str, bytes]  # JSON
    arrays: dict[str, dict[str, NDArray[Any]]]
    tensors: dict[str, bytes]  # safetensors


def write(path: str | os.PathLike[str], contents: Contents, *, replace: bool = True) -> Path:
    """Write a run to a folder atomically: after a failure, the folder still contains the earlier run."""
    folder = Path(path)
    if "\0" in str(folder):
        raise FolderError(f"{str(folder)!r} is not a valid folder name; choose another")
    try:
        check_folder(folder, replace=replace)
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder):
            check_folder(folder, replace=replace)  # again, now under the lock
            _replace_run(folder, contents)
    except (OSError, NotImplementedError) as error:  # NotImplementedError: the file system has no locks
        earlier = "; the run saved there before is untouched" if (folder / MANIFEST).exists() else ""
        why, full = getattr(error, "strerror", None) or error, getattr(error, "errno", None) in FULL
        raise FolderError(
            f"could not save to {folder}: {why}{earlier}. {'Free some space or choose' if full else 'Choose'} another folder, and save again"
        ) from error
    return folder


def check_folder(folder: Path, *, replace: bool = True) -> None:
    """Raise ``FolderError`` if a folder contains anything but a run, or without ``replace`` if it contains a run."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FolderError(f"{folder} is a file; choose a folder")
    names = [file.name for file in folder.iterdir()]  # once: another process may be saving its first run here
    if MANIFEST in names:
        try:
            _manifest(folder)
        except FolderError as error:
            raise FolderError(f"{error}; choose an empty or a new folder") from None
        if not replace:
            instead = either("pass replace=True", "add --replace")
            raise FolderError(f"{folder} already contains a run; choose another folder, or {instead}")
        return
    others = [name for name in names if not _is_ours(name)]
    if others:
        raise FolderError(f"{folder} contains files but no run ({others[0]}, ...); choose an empty or a new folder")


def read(path: str | os.PathLike[str]) -> Contents:
    """Read a folder, and check that its files are unchanged."""
    folder = Path(path)
    for attempt in range(MAX_READS):
        try:
            manifest = _manifest(folder)
            try:
                return _contents(folder, manifest)
            except (FolderError, OSError):
                if _manifest(folder) == manifest:
                    raise
                time.sleep(0.002 * attempt)  # a save has replaced the run in the meantime
        except OSError as error:
            raise FolderError(f"{folder} cannot be read: {error.strerror or error}") from error
        except MemoryError:
            raise FolderError(f"{folder} does not fit into memory") from None
    raise FolderError(f"{folder} is being replaced again and again; load it when the saves are finished")


# -- writing -----------------------------------------------------------------------------------


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, so that only one save writes at a time."""
    if (folder / LOCK).is_symlink() or ((folder / LOCK).exists() and not (folder / LOCK).is_file()):
        raise FolderError(f"{folder / LOCK} is not a regular file: delete it, or choose another folder")
    lock = FileLock(folder / LOCK, timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise FolderError(
            f"another save to {folder} has not finished after {LOCK_SECONDS:g} seconds; wait for it, or choose another folder"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _replace_run(folder: Path, contents: Contents) -> None:
    """Write the new files, switch the manifest over to them, and delete the earlier ones."""
    before = _files_of(folder)
    _remove(folder, _journal_files(folder) - before)  # an earlier save was killed
    writers = _writers(contents)
    names = {name: f"{name}-{os.urandom(8).hex()}.{ending}" for name, (ending, _) in writers.items()}
    switched = b""
    try:
        _write_file(folder / JOURNAL, _to_json(sorted({*names.values(), *before})))
        files = {name: _write_entry(folder / names[name], write) for name, (_, write) in writers.items()}
        switched = _to_json({"format": FORMAT, "files": files})
        with replacing(folder / MANIFEST, folder / MANIFEST_PART) as part:
            _write_file(part, switched)
        _flush_folder(folder)
    except BaseException:
        manifest = folder / MANIFEST
        if not (manifest.is_file() and manifest.read_bytes() == switched):  # Ctrl-C may come just after the switch
            _remove(folder, {*names.values(), MANIFEST_PART})
            _remove(folder, {JOURNAL})
        raise
    if _remove(folder, before):  # else the next save tries again
        _remove(folder, {JOURNAL})


def _writers(contents: Contents) -> dict[str, tuple[str, Callable[[IO[bytes]], Any]]]:
    """For each name, the suffix of its file and the function that writes it."""
    writers: dict[str, tuple[str, Callable[[IO[bytes]], Any]]] = {}
    for name, document in contents.documents.items():
        writers[name] = "json", lambda file, data=document: file.write(data)  # type: ignore[misc]
    for name, group in contents.arrays.items():
        writers[name] = "npz", lambda file, arrays=group: write_arrays(file, arrays)  # type: ignore[misc]
    for name, tensors in contents.tensors.items():
        writers[name] = "safetensors", lambda file, data=tensors: file.write(data)  # type: ignore[misc]
    return writers


def _write_entry(file: Path, write: Callable[[IO[bytes]], Any]) -> dict[str, Any]:
    """Write one file; returns its entry in the manifest."""
    with file.open("xb+") as opened:
        write(opened)
        _flush(opened)
        return {"file": file.name, "sha256": _digest(opened), "bytes": opened.seek(0, os.SEEK_END)}


def _write_file(file: Path, data: bytes) -> None:
    if os.path.lexists(file):
        file.unlink()
    with file.open("xb") as opened:  # fails on a planted link or pipe
        opened.write(data)
        _flush(opened)


def _files_of(folder: Path) -> set[str]:
    """The files in a folder's manifest; empty without a manifest."""
    if not (folder / MANIFEST).exists():
        return set()
    entries = _manifest(folder)["files"].values()
    return _names_in([entry.get("file") for entry in entries if isinstance(entry, dict)])


def _journal_files(folder: Path) -> set[str]:
    """The files in the journal of a save that was killed; a truncated journal means that none were written."""
    try:
        return _names_in(json.loads(_read_file(folder / JOURNAL, MAX_MANIFEST_BYTES)))
    except (FolderError, OSError, ValueError, RecursionError):
        return set()


def _names_in(data: Any) -> set[str]:
    """The names of run files in a list; anything else is ignored."""
    items = data if isinstance(data, list) else []
    return {name for name in items if isinstance(name, str) and RUN_FILE.fullmatch(name)}


def _remove(folder: Path, names: set[str]) -> bool:
    """Delete files; False if one could not be deleted."""
    for name in names:
        with suppress(OSError):
            (folder / name).unlink(missing_ok=True)
    return not any(os.path.lexists(folder / name) for name in names)


def _is_ours(name: str) -> bool:
    return name in (JOURNAL, LOCK, MANIFEST_PART) or RUN_FILE.fullmatch(name) is not None


# -- reading -----------------------------------------------------------------------------------


def _contents(folder: Path, manifest: dict[str, Any]) -> Contents:
    """Read the files in a manifest."""
    if manifest["format"] != FORMAT:
        newer = manifest["format"] > FORMAT
        raise FolderError(
            f"{folder} was written by {'a newer' if newer else 'an older'} whatfor (format {manifest['format']}, this one reads {FORMAT}): "
            + ("update whatfor" if newer else "train it again")
        )
    entries = manifest["files"]
    for name, entry in entries.items():
        named = entry.get("file") if isinstance(entry, dict) else None
        if not isinstance(named, str) or not RUN_FILE.fullmatch(named) or not named.startswith(f"{name}-"):
            raise FolderError(f"{folder / MANIFEST} names {named!r} for its {name}, which is not a file of a run")
        if type(entry.get("bytes")) is not int or entry["bytes"] < 0:
            raise FolderError(f"{folder / MANIFEST} does not give the length of {named}")
    try:
        check_limit("bytes", sum(entry["bytes"] for entry in entries.values()), f"the run at {folder}")
    except ValueError as error:
        raise FolderError(str(error)) from None
    contents = Contents({}, {}, {})
    for name, entry in entries.items():
        file = folder / entry["file"]
        with _open(file) as opened:
            _check_unchanged(file, opened, entry)
            if file.suffix == ".npz":
                contents.arrays[name] = _arrays(file, opened)
            elif file.suffix == ".json":
                if entry["bytes"] > MAX_DOCUMENT_BYTES:
                    raise FolderError(
                        f"{file} is {entry['bytes']:,} bytes long; the limit for a document is {MAX_DOCUMENT_BYTES:,}"
                    )
                contents.documents[name] = opened.read()
            else:
                contents.tensors[name] = opened.read()
    return contents


def _manifest(folder: Path) -> dict[str, Any]:
    if not (folder / MANIFEST).is_file():
        missing = f"no {MANIFEST} in it" if folder.is_dir() else "it is a file" if folder.exists() else "no such folder"
        where = "name a folder that run.save() or whatfor train has written"
        raise FolderError(f"there is no run at {folder}: {missing}; {where}")
    try:
        manifest = json.loads(_read_file(folder / MANIFEST, MAX_MANIFEST_BYTES))
    except (ValueError, RecursionError) as error:
        raise (
            error if isinstance(error, FolderError) else FolderError(f"{folder / MANIFEST} is not JSON: {error}")
        ) from error
    except OSError as error:
        raise FolderError(f"{folder / MANIFEST} cannot be read: {error.strerror or error}") from error
    if (
        not isinstance(manifest, dict)
        or type(manifest.get("format")) is not int
        or not isinstance(manifest.get("files"), dict)
    ):
        raise FolderError(f"{folder / MANIFEST} is not a run's manifest")
    return manifest


def _read_file(file: Path, limit: int) -> bytes:
    with _open(file) as opened:
        data = opened.read(limit + 1)
    if len(data) > limit:
        raise FolderError(f"{file} is longer than {limit:,} bytes")
    return data


def _open(file: Path) -> IO[bytes]:
    """Open a file for reading; links, pipes and devices are rejected."""
    try:
        return open_regular(file)
    except FileNotFoundError:
        raise FolderError(f"{file.parent} is incomplete: {file.name} is missing") from None
    except OSError as error:
        raise FolderError(f"{file} cannot be read: {error.strerror or error}") from error


def _check_unchanged(file: Path, opened: IO[bytes], entry: dict[str, Any]) -> None:
    """Raise ``FolderError`` unless a file has the length and checksum in the manifest."""
    size = os.fstat(opened.fileno()).st_size
    if size != entry["bytes"]:
        raise FolderError(f"{file} is {size} bytes long instead of {entry['bytes']}: it was truncated or changed")
    if _digest(opened) != entry.get("sha256"):
        raise FolderError(f"{file} has changed since it was saved: its checksum differs")
    opened.seek(0)


def _arrays(file: Path, opened: IO[bytes]) -> dict[str, NDArray[Any]]:
    try:
        return read_arrays(opened)
    except Exception as error:  # a damaged archive makes zipfile and NumPy raise errors of many kinds
        raise FolderError(f"{file} cannot be read: {error or type(error).__name__}") from error


def _to_json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, allow_nan=False).encode()


def _digest(opened: IO[bytes]) -> str:
    opened.seek(0)
    return hashlib.file_digest(opened, "sha256").hexdigest()  # type: ignore[arg-type]


def _flush(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    with suppress(OSError):  # some systems cannot flush a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
