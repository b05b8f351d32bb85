"""Backwards: what one value is made of, computed from the ledger when somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.beliefs.arrivals import absorbed
from whatfor.beliefs.course import Course, course
from whatfor.beliefs.noise import sampling_error
from whatfor.beliefs.protocol import Beliefs, Capability, checked_pair
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.checks import number, whole
from whatfor.concepts import Concept
from whatfor.kernels.backwards import scan, scan_by_depth
from whatfor.kernels.forwards import fold
from whatfor.kernels.recursion import TERMINATED, Lines, ending_place
from whatfor.kernels.walk import index_by_cell, lines_before, walk
from whatfor.labels import Labels
from whatfor.ledger import Ledger
from whatfor.limits import check_limit

#: Weights below this are dropped by the indexed walk; what that may change is stated with the answer.
TOLERANCE = 1e-15

#: Ledgers shorter than this are read whole: that is as quick as walking, and exact.
SHORT = 200_000

#: So many questions are answered by reading a long ledger whole: the index takes longer to build than that.
BEFORE_INDEX = 4

#: A walk over more than this share of the lines gives up; reading in order is quicker.
WORTHWHILE = 1 / 16
#: After so many that gave up, no more walks are tried.
MOST_LOST = 3

#: Lines with less weight than this do not change which way is the likeliest.
SLIGHT = 1e-12

Method = Literal["auto", "scan", "walk"]


@dataclass(frozen=True)
class Account:
    """What one value is made of, by the ledger: all numbers that the reading of it gives."""

    visits: NDArray[np.float64]  # (S, A)
    earnings: NDArray[np.float64]  # (S, A)
    endings: NDArray[np.float64]  # (endings,) weight of each way to end, as the ledger names them
    left: NDArray[np.float64]  # (tables, S, A) weight still on the values the tables started with
    from_start: float  # the part of the value that is left of those
    scale: float  # sum of |weight * reward|: what rounding is measured against
    dropped: float  # weight that an indexed walk left out; 0 after a scan
    value_error: float  # bounds on what that can have changed: the value,
    visits_error: float  # the sum of visits,
    earnings_error: float  # the sum of |earnings|
    lines_read: int
    tries: int  # how often the asked pair was updated
    now: float  # the part of its own visits that is the asked step itself; 1 once the start is forgotten

    @property
    def total(self) -> float:
        """What the explanation adds up to."""
        return float(self.earnings.sum()) + self.from_start


class Reading(NamedTuple):
    """All that one answer about a value needs."""

    account: Account
    course: Course
    error: float  # the standard error that the spread of its experiences implies


class Audit(Beliefs):
    """Beliefs read off a ledger, one row at a time.

    ``values`` is the learner's own table, (S, A) or (tables, S, A): what ``residual`` compares with.

    >>> from whatfor.ledger import Ledger
    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9)
    >>> ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
    >>> audit = Audit(ledger)
    >>> audit.value(0, 0), audit.earnings(0, 0).tolist()
    (0.225, [[0.0], [0.225]])
    """

    def __init__(self, ledger: Ledger, values: ArrayLike | None = None, *, tolerance: float = TOLERANCE) -> None:
        self.ledger = ledger.continued()  # as it is now, whatever is appended later
        self.tolerance = number("tolerance", tolerance, 0, 1)
        shape = (ledger.n_tables, ledger.n_states, ledger.n_actions)
        self.values: NDArray[np.float64] | None = None if values is None else np.array(values, dtype=np.float64)
        if self.values is not None and self.values.shape not in (shape, shape[1:]):
            raise ValueError(
                f"values has shape {self.values.shape}; the ledger's tables are {shape}: pass {shape[1:]} or {shape}"
            )
        self._scans = 0
        self._lost = 0  # walks that had to give up: too many lines carried weight
        self._peaks: dict[tuple[str, float | None], float] = {}

    # -- the protocol ----------------------------------------------------------------------

    can: ClassVar[frozenset[Capability]] = frozenset({"endings", "updates"})

    def row(self, at: Situation, action: int) -> Row:
        """What is expected to follow, by one reading of the ledger; endings by another, without a discount."""
        account, course, error = self.reading(at.index, action)
        ends = self.account(at.index, action, discount=1.0)
        return Row(
            visits=account.visits,
            earnings=account.earnings,
            value=self.value(at.index, action),
            initial=account.from_start,
            unknown=float(account.left.sum()),
            now=account.now,
            endings={name: float(x) for name, x in zip(self.ledger.endings, ends.endings, strict=True) if x},
            endings_unknown=float(ends.left.sum()),
            tried=self.tried,
            error=error,
            course=course,
            dropped=account.dropped,
            visits_error=account.visits_error,
        )

    def visits(self, state: int | Situation, action: int, discount: float | None = None) -> NDArray[np.float64]:
        """(S, A) Expected visits, discounted as learned, or by another discount: 1 gives plain chances."""
        return self.account(state, action, discount=discount).visits

    def earnings(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) Where the value is expected to be earned; with what is left of the start, sums to the value."""
        return self.account(state, action).earnings

    def value(self, state: int | Situation, action: int) -> float:
        """The learner's value where its table was given, else the one the ledger makes."""
        table = self.folded if self.values is None else self.values
        tables = table.reshape(-1, self.ledger.n_states * self.ledger.n_actions)
        return float(tables[:, self._asked(state, action)[0]].mean())

    # -- what it rests on ------------------------------------------------------------------

    @cached_property
    def folded(self) -> NDArray[np.float64]:
        """(tables, S, A) The tables that the ledger's updates make."""
        return self.ledger.values()

    @cached_property
    def tried(self) -> NDArray[np.int64]:
        """(S, A) How often each pair was updated."""
        return self.ledger.tries()

    @property
    def residual(self) -> float:
        """The largest difference between the learner's table and the one the ledger makes."""
        if self.values is None:
            raise ValueError("residual compares the ledger with the learner's own table: Audit(ledger, values=Q)")
        made = self.folded if self.values.ndim == 3 else self.folded.mean(axis=0)
        return float(np.abs(made - self.values).max())

    def as_of(self, *, episodes: int | None = None, lines: int | None = None) -> Audit:
        """The audit of an earlier point of training.

        The learner's table of then is not kept, so ``value`` is the one the ledger makes.
        """
        if (episodes is None) == (lines is None):
            raise ValueError("say how far back with one of episodes= or lines=")
        earlier = self.ledger.until(episodes) if episodes is not None else self.ledger[: whole("lines", lines, 0)]
        audit = Audit(earlier, tolerance=self.tolerance)
        if "_index" in self.__dict__:  # later lines are passed over, so the index serves
            audit.__dict__["_index"] = self._index
        return audit

    # -- one value -------------------------------------------------------------------------

    def account(
        self, state: int | Situation, action: int, *, discount: float | None = None, method: Method = "auto"
    ) -> Account:
        """What the value of a state and action is made of.

        ``method``: "scan" reads every line and is exact; "walk" uses an index by cell, drops tiny
        weights and states what that may change; "auto" takes what is quicker.
        """
        if method not in ("auto", "scan", "walk"):
            raise ValueError(f"method is 'auto', 'scan' or 'walk', not {method!r}")
        asked, lines = self._asked(state, action), self.lines_at(discount)
        if method == "walk" or (method == "auto" and self._worth_walking()):
            walked = self._walked(asked, lines, discount, patient=method == "walk")
            if walked is not None:
                return walked[0]
        self._scans += 1
        return self._scanned([asked], lines)[0]

    def weights(self, state: int, action: int, *, discount: float | None = None) -> NDArray[np.float64]:
        """(n,) The weight of every line in the value of a pair: weights times rewards sum to it, less what is left of the start."""
        weights = np.zeros((len(self.ledger), 1))
        self._scanned([self._asked(state, action)], self.lines_at(discount), weights)
        return weights[:, 0]

    def reading(self, state: int, action: int) -> Reading:
        """What a value is made of, the likeliest course that follows, and its standard error, by one reading of the ledger."""
        asked, lines = self._asked(state, action), self.ledger.lines
        walked = self._walked(asked, lines, None, patient=False) if self._worth_walking() else None
        if walked is not None:
            account, used, carried = walked
        else:
            self._scans += 1
            weights = np.zeros((len(self.ledger), 1))
            account = self._scanned([asked], lines, weights)[0]
            used = np.flatnonzero(weights[:, 0] > SLIGHT)
            carried = weights[used, 0]
        error, _ = sampling_error(self.ledger, used, carried, lines.reward, self.folded.ravel())
        left = account.left.sum(axis=0).ravel()
        if len(self.ledger) and not np.any(
            lines.discount
        ):  # nothing is carried on, but what follows is known all the same
            weights = self.weights(state, action, discount=1.0)
            used = np.flatnonzero(weights > SLIGHT)
            followed = self.account(state, action, discount=1.0, method="scan")
            carried, left = weights[used], followed.left.sum(axis=0).ravel()
        return Reading(account, course(self.ledger, used, carried, left, state, action), error)

    def named_endings(self, at: Situation, action: int, labels: Labels) -> tuple[dict[str, float], float]:
        """The weights of last steps, without a discount, are chances; ends without a name are told by their last step."""
        account, names = self.account(at.index, action, discount=1.0, method="scan"), self.ledger.endings
        chances = dict(zip(names, account.endings.tolist(), strict=True))
        if chances[names[ending_place(TERMINATED)]] > 0.0:
            del chances[names[ending_place(TERMINATED)]]
            chances |= self._by_last_step(at.index, action, labels)
        known = {name: chance for name, chance in sorted(chances.items(), key=lambda item: -item[1]) if chance > 0.0}
        return known, float(account.left.sum())

    def _by_last_step(self, state: int, action: int, labels: Labels) -> dict[str, float]:
        """Ends that the world does not name, by the state, action and reward of their last step."""
        lines, weights = self.ledger.lines, self.weights(state, action, discount=1.0)
        last = np.flatnonzero((lines.source == TERMINATED) & (weights > 0.0))
        pairs = lines.cell[last] % (labels.n_states * labels.n_actions)
        chances: dict[str, float] = {}
        steps = zip(pairs.tolist(), lines.reward[last].tolist(), weights[last].tolist(), strict=True)
        for pair, reward, weight in steps:
            last_state, last_action = divmod(pair, labels.n_actions)
            name = labels.last_step(last_state, last_action, reward)
            chances[name] = chances.get(name, 0.0) + weight
        return chances

    def gap_error(self, at: Situation, one: int, other: int) -> float:
        """The standard error of the gap between two actions' values; what both rest on does not count."""
        weights = self.weights(at.index, one) - self.weights(at.index, other)
        used = np.flatnonzero(np.abs(weights) > SLIGHT)
        lines = self.ledger.lines
        return sampling_error(self.ledger, used, weights[used], lines.reward, self.folded.ravel())[0]

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """(n,) The TD error of every update at the moment it was made: its target less the value it found."""
        tables, errors = self.ledger.initial_tables().reshape(-1, 1), np.empty(len(self.ledger))
        fold(self.ledger.lines, self.ledger.lines.reward, tables, np.zeros(1), errors)
        return errors

    def visits_by_depth(
        self, state: int, action: int, horizon: int, *, discount: float | None = None
    ) -> NDArray[np.float64]:
        """(horizon + 1, S, A) Expected visits by steps ahead; the last slice is all that lies beyond the horizon."""
        ledger, asked, horizon = self.ledger, self._asked(state, action), whole("horizon", horizon, 0)
        check_limit(
            "bytes", 16 * ledger.n_cells * (horizon + 1), f"a horizon of {horizon:,} steps (a shorter one needs less)"
        )
        left, visits = np.zeros((ledger.n_cells, horizon + 1)), np.zeros((ledger.n_cells, horizon + 1))
        left[asked, 0] = 1.0 / len(asked)
        scan_by_depth(self.lines_at(discount), left, np.zeros(horizon + 1), np.zeros(horizon + 1), visits)
        by_table = visits.reshape(ledger.n_tables, ledger.n_states, ledger.n_actions, horizon + 1)
        return np.moveaxis(by_table.sum(axis=0), -1, 0)

    def arrivals(
        self, state: int, action: int, concepts: Sequence[Concept]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Chances, after this step, that each concept is the first of them to be true, and of every ending before any is.

        The third number is the weight left on the values the tables started with; together they are 1.
        """
        lines, n_endings = absorbed(self.ledger, concepts), len(self.ledger.endings)
        account = self._scanned([self._asked(state, action)], lines, n_endings=n_endings + len(concepts))[0]
        return account.endings[n_endings:], account.endings[:n_endings], float(account.left.sum())

    def _worth_walking(self) -> bool:
        indexed = "_index" in self.__dict__ or self._scans >= BEFORE_INDEX
        return indexed and self._lost < MOST_LOST and len(self.ledger) > SHORT

    def accounts(self, pairs: Sequence[tuple[int, int]], *, discount: float | None = None) -> list[Account]:
        """Several accounts by one pass over the ledger, each exact."""
        lines, together = self.lines_at(discount), 64  # so many at a time: their weights must stay in the cache
        asked = [self._asked(state, action) for state, action in pairs]
        return [one for i in range(0, len(asked), together) for one in self._scanned(asked[i : i + together], lines)]

    def _asked(self, state: int | Situation, action: int) -> NDArray[np.int64]:
        ledger = self.ledger
        state, action = checked_pair(state, action, ledger.n_states, ledger.n_actions)
        return (np.arange(ledger.n_tables) * ledger.n_states + state) * ledger.n_actions + action

    def lines_at(self, discount: float | None) -> Lines:
        """The ledger's columns, with another discount if one is given."""
        if discount is None:
            return self.ledger.lines
        number("discount", discount, 0, 1)
        return self.ledger.lines._replace(discount=np.array([discount], np.float64))

    def _scanned(
        self,
        asked: list[NDArray[np.int64]],
        lines: Lines,
        weights: NDArray[np.float64] | None = None,
        n_endings: int | None = None,  # where the lines have more of them than the ledger
    ) -> list[Account]:
        rows, cells = len(asked), self.ledger.n_cells
        left = np.zeros((cells, rows))
        for row, own in enumerate(asked):
            left[own, row] = 1.0 / len(own)
        visits, earnings = np.zeros((cells, rows)), np.zeros((cells, rows))
        endings = np.zeros((n_endings or len(self.ledger.endings), rows))
        spread = np.zeros(rows)
        weights = np.empty((0, rows)) if weights is None else weights
        scan(lines, left, np.zeros(rows), visits, earnings, endings, weights, spread)
        return [
            self._made(
                own, visits[:, i], earnings[:, i], endings[:, i], left[:, i], float(spread[i]), read=len(self.ledger)
            )
            for i, own in enumerate(asked)
        ]

    def _walked(
        self, asked: NDArray[np.int64], lines: Lines, discount: float | None, patient: bool
    ) -> tuple[Account, NDArray[np.int64], NDArray[np.float64]] | None:
        """The account, and the lines that carry weight with their weights; None if there are too many of them."""
        cells = self.ledger.n_cells
        left, visits, earnings = np.zeros(cells), np.zeros(cells), np.zeros(cells)
        endings, place = np.zeros(len(self.ledger.endings)), np.zeros(cells, np.int64)
        left[asked] = 1.0 / len(asked)
        limit = len(self.ledger) if patient else int(len(self.ledger) * WORTHWHILE)
        seen, weights = np.empty(limit + 1, np.int64), np.empty(limit + 1)
        first, order = self._index
        dropped, spread, read = walk(
            lines, first, order, asked, left, place, visits, earnings, endings, seen, weights, self.tolerance, limit
        )
        if read > limit:
            self._lost += 1
            return None
        made = self._made(asked, visits, earnings, endings, left, spread, read=read, dropped=dropped, discount=discount)
        return made, seen[:read], weights[:read]

    def _made(
        self,
        asked: NDArray[np.int64],
        visits: NDArray[np.float64],
        earnings: NDArray[np.float64],
        endings: NDArray[np.float64],
        left: NDArray[np.float64],
        scale: float,
        *,
        read: int,
        dropped: float = 0.0,
        discount: float | None = None,
    ) -> Account:
        ledger = self.ledger
        shape = (ledger.n_tables, ledger.n_states, ledger.n_actions)
        weight = left.reshape(shape)
        own = [self._kept(int(cell)) for cell in asked]
        error = [dropped * self._peak(name, discount) if dropped else 0.0 for name in ("value", "visits", "earnings")]
        return Account(
            visits=visits.reshape(shape).sum(axis=0),
            earnings=earnings.reshape(shape).sum(axis=0),
            endings=endings,
            left=weight,
            from_start=0.0 if ledger.initial is None else float((weight * ledger.initial).sum()),
            scale=scale,
            dropped=dropped,
            value_error=error[0],
            visits_error=error[1],
            earnings_error=error[2],
            lines_read=read,
            tries=sum(tries for tries, _ in own),
            now=1.0 - sum(kept for _, kept in own) / len(own),
        )

    def _kept(self, cell: int) -> tuple[int, float]:
        """How often a cell was updated, and the share of its start that its updates left."""
        lines, n = self.ledger.lines, len(self.ledger)
        if "_index" in self.__dict__:
            first, order = self._index
            own = order[first[cell] : lines_before(n, cell, first, order)]
        else:
            own = np.flatnonzero(lines.cell == cell)
        steps = lines.step_size if len(lines.step_size) == 1 else lines.step_size[own]
        return len(own), float((1.0 - steps[0]) ** len(own)) if len(steps) == 1 else float(np.prod(1.0 - steps))

    # -- what a walk needs -----------------------------------------------------------------

    @cached_property
    def _index(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The lines of each cell: where they start, and which they are."""
        lines = self.ledger.lines
        first = np.zeros(self.ledger.n_cells + 1, np.int64)
        wide = len(lines.cell) > np.iinfo(np.int32).max
        order: NDArray[Any] = np.empty(len(lines.cell), np.int64 if wide else np.int32)
        index_by_cell(lines.cell, first, order)
        return first, order

    def build_index(self) -> None:
        """Build what a walk needs, now rather than at the first question."""
        for quantity in ("value", "visits", "earnings"):
            self._peak(quantity, None)
        _ = self._index

    def _peak(self, quantity: str, discount: float | None) -> float:
        """The largest |value|, sum of visits or sum of |earnings| that ever stood in a cell."""
        if (quantity, discount) not in self._peaks:
            lines = self.lines_at(discount)
            amount = {"value": lines.reward, "visits": np.ones(1), "earnings": np.abs(lines.reward)}[quantity]
            tables = (
                self.ledger.initial_tables().reshape(-1, 1)
                if quantity == "value"
                else np.zeros((self.ledger.n_cells, 1))
            )
            start = float(np.abs(tables).max())
            self._peaks[quantity, discount] = max(start, fold(lines, amount, tables, np.zeros(1), np.empty(0)))
        return self._peaks[quantity, discount]
