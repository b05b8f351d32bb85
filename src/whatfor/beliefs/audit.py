"""Audit: beliefs computed on demand from the ledger of a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.beliefs.account import ROWS_PER_SCAN, Account, AccountReader
from whatfor.beliefs.arrivals import absorb_concepts
from whatfor.beliefs.course import Course, by_last_step, course
from whatfor.beliefs.deletion import Deletion, deletion, episode_deletions
from whatfor.beliefs.experience import ExperiencedWorld
from whatfor.beliefs.futures import Arrivals, Depths, Payments
from whatfor.beliefs.loop import Loop
from whatfor.beliefs.loops import Ends, LoopReader
from whatfor.beliefs.noise import sampling_error
from whatfor.beliefs.policy import greedy_policy
from whatfor.beliefs.protocol import CAPABILITIES, Beliefs, Capability, checked_pair
from whatfor.beliefs.recorded import recorded_arrivals, recorded_depths, recorded_payments, weights_by_depth
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.checks import number, whole
from whatfor.concepts import Concept
from whatfor.kernels.forwards import fold
from whatfor.kernels.recursion import TERMINATED, LedgerLines, ending_place
from whatfor.labels import NO_RECORDED_END, Labels
from whatfor.ledger import Ledger
from whatfor.ledger.faults import find_faults

#: Weights below this are dropped by the indexed walk; each account bounds the effect.
TOLERANCE = 1e-15

#: Updates with less weight than this are left out of courses and standard errors.
MIN_WEIGHT = 1e-12

Method = Literal["auto", "scan", "walk"]


class AuditReading(NamedTuple):
    """The account of a value, the likeliest course after it, and its standard error."""

    account: Account
    course: Course
    error: float  # the standard error, from the spread of the experiences


class Audit(Beliefs):
    """Beliefs computed from a ledger, one row at a time.

    ``values`` is the learner's own table, (S, A) or (tables, S, A); ``residual`` compares the ledger with it.

    >>> from whatfor.ledger import Ledger
    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9)
    >>> ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
    >>> audit = Audit(ledger)
    >>> audit.value(0, 0), audit.earnings(0, 0).tolist()
    (0.225, [[0.0], [0.225]])
    """

    def __init__(self, ledger: Ledger, values: ArrayLike | None = None, *, tolerance: float = TOLERANCE) -> None:
        self.ledger = ledger.continued()  # fixed: later updates of the given ledger do not appear in it
        self.tolerance = number("tolerance", tolerance, 0, 1)
        shape = (ledger.n_tables, ledger.n_states, ledger.n_actions)
        self.values: NDArray[np.float64] | None = None if values is None else np.array(values, dtype=np.float64)
        if self.values is not None and self.values.shape not in (shape, shape[1:]):
            raise ValueError(
                f"values has shape {self.values.shape}; the ledger's tables are {shape}: pass {shape[1:]} or {shape}"
            )
        self._reader = AccountReader(self.ledger, self.tolerance)
        self._loops = LoopReader(self._reader)

    # -- the protocol ----------------------------------------------------------------------

    can: ClassVar[frozenset[Capability]] = frozenset(CAPABILITIES)

    def _about(self) -> str:
        return repr(self.ledger)

    def row(self, at: Situation, action: int) -> Row:
        """The expected future by one pass over the ledger; endings by another, without a discount."""
        account, course, error = self.reading(at.index, action)
        ends = self.account(at.index, action, discount=1.0)
        endings, never, unknown = self._loops.ends(ends, self._cells(at, action))
        chances = {name: float(x) for name, x in zip(self.ledger.endings, endings, strict=True) if x}
        loop = self._loops.loop(self._cells(at, action), never, self._greedy_policy)
        return Row(
            visits=account.visits,
            earnings=account.earnings,
            value=self.value(at.index, action),
            initial=account.initial_share,
            unknown=float(account.initial_weights.sum()),
            now=account.now,
            endings=chances | ({NO_RECORDED_END: never} if never else {}),
            endings_unknown=unknown,
            loop=loop,
            explores=loop.exploiting > 0.0 and self.explores,
            faults=self.faults,
            tries=self.tries,
            error=error,
            course=course,
            dropped=account.dropped,
            visits_error=account.visits_error,
            discounted=self.discounted,
        )

    def visits(self, state: int | Situation, action: int, discount: float | None = None) -> NDArray[np.float64]:
        """(S, A) Expected visits, discounted as learned, or with another discount; 1 counts visits without one."""
        return self.account(state, action, discount=discount).visits

    def earnings(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) Where the value is expected to be earned; with the initial share, sums to the value."""
        return self.account(state, action).earnings

    def value(self, state: int | Situation, action: int) -> float:
        """The learner's own value if its table was given, else the value recomputed from the ledger."""
        table = self.recomputed if self.values is None else self.values
        tables = table.reshape(-1, self.ledger.n_states * self.ledger.n_actions)
        return float(tables[:, self._cells(state, action)[0]].mean())

    @property
    def evidence(self) -> Audit:
        """Itself: its rows are read from the updates."""
        return self

    # -- the tables ------------------------------------------------------------------------

    @cached_property
    def recomputed(self) -> NDArray[np.float64]:
        """(tables, S, A) The tables that the ledger's updates give."""
        return self.ledger.values()

    @cached_property
    def tries(self) -> NDArray[np.int64]:
        """(S, A) How often each pair was updated."""
        return self.ledger.tries()

    @cached_property
    def mean_rewards(self) -> NDArray[np.float64]:
        """(S, A) The mean reward of the updates of each pair; 0 where there is none."""
        lines, n_pairs = self.ledger.lines, self.ledger.n_states * self.ledger.n_actions
        used = self.ledger.learned_from
        cells, rewards = (lines.cell, lines.reward) if used.all() else (lines.cell[used], lines.reward[used])
        counts = np.bincount(cells % n_pairs, minlength=n_pairs)
        mean = np.bincount(cells % n_pairs, weights=rewards, minlength=n_pairs) / np.maximum(counts, 1)
        return np.asarray(mean.reshape(self.ledger.n_states, self.ledger.n_actions))

    @cached_property
    def experienced(self) -> ExperiencedWorld:
        """The world as the distinct experiences of the ledger show it."""
        return ExperiencedWorld(self.ledger)

    @cached_property
    def discounted(self) -> bool:
        """Whether any update has a discount below 1."""
        return bool(np.any(self.ledger.lines.discount < 1.0))

    @property
    def residual(self) -> float:
        """The largest difference between the learner's table and the one recomputed from the ledger."""
        if self.values is None:
            raise ValueError("the residual needs the learner's own table: Audit(ledger, values=Q); as_of() has none")
        tables = self.recomputed if self.values.ndim == 3 else self.recomputed.mean(axis=0)
        return float(np.abs(tables - self.values).max())

    def saved(self, run: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Nothing, if it is of the run's own ledger: that is saved with every run."""
        return ({}, {}) if run.ledger is not None and run.audit is self else super().saved(run)

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """What seems to be wrong with the recorded ends of episodes, and the line to change; a residual of 0 does not show it.

        >>> from whatfor.ledger import Ledger
        >>> ledger = Ledger(n_states=3, n_actions=1)
        >>> for _ in range(20):  # state 2 ends the episode, and is recorded as a next state
        ...     ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
        ...     ledger.record(1, 0, 1.0, 2, 0, step_size=0.5, discount=0.9)
        >>> "next_state=None" in Audit(ledger, values=ledger.values()).faults[0]
        True
        """
        return find_faults(self.ledger)

    def as_of(self, *, episodes: int | None = None, updates: int | None = None) -> Audit:
        """The audit after the first ``episodes`` or ``updates`` of training.

        The learner's table at that time was not kept, so ``value`` is recomputed from the ledger.
        """
        if (episodes is None) == (updates is None):
            raise ValueError("pass one of episodes= or updates=")
        earlier = self.ledger.until(episodes) if episodes is not None else self.ledger[: whole("updates", updates, 0)]
        audit = Audit(earlier, tolerance=self.tolerance)
        self._reader.share_index(audit._reader)
        return audit

    # -- one value -------------------------------------------------------------------------

    def account(
        self, state: int | Situation, action: int, *, discount: float | None = None, method: Method = "auto"
    ) -> Account:
        """The account of the value of a state-action pair.

        ``method``: "scan" reads every update and is exact; "walk" uses an index, drops tiny weights and bounds the
        error that this causes; "auto" uses the quicker of the two.
        """
        if method not in ("auto", "scan", "walk"):
            raise ValueError(f"method is 'auto', 'scan' or 'walk', not {method!r}")
        cells, lines = self._cells(state, action), self.lines_at(discount)
        if method == "walk" or (method == "auto" and self._reader.walk_is_quicker):
            walked = self._reader.walk(cells, lines, discount, give_up=method == "auto")
            if walked is not None:
                return walked.account
        self._reader.scans += 1
        return self._reader.scan([cells], lines)[0]

    def weights(self, state: int, action: int, *, discount: float | None = None) -> NDArray[np.float64]:
        """(n,) The weight of every update in a value; weights times rewards, with the initial share, sum to the value."""
        return self.weighed(state, action, discount=discount)[1]

    def weighed(self, state: int, action: int, *, discount: float | None = None) -> tuple[Account, NDArray[np.float64]]:
        """The exact account of a value, and the weight of every update, by one pass over the ledger."""
        weights = np.zeros((len(self.ledger), 1))
        account = self._reader.scan([self._cells(state, action)], self.lines_at(discount), weights)[0]
        return account, weights[:, 0]

    def reading(self, state: int, action: int) -> AuditReading:
        """The account of a value, the likeliest course after it, and its standard error, by one pass over the ledger."""
        cells, lines = self._cells(state, action), self.ledger.lines
        walked = self._reader.walk(cells, lines, None) if self._reader.walk_is_quicker else None
        if walked is not None:
            account, used, carried = walked
        else:
            self._reader.scans += 1
            weights = np.zeros((len(self.ledger), 1))
            account = self._reader.scan([cells], lines, weights)[0]
            used = np.flatnonzero(weights[:, 0] > MIN_WEIGHT)
            carried = weights[used, 0]
        error, _ = sampling_error(self.ledger, used, carried, lines.reward[used], self.recomputed.ravel())
        initial = account.initial_weights.sum(axis=0).ravel()
        if len(self.ledger) and not np.any(lines.discount):  # discount 0: the course is still known
            followed, weights = self.weighed(state, action, discount=1.0)
            used = np.flatnonzero(weights > MIN_WEIGHT)
            carried, initial = weights[used], followed.initial_weights.sum(axis=0).ravel()
        return AuditReading(account, course(self.ledger, used, carried, initial, state, action), error)

    def named_endings(self, at: Situation, action: int, labels: Labels) -> tuple[dict[str, float], float]:
        """Undiscounted weights of last steps are probabilities; an ending without a name is described by its last step."""
        account, names = self.account(at.index, action, discount=1.0, method="scan"), self.ledger.endings
        endings, never, unknown = self._loops.ends(account, self._cells(at, action))
        chances = dict(zip(names, endings.tolist(), strict=True))
        unnamed = chances.pop(names[ending_place(TERMINATED)])
        if unnamed > 0.0:
            weights = self.weights(at.index, action, discount=1.0)
            share = unnamed / float(account.endings[ending_place(TERMINATED)])
            chances |= {name: share * x for name, x in by_last_step(self.ledger, weights, labels).items()}
        chances[NO_RECORDED_END] = never
        known = {name: chance for name, chance in sorted(chances.items(), key=lambda item: -item[1]) if chance > 0.0}
        return known, unknown

    def never_ends(self, at: Situation | int, action: int) -> float:
        """The probability to go on without a recorded end: weight that goes round in a loop."""
        return self._loops.ends(self.account(at, action, discount=1.0), self._cells(at, action)).never

    def loop(self, at: Situation | int, action: int) -> Loop:
        """Whether the future goes on without a recorded end: as learned, and by the best actions alone."""
        return self._loops.loop(self._cells(at, action), self.never_ends(at, action), self._greedy_policy)

    @property
    def explores(self) -> bool:
        """Whether what it learned includes exploration."""
        return self._loops.explores

    @cached_property
    def _greedy_policy(self) -> NDArray[np.float64]:
        """(S, A) The greedy policy of the learner's table, or of the recomputed one."""
        tables = self.recomputed if self.values is None else self.values
        return greedy_policy(tables if tables.ndim == 2 else tables.mean(axis=0))

    def gap_error(self, at: Situation, one: int, other: int) -> float:
        """The standard error of the gap between two actions' values; weight that they share cancels."""
        weights = self.weights(at.index, one) - self.weights(at.index, other)
        used = np.flatnonzero(np.abs(weights) > MIN_WEIGHT)
        lines = self.ledger.lines
        return sampling_error(self.ledger, used, weights[used], lines.reward[used], self.recomputed.ravel())[0]

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """(n,) The TD error of every update: its target less the value before the update."""
        tables, errors = self.ledger.initial_tables().reshape(-1, 1), np.empty(len(self.ledger))
        fold(self.ledger.lines, self.ledger.lines.reward, tables, np.zeros(1), errors)
        return errors

    def deletion(self, state: int, action: int) -> Deletion:
        """What deleting each update, or all updates of each episode, and replaying the rest takes away from a value."""
        return deletion(self.ledger, self._cells(state, action), self.errors)

    def episode_deletions(self, pairs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """(episodes, pairs) What deleting each episode takes away from several values; NaN: unknown."""
        return episode_deletions(self.ledger, [self._cells(*pair) for pair in pairs], self.errors)

    def visits_by_depth(
        self, state: int, action: int, horizon: int, *, discount: float | None = None
    ) -> NDArray[np.float64]:
        """(horizon + 1, S, A) Expected visits by steps ahead; the last slice sums all later steps."""
        return weights_by_depth(self.ledger, self._cells(state, action), self.lines_at(discount), horizon)

    def depths(self, at: Situation, action: int, horizon: int, discount: float | None = None) -> Depths:
        """Expected visits by the number of steps ahead."""
        return recorded_depths(self, at, action, horizon, discount)

    def ending_names(self, labels: Labels) -> tuple[str, ...]:
        """The names of endings that were recorded."""
        return tuple(self.ledger.endings)

    def ends_with(self, at: Situation, action: int, concepts: Sequence[Concept]) -> Ends:
        """The weight of every ending if every concept is one, after those of the ledger."""
        lines, n_endings = absorb_concepts(self.ledger, concepts), len(self.ledger.endings) + len(concepts)
        cells = self._cells(at, action)
        return self._loops.ends(self._reader.scan([cells], lines, n_endings=n_endings)[0], cells, lines)

    def arrivals(self, at: Situation, action: int, concepts: Sequence[Concept]) -> Arrivals:
        """The probability that each concept is the first to be reached, and of every ending before any is reached."""
        return recorded_arrivals(self, at, action, concepts)

    def payments(self, at: Situation, action: int) -> Payments:
        """The rewards of all updates that carry weight."""
        return recorded_payments(self, at, action)

    def accounts(self, pairs: Sequence[tuple[int, int]], *, discount: float | None = None) -> list[Account]:
        """Several exact accounts by one pass over the ledger."""
        lines, rows = self.lines_at(discount), ROWS_PER_SCAN
        cells = [self._cells(state, action) for state, action in pairs]
        return [one for i in range(0, len(cells), rows) for one in self._reader.scan(cells[i : i + rows], lines)]

    def _cells(self, state: int | Situation, action: int) -> NDArray[np.int64]:
        ledger = self.ledger
        state, action = checked_pair(state, action, ledger.n_states, ledger.n_actions)
        return (np.arange(ledger.n_tables) * ledger.n_states + state) * ledger.n_actions + action

    def lines_at(self, discount: float | None) -> LedgerLines:
        """The ledger's columns, with ``discount`` in place of the recorded one if it is given."""
        return self._reader.lines_at(discount)

    def build_index(self) -> None:
        """Build the index now instead of at the first question that needs it."""
        self._reader.build_index()
