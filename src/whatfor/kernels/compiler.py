"""One door to Numba: the same plain Python, compiled where Numba is there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent.parent
#: Where compiled functions stand, and all that they call.
COMPILED_IN = ("kernels", "worlds", "learners", "training")

try:
    from whatfor.kernels.jit import jit
except ImportError:  # the same code runs without Numba: slowly, and right
    jit = None  # type: ignore[assignment]

#: False without Numba, or with ``WHATFOR_COMPILE=0``: then every kernel is the plain function.
COMPILED = jit is not None and os.environ.get("WHATFOR_COMPILE", "1") != "0"


def source_hash() -> str:
    """A name for this version of the sources that are compiled.

    The cache is named after it: a function that is called by a cached one may have changed.
    """
    digest = hashlib.sha256()
    for file in sorted(file for folder in COMPILED_IN for file in (PACKAGE / folder).rglob("*.py")):
        digest.update(str(file.relative_to(PACKAGE)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


_SOURCES = source_hash() if COMPILED else ""


def _jit(function: F, *, inline: bool = False, allocate: bool = False) -> F:
    return cast(F, jit(function, _SOURCES, inline=inline, allocate=allocate)) if COMPILED else function


def compiled(function: F) -> F:
    """Compile ``function`` on its first call, and keep the result on disk.

    Without Numba's memory management: a kernel works on the arrays it is given and makes none.
    Counting references to them took most of the time.
    """
    return _jit(function)


def inlined(function: F) -> F:
    """A part of kernels: as ``compiled``, and written into whatever calls it."""
    return _jit(function, inline=True)


def allocating(function: F) -> F:
    """As ``compiled``, for the rare kernel that needs a list of its own."""
    return _jit(function, allocate=True)
