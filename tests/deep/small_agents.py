"""Deep agents that are trained in a second or two, for tests."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import gymnasium as gym
from stable_baselines3 import DQN

from fuzz.deep_corpus import CONCEPTS, ENDINGS
from whatfor.deep import BeliefCallback, BeliefSettings, Settling, Sizes
from whatfor.runs import Run

SMALL = BeliefSettings(sizes=Sizes(joint=(32,)))
#: A budget of settling that takes little time.
LITTLE = Settling(steps=300, updates=20)


def train_agent(
    env: Any, cells: Any = None, *, steps: int = 600, seed: int = 0, settling: Settling | bool = False, **more: Any
) -> tuple[DQN, BeliefCallback]:
    """Train a small DQN, with a belief network alongside it; settling takes time, so only tests about it have one."""
    callback = BeliefCallback(cells, settings=replace(SMALL, seed=seed), settling=settling, **more)
    model = DQN(
        "MlpPolicy", env, seed=seed, device="cpu", learning_starts=100, train_freq=2, target_update_interval=100,
        batch_size=16, buffer_size=2_000, gamma=0.9, policy_kwargs={"net_arch": [16]},
    )  # fmt: skip
    model.learn(steps, callback=callback)
    return model, callback


@cache
def lake() -> Run:
    """FrozenLake that is not slippery: countable observations, and exact beliefs are known."""
    return train_agent(gym.make("FrozenLake-v1", is_slippery=False), steps=1_500)[1].run


@cache
def cart() -> tuple[DQN, Run]:
    """CartPole, with concepts as cells."""
    model, callback = train_agent("CartPole-v1", CONCEPTS, endings=ENDINGS)
    return model, callback.run


@cache
def settled() -> tuple[DQN, BeliefCallback]:
    """The same agent of CartPole, whose beliefs have settled."""
    return train_agent("CartPole-v1", CONCEPTS, endings=ENDINGS, settling=LITTLE)


@cache
def endless(*, terminal: bool) -> Run:
    """MountainCar, cut after 20 steps: an untrained policy never ends. ``terminal``: the limit counts as an end in training."""
    model = DQN(
        "MlpPolicy", gym.make("MountainCar-v0", max_episode_steps=20), seed=0, device="cpu", learning_starts=50,
        gamma=0.9, policy_kwargs={"net_arch": [8]}, replay_buffer_kwargs={"handle_timeout_termination": not terminal},
    )  # fmt: skip
    callback = BeliefCallback({"moving left": lambda obs: obs[1] < 0}, settling=False)
    model.learn(100, callback=callback)
    return callback.run
