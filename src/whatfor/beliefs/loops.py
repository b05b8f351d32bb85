"""Loops: the probability that what an agent learned leads on without end.

Without a discount, the weight of a loop goes round in the ledger until it arrives at initial values, or at an end from long
ago, as if the agent knew nothing about the loop. The latest updates tell the difference: read as a chain of state-action
pairs, they never leave it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.account import Account, AccountReader
from whatfor.beliefs.exact import reaching
from whatfor.beliefs.experience import experiences_of
from whatfor.beliefs.loop import MIN_ENDLESS, Loop
from whatfor.beliefs.loop_record import loop_record
from whatfor.kernels.backwards import scan
from whatfor.kernels.following import NEW, count_explored, find_ways_out, link_updates
from whatfor.kernels.recursion import NO_BOOTSTRAP, NOT_ENDED, LedgerLines

#: A step that is less probable than this does not lead out of a loop.
MIN_STEP = 1e-5
#: A pair is known if less than this of its weight is on its own initial value.
MAX_INITIAL_WEIGHT = 0.05
#: The probability to get into a loop is summed up over at most this many steps.
MAX_STEPS = 1_000
#: A step is gone if the probability that it was merely not seen again is below this.
MAX_GONE = 0.01
#: A smaller probability of a loop is rounding.
MIN_NEVER = 1e-9
#: Shorter futures without unknown probability are not searched for loops.
MIN_LONG_FUTURE, MIN_UNKNOWN = 5.0, 5e-4
#: With more weight than this on initial values, as far as the discount looks, it is not known whether a future ends.
MAX_UNKNOWN = 0.5
#: A learner that follows other than its best actions less often than this does not explore in what it learns.
MIN_EXPLORED = 1e-3
#: Transitions that were recorded less often than this do not settle where a pair leads, unless the world looks deterministic.
MIN_TRIES = 20
#: Other discounts are clipped to these: a future is looked at for some 10 to 100 steps at least.
MIN_DISCOUNT, MAX_DISCOUNT = 0.9, 0.99


class Ends(NamedTuple):
    """How a future ends: the probabilities sum to 1."""

    endings: NDArray[np.float64]  # (endings,) of each, in the order of an account
    never: float  # to go on without a recorded end
    unknown: float  # of what rests on initial values


class Endless(NamedTuple):
    """What goes on without end, by the latest updates."""

    chances: NDArray[np.float64]  # (cells,) the probability of it from each cell
    closed: NDArray[np.bool_]  # (cells,) whether a cell is in a loop
    chain: Any  # (cells, cells) the probability that each cell is followed by another; sparse


class LoopReader:
    """Finds what goes on without end in the accounts of a ledger."""

    def __init__(self, reader: AccountReader) -> None:
        self.reader = reader
        self._best: NDArray[np.int64] | None = (
            None  # (cells,) a best action's cell in the state of each; None: not asked
        )
        self._tied = False  # whether several actions of an updated state are best: then one tells too little
        self._greedily: Endless | None = None  # by the best actions; None: not asked

    def ends(self, undiscounted: Account, cells: NDArray[np.int64], lines: LedgerLines | None = None) -> Ends:
        """How the future of an undiscounted account ends; ``cells``: of the asked pair, one in each table.

        What arrives anywhere as near as the discount looks is no loop. ``lines``: where the account was computed from
        other lines than the ledger's.
        """
        endings, unknown = undiscounted.endings, float(undiscounted.initial_weights.sum())
        if unknown < MIN_UNKNOWN and undiscounted.visits.sum() < MIN_LONG_FUTURE:
            return Ends(endings, 0.0, unknown)
        ledger = self.reader.ledger
        if (lines is not None or "_endless" not in self.__dict__) and self._have_ways_out(cells, lines):
            return Ends(endings, 0.0, unknown)
        endless = self._endless if lines is None else endless_from(lines, ledger.n_cells)
        never = float(endless.chances[cells].mean())
        if never == 0.0:
            return Ends(endings, 0.0, unknown)
        looks_ahead = np.clip(ledger.lines.discount, MIN_DISCOUNT, MAX_DISCOUNT)
        read = (ledger.lines if lines is None else lines)._replace(discount=looks_ahead)
        near = self.reader.scan([cells], read, n_endings=len(endings))[0]
        started = float(near.initial_weights.sum())
        if started > MAX_UNKNOWN:
            return Ends(endings, 0.0, unknown)
        never = max(0.0, min(never, 1.0 - started - float(near.endings.sum())))
        if never < MIN_NEVER:
            return Ends(endings, 0.0, unknown)
        rest = max(0.0, never - unknown)  # the weight that went round and arrived at an end from long ago
        return Ends(endings * (1.0 - rest / max(1.0 - unknown, rest, 1e-300)), never, max(0.0, unknown - never))

    def without_exploring(self, cells: NDArray[np.int64], policy: NDArray[np.float64]) -> float:
        """The probability to go on without end by the greedy policy.

        SARSA, Monte Carlo and λ-returns learn about a future with exploration, which leads out of a loop that the greedy
        policy never leaves. Updates that followed former best actions lead out as well. ``policy``: (S, A) the greedy policy; a pair whose recorded transitions do not settle where it
        leads is a way out. All calls are about the same policy.
        """
        ledger = self.reader.ledger
        if len(ledger) == 0:
            return 0.0
        if self._best is None:
            self._best = _greedy_cells(policy, ledger.n_tables)
            self._tied = bool(((policy > 0.0).sum(axis=1) > 1)[ledger.tries().any(axis=1)].any())
        best = self._best
        if not self._tied and self._have_ways_out(cells, None, best):
            return 0.0
        if self._greedily is None:
            lines = ledger.lines
            source = np.where(lines.source >= NOT_ENDED, best[np.maximum(lines.source, 0)], lines.source)
            trails = np.flatnonzero((lines.source == NO_BOOTSTRAP) & (np.arange(len(source)) > 0))
            source[trails] = best[lines.cell[trails - 1]]
            followed = lines._replace(source=source.astype(np.int32), lambda_=np.zeros(1))
            shared = _shares_of_ties(policy, best, ledger.n_tables)
            self._greedily = endless_from(followed, ledger.n_cells, shared)
            if self._greedily.chances.any():
                self._greedily = endless_from(followed, ledger.n_cells, shared, self._unsettled)
        return float(self._greedily.chances[cells].mean())

    def loop(self, cells: NDArray[np.int64], never: float, policy: NDArray[np.float64]) -> Loop:
        """What is known about the loop that follows some cells; ``never``: its probability by ``ends``."""
        loop = Loop(never, self.without_exploring(cells, policy))
        if not loop.stated:
            return loop
        endless = self._endless if never >= MIN_ENDLESS else self._greedily
        assert endless is not None
        return loop._replace(
            record=loop_record(self.reader.ledger, cells, endless.chain, endless.closed, self._repeats)
        )

    @cached_property
    def _unsettled(self) -> NDArray[np.bool_]:
        """(cells,) Whether too few transitions of a pair are recorded to say where it leads."""
        ledger, seen = self.reader.ledger, experiences_of(self.reader.ledger)
        tries = np.bincount(seen.pair, weights=seen.times, minlength=ledger.n_states * ledger.n_actions)
        return np.tile(tries < (1 if self._repeats else MIN_TRIES), ledger.n_tables)

    @cached_property
    def _repeats(self) -> int:
        """The steps that repeated a pair, if there are enough and all led where the pair had led before; else 0."""
        seen = experiences_of(self.reader.ledger)
        followed = np.where(seen.ending == NOT_ENDED, seen.next_state, seen.ending)
        outcomes = len(np.unique(np.stack([seen.pair, followed]), axis=1).T)
        tried = len(np.unique(seen.pair))
        repeats = int(seen.times.sum()) - tried
        return repeats if outcomes == tried and repeats >= MIN_TRIES else 0

    @cached_property
    def explores(self) -> bool:
        """Whether the learner bootstrapped from actions that it explored, or from the steps that it took."""
        ledger = self.reader.ledger
        pairs = ledger.n_states * ledger.n_actions
        explored = count_explored(ledger.lines, pairs, ledger.n_actions, ledger.initial_tables().ravel())
        return explored > MIN_EXPLORED * len(ledger)

    def _have_ways_out(
        self, cells: NDArray[np.int64], lines: LedgerLines | None, onto: NDArray[np.int64] | None = None
    ) -> bool:
        """Whether all cells that may follow these have a way out: then there is no loop. This check is much faster."""
        ledger = self.reader.ledger
        latest, earlier = self._links
        kept = self._stages if onto is None else self._greedy_stages
        stage = kept if lines is None else np.full(ledger.n_cells, NEW, np.int8)
        met = np.empty(ledger.n_cells, np.int64)
        met[: len(cells)] = cells
        limits = MIN_STEP**2, MIN_STEP, MAX_INITIAL_WEIGHT
        onto = self._same if onto is None else onto
        return find_ways_out(lines or ledger.lines, latest, earlier, onto, stage, met, len(cells), *limits)

    @cached_property
    def _same(self) -> NDArray[np.int64]:
        """(cells,) Every cell itself."""
        return np.arange(self.reader.ledger.n_cells)

    @cached_property
    def _links(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The latest update of each cell, and the one before each update; -1: there is none."""
        ledger = self.reader.ledger
        kind = np.int32 if len(ledger) <= np.iinfo(np.int32).max else np.int64
        latest, earlier = np.full(ledger.n_cells, -1, kind), np.empty(len(ledger), kind)
        link_updates(ledger.lines.cell, latest, earlier)
        return latest, earlier

    @cached_property
    def _stages(self) -> NDArray[np.int8]:
        """(cells,) What is known about ways out by the ledger itself."""
        return np.full(self.reader.ledger.n_cells, NEW, np.int8)

    @cached_property
    def _greedy_stages(self) -> NDArray[np.int8]:
        """(cells,) The same by the best actions alone."""
        return np.full(self.reader.ledger.n_cells, NEW, np.int8)

    @cached_property
    def _endless(self) -> Endless:
        """``endless_from`` of the ledger itself."""
        return endless_from(self.reader.ledger.lines, self.reader.ledger.n_cells)


