"""Where an agent expects to be, in words, if states are points of a continuous space: ranges instead of a list of states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.density import Density, energy_distance
from whatfor.points import Points
from whatfor.text import amount, percent

#: The shares of visits at the ends of a range, and in its middle.
RANGE = (0.05, 0.5, 0.95)
#: The most axes that are listed.
MAX_AXES_LISTED = 10


def range_lines(points: Points, visits: NDArray[np.float64], heading: str) -> list[str]:
    """The range of each axis in which most visits lie, and the error of the resolution.

    >>> points = Points(("x",), [[0.0], [1.0]], spread=[1.0], width=0.01, error=0.03)
    >>> print(*range_lines(points, np.array([[8.0], [1.0]]), "Most expected afterwards (visits)"), sep="\\n")
    Most expected afterwards (visits): 90 % of them in these ranges
      x -0.01587 to 1.001 (median 0.001573)
    States are told apart by about 3 % of the spread of what the agent visited.
    """
    if not visits.sum() > 0.0:
        return []
    density = Density.of(points, np.maximum(visits, 0.0).sum(axis=1))
    lines = [f"{heading}: {percent(RANGE[2] - RANGE[0])} of them in these ranges"]
    for at, name in enumerate(points.names[:MAX_AXES_LISTED]):
        low, median, high = (amount(float(x)) for x in density.quantiles(at, RANGE))
        lines.append(f"  {name} {low} to {high} (median {median})")
    return [*lines, f"States are told apart by about {percent(points.error)} of the spread of what the agent visited."]


def distance_lines(points: Points | None, one: NDArray[np.float64], other: NDArray[np.float64]) -> list[str]:
    """How far the states of two maps of visits are from each other; empty if states are not points, or a map is."""
    if points is None or not (one.sum() > 0.0 and other.sum() > 0.0):
        return []
    first, second = (Density.of(points, np.maximum(visits, 0.0).sum(axis=1)) for visits in (one, other))
    places = points.positions / points.spread
    apart = energy_distance(places, places, first.weights, second.weights)
    return [f"Energy distance between the states: {apart:.3f} (0: the same distribution, 1: the furthest apart)."]
