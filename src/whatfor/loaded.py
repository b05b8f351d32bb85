"""Checks of loaded arrays: compiled code reads them without any."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Group = dict[str, NDArray[Any]]


def array_in(group: Group, name: str, dtype: Any, ndim: int, length: int | None = None) -> NDArray[Any]:
    """An array of a group with this type and shape; ``ValueError`` if it is another."""
    array = group[name]
    if array.dtype != dtype or array.ndim != ndim or (length is not None and len(array) != length):
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, unlike any run's")
    return np.ascontiguousarray(array)


def within(name: str, array: NDArray[Any], low: int, high: int) -> NDArray[Any]:
    """An array of numbers from ``low`` to below ``high``."""
    if array.size and (array.min() < low or array.max() >= high):
        raise ValueError(
            f"{name} has numbers out of range: {array.min()} to {array.max()} instead of {low} to {high - 1}"
        )
    return array


def finite(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """An array of finite numbers."""
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} contains NaN or infinite numbers: training has diverged, so there is nothing to explain. "
            "Train again with smaller rewards or a smaller step size"
        )
    return array
