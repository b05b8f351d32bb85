"""What one value is made of, read off a ledger: by a scan of all updates, or by a walk along an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.checks import number
from whatfor.kernels.backwards import scan
from whatfor.kernels.forwards import fold
from whatfor.kernels.recursion import LedgerLines
from whatfor.kernels.walk import index_by_cell, lines_before, walk
from whatfor.ledger import Ledger

#: Ledgers shorter than this are scanned: that is as quick as walking, and exact.
SHORT = 200_000
#: So many questions are answered by scanning a long ledger: the index takes longer to build than that.
SCANS_BEFORE_INDEX = 4
#: A walk over more than this share of the updates gives up; a scan is quicker.
WORTHWHILE = 1 / 16
#: After so many walks that gave up, no more are tried.
MAX_LOST = 3
#: So many accounts are computed by one scan: their weights must stay in the cache.
ROWS_PER_SCAN = 64


@dataclass(frozen=True)
class Account:
    """What one value is made of, by the ledger: all numbers that the reading of it gives."""

    visits: NDArray[np.float64]  # (S, A)
    earnings: NDArray[np.float64]  # (S, A)
    endings: NDArray[np.float64]  # (endings,) weight of each way to end, as the ledger names them
    left: NDArray[np.float64]  # (tables, S, A) weight still on initial values
    initial_share: float  # the part of the value that is left of those
    scale: float  # sum of |weight * reward|: what rounding is measured against
    dropped: float  # weight that an indexed walk left out; 0 after a scan
    value_error: float  # bounds on what that can have changed: the value,
    visits_error: float  # the sum of visits,
    earnings_error: float  # the sum of |earnings|
    updates_read: int
    tries: int  # how often the asked pair was updated
    now: float  # the part of its own visits that is the asked step itself; 1 once its initial value is forgotten

    @property
    def total(self) -> float:
        """What the explanation adds up to."""
        return float(self.earnings.sum()) + self.initial_share


class Walked(NamedTuple):
    """An account, and the updates that carry weight in it."""

    account: Account
    used: NDArray[np.int64]
    weights: NDArray[np.float64]


class _Sums(NamedTuple):
    """What a scan or a walk adds up for one value, by cell."""

    visits: NDArray[np.float64]
    earnings: NDArray[np.float64]
    endings: NDArray[np.float64]
    left: NDArray[np.float64]
    scale: float
    read: int
    dropped: float = 0.0


class AccountReader:
    """Reads accounts off one ledger; ``cells`` are the places of a pair in the ledger's tables, one in each."""

    def __init__(self, ledger: Ledger, tolerance: float) -> None:
        self.ledger = ledger
        self.tolerance = tolerance
        self.scans = 0
        self._lost = 0  # walks that had to give up: too many updates carried weight
        self._peaks: dict[tuple[str, float | None], float] = {}

    def lines_at(self, discount: float | None) -> LedgerLines:
        """The ledger's columns, with another discount if one is given."""
        if discount is None:
            return self.ledger.lines
        number("discount", discount, 0, 1)
        return self.ledger.lines._replace(discount=np.array([discount], np.float64))

    def scan(
        self,
        cells: Sequence[NDArray[np.int64]],
        lines: LedgerLines,
        weights: NDArray[np.float64] | None = None,
        n_endings: int | None = None,  # where the lines have more of them than the ledger
    ) -> list[Account]:
        """Accounts of several values by one scan, each exact; ``weights``, (n, values), is filled."""
        rows, n_cells = len(cells), self.ledger.n_cells
        left = np.zeros((n_cells, rows))
        for row, own in enumerate(cells):
            left[own, row] = 1.0 / len(own)
        visits, earnings = np.zeros((n_cells, rows)), np.zeros((n_cells, rows))
        endings = np.zeros((n_endings or len(self.ledger.endings), rows))
        spread = np.zeros(rows)
        weights = np.empty((0, rows)) if weights is None else weights
        scan(lines, left, np.zeros(rows), visits, earnings, endings, weights, spread)
        read = len(self.ledger)
        return [
            self._account(
                own, _Sums(visits[:, i], earnings[:, i], endings[:, i], left[:, i], float(spread[i]), read), None
            )
            for i, own in enumerate(cells)
        ]

    def walk(
        self, cells: NDArray[np.int64], lines: LedgerLines, discount: float | None, *, patient: bool = False
    ) -> Walked | None:
        """The account by a walk along the index; None if too many updates carry weight and it is not ``patient``."""
        n_cells = self.ledger.n_cells
        left, visits, earnings = np.zeros(n_cells), np.zeros(n_cells), np.zeros(n_cells)
        endings, place = np.zeros(len(self.ledger.endings)), np.zeros(n_cells, np.int64)
        left[cells] = 1.0 / len(cells)
        limit = len(self.ledger) if patient else int(len(self.ledger) * WORTHWHILE)
        used, weights = np.empty(limit + 1, np.int64), np.empty(limit + 1)
        first, order = self.index
        dropped, spread, read = walk(
            lines, first, order, cells, left, place, visits, earnings, endings, used, weights, self.tolerance, limit
        )
        if read > limit:
            self._lost += 1
            return None
        account = self._account(cells, _Sums(visits, earnings, endings, left, spread, read, dropped), discount)
        return Walked(account, used[:read], weights[:read])

    @property
    def worth_walking(self) -> bool:
        """Whether a walk is likely to be quicker than a scan."""
        indexed = self.indexed or self.scans >= SCANS_BEFORE_INDEX
        return indexed and self._lost < MAX_LOST and len(self.ledger) > SHORT

    def _account(self, cells: NDArray[np.int64], sums: _Sums, discount: float | None) -> Account:
        ledger = self.ledger
        shape = (ledger.n_tables, ledger.n_states, ledger.n_actions)
        weight = sums.left.reshape(shape)
        own = [self._updates_of(int(cell)) for cell in cells]
        error = [
            sums.dropped * self._peak(name, discount) if sums.dropped else 0.0
            for name in ("value", "visits", "earnings")
        ]
        return Account(
            visits=sums.visits.reshape(shape).sum(axis=0),
            earnings=sums.earnings.reshape(shape).sum(axis=0),
            endings=sums.endings,
            left=weight,
            initial_share=0.0 if ledger.initial is None else float((weight * ledger.initial).sum()),
            scale=sums.scale,
            dropped=sums.dropped,
            value_error=error[0],
            visits_error=error[1],
            earnings_error=error[2],
            updates_read=sums.read,
            tries=sum(tries for tries, _ in own),
            now=1.0 - sum(share for _, share in own) / len(own),
        )

    def _updates_of(self, cell: int) -> tuple[int, float]:
        """How often a cell was updated, and the share of its initial value that its updates left."""
        lines, n = self.ledger.lines, len(self.ledger)
        if self.indexed:
            first, order = self.index
            own = order[first[cell] : lines_before(n, cell, first, order)]
        else:
            own = np.flatnonzero(lines.cell == cell)
        steps = lines.step_size if len(lines.step_size) == 1 else lines.step_size[own]
        return len(own), float((1.0 - steps[0]) ** len(own)) if len(steps) == 1 else float(np.prod(1.0 - steps))

    # -- what a walk needs -----------------------------------------------------------------

    @cached_property
    def index(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The updates of each cell: where they start, and which they are."""
        lines = self.ledger.lines
        first = np.zeros(self.ledger.n_cells + 1, np.int64)
        wide = len(lines.cell) > np.iinfo(np.int32).max
        order: NDArray[Any] = np.empty(len(lines.cell), np.int64 if wide else np.int32)
        index_by_cell(lines.cell, first, order)
        return first, order

    @property
    def indexed(self) -> bool:
        """Whether the index was built."""
        return "index" in self.__dict__

    def share_index(self, earlier: AccountReader) -> None:
        """Give the index to a reader of an earlier point of training; a walk passes over later updates."""
        if self.indexed:
            earlier.__dict__["index"] = self.index

    def build_index(self) -> None:
        """Build what a walk needs, now rather than at the first question."""
        for quantity in ("value", "visits", "earnings"):
            self._peak(quantity, None)
        _ = self.index

    def _peak(self, quantity: str, discount: float | None) -> float:
        """The largest |value|, sum of visits or sum of |earnings| that a cell ever held."""
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