def _greedy_cells(policy: NDArray[np.float64], n_tables: int) -> NDArray[np.int64]:
    """(cells,) A cell of a best action in the state of each, in its table."""
    n_states, n_actions = policy.shape
    best = np.repeat(np.arange(n_states) * n_actions + policy.argmax(axis=1), n_actions)
    cells: NDArray[np.int64] = (np.arange(n_tables)[:, None] * policy.size + best).ravel()
    return cells


def _shares_of_ties(policy: NDArray[np.float64], best: NDArray[np.int64], n_tables: int) -> Any:
    """(cells, cells) The shares of tied actions in the place of the best cell of their state; sparse."""
    from scipy import sparse

    tied = np.flatnonzero(policy)
    shares = (policy.ravel()[tied], (best[tied], tied))
    table = sparse.csr_array(shares, shape=(policy.size, policy.size))
    return sparse.block_diag([table] * n_tables, format="csr")


def endless_from(
    lines: LedgerLines, n_cells: int, shared: Any = None, unsettled: NDArray[np.bool_] | None = None
) -> Endless:
    """The probability to go on without end from each cell, by the latest updates of all cells.

    A cell with much weight on its own initial value is a way out: where it leads is unknown. So are ``unsettled`` cells.
    ``shared``: (cells, cells) the cells that share the steps to a cell in its place.

    >>> one = np.zeros(20, np.int32)  # 20 updates of cell 0, each bootstrapped from itself
    >>> endless_from(LedgerLines(one, one, np.zeros(20), np.full(1, 0.5), np.ones(1), np.zeros(1)), 1).chances.tolist()
    [1.0]
    """
    if len(lines.cell) == 0:
        return Endless(np.zeros(n_cells), np.zeros(n_cells, np.bool_), None)
    chain = _latest_chain(lines, n_cells)
    leaves = 1.0 - np.asarray(chain.sum(axis=1)).ravel() > MIN_STEP  # by an ending, or to an initial value
    if unsettled is not None:
        leaves |= unsettled
    if shared is not None:
        chain = chain @ shared
    steps = chain.copy()
    steps.data[steps.data < MIN_STEP] = 0.0
    steps.eliminate_zeros()
    closed = ~reaching(steps, leaves)
    if closed.any():  # a way out that was only rare may be forgotten
        rare, out = _rare_steps(lines, n_cells, closed)
        closed = ~reaching(steps + (rare if shared is None else rare @ shared), leaves | out)
    endless = closed.astype(np.float64)
    for _ in range(MAX_STEPS if closed.any() else 0):
        before, endless = endless, chain @ endless
        endless[closed] = 1.0
        if np.abs(endless - before).max() < MIN_STEP:
            break
    return Endless(endless, closed, chain)


