"""A table of transitions as matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NOT_ENDED, ending_place
from whatfor.kernels.tables import Table


def transition_matrix(table: Table, n_actions: int) -> tuple[Any, NDArray[np.float64]]:
    """(S*A, S) Probabilities of the next states, and (S, A) mean rewards."""
    from scipy import sparse

    pairs, chances = entries_of(table)
    continues = table.ending == NOT_ENDED
    shape = (len(table.first) - 1, len(table.start))
    onward = sparse.csr_array((chances[continues], (pairs[continues], table.next_state[continues])), shape=shape)
    rewards = np.bincount(pairs, weights=chances * table.reward, minlength=shape[0])
    return onward, rewards.astype(np.float64).reshape(-1, n_actions)


def ending_chances(table: Table, n_endings: int) -> NDArray[np.float64]:
    """(S*A, endings) The probability that the step of a pair ends the episode, by ending, in the order of a ledger."""
    pairs, chances = entries_of(table)
    n_pairs, ending = len(table.first) - 1, [table.ending == ending_place(place) for place in range(n_endings)]
    return np.column_stack([np.bincount(pairs[so], weights=chances[so], minlength=n_pairs) for so in ending])


def entries_of(table: Table) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(entries,) The pair of each entry, and its probability."""
    counts = np.diff(table.first)
    chances = table.chance.copy()  # cumulative within each pair
    inside = np.ones(len(chances), bool)
    inside[table.first[:-1]] = False
    chances[inside] -= table.chance[np.flatnonzero(inside) - 1]
    return np.repeat(np.arange(len(counts)), counts), chances
