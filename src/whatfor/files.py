"""Files read and written with care: no links and pipes are followed, and a file is written as a whole or not at all."""

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
    """A file opened for reading; links, pipes and devices raise ``OSError``, so that nothing blocks or leads elsewhere."""
    handle = os.open(path, _READ)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(handle, "rb")


@contextmanager
def replacing(path: Path, part: Path | None = None) -> Iterator[Path]:
    """A file to write, in the same folder, which takes the place of ``path`` when all has gone well.

    ``part``: its name until then; several processes may replace one file at once if each has another.
    """
    fresh = part or path.with_name(f".whatfor-{uuid4().hex}")
    try:
        yield fresh
        os.replace(fresh, path)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error  # the file that was asked for
    finally:
        with suppress(OSError):
            fresh.unlink()
