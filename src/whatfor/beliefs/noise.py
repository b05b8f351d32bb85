"""How far a belief may be off: the noise of the experiences it averages, and what lags behind the policy.

For any table T and the weights m of an asked value B, B is T at the asked pair plus the sum of m times the
one-step errors c + g T(next) - T(own). Where T is what a policy really leads to, these errors are noise
around 0, except where the update looked ahead along an action that the policy does not take: that part lags.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NO_BOOTSTRAP
from whatfor.ledger import Ledger


def ahead(
    ledger: Ledger, used: NDArray[np.int64], table: NDArray[np.float64], discount: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """For the lines ``used``: discount, what their targets found ahead in ``table`` (cells,), and the cell they led to."""
    lines = ledger.lines
    g, lambda_ = (np.broadcast_to(column, len(ledger))[used] for column in (lines.discount, lines.lambda_))
    source, before = lines.source[used], lines.cell[used - 1]
    g = np.where(source >= NO_BOOTSTRAP, g if discount is None else discount, 0.0)
    to = np.where(source >= 0, source, before).astype(np.int64)
    found = (1.0 - lambda_) * np.where(source >= 0, table[np.maximum(source, 0)], 0.0) + lambda_ * table[before]
    return g, found, to


def sampling_error(
    ledger: Ledger,
    used: NDArray[np.int64],  # the lines that carry weight
    weights: NDArray[np.float64],  # their weights
    amount: NDArray[np.float64],  # (n,) what the lines add up
    table: NDArray[np.float64],  # (cells,) what they have added up to
    discount: float | None = None,
) -> tuple[float, float]:
    """The standard error that the spread of the experiences implies, and the degrees of freedom it was estimated with.

    Errors are added up by the episode in which an experience was made: one replayed often is still one experience,
    and the steps of an episode that is learned from as a whole say one thing together.
    """
    g, found, _ = ahead(ledger, used, table, discount)
    errors = weights * (amount[used] + g * found - table[ledger.lines.cell[used]])
    together = summed_by(ledger.episodes_and_steps(used)[0], errors)
    largest = float(np.abs(together).max(initial=0.0))
    if largest == 0.0:
        return 0.0, 0.0
    squares = (together / largest) ** 2  # of size 1, so that nothing underflows
    return largest * float(np.sqrt(squares.sum())), float(squares.sum() ** 2 / (squares**2).sum())


def effective(ledger: Ledger, used: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """So many equally weighted experiences would be as many: (sum of weights)^2 / sum of squares."""
    return _as_many(by_experience(ledger, used, weights)[0])


def by_experience(
    ledger: Ledger, used: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Weights added up by experience, and for each a line (counted in ``used``) that learned from it."""
    if ledger.order != "replayed":
        return weights, np.arange(len(used))
    _, first, own = np.unique(ledger.origins_of(used), return_index=True, return_inverse=True)
    return np.bincount(own, weights=weights).astype(np.float64), first


def effective_episodes(ledger: Ledger, used: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """As ``effective``, counting episodes."""
    return _as_many(summed_by(ledger.episodes_and_steps(used)[0], weights))


def _as_many(weights: NDArray[np.float64]) -> float:
    return float(weights.sum() ** 2 / (weights @ weights)) if weights.any() else 0.0


def summed_by(groups: NDArray[np.int64], amount: NDArray[np.float64]) -> NDArray[np.float64]:
    """Amounts added up by group; in which order the groups come does not matter to anybody."""
    _, own = np.unique(groups, return_inverse=True)
    return np.bincount(own, weights=amount).astype(np.float64)


def lag(
    ledger: Ledger,
    used: NDArray[np.int64],
    weights: NDArray[np.float64],
    table: NDArray[np.float64],  # (cells,)
    policy: NDArray[np.float64],  # (S, A) chances
    discount: float | None = None,
) -> float:
    """The part of a belief that comes of looking ahead along actions which ``policy`` does not take."""
    g, found, to = ahead(ledger, used, table, discount)
    by_state = (table.reshape(ledger.n_tables, *policy.shape) * policy).sum(axis=2).ravel()  # (tables * S,)
    return float((weights * g) @ (found - by_state[to // ledger.n_actions]))
