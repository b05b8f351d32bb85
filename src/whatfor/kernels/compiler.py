"""One door to Numba: the same plain Python, compiled where Numba is there."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent.parent
KEPT_CACHES = 8
#: Where compiled functions stand, and all that they call.
COMPILED_IN = ("kernels", "worlds", "learners", "training")

try:
    import numba
except ImportError:  # the same code runs without it: slowly, and right
    numba = None  # type: ignore[assignment]

#: False without Numba, or with ``WHATFOR_COMPILE=0``: then every kernel is the plain function.
COMPILED = numba is not None and os.environ.get("WHATFOR_COMPILE", "1") != "0"


def source_hash() -> str:
    """A name for this version of the sources that are compiled."""
    digest = hashlib.sha256()
    for file in sorted(file for folder in COMPILED_IN for file in (PACKAGE / folder).rglob("*.py")):
        digest.update(str(file.relative_to(PACKAGE)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _cache_folder() -> str:
    """Where compiled code is kept: one folder a version of the sources.

    Numba does not see that a function called by a cached one has changed, so a cache
    shared between versions would run old code.
    """
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        root = (Path(given) if given else Path.home() / ".cache") / "whatfor"
        folder = root / source_hash()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)  # in use, so not the first to go
        by_age = sorted(root.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in by_age[KEPT_CACHES:]:
            shutil.rmtree(old, ignore_errors=True)
    except (OSError, RuntimeError):  # no place to write, no home: compile anew each time
        return ""
    return str(folder)


_FOLDER = _cache_folder() if COMPILED else ""


def _jit(function: F, **options: bool) -> F:
    if not COMPILED:
        return function
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, _FOLDER or config.CACHE_DIR
    try:
        njit: Any = numba.njit
        return cast(F, njit(cache=bool(_FOLDER), error_model="numpy", **options)(function))
    finally:
        config.CACHE_DIR = before


def compiled(function: F) -> F:
    """Compile ``function`` on its first call, and keep the result on disk.

    Without Numba's memory management: a kernel works on the arrays it is given and makes none.
    Counting references to them took most of the time.
    """
    return _jit(function, _nrt=False)


def inlined(function: F) -> F:
    """A part of kernels: as ``compiled``, and written into whatever calls it."""
    return _jit(function, _nrt=False, forceinline=True)


def allocating(function: F) -> F:
    """As ``compiled``, for the rare kernel that needs a list of its own."""
    return _jit(function)
