"""Whether the steps that a ledger recorded come from a given world, or from the world that was played.

The test compares how well two explanations predict the steps: the world itself, and any other world (a mixture over
all, the Dirichlet-multinomial distribution). The ratio is an e-value: if the world is the same, it exceeds 1 / rate with a
probability of at most the rate, however the agent chose what to try.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.experience import StepCounts
from whatfor.beliefs.transitions import entries_of
from whatfor.kernels.recursion import NOT_ENDED, TIMED_OUT
from whatfor.kernels.tables import Table

#: How far the other worlds may be from the known one: the number of steps that its probabilities are worth.
CONCENTRATIONS = (1.0, 10.0, 100.0)
#: Rewards with more values than this are compared by quarter.
MAX_REWARDS = 20
#: Rewards are compared after rounding to this share of the largest one.
REWARD_ROUNDING = 1e-6


def evidence_against_table(recorded: StepCounts, table: Table) -> float:
    """The logarithm of the e-value against the hypothesis that a table produced the recorded steps."""
    pairs, chances = entries_of(table)
    rewards = np.concatenate([recorded.reward, table.reward])
    keys, which = _keys(
        np.concatenate([recorded.pair, pairs]),
        np.concatenate([recorded.ending, table.ending]),
        np.concatenate([recorded.next_state, table.next_state]),
        _rounded(rewards),
    )
    n = len(recorded.pair)
    timed_out = recorded.ending == TIMED_OUT  # a table has no time limit
    counts = np.bincount(which[:n], weights=np.where(timed_out, 0, recorded.times), minlength=len(keys)).astype(float)
    expected = np.bincount(which[n:], weights=chances, minlength=len(keys)).astype(float)
    if (counts[expected <= 0.0] > 0).any():
        return np.inf
    possible = expected > 0.0
    own, counts, expected = keys[possible], counts[possible], expected[possible]
    by_concentration = [_mixture(own, counts, kappa * expected) for kappa in CONCENTRATIONS]
    fit = np.bincount(own, weights=counts * np.log(expected))
    tried = np.bincount(own, weights=counts) > 0
    ratios = np.logaddexp.reduce(by_concentration, axis=0) - np.log(len(CONCENTRATIONS)) - fit
    return _combined(ratios[tried])


def evidence_against_play(recorded: StepCounts, played: StepCounts) -> float:
    """The logarithm of the e-value against the hypothesis that one world produced the recorded and the played steps."""
    own, which = _keys(
        np.concatenate([recorded.pair, played.pair]),
        np.concatenate([recorded.ending, played.ending]),
        np.concatenate([recorded.next_state, played.next_state]),
        _rounded(np.concatenate([recorded.reward, played.reward]), most=MAX_REWARDS),
    )
    n = len(recorded.pair)
    sides = [
        np.bincount(at, weights=np.where(one.ending == TIMED_OUT, 0, one.times), minlength=len(own)).astype(np.float64)
        for at, one in ((which[:n], recorded), (which[n:], played))
    ]
    both = (np.bincount(own, weights=sides[0]) > 0) & (np.bincount(own, weights=sides[1]) > 0)
    prior = (1.0 / np.bincount(own, minlength=len(both))[own]) if len(own) else np.empty(0)
    together = sides[0] + sides[1]
    total = np.bincount(own, weights=together)[own]
    best = np.bincount(own, weights=together * np.log(np.maximum(together, 1.0) / np.maximum(total, 1.0)))
    ratios = _mixture(own, sides[0], prior) + _mixture(own, sides[1], prior) - best
    return _combined(ratios[both])


def _keys(
    pair: NDArray[np.int64], ending: NDArray[np.int64], next_state: NDArray[np.int64], reward: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pair of each distinct outcome, ascending, and the outcome of each entry; all endings are one."""
    after = np.where(ending == NOT_ENDED, next_state + 1, 0).astype(np.int64)
    rewards, paid = np.unique(reward, return_inverse=True)
    outcomes = (int(after.max(initial=0)) + 1) * max(len(rewards), 1)  # of each pair, at most
    keys, which = np.unique(pair * outcomes + after * len(rewards) + paid, return_inverse=True)
    return keys // outcomes, which


def _rounded(rewards: NDArray[np.float64], most: int | None = None) -> NDArray[np.float64]:
    """Rewards without rounding errors; by quarter if there are more than ``most`` of them."""
    unit = REWARD_ROUNDING * float(np.abs(rewards).max(initial=0.0))
    whole = np.round(rewards / unit) if unit > 0.0 else rewards
    if most is None or len(np.unique(whole)) <= most:
        return whole
    return np.searchsorted(np.quantile(whole, (0.25, 0.5, 0.75)), whole).astype(np.float64)


def _mixture(own: NDArray[np.int64], counts: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """(pairs,) The log probability of the counts of each pair under a Dirichlet mixture of worlds."""
    from scipy.special import gammaln

    ratio = np.bincount(own, weights=gammaln(prior + counts) - gammaln(prior))
    total, weight = np.bincount(own, weights=counts), np.bincount(own, weights=prior)
    weight = np.where(weight > 0.0, weight, 1.0)
    together: NDArray[np.float64] = ratio + gammaln(weight) - gammaln(weight + total)
    return together


def _combined(ratios: NDArray[np.float64]) -> float:
    """The log e-value of all pairs: half their mean (one pair was altered), half their product (many were)."""
    if not len(ratios):
        return 0.0
    mean = np.logaddexp.reduce(ratios) - np.log(len(ratios))
    return float(np.logaddexp(mean, ratios.sum()) - np.log(2.0))
