"""Deep runs to start from: tiny networks, trained for a few steps, over every kind of cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

import whatfor as wf
from fuzz.corpus import CART
from whatfor.deep import BeliefCallback, BeliefSettings, Bins, Clusters, Sizes
from whatfor.deep.document import HeadName

#: Concepts of CartPole, of all three kinds.
CONCEPTS: dict[str, Any] = {
    "pole left": lambda obs: obs[2] < 0.0,
    "cart": (
        lambda obs: "left" if obs[0] < -0.1 else "right" if obs[0] > 0.1 else "middle",
        ("left", "middle", "right"),
    ),
    "swing": (lambda obs: obs[3], (-0.5, 0.5)),
}
ENDINGS: dict[str, Any] = {"fell left": lambda obs: obs[2] < -0.2, "fell right": lambda obs: obs[2] > 0.2}
#: Arguments that ``load`` needs: concepts are functions, which are not saved.
CELLS = CONCEPTS | ENDINGS


def train_run(env: Any, cells: Any = None, *, head: HeadName = "faithful", endings: Any = None) -> wf.Run:
    """Train a tiny DQN with a belief network alongside it; its run."""
    callback = BeliefCallback(cells, endings=endings, settings=BeliefSettings(head=head, sizes=Sizes(joint=(8,))))
    model = DQN(
        "MlpPolicy", env, seed=0, device="cpu", learning_starts=50, train_freq=4, target_update_interval=50, batch_size=8,
        buffer_size=500, gamma=0.9, policy_kwargs={"net_arch": [8]},
    )  # fmt: skip
    model.learn(200, callback=callback)
    return callback.run


def _lake() -> Any:
    return gym.make("FrozenLake-v1", is_slippery=False)


DEEP: dict[str, Callable[[], wf.Run]] = {
    "states": lambda: train_run(_lake()),
    "regression": lambda: train_run(_lake(), head="regression"),
    "bins": lambda: train_run("CartPole-v1", Bins((3, 3, 6, 3), bounds=CART)),
    "clusters": lambda: train_run("CartPole-v1", Clusters(5)),
    "concepts": lambda: train_run("CartPole-v1", CONCEPTS, endings=ENDINGS),
    "endings": lambda: train_run("CartPole-v1", Bins(2, bounds=CART), endings=ENDINGS),
    "normalised": lambda: train_run(
        VecNormalize(make_vec_env("CartPole-v1", n_envs=2, seed=0)), Bins((3, 3, 6, 3), bounds=CART)
    ),
}
