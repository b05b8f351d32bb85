"""A known world as arrays, and one step in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import inlined


class Table(NamedTuple):
    """What may follow each (state, action): entries ``first[s * A + a]`` to ``first[s * A + a + 1]``."""

    first: NDArray[np.int64]  # (S*A + 1,)
    chance: NDArray[np.float64]  # (entries,) summed up within each pair
    next_state: NDArray[np.int32]  # (entries,)
    reward: NDArray[np.float64]  # (entries,)
    ending: NDArray[np.int32]  # (entries,) 0: goes on; else the code of how it ends
    start: NDArray[np.float64]  # (S,) summed up: where an episode starts


@inlined
def first_above(summed: NDArray[np.float64], begin: int, end: int, uniform: float) -> int:
    """The first entry above ``uniform``; the first of all if there is none, as Gymnasium has it."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if summed[middle] > uniform:
            high = middle
        else:
            low = middle + 1
    return low if low < end else begin


@inlined
def start_state(table: Table, uniform: float) -> int:
    """Where an episode starts."""
    return first_above(table.start, 0, len(table.start), uniform)


@inlined
def step_table(table: Table, pair: int, uniform: float) -> int:
    """The entry that comes true."""
    if len(table.chance) == len(table.first) - 1:  # nothing is left to chance
        return pair
    return first_above(table.chance, table.first[pair], table.first[pair + 1], uniform)