def _rare_steps(lines: LedgerLines, n_cells: int, cells: NDArray[np.bool_]) -> tuple[Any, NDArray[np.bool_]]:
    """Steps out of some cells that need not be gone: (cells, cells) to other cells, and (cells,) to an end.

    A step is gone if, at a constant rate, all the times that it was seen would hardly ever be as early as they were.
    """
    from scipy import sparse

    used = np.flatnonzero(cells[lines.cell] & np.broadcast_to(lines.step_size > 0.0, len(lines.cell)))
    used = used[np.argsort(lines.cell[used], kind="stable")]
    own = lines.cell[used].astype(np.int64)
    counts = np.bincount(own, minlength=n_cells)
    at = np.arange(len(used)) - (np.cumsum(counts) - counts)[own]  # the number of earlier updates of the same cell
    source = lines.source[used].astype(np.int64)
    to = np.where(source == NO_BOOTSTRAP, lines.cell[used - 1], np.where(source < 0, n_cells, source))
    edges, which, seen = np.unique(own * (n_cells + 1) + to, return_inverse=True, return_counts=True)
    latest = np.zeros(len(edges), np.int64)
    np.maximum.at(latest, which, at)
    rows, to = np.divmod(edges, n_cells + 1)
    kept = ((latest + 1.0) / counts[rows]) ** seen >= MAX_GONE
    out = np.zeros(n_cells, bool)
    out[rows[kept & (to == n_cells)]] = True
    inside = kept & (to < n_cells)
    shape = (n_cells, n_cells)
    return sparse.csr_array((np.ones(int(inside.sum())), (rows[inside], to[inside])), shape=shape), out


