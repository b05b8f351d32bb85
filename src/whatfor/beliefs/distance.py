"""The distance between expected and actual visits, and between expected and actual endings."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def distance(believed: NDArray[np.float64], actual: NDArray[np.float64]) -> float:
    """The relative L1 distance, sum |believed - actual| / sum actual: 0 for equal visits, 2 for as many visits with none in common.

    It is infinite if only ``actual`` has no visits.

    >>> distance(np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]])), distance(np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]))
    (1.0, 2.0)
    """
    difference, total = float(np.abs(believed - actual).sum()), float(actual.sum())
    if total == 0.0:
        return 0.0 if difference == 0.0 else np.inf
    return difference / total


def total_variation(one: Mapping[Any, float], other: Mapping[Any, float]) -> float:
    """Half the sum of |differences| between the chances of endings: 0 for equal ones, 1 for none in common; None: unknown.

    >>> total_variation({"won": 0.5, None: 0.5}, {"won": 0.75, "lost": 0.25})
    0.5
    """
    return 0.5 * sum(abs(one.get(name, 0.0) - other.get(name, 0.0)) for name in {*one, *other})
