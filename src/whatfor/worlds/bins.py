"""Bins of continuous observations: their edges and names."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The minimum width of a bin, in distances between two float32 numbers there.
MIN_WIDTH = 4


def edges_of(env: Any) -> list[NDArray[np.float64]]:
    """The edges of the bins of each number, with the outer ones, as Gymnasium's wrapper computes them."""
    edges = [
        np.concatenate([[env.low[i]], env.bin_edges[i], [env.high[i]]]).astype(np.float64) for i in range(env.n_dims)
    ]
    for i, row in enumerate(edges):
        apart = MIN_WIDTH * np.spacing(np.abs(row).max().astype(np.float32))
        if not (np.diff(row) >= apart).all():
            raise ValueError(
                f"the bins of observation[{i}] are too narrow: {len(row) - 1} between {row[0]:.9g} and {row[-1]:.9g}, where "
                f"float32 numbers are {apart / MIN_WIDTH:.2g} apart. Use fewer bins or wider bounds"
            )
    return edges


def interval_words(edges: NDArray[np.float64], unit: str = "") -> tuple[str, ...]:
    """Each bin in words; the first and the last have no outer end, since values beyond it count there, too.

    >>> interval_words(np.array([-2.4, -0.8, 0.8, 2.4]))
    ('less than -0.8', '-0.8 to 0.8', '0.8 or more')
    """
    if len(edges) == 2:
        return ("any",)
    for digits in range(2, 17):  # as many as needed to distinguish all inner edges
        numbers = [f"{round(float(x), digits) + 0.0:.{digits + 3}g}{unit}" for x in edges[1:-1]]
        if len(set(numbers)) == len(numbers):
            break
    return (
        f"less than {numbers[0]}",
        *(f"{low} to {high}" for low, high in pairwise(numbers)),
        f"{numbers[-1]} or more",
    )
