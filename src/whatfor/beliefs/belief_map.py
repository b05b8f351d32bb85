"""BeliefMap: belief maps learned alongside the values, as in the paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.beliefs.protocol import Beliefs, checked_pair, sizes_of
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.kernels.forwards import fold
from whatfor.labels import Labels
from whatfor.ledger import Ledger
from whatfor.text import count

#: Larger maps are refused; the error points to ``Audit``, which needs no dense maps.
MAX_MAP_BYTES = 8 << 30


class BeliefMap(Beliefs):
    """Dense maps of visits and earnings for every state and action.

    Pass it to ``train(..., listeners=[beliefs])``, or build it from a ledger. ``initial_visits``, zero by default, is a
    number or an array that broadcasts to (S*A, S*A). Random initial visits do not match the values; updates replace them.

    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9)
    >>> beliefs = BeliefMap.from_ledger(ledger)
    >>> beliefs.visits(0, 0).tolist(), beliefs.value(0, 0)
    ([[0.5], [0.0]], 0.5)
    """

    def __init__(self, labels: Labels, *, initial_visits: ArrayLike | None = None) -> None:
        self.labels = labels
        self.initial_visits = initial_visits
        self._maps: tuple[_Tables, ...] = ()
        self._n_tables = 1
        self._discounted = False  # whether any of those updates has a discount below 1
        self._n_read = 0  # updates of the ledger that the maps contain

    @classmethod
    def from_ledger(cls, ledger: Ledger, *, initial_visits: ArrayLike | None = None) -> BeliefMap:
        """The maps that a ledger's updates give."""
        beliefs = cls(Labels.plain(ledger.n_states, ledger.n_actions), initial_visits=initial_visits)
        beliefs(ledger, 0)
        return beliefs

    def _about(self) -> str:
        return f"{sizes_of(self.labels)}, {count(self._n_read, 'update')}"

    def __call__(self, ledger: Ledger, first: int) -> None:
        """Apply the ledger's updates that the maps do not contain yet, also those before ``first``."""
        if not self._maps:
            self._maps = self._begin(ledger)
        self._check_shape(ledger)
        if self._n_read > len(ledger):
            raise ValueError(
                f"this map contains {self._n_read} updates and the ledger has {len(ledger)}: it belongs to another ledger"
            )
        lines = ledger.lines_from(self._n_read)
        self._n_read = len(ledger)
        self._discounted |= bool(np.any(lines.discount < 1.0))
        visits, earnings, values, initial = self._maps
        for map_, amount in (
            (visits, np.ones(1)),
            (earnings, lines.reward),
            (values, lines.reward),
            (initial, np.zeros(1)),
        ):
            fold(lines, amount, map_.tables, map_.previous, np.empty(0))

    def row(self, at: Situation, action: int) -> Row:
        """The row of a pair in the maps."""
        visits = self.visits(at.index, action)
        return Row(
            visits=visits,
            earnings=self.earnings(at.index, action),
            value=self.value(at.index, action),
            initial=self.initial_share(at.index, action),
            now=min(1.0, float(visits[at.index, action])),
            discounted=self._discounted,
        )

    def visits(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) Expected visits, discounted as learned: the paper's belief map."""
        return self._row(0, state, action)

    def earnings(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) Where the value is expected to be earned."""
        return self._row(1, state, action)

    def value(self, state: int | Situation, action: int) -> float:
        """The value that the updates give, with its initial share."""
        return float(self._row(2, state, action)[0, 0])

    def initial_share(self, state: int, action: int) -> float:
        """The part of the value that still comes from initial values."""
        return float(self._row(3, state, action)[0, 0])

    def _begin(self, ledger: Ledger) -> tuple[_Tables, ...]:
        self._n_tables = ledger.n_tables
        self._check_shape(ledger)
        pairs = ledger.n_states * ledger.n_actions
        needed = 2 * 8 * ledger.n_cells * pairs
        if needed > MAX_MAP_BYTES:
            raise ValueError(
                f"dense maps of {pairs} pairs need {needed / 2**30:,.0f} GiB; use Audit(ledger), which computes rows on demand"
            )
        visits = np.zeros((ledger.n_cells, pairs))
        if self.initial_visits is not None:
            visits.reshape(ledger.n_tables, pairs, pairs)[:] = np.asarray(self.initial_visits, dtype=np.float64)
        values, initial = ledger.initial_tables().reshape(-1, 1), ledger.initial_tables().reshape(-1, 1)
        return _Tables(visits), _Tables(np.zeros((ledger.n_cells, pairs))), _Tables(values), _Tables(initial)

    def _check_shape(self, ledger: Ledger) -> None:
        """Raise ``ValueError`` unless a ledger has the shape of the maps."""
        if (ledger.n_states, ledger.n_actions) != (self.labels.n_states, self.labels.n_actions):
            raise ValueError(
                f"the ledger has {ledger.n_states} states and {ledger.n_actions} actions, the labels {self.labels.n_states} and {self.labels.n_actions}"
            )
        if ledger.n_tables != self._n_tables:
            raise ValueError(f"the ledger has {ledger.n_tables} tables, this map has {self._n_tables}")

    def _row(self, which: int, state: int | Situation, action: int) -> NDArray[np.float64]:
        labels = self.labels
        index, action = checked_pair(state, action, labels.n_states, labels.n_actions)
        shape = (labels.n_states, labels.n_actions) if which < 2 else (1, 1)
        if not self._maps:
            return np.zeros(shape)
        tables = self._maps[which].tables.reshape(self._n_tables, labels.n_states, labels.n_actions, -1)
        row: NDArray[np.float64] = tables[:, index, action].mean(axis=0)
        return row.reshape(shape)


class _Tables:
    """Tables, and the target of the last update: a λ-return may continue in the updates of the next call."""

    def __init__(self, tables: NDArray[np.float64]) -> None:
        self.tables = tables
        self.previous = np.zeros(tables.shape[1])
