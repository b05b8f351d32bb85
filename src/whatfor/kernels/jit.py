"""Numba with whatfor's own cache. This file contains all private names of Numba that whatfor uses.

Numba's own cache does not check its files: a damaged file raises an error, or damaged machine code runs.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba.core import compiler, serialize

from whatfor.kernels.cache import CacheFolder, parent_folder

#: Settings of Numba that change the generated code but are not part of its own cache key.
SETTINGS = (
    "BOUNDSCHECK",
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "DEBUGINFO_DEFAULT",
    "EXTEND_VARIABLE_LIFETIMES",
    "ENABLE_PROFILING",
    "USING_SVML",
    "LLVM_REFPRUNE_PASS",
    "LLVM_REFPRUNE_FLAGS",
    "DEBUG_NRT",
    "NRT_STATS",
    "JIT_COVERAGE",
)


def jit(function: Callable[..., Any], sources: str, *, inline: bool = False, allocate: bool = False) -> Any:
    """Compile a function on its first call, or load it from the cache; ``sources`` names the version of the code."""
    njit: Any = numba.njit
    options = {} if allocate else {"_nrt": False}
    dispatcher = njit(error_model="numpy", forceinline=inline, **options)(function)
    if dispatcher is not function:  # equal with NUMBA_DISABLE_JIT=1
        dispatcher._cache = KernelCache(function, sources)
    return dispatcher


class KernelCache:
    """The cache of one function, as Numba's dispatcher calls it: one file for each signature."""

    def __init__(self, function: Callable[..., Any], sources: str) -> None:
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.sources = sources

    @property
    def cache_path(self) -> str:
        """Where the files are, for Numba's statistics."""
        return str(self._folder.path)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled code of a signature; None: it has to be compiled."""
        target.refresh()
        file, folder = self._file(signature, target.codegen()), self._folder
        body = folder.read(file)
        if body is None:
            return None
        try:
            found, reduced = pickle.loads(body)  # only this user can have written the file
            rebuild: Any = compiler.CompileResult._rebuild
            return rebuild(target, *reduced) if found == signature else None
        except Exception:  # unpickling may raise any exception
            folder.discard(file)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write compiled code to the cache."""
        if not result.library.has_dynamic_globals:
            dumps: Any = serialize.dumps
            self._folder.write(self._file(signature, result.codegen), dumps((signature, result._reduce())))

    @property
    def _folder(self) -> CacheFolder:
        return _folder(self.sources, repr([getattr(numba.config, name, None) for name in SETTINGS]))

    def _file(self, signature: Any, codegen: Any) -> str:
        return f"{self.name}-{_digest(str(signature), repr(codegen.magic_tuple()))}"


@cache
def _folder(sources: str, settings: str) -> CacheFolder:
    version = _digest(sources, settings, numba.__version__, sys.version)
    return CacheFolder(parent_folder(), f"kernels-{version}")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
