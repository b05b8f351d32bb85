"""Several futures of one situation: its episode is played again up to there, and goes on with other random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from whatfor.deep.inputs import QValues
from whatfor.deep.sequences import MAX_ENVS, ExploringPlayer, Sequences, columns
from whatfor.worlds.copying import copies
from whatfor.worlds.gymnasium import time_limit
from whatfor.worlds.play import play


@dataclass
class _Recorded:
    """The ways to situations of recorded episodes: the actions taken up to there. A way is the number of its rollout."""

    actions: list[NDArray[np.int64]]  # of each rollout, that in the situation last
    begun: int = 0
    done: dict[float, int] = field(default_factory=dict)

    def way(self) -> float:
        """The next one."""
        self.begun += 1
        return float(self.begun - 1)

    def action_on_the_way(self, way: float, greedy: int) -> int:
        """The recorded action."""
        return int(self.actions[int(way)][self.done.get(way, 0)])

    def has_arrived(self, state: int, way: float) -> bool:
        """Whether all actions before the last are done."""
        return self.done.get(way, 0) == len(self.actions[int(way)]) - 1

    def first_action(self, way: float) -> int:
        """The action in the situation."""
        return int(self.actions[int(way)][-1])

    def count_step(self, way: float) -> None:
        """Count a step on the way."""
        self.done[way] = self.done.get(way, 0) + 1

    def gives_up(self, steps: int) -> bool:
        """A way that ends early is not gone twice: the environment does not repeat itself."""
        return False


class DoesNotRepeat(Exception):
    """The environment does not come to the same situation again with the same seed and actions."""


@dataclass
class _ReplayingPlayer:
    """A policy that is played from situations of recorded episodes."""

    policy: ExploringPlayer
    search: _Recorded
    resets: list[int]  # the seed of the episode of each rollout
    generator: np.random.Generator
    steps: dict[int, tuple[int, int]] = field(
        default_factory=dict
    )  # by environment: its rollout, and how many steps are done

    def begin(self, env: Any) -> tuple[Any, None]:
        """Reset as the recorded episode was."""
        rollout = self.search.begun
        if rollout >= len(self.resets):
            raise DoesNotRepeat  # a way ended before it arrived
        self.steps[id(env)] = rollout, 0
        return env.reset(seed=self.resets[rollout])[0], None

    def states(self, observations: Sequence[Any]) -> Sequence[int]:
        """Not needed."""
        return self.policy.states(observations)

    def actions(self, observations: Sequence[Any]) -> Sequence[int]:
        """The policy's own."""
        return self.policy.actions(observations) if observations else []

    def step(self, env: Any, action: int) -> tuple[Any, float, int, bool]:
        """One step; in the situation, the environment gets random numbers of its own."""
        rollout, done = self.steps[id(env)]
        if done == len(self.search.actions[rollout]) - 1:
            env.unwrapped.np_random = np.random.default_rng(int(self.generator.integers(2**63)))
        self.steps[id(env)] = rollout, done + 1
        return self.policy.step(env, action)


def replay(
    env: gym.Env[Any, Any],
    q_values: QValues,
    played: Sequences,
    situations: NDArray[np.int64],
    *,
    longest: int,
    limit_terminates: bool,
    rng: np.random.Generator,
) -> Sequences:
    """Another future of each situation, a step of ``played``, as episodes of at most ``longest`` steps.

    ``DoesNotRepeat`` where the same seed and actions lead elsewhere.
    """
    episode, step = played.episode[situations], played.step[situations]
    starts = played.first[episode]
    ways = _Recorded([played.actions[at : at + n + 1] for at, n in zip(starts.tolist(), step.tolist(), strict=True)])
    n_actions, limit = int(env.action_space.n), time_limit(env)  # type: ignore[attr-defined]
    policy = ExploringPlayer(q_values, n_actions, 0.0, rng)
    player = _ReplayingPlayer(policy, ways, played.seeds[episode].tolist(), rng)
    envs = copies(env, min(MAX_ENVS, len(situations)))
    try:
        goes_on = None if limit_terminates else limit
        steps = play(player, envs, rollouts=len(situations), max_steps=longest, limit=goes_on)
        futures = columns(steps, q_values, player.resets, limit_terminates=limit_terminates)
    finally:
        for other in envs[1:]:
            other.close()
    if not np.array_equal(futures.observations[futures.first[:-1]], played.observations[situations]):
        raise DoesNotRepeat
    return futures