def _latest_chain(lines: LedgerLines, n_cells: int) -> Any:
    """(cells, cells) The probability that each cell is followed by another, by its latest updates; sparse."""
    from scipy import sparse

    # a scan that passes no weight on: what is left on each initial value, and the weight of each update in its own cell
    left, weights, unused = np.ones((n_cells, 1)), np.zeros((len(lines.cell), 1)), np.zeros((n_cells, 1))
    n_endings = 1 - min(int(lines.source.min()), NO_BOOTSTRAP)
    alone = lines._replace(discount=np.zeros(1))
    scan(alone, left, np.zeros(1), unused, unused.copy(), np.zeros((n_endings, 1)), weights, np.zeros(1))
    known = np.where(left[:, 0] < MAX_INITIAL_WEIGHT, 1.0 / (1.0 - np.minimum(left[:, 0], MAX_INITIAL_WEIGHT)), 1.0)
    used = np.flatnonzero(weights[:, 0] > MIN_STEP**2)
    own, source = lines.cell[used], lines.source[used]
    along = np.where(source >= NO_BOOTSTRAP, np.broadcast_to(lines.lambda_, len(weights))[used], 0.0)
    weight, onward, trails = weights[used, 0] * known[own], source >= NOT_ENDED, along > 0.0
    shares = np.concatenate([(weight * (1.0 - along))[onward], (weight * along)[trails]])
    rows = np.concatenate([own[onward], own[trails]])
    to = np.concatenate([source[onward], lines.cell[used[trails] - 1]])
    return sparse.csr_array((shares, (rows, to)), shape=(n_cells, n_cells))
