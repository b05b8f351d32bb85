"""Compile kernels with Numba, or run them as plain Python without it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent.parent
#: The packages that contain compiled functions and all functions that they call.
COMPILED_IN = ("kernels", "worlds", "learners", "training")

try:
    from whatfor.kernels.jit import jit
except ImportError:  # without Numba the same code runs, slowly
    jit = None  # type: ignore[assignment]

#: False without Numba or with ``WHATFOR_COMPILE=0``: then every kernel is plain Python.
COMPILED = jit is not None and os.environ.get("WHATFOR_COMPILE", "1") != "0"


def source_hash() -> str:
    """A hash of all sources of compiled functions.

    It names the version of the cache, since a function that a cached one calls may have changed.
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
    """Compile ``function`` on its first call, and cache the result on disk.

    Numba's memory management is off: a kernel allocates no arrays, and reference counting would take most of the time.
    """
    return _jit(function)


def inlined(function: F) -> F:
    """As ``compiled``, for parts of kernels: inlined into the functions that call it."""
    return _jit(function, inline=True)


def allocating(function: F) -> F:
    """As ``compiled``, for kernels that allocate a list."""
    return _jit(function, allocate=True)
