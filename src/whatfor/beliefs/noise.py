"""Errors of a belief: noise and its standard error, from the experiences it averages, and its lag behind the policy.

For any table T and the weights m of an asked value B, B equals T at the asked pair plus the sum of m times the
one-step errors c + g T(next) - T(own). If T holds the true values of a policy, these errors are noise around 0,
except in updates that bootstrapped from an action the policy does not take: that part is the lag.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NO_BOOTSTRAP
from whatfor.ledger import Ledger


def ahead(
    ledger: Ledger, used: NDArray[np.int64], table: NDArray[np.float64], discount: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """For the updates ``used``: discount, the bootstrap of their targets in ``table`` (cells,), and the cell they led to."""
    lines = ledger.lines
    g, lambda_ = (np.broadcast_to(column, len(ledger))[used] for column in (lines.discount, lines.lambda_))
    source, before = lines.source[used], lines.cell[used - 1]
    g = np.where(source >= NO_BOOTSTRAP, g if discount is None else discount, 0.0)
    to = np.where(source >= 0, source, before).astype(np.int64)
    found = (1.0 - lambda_) * np.where(source >= 0, table[np.maximum(source, 0)], 0.0) + lambda_ * table[before]
    return g, found, to


def sampling_error(
    ledger: Ledger,
    used: NDArray[np.int64],  # the updates that carry weight
    weights: NDArray[np.float64],  # their weights
    amount: NDArray[np.float64],  # what each of them adds: its reward, or 1 for visits
    table: NDArray[np.float64],  # (cells,) the values that the amounts give
    discount: float | None = None,
) -> tuple[float, float]:
    """The standard error implied by the spread of the experiences, and its degrees of freedom.

    Errors are summed by the episode of the experience: an experience that is replayed often is still one experience,
    and the steps of an episode that is learned from as a whole are not independent.
    """
    g, found, _ = ahead(ledger, used, table, discount)
    errors = weights * (amount + g * found - table[ledger.lines.cell[used]])
    together = summed_by(ledger.episodes_and_steps(used)[0], errors)
    largest = float(np.abs(together).max(initial=0.0))
    if largest == 0.0:
        return 0.0, 0.0
    squares = (together / largest) ** 2  # of size 1, so that nothing underflows
    return largest * float(np.sqrt(squares.sum())), float(squares.sum() ** 2 / (squares**2).sum())


def effective(ledger: Ledger, used: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """The effective number of experiences, (sum of weights)^2 / sum of squared weights."""
    return _effective_count(by_experience(ledger, used, weights)[0])


def by_experience(
    ledger: Ledger, used: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Weights summed by experience, and for each an update that learned from it, as an index into ``used``."""
    if ledger.order != "replayed":
        return weights, np.arange(len(used))
    _, first, own = np.unique(ledger.origins_of(used), return_index=True, return_inverse=True)
    return np.bincount(own, weights=weights).astype(np.float64), first


def effective_episodes(ledger: Ledger, used: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """The effective number of episodes, as ``effective``."""
    return _effective_count(summed_by(ledger.episodes_and_steps(used)[0], weights))


def _effective_count(weights: NDArray[np.float64]) -> float:
    return float(weights.sum() ** 2 / (weights @ weights)) if weights.any() else 0.0


def summed_by(groups: NDArray[np.int64], amount: NDArray[np.float64]) -> NDArray[np.float64]:
    """Amounts summed by group; the order of the groups has no meaning."""
    _, own = np.unique(groups, return_inverse=True)
    return np.bincount(own, weights=amount).astype(np.float64)


def noise(
    ledger: Ledger,
    used: NDArray[np.int64],
    weights: NDArray[np.float64],
    amount: NDArray[np.float64],  # what each of these updates adds
    table: NDArray[np.float64],  # (cells,) the true numbers of ``policy``
    policy: NDArray[np.float64],  # (S, A) chances
    discount: float | None = None,
) -> float:
    """The part of a belief that is chance: weighted one-step errors, as if every update had bootstrapped from ``policy``.

    With the lag and the initial part it sums to the belief less the true number.
    """
    g, _, to = ahead(ledger, used, table, discount)
    own = table[ledger.lines.cell[used]]
    return float(weights @ (amount + g * _by_state(ledger, table, policy)[to // ledger.n_actions] - own))


def lag(
    ledger: Ledger,
    used: NDArray[np.int64],
    weights: NDArray[np.float64],
    table: NDArray[np.float64],  # (cells,)
    policy: NDArray[np.float64],  # (S, A) chances
    discount: float | None = None,
) -> float:
    """The part of a belief that was bootstrapped from actions that ``policy`` does not take."""
    g, found, to = ahead(ledger, used, table, discount)
    return float((weights * g) @ (found - _by_state(ledger, table, policy)[to // ledger.n_actions]))


def _by_state(ledger: Ledger, table: NDArray[np.float64], policy: NDArray[np.float64]) -> NDArray[np.float64]:
    """(tables * S,) The numbers of the states under a policy."""
    by_state: NDArray[np.float64] = (table.reshape(ledger.n_tables, *policy.shape) * policy).sum(axis=2).ravel()
    return by_state
