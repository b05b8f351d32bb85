"""What sources tell of a future besides its row: by the number of steps ahead, what is reached first, and single rewards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Returns that differ by less than this share are the same up to rounding.
SAME = 1e-12


class Depths(NamedTuple):
    """Expected visits by the number of steps ahead."""

    visits: NDArray[np.float64]  # (horizon, S, A)
    remainder: NDArray[np.float64]  # (S, A) beyond the horizon
    unaccounted: float  # the largest difference between their sum and the visits, which are computed without them
    discounted: bool  # whether the discount of these visits is below 1
    certain: NDArray[np.float64] | None = (
        None  # (horizon,) of rollouts: what a visit in all of them counts at each step
    )

    @property
    def total(self) -> float:
        """All visits."""
        return float(self.visits.sum() + self.remainder.sum())


class Arrivals(NamedTuple):
    """What is reached first: the probabilities sum to 1. The asked step itself does not count."""

    concepts: NDArray[np.float64]  # (K,) that each concept is the first to be reached
    endings: dict[str, float]  # of every ending before any concept is reached
    never: float  # to go on without either
    unknown: float  # the weight on initial values; of rollouts, of those that were still going
    visits: NDArray[np.float64]  # (K,) expected visits to the states of each concept, discounted as learned
    earnings: NDArray[np.float64]  # (K,) expected to be earned in them, discounted as learned
    discounted: bool  # whether any discount is below 1


class Payments(NamedTuple):
    """The rewards that a value consists of: weights times rewards and the initial share sum to it."""

    pair: NDArray[np.integer]  # (n,) state * A + action
    reward: NDArray[np.float64]  # (n,)
    weight: NDArray[np.float64]  # (n,)
    ending: NDArray[np.integer]  # (n,) the code of the ending of a step that ended the episode; NOT_ENDED: it did not
    endings: tuple[str, ...]  # the names of endings, by the place of their code
    rewards: NDArray[np.float64]  # all distinct rewards that this source knows of
    scale: float  # the sum of |weight * reward|
    discounted: bool  # whether any discount is below 1
    initial: float = 0.0  # the part of the value that still comes from initial values
    terms: dict[str, NDArray[np.float64]] | None = None  # (n,) by name: the recorded terms of the rewards, and the rest
    update: NDArray[np.int64] | None = None  # (n,) the update that each was recorded with; None: there are none
    n_updates: int = 0  # of the ledger
    rollout: NDArray[np.int64] | None = None  # (n,) the rollout of each; None: they are not sampled

    @classmethod
    def of(
        cls,
        pair: NDArray[np.integer],
        reward: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        ending: NDArray[np.integer],
        endings: tuple[str, ...],
        discounted: bool,
        rollout: NDArray[np.int64] | None = None,
    ) -> Payments:
        """The payments of a policy, whose value has no other part."""
        paid = weight > 0.0
        steps = None if rollout is None else rollout[paid]
        scale = float(weight @ np.abs(reward))
        columns = (pair[paid], reward[paid], weight[paid], ending[paid])
        return cls(*columns, endings, np.unique(reward), scale, discounted, rollout=steps)

    @property
    def value(self) -> float:
        """What the rewards sum to, without the initial share."""
        return float(self.weight @ self.reward)

    def error(self, amounts: NDArray[np.float64], n: int | None) -> float | None:
        """The standard error of weights times ``amounts`` over n rollouts; None: they are not sampled, or are one."""
        if self.rollout is None or n is None or n < 2:
            return None
        sums = np.bincount(self.rollout, weights=self.weight * amounts, minlength=n).astype(np.float64) * n
        return standard_error(sums)


def standard_error(returns: NDArray[np.float64]) -> float:
    """The standard error of the mean of at least two returns; exactly 0 where they differ by rounding only.

    >>> standard_error(np.array([1.0, 3.0])), standard_error(np.full(3, 0.1))
    (1.0, 0.0)
    """
    if np.ptp(returns) <= SAME * np.abs(returns).max():
        return 0.0
    return float(returns.std(ddof=1) / np.sqrt(len(returns)))
