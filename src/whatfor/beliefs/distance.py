"""The distance between expected and actual visits."""

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
