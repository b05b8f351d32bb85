"""Copy Gymnasium environments, and find settings in which two of them differ."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

import gymnasium as gym
import numpy as np

from whatfor.kernels.recursion import NOT_ENDED, TERMINATED
from whatfor.worlds.play import play

#: Steps to play in order to see which attributes change during an episode.
TRIAL_STEPS = 60
#: The largest array that counts as a setting.
MAX_SETTING_SIZE = 30


def copies(env: gym.Env[Any, Any], n: int) -> list[gym.Env[Any, Any]]:
    """This environment and ``n - 1`` copies of it; only this one if it cannot be created again."""
    if env.spec is None or n < 2:
        return [env]
    try:
        first = gym.make(env.spec)
        if changed_setting(env, first) is None:
            return [env, first, *(gym.make(env.spec) for _ in range(n - 2))]
        first.close()
        return [env]
    except (gym.error.Error, TypeError, ValueError):
        return [env]


def changed_setting(env: gym.Env[Any, Any], fresh: gym.Env[Any, Any]) -> str | None:
    """The name of a setting in which an environment differs from a new one like it; None: no difference.

    Settings are plain attributes that do not change during episodes.

    >>> one = gym.make("CartPole-v1")
    >>> one.unwrapped.gravity = 1.0
    >>> changed_setting(one, gym.make("CartPole-v1"))
    'gravity'
    """
    before = _settings(fresh)
    with suppress(Exception):  # a third-party environment may fail; then all its attributes count as settings
        fresh.action_space.seed(0)
        steps = play(_RandomPlayer(fresh), [fresh], rollouts=TRIAL_STEPS, max_steps=TRIAL_STEPS)
        deque(islice(steps, TRIAL_STEPS), maxlen=0)
    after, given = _settings(fresh), _settings(env)
    settings = (name for name, value in before.items() if after.get(name) == value)
    return next((name for name in settings if given.get(name) != before[name]), None)


@dataclass
class _RandomPlayer:
    """Random actions, for what they do to the attributes of the environment; states and rewards are not read."""

    env: gym.Env[Any, Any]
    seeds: count[int] = field(default_factory=count)
    search: None = None

    def begin(self, env: gym.Env[Any, Any]) -> tuple[None, None]:
        """Start an episode."""
        env.reset(seed=next(self.seeds))
        return None, None

    def states(self, observations: Sequence[None]) -> Sequence[int]:
        """All states count as one."""
        return [0 for _ in observations]

    def actions(self, observations: Sequence[None]) -> Sequence[int]:
        """A random action."""
        return [int(self.env.action_space.sample()) for _ in observations]

    def step(self, env: gym.Env[Any, Any], action: int) -> tuple[None, float, int, bool]:
        """One step; only whether the episode ends is read."""
        _, _, terminated, truncated, _ = env.step(action)
        return None, 0.0, TERMINATED if terminated else NOT_ENDED, bool(truncated)


def _settings(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """The attributes of an environment that are numbers, strings or small arrays."""
    found = {}
    for name, value in vars(env.unwrapped).items():
        if isinstance(value, bool | int | float | str | np.number):
            found[name] = value
        elif isinstance(value, np.ndarray) and value.size <= MAX_SETTING_SIZE and value.dtype.kind in "biuf":
            found[name] = value.tolist()
    return found
