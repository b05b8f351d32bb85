"""DQN agents with the hyperparameters that RL Baselines3 Zoo publishes, trained once and kept in ``out/zoo``."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "out" / "zoo"
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Recipe:
    """How an agent is trained: what the Zoo's ``dqn.yml`` says."""

    env: str
    steps: int
    settings: dict[str, Any]


RECIPES = {
    "CartPole": Recipe(
        "CartPole-v1",
        50_000,
        {
            "learning_rate": 2.3e-3,
            "batch_size": 64,
            "buffer_size": 100_000,
            "learning_starts": 1_000,
            "gamma": 0.99,
            "target_update_interval": 10,
            "train_freq": 256,
            "gradient_steps": 128,
            "exploration_fraction": 0.16,
            "exploration_final_eps": 0.04,
        },
    ),
    "MountainCar": Recipe(
        "MountainCar-v0",
        120_000,
        {
            "learning_rate": 4e-3,
            "batch_size": 128,
            "buffer_size": 10_000,
            "learning_starts": 1_000,
            "gamma": 0.98,
            "target_update_interval": 600,
            "train_freq": 16,
            "gradient_steps": 8,
            "exploration_fraction": 0.2,
            "exploration_final_eps": 0.07,
        },
    ),
    **{
        name: Recipe(
            env,
            100_000,
            {
                "learning_rate": 6.3e-4,
                "batch_size": 128,
                "buffer_size": 50_000,
                "learning_starts": 0,
                "gamma": 0.99,
                "target_update_interval": 250,
                "train_freq": 4,
                "gradient_steps": -1,
                "exploration_fraction": 0.12,
                "exploration_final_eps": 0.1,
            },
        )
        for name, env in (("Acrobot", "Acrobot-v1"), ("LunarLander", "LunarLander-v3"))
    },
}


def make(name: str, seed: int) -> Any:
    """The untrained agent."""
    from stable_baselines3 import DQN

    recipe = RECIPES[name]
    return DQN(
        "MlpPolicy", recipe.env, policy_kwargs={"net_arch": [256, 256]}, seed=seed, device="cpu", **recipe.settings
    )


def trained(name: str, seed: int) -> Any:
    """The trained agent, from its file or trained now; without its replay buffer. ``seconds``: how long training took."""
    agent, file = make(name, seed), FOLDER / f"{name}-{seed}.zip"
    if not file.exists():
        start = time.perf_counter()
        agent.learn(RECIPES[name].steps)
        agent.seconds = time.perf_counter() - start
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.zip")
        agent.save(part)
        part.rename(file)
    agent = type(agent).load(file, env=agent.get_env(), device="cpu")  # our own file
    return agent


if __name__ == "__main__":
    for which in sys.argv[1:] or RECIPES:
        for seed in SEEDS:
            agent = trained(which, seed)
            print(f"{which} {seed}: {agent.seconds:.0f} s", flush=True)
