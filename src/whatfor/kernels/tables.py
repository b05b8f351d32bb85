"""A transition table as arrays, and one step in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import inlined

#: Up to this many entries are searched one by one: a bisection step costs a branch misprediction.
MAX_LINEAR_SEARCH = 12


class Table(NamedTuple):
    """The transitions of each (state, action): entries ``first[s * A + a]`` to ``first[s * A + a + 1]``."""

    first: NDArray[np.int64]  # (S*A + 1,)
    chance: NDArray[np.float64]  # (entries,) cumulative within each pair
    next_state: NDArray[np.int32]  # (entries,)
    reward: NDArray[np.float64]  # (entries,)
    ending: NDArray[np.int32]  # (entries,) 0: not ended; else the code of the ending
    start: NDArray[np.float64]  # (S,) cumulative: the distribution of first states
    guide: NDArray[np.int32]  # (S + 1,) where the search in start begins for a number between i / S and (i + 1) / S


@inlined
def first_above(summed: NDArray[np.float64], begin: int, end: int, uniform: float) -> int:
    """The first entry above ``uniform``; ``begin`` if there is none, as in Gymnasium."""
    low, high = begin, end
    while high - low > MAX_LINEAR_SEARCH:
        middle = (low + high) // 2
        if summed[middle] > uniform:
            high = middle
        else:
            low = middle + 1
    while low < end and summed[low] <= uniform:
        low += 1
    return low if low < end else begin


@inlined
def start_state(table: Table, uniform: float) -> int:
    """The first state of an episode: as ``first_above``, searched from the guide's entry."""
    states = len(table.start)
    state = int(table.guide[int(uniform * states)])
    while state < states and table.start[state] <= uniform:
        state += 1
    return state if state < states else 0


@inlined
def step_table(table: Table, pair: int, uniform: float) -> int:
    """The entry of the transition that happens."""
    if len(table.chance) == len(table.first) - 1:  # every pair has one entry
        return pair
    return first_above(table.chance, table.first[pair], table.first[pair + 1], uniform)


def guide_to(start: NDArray[np.float64]) -> NDArray[np.int32]:
    """For each of S equal parts of [0, 1), where ``start_state`` begins to search; with a margin for rounding."""
    parts = np.arange(len(start) + 1) / len(start)
    return np.searchsorted(start, parts - 1e-12, side="right").astype(np.int32)
