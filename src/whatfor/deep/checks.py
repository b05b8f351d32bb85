"""Check a belief network against held-out play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.checked import Checked
from whatfor.deep.held_out import HeldOut, distances

if TYPE_CHECKING:
    from whatfor.deep.belief import BeliefNetwork

#: The number of situations that say how far visits are off near an observation.
NEIGHBOURS = 10
#: Random draws of episodes behind an interval, and its ends.
DRAWS, ENDS = 1_000, (0.05, 0.95)


class Checks(NamedTuple):
    """How far a belief is from held-out play, and where."""

    checked: Checked
    observations: NDArray[Any]  # (n, ...)
    errors: NDArray[np.float64]  # (n,) of the visits in each of them

    def near(self, observation: NDArray[Any]) -> float:
        """The mean error in the situations that are most like an observation."""
        flat = self.observations.reshape(len(self.errors), -1).astype(np.float64)
        spread = np.maximum(flat.std(axis=0), 1e-12)
        apart = (((flat - np.ravel(observation)) / spread) ** 2).sum(axis=1)
        return float(self.errors[np.argsort(apart, kind="stable")[:NEIGHBOURS]].mean())


def check(belief: BeliefNetwork, own: HeldOut, other: HeldOut, seed: int) -> Checks | None:
    """How far a belief is from held-out play after the policy's own action, and after others; None: nothing was held out."""
    if not len(own):
        return None
    apart, totals, believed, lengths = [], [], np.zeros(own.visits.shape[1]), []
    for at, visits, earnings in own.rows(belief):
        apart.append(distances(visits, own.visits[at]))
        totals.append(earnings.sum(axis=1))
        lengths.append(visits.sum(axis=1))
        believed += visits.sum(axis=0)
    off, total, length = np.concatenate(apart), np.concatenate(totals), np.concatenate(lengths)
    actual = own.visits.sum(axis=1)
    q = np.asarray(belief.q_values(own.observations), np.float64)[np.arange(len(own)), own.actions]
    low, high = _interval(off, own.episode, seed)
    checked = Checked(
        situations=len(own),
        episodes=len(np.unique(own.episode)),
        visits=float(off.mean()),
        visits_low=low,
        visits_high=high,
        averaged=float(np.abs(believed - own.visits.sum(axis=0)).sum() / actual.sum()),
        length=float((np.abs(length - actual) / actual).mean()),
        endings=_endings_off(belief, own),
        other=other.error(belief) if len(other) else None,
        noise=None,
        q=float(q.mean()),
        total=float(total.mean()),
        played=float(own.returns.mean()),
        q_off=float(np.abs(q - own.returns).mean()),
        total_off=float(np.abs(total - own.returns).mean()),
        spread=max(float(np.ptp(own.returns)), float(np.abs(own.returns).mean())),
    )
    return Checks(checked, own.observations, off)


def _interval(off: NDArray[np.float64], episode: NDArray[np.int64], seed: int) -> tuple[float, float]:
    """A 90 % interval of the mean: whole episodes are drawn, since their situations are alike."""
    _, group = np.unique(episode, return_inverse=True)
    sums, sizes = np.bincount(group, off), np.bincount(group)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(sums), size=(DRAWS, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, ENDS)
    return float(low), float(high)


def _endings_off(belief: BeliefNetwork, own: HeldOut) -> float | None:
    """The largest difference between the mean chance of an ending and its share of the situations whose ending was played."""
    ended = own.endings >= 0
    if not ended.any():
        return None
    chances = belief.endings(own.observations[ended], own.actions[ended]).mean(axis=0)
    shares = np.bincount(own.endings[ended], minlength=len(chances)) / ended.sum()
    return float(np.abs(chances - shares)[:-1].max())  # the last is an unknown ending
