"""The distinct experiences of a ledger, and the world as these experiences alone show it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.exact import ExactBeliefs
from whatfor.beliefs.noise import led_to
from whatfor.caching import Cache
from whatfor.kernels.recursion import NO_BOOTSTRAP, NOT_ENDED, TERMINATED
from whatfor.kernels.tables import Table
from whatfor.labels import Labels
from whatfor.ledger import Ledger
from whatfor.worlds.rolling import Rollouts


class StepCounts(NamedTuple):
    """Steps, counted by what followed: one entry for each state-action pair, next state or ending, and reward."""

    pair: NDArray[np.int64]  # (entries,) state * A + action, ascending
    next_state: NDArray[np.int64]  # (entries,) 0 where the episode ended
    ending: NDArray[np.int64]  # (entries,) 0: not ended; else the code of the ending
    reward: NDArray[np.float64]  # (entries,)
    times: NDArray[np.int64]  # (entries,)


def count_steps(
    pair: NDArray[np.int64], next_state: NDArray[np.int64], ending: NDArray[np.int64], reward: NDArray[np.float64]
) -> StepCounts:
    """Count steps by outcome."""
    rewards, which = np.unique(reward, return_inverse=True)
    after = np.where(ending == NOT_ENDED, next_state, ending).astype(np.int64)  # endings are negative
    lowest = int(min(after.min(initial=0), 0))
    width = int(after.max(initial=0)) - lowest + 1
    keys, count = np.unique((pair * width + (after - lowest)) * max(len(rewards), 1) + which, return_counts=True)
    rest, paid = np.divmod(keys, max(len(rewards), 1))
    pairs, after = np.divmod(rest, width)
    after += lowest
    ended = after < 0
    return StepCounts(pairs, np.where(ended, 0, after), np.where(ended, after, NOT_ENDED), rewards[paid], count)


class ExperiencedSteps(NamedTuple):
    """Steps of episodes, one entry each."""

    pair: NDArray[np.int64]  # (steps,) state * A + action
    next_state: NDArray[np.int64]  # (steps,) 0 where the episode ended
    ending: NDArray[np.int64]  # (steps,) 0: not ended; else the code of the ending
    reward: NDArray[np.float64]  # (steps,)


def experiences_of(ledger: Ledger) -> StepCounts:
    """The distinct experiences of a ledger, counted by outcome."""
    return count_steps(*recorded_steps(ledger))


def recorded_steps(ledger: Ledger) -> ExperiencedSteps:
    """The distinct experiences of a ledger, in the order in which they were made: one that was replayed often counts once."""
    used = np.flatnonzero(ledger.learned_from)
    used = used[np.unique(ledger.origins_of(used), return_index=True)[1]]
    n_pairs, source = ledger.n_states * ledger.n_actions, ledger.lines.source[used]
    to = led_to(ledger, used)
    ended = source < NO_BOOTSTRAP
    return ExperiencedSteps(
        ledger.lines.cell[used].astype(np.int64) % n_pairs,
        np.where(ended, 0, to // ledger.n_actions % ledger.n_states),
        np.where(ended, source, NOT_ENDED).astype(np.int64),
        ledger.lines.reward[used],
    )


def played_steps(rollouts: Rollouts, n_actions: int) -> StepCounts:
    """The steps of rollouts, by outcome; where one was truncated, the code of the ending is that of a time limit."""
    last = np.zeros(len(rollouts.pair), bool)
    last[rollouts.first[1:] - 1] = True
    ending = np.full(len(last), NOT_ENDED, np.int64)
    ending[last] = rollouts.ending
    following = np.where(last, 0, np.roll(rollouts.pair, -1) // n_actions)
    return count_steps(rollouts.pair.astype(np.int64), following.astype(np.int64), ending, rollouts.reward)


class ExperiencedWorld:
    """The world as the experiences of a ledger show it: every outcome as frequent as it was.

    A pair that was never tried ends the episode, with its initial value as its reward. The future of a policy in this
    world is what the experiences imply about it, whatever the learner made of them.

    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> for reward in (0.0, 0.0, 0.0, 1.0):
    ...     ledger.record(0, 0, reward, None, step_size=0.5, discount=1.0)
    >>> ExperiencedWorld(ledger).future(np.ones((2, 1)), 1.0).value(0, 0)
    0.25
    """

    def __init__(self, ledger: Ledger) -> None:
        self._futures = Cache[tuple[bytes, float], ExactBeliefs](max_size=2)  # with a discount and without
        self.labels = Labels.plain(ledger.n_states, ledger.n_actions)
        self.experiences = experiences_of(ledger)
        n_pairs = ledger.n_states * ledger.n_actions
        self.counts = np.bincount(self.experiences.pair, weights=self.experiences.times, minlength=n_pairs)  # (S * A,)
        untried = np.flatnonzero(self.counts == 0)
        initial = ledger.initial_tables().reshape(ledger.n_tables, n_pairs).mean(axis=0)
        pair = np.concatenate([self.experiences.pair, untried])
        order, seen = np.argsort(pair, kind="stable"), self.experiences
        self.entry_pairs = pair[order]
        self.tried = (np.arange(len(pair)) < len(seen.pair))[order]  # (entries,)
        share = np.concatenate([seen.times / self.counts[seen.pair], np.ones(len(untried))])[order]
        first = np.searchsorted(self.entry_pairs, np.arange(n_pairs + 1))
        summed = np.cumsum(share)
        chance = summed - np.repeat(np.append(0.0, summed)[first[:-1]], np.diff(first))
        chance[first[1:] - 1] = 1.0
        nothing = np.zeros(len(untried), np.int64)
        self.table = Table(
            first.astype(np.int64),
            chance,
            np.concatenate([seen.next_state, nothing])[order].astype(np.int32),
            np.concatenate([seen.reward, initial[untried]])[order],
            np.concatenate([seen.ending, nothing + TERMINATED])[order].astype(np.int32),
            np.append(np.zeros(ledger.n_states - 1), 1.0),
            np.zeros(ledger.n_states + 1, np.int32),
        )

    def future(self, policy: NDArray[np.float64], discount: float) -> ExactBeliefs:
        """What a policy leads to, by the experiences alone."""
        return self._futures.get_or_add(
            (policy.tobytes(), discount), lambda: ExactBeliefs(self, policy, discount=discount)
        )
