"""Sequences of a frozen policy: whole episodes, played with some exploration, as columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from whatfor.deep.inputs import QValues
from whatfor.kernels.recursion import NOT_ENDED, TERMINATED, TIMED_OUT
from whatfor.limits import MAX_EPISODE_STEPS
from whatfor.worlds.copying import copies
from whatfor.worlds.gymnasium import time_limit
from whatfor.worlds.play import PlayedStep, play

#: Environments played in parallel, so that a network evaluates them as one batch.
MAX_ENVS = 64
#: No episode is expected to be longer, where there is no time limit.
LONG = 1_000
#: The number of observations whose Q-values are computed at once.
CHUNK = 4_096
#: Episodes are played beyond a time limit that the agent bootstraps through until the discount leaves this share.
MIN_WEIGHT = 1e-3


@dataclass(frozen=True)
class Sequences:
    """The steps of several episodes, one after the other. An episode may be cut: then its last step does not end it."""

    observations: NDArray[Any]  # (n, ...)
    actions: NDArray[np.int64]  # (n,)
    rewards: NDArray[np.float64]  # (n,)
    next_observations: NDArray[Any]  # (n, ...)
    next_actions: NDArray[np.int64]  # (n,) the policy's own in the next observation
    ended: NDArray[np.bool_]  # (n,) whether the step ended its episode
    first: NDArray[np.int64]  # (m + 1,) the first step of each episode
    explored: NDArray[np.bool_]  # (n,) whether the action was not the policy's
    seeds: NDArray[np.int64]  # (m,) of the reset of each episode

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(m,) Steps of each episode."""
        return np.diff(self.first)

    @property
    def episode(self) -> NDArray[np.int64]:
        """(n,) The episode of each step."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def step(self) -> NDArray[np.int64]:
        """(n,) The index of each step in its episode."""
        return np.arange(len(self)) - np.repeat(self.first[:-1], self.lengths)

    @property
    def followed(self) -> NDArray[np.bool_]:
        """(n,) Whether the next step is in the sequence and takes the policy's own action."""
        follows = np.append(~self.explored[1:], False)
        follows[self.first[1:] - 1] = False
        return follows


@dataclass
class ExploringPlayer:
    """A policy with some exploration, so that other actions are learned too."""

    q_values: QValues
    n_actions: int
    exploration: float
    rng: np.random.Generator
    seeds: list[int] = field(default_factory=list)  # of every reset
    search: None = None  # whole episodes

    def begin(self, env: Any) -> tuple[Any, None]:
        """Start an episode with a seed of its own."""
        self.seeds.append(int(self.rng.integers(2**31)))
        return env.reset(seed=self.seeds[-1])[0], None

    def states(self, observations: Sequence[Any]) -> Sequence[int]:
        """Not needed: cells are found afterwards."""
        return [0] * len(observations)

    def actions(self, observations: Sequence[Any]) -> Sequence[int]:
        """The best action for each observation, or now and then another."""
        best = self.q_values(np.stack([np.asarray(one) for one in observations])).argmax(axis=1)
        random = self.rng.random(len(best)) < self.exploration
        others = self.rng.integers(self.n_actions, size=len(best))
        return np.where(random, others, best).tolist()  # type: ignore[no-any-return]

    def step(self, env: Any, action: int) -> tuple[Any, float, int, bool]:
        """One step; endings have no names here."""
        observation, reward, terminated, truncated, _ = env.step(action)
        return observation, float(reward), TERMINATED if terminated else NOT_ENDED, bool(truncated)


def play_sequences(
    env: gym.Env[Any, Any],
    q_values: QValues,
    *,
    steps: int,
    exploration: float,
    rng: np.random.Generator,
    limit_terminates: bool,
    beyond: int = 0,
) -> Sequences:
    """This many steps of the policy, in as many episodes as they take; the last ones are cut.

    ``beyond``: how many steps an episode goes on beyond a time limit that does not end it.
    """
    n_actions, limit = int(env.action_space.n), time_limit(env)  # type: ignore[attr-defined]
    longest = (limit or MAX_EPISODE_STEPS) + beyond
    parallel = min(MAX_ENVS, max(1, steps // min(longest, LONG)))  # or episodes would not end
    player, envs = ExploringPlayer(q_values, n_actions, exploration, rng), copies(env, parallel)
    try:
        played = islice(play(player, envs, rollouts=steps, max_steps=longest, limit=limit if beyond else None), steps)
        return columns(played, q_values, player.seeds, limit_terminates=limit_terminates)
    finally:
        for other in envs[1:]:
            other.close()


def steps_beyond(discount: float, limit: int | None, *, limit_terminates: bool) -> int:
    """How far beyond a time limit the future counts.

    >>> steps_beyond(0.9, 200, limit_terminates=False), steps_beyond(0.9, 200, limit_terminates=True)
    (66, 0)
    """
    if limit is None or limit_terminates or discount == 1.0:
        return 0
    return math.ceil(math.log(MIN_WEIGHT) / math.log(max(discount, 1e-3)))


def columns(steps: Iterable[PlayedStep], q_values: QValues, seeds: list[int], *, limit_terminates: bool) -> Sequences:
    """Steps that were played in parallel, one rollout after the other; ``seeds``: of every rollout."""
    played = sorted(steps, key=lambda one: one.rollout)  # stable: the order of steps stays
    ends = (TERMINATED, TIMED_OUT) if limit_terminates else (TERMINATED,)
    rollouts = np.array([one.rollout for one in played])
    observations = np.stack([np.asarray(one.observation) for one in played])
    following = np.stack([np.asarray(one.next_observation) for one in played])
    actions = np.array([one.action for one in played], np.int64)
    first = np.concatenate([[0], np.flatnonzero(np.diff(rollouts)) + 1, [len(played)]]).astype(np.int64)
    return Sequences(
        observations=observations,
        actions=actions,
        rewards=np.array([one.reward for one in played], np.float64),
        next_observations=following,
        next_actions=best_actions(q_values, following),
        ended=np.array([one.ending in ends for one in played]),
        first=first,
        explored=actions != best_actions(q_values, observations),
        seeds=np.array(seeds)[rollouts[first[:-1]]],
    )


def best_actions(q_values: QValues, observations: NDArray[Any]) -> NDArray[np.int64]:
    """(n,) The policy's own actions."""
    chunks = [q_values(observations[at : at + CHUNK]).argmax(axis=1) for at in range(0, len(observations), CHUNK)]
    return np.concatenate(chunks).astype(np.int64)
