"""Safe file access: reads do not follow links or pipes, and writes are atomic."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from uuid import uuid4

_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading; links, pipes and devices raise ``OSError``."""
    handle = os.open(path, _READ)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(handle, "rb")


@contextmanager
def replacing(path: Path, part: Path | None = None) -> Iterator[Path]:
    """Yield a temporary file in the same folder; it replaces ``path`` if no exception is raised.

    ``part``: the name of the temporary file. Processes that replace the same file at once need different ones.
    """
    fresh = part or path.with_name(f".whatfor-{uuid4().hex}")
    try:
        yield fresh
        os.replace(fresh, path)
    except BaseException as error:
        with suppress(OSError):
            fresh.unlink()
        if not isinstance(error, OSError) or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error  # name the requested file
