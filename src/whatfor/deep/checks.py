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
    each = own.each
    found = _compare(belief, each)
    mean = found if each is own else _compare(belief, own)
    actual = own.visits.sum(axis=0)
    q = np.asarray(belief.q_values(each.observations), np.float64)[np.arange(len(each)), each.actions]
    noise, returns_noise = each.noise.T
    low, high = _interval(found.off, noise, each.episode, seed)
    checked = Checked(
        situations=len(each),
        episodes=len(np.unique(each.episode)),
        visits=_without_noise(found.off.mean(), noise.mean()),
        visits_low=low,
        visits_high=high,
        averaged=float(np.abs(mean.visits - actual).sum() / actual.sum()),
        length=float((np.abs(found.length - each.visits.sum(axis=1)) / each.visits.sum(axis=1)).mean()),
        endings=_endings_off(belief, own),
        other=_without_noise(other.each.distances(belief).mean(), other.each.noise[:, 0].mean())
        if len(other)
        else None,
        noise=float(noise.mean()) if own.measured or each.measured else None,
        cut=own.cut,
        q=float(q.mean()),
        total=float(found.total.mean()),
        played=float(each.returns.mean()),
        q_off=_without_noise(np.abs(q - each.returns).mean(), returns_noise.mean()),
        total_off=_without_noise(np.abs(found.total - each.returns).mean(), returns_noise.mean()),
        spread=max(float(np.ptp(own.returns)), float(np.abs(own.returns).mean())),
    )
    return Checks(checked, each.observations, np.sqrt(np.maximum(found.off**2 - noise**2, 0.0)))


class _Compared(NamedTuple):
    """What a belief says of held-out situations."""

    off: NDArray[np.float64]  # (n,) distances of its visits
    length: NDArray[np.float64]  # (n,) expected steps
    total: NDArray[np.float64]  # (n,) sums of its earnings
    visits: NDArray[np.float64]  # (S * A,) of all situations together


def _compare(belief: BeliefNetwork, held: HeldOut) -> _Compared:
    chunks = [
        (distances(visits, held.visits[at]), visits.sum(axis=1), earnings.sum(axis=1), visits.sum(axis=0)[None])
        for at, visits, earnings in held.rows(belief)
    ]
    off, length, total, visits = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    return _Compared(off, length, total, visits.sum(axis=0))


def _without_noise(off: float, noise: float) -> float:
    """An error without what chance adds to it: for normal deviations, squares add up.

    >>> _without_noise(5.0, 3.0), _without_noise(1.0, 2.0)
    (4.0, 0.0)
    """
    return float(np.sqrt(max(0.0, float(off) ** 2 - float(noise) ** 2)))


def _interval(
    off: NDArray[np.float64], noise: NDArray[np.float64], episode: NDArray[np.int64], seed: int
) -> tuple[float, float]:
    """A 90 % interval of the mean without noise: whole episodes are drawn, since their situations are alike."""
    _, group = np.unique(episode, return_inverse=True)
    sums, chance, sizes = np.bincount(group, off), np.bincount(group, noise), np.bincount(group)
    drawn = np.random.default_rng(seed).integers(len(sums), size=(DRAWS, len(sums)))
    n = sizes[drawn].sum(axis=1)
    means = [
        _without_noise(a, b) for a, b in zip(sums[drawn].sum(axis=1) / n, chance[drawn].sum(axis=1) / n, strict=True)
    ]
    low, high = np.quantile(means, ENDS)
    return float(low), float(high)


def _endings_off(belief: BeliefNetwork, own: HeldOut) -> float | None:
    """The largest difference between the mean chance of an ending and its share of the situations; None: no future ended."""
    ended = own.endings.sum(axis=1) == 1.0  # in others, play stopped before the end
    if not ended.any():
        return None
    chances = belief.endings(own.observations[ended], own.actions[ended]).mean(axis=0)
    return float(np.abs(chances[:-1] - own.endings[ended].mean(axis=0)).max())  # the last is an unknown ending
