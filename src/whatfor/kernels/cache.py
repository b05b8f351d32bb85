"""The cache of compiled code on disk, so that the next process does not compile again.

``<cache>/whatfor-compiled/`` contains a marker file and one folder for each version of the code, ``kernels-<16 hex>``.
Nothing else is written or deleted, and nothing on import. The folder holds pickles, so it is used only
while no other user can write to it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import uuid
import warnings
from contextlib import suppress
from pathlib import Path

from whatfor.files import open_regular, replacing
from whatfor.text import one_line

FOLDER = "whatfor-compiled"
MARKER = "CACHEDIR.TAG"
#: The first line makes backup programs skip the folder (https://bford.info/cachedir); the second identifies the folder.
MARKER_TEXT = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# Compiled code, written by whatfor and deleted by whatfor. It can be removed at any time.\n"
)
KERNEL_HEADER = b"whatfor kernel 1\n"
KERNEL_SUFFIX, PART_SUFFIX = ".kernel", ".part"
VERSION = re.compile(r"kernels-[0-9a-f]{16}")
#: Errors that do not mean that the file is damaged.
BUSY = (errno.EACCES, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
#: Versions that stay on disk: the newest.
MAX_VERSIONS = 8

_state = {"warned": False, "cleaned": False}


class CacheError(Exception):
    """Why the cache cannot be used."""


class CacheFolder:
    """The files of one version. Reading, writing and deleting never raise an error.

    The first problem in a process is reported as a ``RuntimeWarning``; the code is then compiled without the cache.

    >>> import tempfile
    >>> folder = CacheFolder(Path(tempfile.mkdtemp()), "kernels-0123456789abcdef")
    >>> folder.write("one", b"compiled")
    >>> folder.read("one"), folder.read("two")
    (b'compiled', None)
    """

    def __init__(self, parent: Path | None, version: str) -> None:
        self.path: Path | None = None
        try:
            if parent is None:
                raise CacheError("there is no home directory to cache compiled code in")
            self.path = _private_folder(_marked_folder(parent / FOLDER) / version)
        except (OSError, CacheError) as error:
            warn_once(_reason(error, parent))
            return
        with suppress(OSError):  # a folder that can only be read is used as well
            os.utime(self.path)  # the folders used least recently are deleted first

    def read(self, name: str) -> bytes | None:
        """The content written under a name; None if there is none, or it is damaged."""
        if self.path is None:
            return None
        path = self.path / f"{name}{KERNEL_SUFFIX}"
        try:
            content = _read_regular(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in BUSY:  # the file may be fine
                return None
            content = b""
        body = content[len(KERNEL_HEADER) + 32 :]
        if content[: len(KERNEL_HEADER) + 32] == KERNEL_HEADER + hashlib.sha256(body).digest():
            return body
        self.discard(name)
        return None

    def write(self, name: str, body: bytes) -> None:
        """Replace a file as a whole; the first one written also deletes versions that are too old."""
        if self.path is None:
            return
        try:
            _private_folder(self.path)  # another process may have deleted it
            _replace(self.path / f"{name}{KERNEL_SUFFIX}", KERNEL_HEADER + hashlib.sha256(body).digest() + body)
        except (OSError, CacheError) as error:
            warn_once(_reason(error, self.path))
            return
        if not _state["cleaned"]:
            _state["cleaned"] = True
            _delete_old_versions(self.path.parent)

    def discard(self, name: str) -> None:
        """Delete a damaged file, so that it is compiled again."""
        assert self.path is not None
        path = self.path / f"{name}{KERNEL_SUFFIX}"
        warn_once(f"the cached code in {path} was damaged; it is compiled again")
        with suppress(OSError):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def parent_folder() -> Path | None:
    """The parent of the cache folder: ``NUMBA_CACHE_DIR``, ``XDG_CACHE_HOME``, or ``~/.cache``; None without a home."""
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(given).absolute() if given else Path.home() / ".cache"
    except (OSError, RuntimeError):
        return None


def warn_once(message: str) -> None:
    """Warn, but only once per process."""
    if not _state["warned"]:
        _state["warned"] = True
        advice = "Results are the same. To cache elsewhere, set NUMBA_CACHE_DIR to a folder of your own"
        warnings.warn(f"{one_line(message)}. {advice}", RuntimeWarning, stacklevel=2)


def _reason(error: Exception, folder: Path | None) -> str:
    if isinstance(error, OSError):
        return f"compiled code cannot be cached in {folder}: {error.strerror}"
    return str(error)


def _private_folder(folder: Path) -> Path:
    """Create a folder if it does not exist; raise ``CacheError`` if other users can write to it."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise CacheError(f"{folder} is not a folder, so compiled code is not cached there")
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise CacheError(f"other users can write to {folder}, so compiled code is not cached there")
    return folder


def _marked_folder(root: Path) -> Path:
    """Check that a folder has the marker of whatfor; an empty folder gets it, any other raises ``CacheError``."""
    _private_folder(root)
    foreign = any(not (name.startswith(MARKER) and name.endswith(PART_SUFFIX)) for name in os.listdir(root))
    with suppress(OSError):  # read after listing, since another process may be writing it
        if _read_regular(root / MARKER) == MARKER_TEXT:
            return root
    if foreign:
        raise CacheError(f"{root} was not created by whatfor, so compiled code is not cached there")
    _replace(root / MARKER, MARKER_TEXT)
    return root


def _read_regular(path: Path) -> bytes:
    """The content of a regular file."""
    with open_regular(path) as file:
        return file.read()


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically; several processes may do so at once."""
    with replacing(path, path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}{PART_SUFFIX}")) as part:
        part.write_bytes(content)


def _delete_old_versions(root: Path) -> None:
    """Delete all but the newest versions: only folders and files with the names that whatfor gives them."""
    with suppress(OSError):
        named = [entry for entry in os.scandir(root) if VERSION.fullmatch(entry.name)]
        folders = [entry for entry in named if entry.is_dir(follow_symlinks=False)]
        by_age = sorted(folders, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime, reverse=True)
        for old in by_age[MAX_VERSIONS:]:
            for file in os.scandir(old.path):
                if file.name.endswith((KERNEL_SUFFIX, PART_SUFFIX)):
                    with suppress(OSError):
                        os.unlink(file.path)
            with suppress(OSError):  # it contains other files
                os.rmdir(old.path)
