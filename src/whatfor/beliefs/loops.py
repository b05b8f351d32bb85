"""Loops: the probability that what an agent learned leads on without an end.

Without a discount, the weight of a loop goes round in the ledger until it arrives at initial values, as if the agent knew
nothing about it. The latest updates tell the difference: read as a chain of state-action pairs, they never leave a loop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.backwards import scan
from whatfor.kernels.recursion import NO_BOOTSTRAP, NOT_ENDED, LedgerLines

#: Updates with less weight than this in their own cell are left out.
MIN_WEIGHT = 1e-12
#: A future that is longer than about this many steps has no end.
ENDLESS_STEPS = 100_000
#: A pair is known if less than this of its weight is on its own initial value.
MAX_INITIAL_WEIGHT = 0.05
#: Smaller probabilities of going on without an end are ignored: a long future looks like a few of them.
MIN_ENDLESS = 0.05
#: Larger ones are certain: what is left is rounding and weight from long ago.
MAX_ENDLESS = 0.999


def endless_from(lines: LedgerLines, n_cells: int) -> NDArray[np.float64]:
    """(cells,) The probability to go on without an end from each cell, by the latest updates of all cells.

    A cell with much weight on its own initial value is a way out: where it leads is unknown.

    >>> one = np.zeros(20, np.int32)  # 20 updates of cell 0, each bootstrapped from itself
    >>> endless_from(LedgerLines(one, one, np.zeros(20), np.full(1, 0.5), np.ones(1), np.zeros(1)), 1).tolist()
    [1.0]
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    if len(lines.cell) == 0:
        return np.zeros(n_cells)
    initial, weights = _latest_weights(lines, n_cells)
    known = np.where(initial < MAX_INITIAL_WEIGHT, 1.0 / np.maximum(1.0 - initial, MAX_INITIAL_WEIGHT), 1.0)
    used = np.flatnonzero(weights > MIN_WEIGHT)
    own, source = lines.cell[used], lines.source[used]
    lambda_ = np.broadcast_to(lines.lambda_, len(weights))[used]
    weight, along = weights[used] * known[own], np.where(source >= NO_BOOTSTRAP, lambda_, 0.0)
    onward, trails = source >= NOT_ENDED, along > 0.0
    shares = np.concatenate([(weight * (1.0 - along))[onward], (weight * along)[trails]])
    rows = np.concatenate([own[onward], own[trails]])
    to = np.concatenate([source[onward], lines.cell[used[trails] - 1]])
    chain = sparse.csr_array((shares, (rows, to)), shape=(n_cells, n_cells))
    leaves = 1.0 - np.asarray(chain.sum(axis=1)).ravel()  # by an ending, or to an initial value
    survives = 1.0 - 1.0 / ENDLESS_STEPS
    system = sparse.csc_array(sparse.eye_array(n_cells) - survives * chain)
    endless: NDArray[np.float64] = np.clip(1.0 - splu(system).solve(np.maximum(leaves, 0.0)), 0.0, 1.0)
    endless[endless < MIN_ENDLESS] = 0.0
    endless[endless > MAX_ENDLESS] = 1.0
    return endless


def _latest_weights(lines: LedgerLines, n_cells: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(cells,) The weight on each initial value, and (n,) of each update in its own cell's value, without bootstraps."""
    alone = lines._replace(discount=np.zeros(1))  # a scan that passes no weight on
    left, weights, unused = np.ones((n_cells, 1)), np.zeros((len(lines.cell), 1)), np.zeros((n_cells, 1))
    n_endings = 1 - min(int(lines.source.min()), NO_BOOTSTRAP)
    scan(alone, left, np.zeros(1), unused, unused.copy(), np.zeros((n_endings, 1)), weights, np.zeros(1))
    return left[:, 0], weights[:, 0]
