"""What the distinct experiences of a ledger imply about one action, whatever the learner made of them."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.exact import ExactBeliefs, ExpectedAmount
from whatfor.beliefs.experience import ExperiencedWorld


class ImpliedNumber(NamedTuple):
    """A number that the experiences imply."""

    number: float
    error: float  # its standard error, by the number of experiences
    untried: float  # visits to pairs that were never tried


class ImpliedFuture:
    """The future of a policy after one action, by the experiences alone.

    Below, ``discount=None`` is the discount of learning, and 1 counts chances.
    """

    def __init__(
        self, world: ExperiencedWorld, policy: NDArray[np.float64], state: int, action: int, discount: float
    ) -> None:
        self.world, self.state, self.action = world, state, action
        self._futures: dict[float | None, ExactBeliefs] = {
            None: world.future(policy, discount),
            1.0: world.future(policy, 1.0),
        }
        self._visits: dict[float | None, NDArray[np.float64] | None] = {}

    def visits(self, discount: float | None = None) -> NDArray[np.float64] | None:
        """(S * A,) Expected visits; None: infinite."""
        if discount not in self._visits:
            future = self._futures[discount]
            finite = future.has_finite_visits(self.state, self.action)
            self._visits[discount] = future.visits(self.state, self.action).ravel() if finite else None
        return self._visits[discount]

    def returns_to(self, pair: int) -> float:
        """Expected visits to a pair from itself on: from anywhere else there are no more; 0 if they are infinite."""
        future, at = self._futures[None], divmod(pair, self._futures[None].policy.shape[1])
        return float(future.visits(*at)[at]) if future.has_finite_visits(*at) else 0.0

    @cached_property
    def values(self) -> ExpectedAmount:
        """The values of the policy; the variance of one step is estimated, and pairs with few experiences borrow from all."""
        expected = self._futures[None].expected(self.world.table.reward)
        return expected._replace(variance=self._spread(expected.variance))

    @cached_property
    def experiences(self) -> float | None:
        """Distinct experiences of the pairs that follow: the harmonic mean over visits of tried pairs; None: not finite."""
        visits, counts = self.visits(), self.world.counts
        if visits is None:
            return None
        tried = (counts > 0) & (visits > 0.0)
        return float(visits[tried].sum() / (visits[tried] / counts[tried]).sum()) if tried.any() else 0.0

    @cached_property
    def deviation(self) -> float:
        """The largest standard deviation of a step that follows, by the chance that it does."""
        visits = self.visits()
        if visits is None:
            return 0.0
        deviation = np.sqrt(self._futures[None].expected(self.world.table.reward).variance.ravel())
        return float((np.minimum(visits, 1.0) * deviation).max())

    def number(
        self, amount: NDArray[np.float64], discount: float | None, variance: NDArray[np.float64] | None
    ) -> ImpliedNumber | None:
        """The expected sum if each entry of the experienced world adds ``amount``; None: not finite.

        ``variance``: (S, A) of one step, where it is known.
        """
        visits, counts = self.visits(discount), self.world.counts
        if visits is None:
            return None
        expected = self._futures[discount].expected(amount)
        spread = (self._spread(expected.variance) if variance is None else variance).ravel()
        tried = counts > 0
        return ImpliedNumber(
            float(expected.mean[self.state, self.action]),
            float(np.sqrt((visits[tried] ** 2 * spread[tried] / counts[tried]).sum())),
            float(visits[~tried].sum()),
        )

    def _spread(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        counts = self.world.counts.reshape(variance.shape)
        pooled = float((counts * variance).sum() / max(np.maximum(counts - 1.0, 0.0).sum(), 1.0))
        spread: NDArray[np.float64] = (counts * variance + pooled) / np.maximum(counts, 1.0)
        return spread
