"""Loops: the probability that what an agent learned leads on without an end.

Without a discount, the weight of a loop goes round in the ledger until it arrives at initial values, as if the agent knew
nothing about it. The latest updates tell the difference: read as a chain of state-action pairs, they never leave a loop.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.account import Account, AccountReader
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

#: Less probability than this on initial values is not searched for loops.
MIN_UNKNOWN = 5e-4
#: With more weight than this on initial values, as far as the discount looks, it is not known whether a future ends.
MAX_UNKNOWN = 0.5
#: A future without a discount, or with a larger one, is looked at with this one.
MAX_DISCOUNT = 0.99
#: The expected steps from which on a future that ends is searched for loops.
MIN_LONG_FUTURE = 20.0


class LoopReader:
    """Finds what goes on without an end in the accounts of a ledger; ``cells``: of the asked pair, one in each table."""

    def __init__(self, reader: AccountReader) -> None:
        self.reader = reader

    def split_unknown(
        self, undiscounted: Account, cells: NDArray[np.int64], lines: LedgerLines | None = None
    ) -> tuple[float, float]:
        """Undiscounted weight on initial values: what goes on without an end, and what is unknown.

        Weight that arrives at initial values as near as the discount looks is unknown. ``lines``: where the account was
        computed from other lines than the ledger's.
        """
        unknown = float(undiscounted.initial_weights.sum())
        if unknown < MIN_UNKNOWN:
            return 0.0, unknown
        ledger = self.reader.ledger
        looks_ahead = np.minimum(ledger.lines.discount, MAX_DISCOUNT)
        read = (ledger.lines if lines is None else lines)._replace(discount=looks_ahead)
        near = float(self.reader.scan([cells], read, n_endings=len(undiscounted.endings))[0].initial_weights.sum())
        if near > MAX_UNKNOWN:
            return 0.0, unknown
        endless = self._endless if lines is None else endless_from(lines, ledger.n_cells)
        never = min(unknown, 1.0 - near, float(endless[cells].mean()))
        return never, unknown - never

    def latest(self, undiscounted: Account, cells: NDArray[np.int64]) -> float:
        """The probability to go on without an end by the latest updates, of a long future that ends by all updates; else 0."""
        if undiscounted.visits.sum() < MIN_LONG_FUTURE or undiscounted.endings.sum() < MAX_UNKNOWN:
            return 0.0
        return float(self._endless[cells].mean())

    @cached_property
    def _endless(self) -> NDArray[np.float64]:
        """(cells,) ``endless_from`` of the ledger itself."""
        return endless_from(self.reader.ledger.lines, self.reader.ledger.n_cells)


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
