"""The account of one value: its visits, earnings and endings, computed from a ledger by a full scan or an indexed walk."""

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

#: Shorter ledgers are scanned: a scan is as quick as a walk there, and exact.
MIN_WALK_UPDATES = 200_000
#: Questions answered by scanning a long ledger before its index is built, which takes longer than these scans.
SCANS_BEFORE_INDEX = 4
#: The largest share of the updates that a walk reads before it gives up; beyond it a scan is quicker.
MAX_WALK_SHARE = 1 / 16
#: After this many walks that gave up, only scans are used.
MAX_FAILED_WALKS = 3
#: Accounts computed by one scan; their weights must fit in the processor cache.
ROWS_PER_SCAN = 64


@dataclass(frozen=True)
class Account:
    """One value, decomposed by the ledger's updates."""

    visits: NDArray[np.float64]  # (S, A)
    earnings: NDArray[np.float64]  # (S, A)
    endings: NDArray[np.float64]  # (endings,) weight of each ending, in the order of ``ledger.endings``
    initial_weights: NDArray[np.float64]  # (tables, S, A) weight still on initial values
    initial_share: float  # the part of the value that still comes from initial values
    scale: float  # sum of |weight * reward|: the scale for rounding errors
    dropped: float  # weight that an indexed walk dropped; 0 after a scan
    value_error: float  # bounds on the effect of the dropped weight: on the value,
    visits_error: float  # on the sum of visits,
    earnings_error: float  # on the sum of |earnings|
    updates_read: int
    tries: int  # updates of the asked state-action pair
    now: float  # the weight of the asked step in its own visits: 1 less the weight on its initial value

    @property
    def total(self) -> float:
        """The sum of the earnings and the initial share: the value by this account."""
        return float(self.earnings.sum()) + self.initial_share


class Weighed(NamedTuple):
    """An account, the updates that carry weight in it, in order, and their weights."""

    account: Account
    used: NDArray[np.int64]
    weights: NDArray[np.float64]


class _Sums(NamedTuple):
    """The sums of a scan or a walk for one value, by cell."""

    visits: NDArray[np.float64]
    earnings: NDArray[np.float64]
    endings: NDArray[np.float64]
    left: NDArray[np.float64]
    scale: float
    read: int
    dropped: float = 0.0


class AccountReader:
    """Computes accounts from one ledger; ``cells`` are the indices of a state-action pair, one in each of its tables."""

    def __init__(self, ledger: Ledger, tolerance: float) -> None:
        self.ledger = ledger
        self.tolerance = tolerance
        self.scans = 0
        self._failed_walks = 0  # walks that gave up because too many updates carried weight
        self._peaks: dict[tuple[str, float | None], float] = {}

    def lines_at(self, discount: float | None) -> LedgerLines:
        """The ledger's columns, with ``discount`` in place of the recorded one if it is given."""
        if discount is None:
            return self.ledger.lines
        number("discount", discount, 0, 1)
        return self.ledger.lines._replace(discount=np.array([discount], np.float64))

    def scan(
        self,
        cells: Sequence[NDArray[np.int64]],
        lines: LedgerLines,
        weights: NDArray[np.float64] | None = None,
        n_endings: int | None = None,  # if the lines have more endings than the ledger
    ) -> list[Account]:
        """Exact accounts of several values by one scan; fills ``weights``, (n, values)."""
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
        self, cells: NDArray[np.int64], lines: LedgerLines, discount: float | None, *, give_up: bool = True
    ) -> Weighed | None:
        """The account by a walk along the index; with ``give_up``, None if too many updates carry weight."""
        n_cells = self.ledger.n_cells
        left, visits, earnings = np.zeros(n_cells), np.zeros(n_cells), np.zeros(n_cells)
        endings, place = np.zeros(len(self.ledger.endings)), np.zeros(n_cells, np.int64)
        left[cells] = 1.0 / len(cells)
        limit = int(len(self.ledger) * MAX_WALK_SHARE) if give_up else len(self.ledger)
        used, weights = np.empty(limit + 1, np.int64), np.empty(limit + 1)
        first, order = self.index
        dropped, spread, read = walk(
            lines, first, order, cells, left, place, visits, earnings, endings, used, weights, self.tolerance, limit
        )
        if read > limit:
            self._failed_walks += 1
            return None
        account = self._account(cells, _Sums(visits, earnings, endings, left, spread, read, dropped), discount)
        return Weighed(account, used[:read][::-1], weights[:read][::-1])

    @property
    def walk_is_quicker(self) -> bool:
        """Whether a walk is likely to be quicker than a scan."""
        indexed = self.indexed or self.scans >= SCANS_BEFORE_INDEX
        return indexed and self._failed_walks < MAX_FAILED_WALKS and len(self.ledger) > MIN_WALK_UPDATES

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
            initial_weights=weight,
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
        """The number of updates of a cell, and the weight that they leave on its initial value."""
        lines, n = self.ledger.lines, len(self.ledger)
        if self.indexed:
            first, order = self.index
            own = order[first[cell] : lines_before(n, cell, first, order)]
        else:
            own = np.flatnonzero(lines.cell == cell)
        steps = lines.step_size if len(lines.step_size) == 1 else lines.step_size[own]
        if len(lines.step_size) == 1:
            return len(own) if steps[0] else 0, float((1.0 - steps[0]) ** len(own))
        return int(np.count_nonzero(steps)), float(np.prod(1.0 - steps))

    # -- the index of a walk ---------------------------------------------------------------

    @cached_property
    def index(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The updates by cell: where those of each cell start in the order, and the order."""
        lines = self.ledger.lines
        first = np.zeros(self.ledger.n_cells + 1, np.int64)
        wide = len(lines.cell) > np.iinfo(np.int32).max
        order: NDArray[Any] = np.empty(len(lines.cell), np.int64 if wide else np.int32)
        index_by_cell(lines.cell, first, order)
        return first, order

    @property
    def indexed(self) -> bool:
        """Whether the index has been built."""
        return "index" in self.__dict__

    def share_index(self, earlier: AccountReader) -> None:
        """Share the index with a reader of an earlier point of training; a walk skips later updates."""
        if self.indexed:
            earlier.__dict__["index"] = self.index

    def build_index(self) -> None:
        """Build the index now instead of at the first question that needs it."""
        for quantity in ("value", "visits", "earnings"):
            self._peak(quantity, None)
        _ = self.index

    def _peak(self, quantity: str, discount: float | None) -> float:
        """The largest |value|, sum of visits or sum of |earnings| of any cell at any time."""
        if (quantity, discount) not in self._peaks:
            lines = self.lines_at(discount)
            amount = {"value": lines.reward, "visits": np.ones(1), "earnings": np.abs(lines.reward)}[quantity]
            tables = (
                self.ledger.initial_tables().reshape(-1, 1)
                if quantity == "value"
                else np.zeros((self.ledger.n_cells, 1))
            )
            initial = float(np.abs(tables).max())
            self._peaks[quantity, discount] = max(initial, fold(lines, amount, tables, np.zeros(1), np.empty(0)))
        return self._peaks[quantity, discount]
