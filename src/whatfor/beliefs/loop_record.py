"""What a ledger's record says about a loop: how often its steps were made without a way out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.experience import recorded_steps
from whatfor.beliefs.loop import RULE_OF_THREE, LoopRecord
from whatfor.kernels.recursion import NOT_ENDED
from whatfor.ledger import Ledger

#: Steps ahead over which it is counted how often each pair of a loop is met.
MAX_AHEAD = 1_000
#: A smaller share of the steps of a loop is rounding.
MIN_SHARE = 1e-9


def loop_record(
    ledger: Ledger, cells: NDArray[np.int64], chain: Any, closed: NDArray[np.bool_], repeats: int
) -> LoopRecord:
    """The record of the loop that follows some cells.

    ``chain``: (cells, cells) the probability that each cell is followed by another; ``closed``: (cells,) those in loops.
    An episode in the loop meets each pair with a frequency of its own, so the bound is the rule of three at the pair that
    was recorded least for its frequency.
    """
    n_pairs = ledger.n_states * ledger.n_actions
    frequency = _frequencies(cells, chain, closed)
    frequency = frequency.reshape(ledger.n_tables, n_pairs).sum(axis=0)
    pairs, steps = np.flatnonzero(frequency > MIN_SHARE), recorded_steps(ledger)
    ended = bool((steps.ending != NOT_ENDED).any())
    if len(pairs) == 0:
        return LoopRecord(0, 1.0, repeats, ended)
    at = np.flatnonzero(np.isin(steps.pair, pairs))
    own = steps.pair[at]
    leaves = (steps.ending[at] != NOT_ENDED) | ~np.isin(steps.next_state[at], pairs // ledger.n_actions)
    last = np.full(n_pairs, -1)
    np.maximum.at(last, own[leaves], at[leaves])
    since = np.bincount(own[at > last[own]], minlength=n_pairs)[pairs]
    bound = float((frequency[pairs] / np.maximum(since, 1e-300)).max())
    return LoopRecord(int(since.sum()), min(1.0, RULE_OF_THREE * bound), repeats, ended)


def _frequencies(cells: NDArray[np.int64], chain: Any, closed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(cells,) How often each cell of a loop is met, as a share of all its steps."""
    there, total = np.zeros(len(closed)), np.zeros(len(closed))
    there[cells] = 1.0 / len(cells)
    onward = chain.T.tocsr()
    for _ in range(MAX_AHEAD):
        total += there
        there = onward @ there
    total[~closed] = 0.0
    share: NDArray[np.float64] = total / max(float(total.sum()), 1e-300)
    return share
