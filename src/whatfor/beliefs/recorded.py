"""Futures from the updates of a ledger: by the number of steps ahead, what is reached first, and single rewards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.futures import Arrivals, Depths, Payments
from whatfor.beliefs.situation import Situation
from whatfor.checks import whole
from whatfor.concepts import Concept
from whatfor.kernels.backwards import scan_by_depth
from whatfor.kernels.recursion import NOT_ENDED, TIMED_OUT, LedgerLines
from whatfor.ledger import Ledger
from whatfor.ledger.parts import reward_parts
from whatfor.limits import check_limit

if TYPE_CHECKING:
    from whatfor.beliefs.audit import Audit


def recorded_depths(audit: Audit, at: Situation, action: int, horizon: int, discount: float | None) -> Depths:
    """Weights separated by depth."""
    slices = audit.visits_by_depth(at.index, action, horizon, discount=discount)
    whole = audit.account(at, action, discount=discount, method="scan").visits
    discounted = audit.discounted if discount is None else discount < 1.0
    return Depths(slices[:-1], slices[-1], float(np.abs(slices.sum(axis=0) - whole).max()), discounted)


def weights_by_depth(ledger: Ledger, cells: NDArray[np.int64], lines: LedgerLines, horizon: int) -> NDArray[np.float64]:
    """(horizon + 1, S, A) Expected visits after some cells by steps ahead; the last slice sums all later steps."""
    horizon = whole("horizon", horizon, 0)
    check_limit("bytes", 16 * ledger.n_cells * (horizon + 1), f"a horizon of {horizon:,} steps")
    left, visits = np.zeros((ledger.n_cells, horizon + 1)), np.zeros((ledger.n_cells, horizon + 1))
    left[cells, 0] = 1.0 / len(cells)
    reached = np.zeros(ledger.n_cells, np.int64)
    reached[cells] = 1
    scan_by_depth(lines, left, np.zeros(horizon + 1), np.zeros(horizon + 1), reached, visits)
    by_table = visits.reshape(ledger.n_tables, ledger.n_states, ledger.n_actions, horizon + 1)
    return np.moveaxis(by_table.sum(axis=0), -1, 0)


def recorded_arrivals(audit: Audit, at: Situation, action: int, concepts: Sequence[Concept]) -> Arrivals:
    """The undiscounted weight that arrives at a concept is its probability."""
    names = audit.ledger.endings
    endings, never, unknown = audit.ends_with(at, action, concepts)
    row, now = (audit.account(at, action, discount=discount, method="scan") for discount in (None, 0.0))
    visits, earnings = row.visits - now.visits, row.earnings - now.earnings  # without the first step
    return Arrivals(
        endings[len(names) :],
        dict(zip(names, endings[: len(names)].tolist(), strict=True)),
        never,
        unknown,
        visits=np.array([max(0.0, visits[concept.states].sum()) for concept in concepts]),
        earnings=np.array([earnings[concept.states].sum() for concept in concepts]),
        discounted=audit.discounted,
    )


def recorded_payments(audit: Audit, at: Situation, action: int) -> Payments:
    """The rewards of all updates that carry weight."""
    (account, weights), ledger = audit.weighed(at.index, action), audit.ledger
    lines, used = ledger.lines, np.flatnonzero(weights)
    source, terms = lines.source[used], reward_parts(ledger)
    return Payments(
        lines.cell[used] % (ledger.n_states * ledger.n_actions),
        lines.reward[used],
        weights[used],
        np.where(source <= TIMED_OUT, source, NOT_ENDED),
        tuple(ledger.endings),
        np.unique(lines.reward),
        account.scale,
        audit.discounted,
        initial=account.initial_share,
        terms={name: amounts[used] for name, amounts in terms.items()} or None,
        update=used,
        n_updates=len(lines.cell),
    )
