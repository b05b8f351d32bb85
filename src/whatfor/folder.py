"""A folder of npz and JSON files, switched over by one atomic manifest. Never pickle.

Every file is named after its contents. A save writes new files, then replaces ``manifest.json`` in
one step; until then the folder is what it was, whatever happens.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FORMAT = 3
MANIFEST = "manifest.json"
OURS = re.compile(
    r"\.?(run|arrays|ledger|belief|agent)-[0-9a-f]{16}\.(json|npz|safetensors|zip)(\.part)?|\.manifest\.json\.part"
)


class FolderError(ValueError):
    """A run folder that cannot be read or written, and why."""


def write(
    path: str | os.PathLike[str],
    documents: dict[str, Any],
    arrays: dict[str, dict[str, NDArray[Any]]],
    others: dict[str, tuple[str, bytes]] | None = None,
) -> Path:
    """Write JSON documents, groups of arrays, and files of other kinds (ending and contents), all or nothing."""
    folder = Path(path)
    before = files_before(folder)
    written: list[Path] = []
    whole = b""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = {}
        for name, document in documents.items():
            files[name] = _keep(folder, name, "json", lambda file, d=document: file.write(_dumped(d)), written)
        for name, group in arrays.items():
            files[name] = _keep(
                folder, name, "npz", lambda file, g=group: np.savez(file, allow_pickle=False, **g), written
            )
        for name, (ending, contents) in (others or {}).items():
            files[name] = _keep(folder, name, ending, lambda file, c=contents: file.write(c), written)
        part = folder / f".{MANIFEST}.part"
        written.append(part)
        whole = _dumped({"format": FORMAT, "files": files})
        with part.open("wb") as file:
            file.write(whole)
            _flush(file)
        os.replace(part, folder / MANIFEST)
    except BaseException as error:
        manifest = folder / MANIFEST
        switched = manifest.is_file() and manifest.read_bytes() == whole  # Ctrl-C may come just after the switch
        for mine in written:
            if mine.name not in before and not switched:
                mine.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        kept = "; the run saved there before is untouched" if before else ""
        raise FolderError(
            f"could not save to {folder}: {error.strerror or error}{kept}. Free some space or choose another folder, and save again"
        ) from error
    _flush_folder(folder)
    current = {entry["file"] for entry in files.values()}
    for old in folder.iterdir():
        if OURS.fullmatch(old.name) and old.name not in current:
            old.unlink(missing_ok=True)
    return folder


def files_before(folder: Path) -> set[str]:
    """The files of the run that a folder holds; an error if it holds anything else."""
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise FolderError(f"{folder} is a file; choose a folder")
    if (folder / MANIFEST).exists():
        try:
            _manifest(folder)
        except FolderError as error:
            raise FolderError(f"{error}; choose an empty or a new folder") from None
        return {MANIFEST, *(entry["file"] for entry in _manifest(folder)["files"].values() if isinstance(entry, dict))}
    strangers = [file.name for file in folder.iterdir() if not OURS.fullmatch(file.name)]
    if strangers:
        raise FolderError(
            f"{folder} holds other things ({strangers[0]}, ...) and no run; choose an empty or a new folder"
        )
    return set()


class Contents(NamedTuple):
    """What a folder holds."""

    documents: dict[str, Any]
    arrays: dict[str, dict[str, NDArray[Any]]]
    others: dict[str, bytes]  # files that are neither JSON nor npz


def read(path: str | os.PathLike[str]) -> Contents:
    """What a folder holds, after checking that it is what was written."""
    folder = Path(path)
    if not folder.is_dir():
        raise FolderError(f"there is no run at {folder}: no such folder")
    if not (folder / MANIFEST).is_file():
        raise FolderError(f"there is no run at {folder}: no {MANIFEST} in it")
    manifest = _manifest(folder)
    if manifest["format"] > FORMAT:
        raise FolderError(
            f"{folder} was written by a newer whatfor (format {manifest['format']}, this one reads {FORMAT}): pip install --upgrade whatfor"
        )
    if manifest["format"] < FORMAT:
        raise FolderError(
            f"{folder} was written by an older whatfor (format {manifest['format']}, this one reads {FORMAT}): train it again"
        )
    documents, arrays, others = {}, {}, {}
    for name, entry in manifest["files"].items():
        file = _checked(folder, name, entry)
        if file.suffix == ".json":
            documents[name] = _loaded(file)
        elif file.suffix == ".npz":
            arrays[name] = _arrays(file)
        else:
            others[name] = file.read_bytes()
    return Contents(documents, arrays, others)


def _manifest(folder: Path) -> dict[str, Any]:
    manifest = _loaded(folder / MANIFEST)
    if (
        not isinstance(manifest, dict)
        or type(manifest.get("format")) is not int
        or not isinstance(manifest.get("files"), dict)
    ):
        raise FolderError(f"{folder / MANIFEST} is not a run's manifest")
    return manifest


def _keep(folder: Path, name: str, ending: str, write: Any, written: list[Path]) -> dict[str, Any]:
    """Write a file under the name of its contents."""
    part = folder / f".{name}-{os.urandom(8).hex()}.{ending}.part"
    written.append(part)
    with part.open("wb") as file:
        write(file)
        _flush(file)
    digest = _digest(part)
    final = folder / f"{name}-{digest[:16]}.{ending}"
    written.append(final)
    os.replace(part, final)
    return {"file": final.name, "sha256": digest, "bytes": final.stat().st_size}


def _checked(folder: Path, name: str, entry: Any) -> Path:
    """The file that a manifest's entry names, if it is whole and unchanged."""
    named = entry.get("file") if isinstance(entry, dict) else None
    if not isinstance(named, str) or not OURS.fullmatch(named) or not named.startswith(f"{name}-"):
        raise FolderError(f"{folder / MANIFEST} names {named!r} for its {name}, which is not a file of a run")
    file = folder / named
    if not file.is_file() or file.is_symlink():
        raise FolderError(f"{folder} is incomplete: {named} is missing")
    if file.stat().st_size != entry.get("bytes"):
        raise FolderError(
            f"{file} is {file.stat().st_size} bytes long instead of {entry.get('bytes')}: it was cut off or changed"
        )
    if _digest(file) != entry.get("sha256"):
        raise FolderError(f"{file} is not what was saved (its checksum differs)")
    return file


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    try:
        with file.open("rb") as opened:
            arrays = np.load(opened, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise FolderError(f"{file} cannot be read: it is not an npz file")
            return {name: arrays[name] for name in arrays.files}
    except FolderError:
        raise
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        if "pickle" in str(error).lower():
            raise FolderError(
                f"{file} contains a pickle, which can run code when it is read; a run never does, so it is refused"
            ) from error
        raise FolderError(f"{file} cannot be read: {error}") from error


def _loaded(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FolderError(f"{file} is not JSON: {error}") from error


def _dumped(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, allow_nan=False).encode()


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _flush(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    with suppress(OSError):  # the run is saved either way; not every system can flush a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
