"""Errors of a belief: noise and its standard error, from the experiences it averages, and the part of it from off-policy targets.

For any table T and the weights m of an asked value B, B equals T at the asked pair plus the sum of m times the
one-step errors c + g T(next) - T(own). If T holds the true values of a policy, these errors are noise around 0,
except in updates that bootstrapped from an action the policy does not take: these are its off-policy targets.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NO_BOOTSTRAP
from whatfor.ledger import Ledger

#: A smaller share of what is summed up is rounding.
ROUNDING = 1e-11


def ahead(
    ledger: Ledger, used: NDArray[np.int64], table: NDArray[np.float64], discount: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For the updates ``used``: discount, and the bootstrap of their targets in ``table`` (cells,)."""
    lines = ledger.lines
    source, lambda_ = lines.source[used], _of(lines.lambda_, used)
    g = np.where(source >= NO_BOOTSTRAP, _of(lines.discount, used) if discount is None else discount, 0.0)
    found = np.where(source >= 0, table[np.maximum(source, 0)], 0.0)
    return g, found if not lambda_.any() else (1.0 - lambda_) * found + lambda_ * table[lines.cell[used - 1]]


def led_to(ledger: Ledger, used: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cell that each of some updates led to; without a bootstrap, the one of the update before."""
    source = ledger.lines.source[used]
    return np.where(source >= 0, source, ledger.lines.cell[used - 1]).astype(np.int64)


def _of(column: NDArray[np.float64], used: NDArray[np.int64]) -> NDArray[np.float64]:
    """The entries of some updates; one for all while it is constant."""
    return column if len(column) == 1 else column[used]


def sampling_error(
    ledger: Ledger,
    used: NDArray[np.int64],  # the updates that carry weight, in order
    weights: NDArray[np.float64],  # their weights
    amount: NDArray[np.float64],  # what each of them adds: its reward, or 1 for visits
    table: NDArray[np.float64],  # (cells,) the values that the amounts give
    discount: float | None = None,
) -> tuple[float, float]:
    """The standard error implied by the spread of the experiences, and its degrees of freedom.

    Errors are summed by the episode of the experience: an experience that is replayed often is still one experience,
    and the steps of an episode that is learned from as a whole are not independent.
    """
    g, found = ahead(ledger, used, table, discount)
    errors = weights * (amount + g * found - table[ledger.lines.cell[used]])
    together = by_episode(ledger, used, errors)
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
    return _effective_count(by_episode(ledger, used, weights))


def _effective_count(weights: NDArray[np.float64]) -> float:
    return float(weights.sum() ** 2 / (weights @ weights)) if weights.any() else 0.0


def by_episode(ledger: Ledger, used: NDArray[np.int64], amount: NDArray[np.float64]) -> NDArray[np.float64]:
    """What some updates, in their order, amount to, summed by the episode of the experience."""
    if ledger.order == "replayed":
        return summed_by(ledger.episodes_and_steps(used)[0], amount)
    first = np.searchsorted(used, ledger.episode_starts)  # far fewer searches than one for each update
    first = first[np.diff(first, append=len(used)) > 0]
    return np.add.reduceat(amount, first) if len(first) else np.zeros(0)


def summed_by(groups: NDArray[np.int64], amount: NDArray[np.float64]) -> NDArray[np.float64]:
    """Amounts summed by group, with 0 for the numbers between groups; the order of the groups has no meaning."""
    return np.bincount(groups - groups.min(initial=0), weights=amount).astype(np.float64)


class OneStepErrors:
    """The weighted one-step errors of a belief in any table.

    The weights are summed by cell once, so that each further table takes no pass over the updates.
    """

    def __init__(
        self,
        ledger: Ledger,
        used: NDArray[np.int64],  # the updates that carry weight
        weights: NDArray[np.float64],  # their weights
        policy: NDArray[np.float64],  # (S, A) chances
        discount: float | None = None,
    ) -> None:
        self.ledger, self.used, self.weights, self.policy = ledger, used, weights, policy
        lines, cells = ledger.lines, ledger.n_cells
        source, before, to = lines.source[used], lines.cell[used - 1], led_to(ledger, used)
        lambda_ = _of(lines.lambda_, used)
        onward = weights * ahead(ledger, used, np.zeros(cells), discount)[0]
        direct = np.where(source >= 0, onward * (1.0 - lambda_), 0.0)
        #: (cells,) The weight on the pairs that were updated, and that on the pairs whose numbers they bootstrapped from.
        self.own = np.bincount(lines.cell[used], weights=weights, minlength=cells)
        self.bootstrapped = np.bincount(np.maximum(source, 0), weights=direct, minlength=cells)
        if lambda_.any():
            self.bootstrapped += np.bincount(before, weights=onward * lambda_, minlength=cells)
        #: (tables * S,) The weight on the states that they led to.
        self.onward = np.bincount(to // ledger.n_actions, weights=onward, minlength=cells // ledger.n_actions)

    def noise(self, amount: NDArray[np.float64], table: NDArray[np.float64]) -> float:
        """The part of the belief that is chance: the errors as if every update had bootstrapped from the policy.

        ``amount``: what each update adds. ``table``: (cells,) the true numbers of the policy. With the off-policy and the initial part
        it sums to the belief less the true number.
        """
        return float(self.weights @ amount + self.onward @ self._by_state(table) - self.own @ table)

    def off_policy(self, table: NDArray[np.float64]) -> float:
        """The part of the belief that was bootstrapped from actions that the policy does not take; ``table``: (cells,)."""
        part = float(self.bootstrapped @ table - self.onward @ self._by_state(table))
        return part if abs(part) > ROUNDING * float(self.bootstrapped @ np.abs(table)) else 0.0

    @cached_property
    def by_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(S * A,) Of the experiences of each pair: the sum of their squared weights, and the largest weight."""
        combined, which = by_experience(self.ledger, self.used, self.weights)
        pairs = self.ledger.lines.cell[self.used[which]] % self.policy.size
        largest = np.zeros(self.policy.size)
        np.maximum.at(largest, pairs, combined)
        squares = np.bincount(pairs, weights=combined**2, minlength=self.policy.size)
        return squares.astype(np.float64), largest

    def _by_state(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """(tables * S,) The numbers of the states under the policy."""
        by_table = table.reshape(self.ledger.n_tables, *self.policy.shape)
        by_state: NDArray[np.float64] = (by_table * self.policy).sum(axis=2).ravel()
        return by_state
