"""Environments without chance, whose futures can be counted by hand."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

RIGHT = 1


class Corridor(gym.Env[Any, Any]):
    """Places in a row, from the first to the last: right or left, -1 a step, and +10 at the end. It is not registered."""

    action_space = gym.spaces.Discrete(2)

    def __init__(self, places: int = 6) -> None:
        self.observation_space, self.last = gym.spaces.Discrete(places), places - 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0
        return self.at, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at = max(0, self.at + (1 if action == RIGHT else -1))
        over = self.at == self.last
        return self.at, 10.0 if over else -1.0, over, False, {}


class Blink(gym.Env[Any, Any]):
    """Two states that follow each other without an end; it starts in either."""

    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(2))
        return self.at, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at = 1 - self.at
        return self.at, 1.0, False, False, {}


def always(action: int, n_actions: int = 2) -> Any:
    """Q-values of a policy that takes one action everywhere."""

    def q_values(observations: NDArray[Any]) -> NDArray[np.float64]:
        return np.tile(np.eye(n_actions)[action], (len(observations), 1))

    return q_values


def limited(env: gym.Env[Any, Any], limit: int) -> gym.Env[Any, Any]:
    """The same with a time limit."""
    return gym.wrappers.TimeLimit(env, limit)
