"""Private attributes of Gymnasium's environments; no other module uses any.

``tests/worlds/test_private.py`` fails if a new version of Gymnasium changes one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import gymnasium as gym
    from gymnasium.envs.classic_control.cartpole import CartPoleEnv
    from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
    from gymnasium.wrappers import TimeLimit


def max_episode_steps(layer: TimeLimit[Any, Any]) -> int:
    """The number of steps after which a wrapper truncates an episode.

    >>> import gymnasium as gym
    >>> max_episode_steps(gym.wrappers.TimeLimit(gym.make("Taxi-v4").unwrapped, 30))
    30
    """
    return int(layer._max_episode_steps)


def cliff_cells(env: CliffWalkingEnv) -> NDArray[np.intp]:
    """The states of the cliff."""
    return np.flatnonzero(env._cliff)


def has_sutton_barto_reward(env: CartPoleEnv) -> bool:
    """Whether CartPole's reward is -1 at the end and 0 before, as in the book, instead of 1 per step."""
    return bool(env._sutton_barto_reward)


def random_generator(env: gym.Env[Any, Any]) -> np.random.Generator | None:
    """The generator of an environment; None before it has one. The public ``np_random`` would create one."""
    return getattr(env.unwrapped, "_np_random", None)
