"""Spaces of observations in a saved run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from whatfor.deep import document
from whatfor.deep.document import MAX_INT
from whatfor.deep.tensors import Tensors, arrays_below, as_tensor


def space_to_document(space: spaces.Space[Any]) -> tuple[document.SpaceDocument, Tensors]:
    """A space as the document and the file hold it."""
    if isinstance(space, spaces.Discrete):
        return document.DiscreteSpace(int(space.n), int(space.start)), {}
    if isinstance(space, spaces.MultiDiscrete):
        return document.MultiDiscreteSpace(), {"nvec": as_tensor(space.nvec), "start": as_tensor(space.start)}
    if isinstance(space, spaces.MultiBinary):
        n = space.n
        return document.MultiBinarySpace(int(n) if isinstance(n, int | np.integer) else [int(size) for size in n]), {}
    if isinstance(space, spaces.Box):
        return document.BoxSpace(), {"low": as_tensor(space.low), "high": as_tensor(space.high)}
    raise ValueError(f"observations of {space} cannot be saved")


def space_from_document(part: document.SpaceDocument, tensors: Tensors) -> spaces.Space[Any]:
    """The space that ``space_to_document`` wrote.

    >>> part, tensors = space_to_document(spaces.Box(-1.0, 1.0, (2,)))
    >>> space_from_document(part, {f"space.{name}": tensor for name, tensor in tensors.items()})
    Box(-1.0, 1.0, (2,), float32)
    """
    if isinstance(part, document.DiscreteSpace):
        arrays_below("space", tensors, ())
        if part.start + part.n - 1 > MAX_INT:
            raise ValueError(f"its observations go up to {part.start + part.n - 1}, which is more than an int64 holds")
        return spaces.Discrete(part.n, start=part.start)
    if isinstance(part, document.MultiDiscreteSpace):
        nvec, start = arrays_below("space", tensors, ("nvec", "start"))
        integers = all(array.dtype.kind in "iu" for array in (nvec, start))
        if not integers or nvec.shape != start.shape or not nvec.size:
            raise ValueError("its observation space has impossible numbers")
        lasts = [int(a) + int(b) - 1 for a, b in zip(nvec.ravel(), start.ravel(), strict=True)]
        if (nvec < 1).any() or max(lasts) > np.iinfo(nvec.dtype).max:
            raise ValueError("its observation space has impossible numbers")
        return spaces.MultiDiscrete(nvec, dtype=nvec.dtype.type, start=start)
    if isinstance(part, document.MultiBinarySpace):
        arrays_below("space", tensors, ())
        if not isinstance(part.n, int) and math.prod(part.n) > MAX_INT:
            raise ValueError("its observations have more numbers than an int64 counts")
        return spaces.MultiBinary(part.n)
    low, high = arrays_below("space", tensors, ("low", "high"))
    if low.dtype != high.dtype or low.shape != high.shape or low.dtype.kind not in "biuf" or not (low <= high).all():
        raise ValueError("its observation space has impossible bounds")
    return spaces.Box(low, high, dtype=low.dtype.type)
