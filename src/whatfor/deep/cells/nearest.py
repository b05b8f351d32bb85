"""Cells of the observations nearest to each of some centres: what clusters and anchors share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.deep.cells.common import Centres

#: From observations (B, ...) to their cells (B,).
Index = Callable[[NDArray[Any]], NDArray[np.int64]]


def flat(observations: Any, space: spaces.Space[Any]) -> NDArray[np.float64]:
    """(n, D) Observations as rows of numbers; ``ValueError`` if some are not finite."""
    size = math.prod(space.shape or ())  # reshape() cannot infer it from no observations
    rows = np.asarray(observations, np.float64).reshape(len(observations), size)
    if not np.isfinite(rows).all():
        raise ValueError("some visited observations hold NaN or infinite numbers: look for them in the environment")
    return rows


def check_enough(points: NDArray[np.float64], n: int, what: str, note: str = "") -> None:
    """Raise ``ValueError`` unless there are at least ``n`` different points."""
    different = len(np.unique(points, axis=0))
    if different < n:
        raise ValueError(
            f"{n} {what}s need at least as many different observations; the agent has visited {different}{note}: "
            "ask for fewer, or start learning later (learning_starts=); in a custom training loop, pass some (visited=)"
        )


def index_of_nearest(centres: Centres, what: str) -> Index:
    """A function from observations to the nearest centre."""
    from scipy.spatial import KDTree

    (centres.scaled**2).sum(axis=1)  # overflows here, where files are checked, rather than in a search
    tree = KDTree(centres.scaled)

    def index(observations: NDArray[Any]) -> NDArray[np.int64]:
        try:
            with np.errstate(over="raise", invalid="raise"):
                rows = np.asarray(observations, np.float64).reshape(len(observations), -1) / centres.spread
                (rows**2).sum()
                return np.asarray(tree.query(rows)[1], np.int64)
        except (FloatingPointError, ValueError):
            raise ValueError(f"an observation is too far from every {what} to find the nearest one") from None

    return index


def check_centres(
    centres: NDArray[np.float64],
    spread: NDArray[np.float64],
    examples: NDArray[Any],
    space: spaces.Space[Any],
    what: str,
) -> None:
    """Raise ``ValueError`` unless centres, their spread and an observation for each fit a space of observations."""
    shape = space.shape or ()
    size, finite = math.prod(shape), np.isfinite(centres).all() and np.isfinite(spread).all()
    if centres.shape != (len(examples), size) or spread.shape != (size,) or examples.shape[1:] != shape or not finite:
        raise ValueError(f"the centres of {what}s do not fit observations of {space}")
    if (spread <= 0.0).any():
        raise ValueError(f"the spread of {what}s must be above zero")
