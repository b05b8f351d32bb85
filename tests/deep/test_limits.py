"""Time limits, ends and bounds of deep agents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from small_agents import ENDINGS, endless, train_agent
from stable_baselines3 import DQN

from whatfor.deep import BeliefCallback
from whatfor.deep.run import out_of_range


@pytest.mark.parametrize("terminal", [False, True], ids=["bootstrap", "terminal"])
def test_a_network_is_played_beyond_a_limit_that_it_bootstraps_through(terminal: bool) -> None:
    """MountainCar with an untrained policy never ends: -1 / (1 - 0.9) with a discount of 0.9."""
    simulation = endless(terminal=terminal).simulation(np.array([-0.5, 0.0]), rollouts=3)
    assert simulation.limit == 20
    assert simulation.within == {"timed out": 3}
    assert simulation.undiscounted == -20.0
    if terminal:
        assert simulation.value == pytest.approx(-(1 - 0.9**20) / 0.1)
        assert simulation.chances == {"timed out": 1.0}
    else:
        assert simulation.value == pytest.approx(-10.0, abs=0.02)
        assert simulation.chances == {}
        assert "66 steps" in str(simulation)
        assert "Within the time limit of 20 steps, the return is -20 undiscounted" in str(simulation)


def test_endings_are_refused_where_the_last_observation_is_overwritten() -> None:
    kept: Any = {"optimize_memory_usage": True, "replay_buffer_kwargs": {"handle_timeout_termination": False}}
    model = DQN("MlpPolicy", "CartPole-v1", device="cpu", buffer_size=300, policy_kwargs={"net_arch": [8]}, **kept)
    with pytest.raises(ValueError, match="optimize_memory_usage=True the replay buffer overwrites it"):
        model.learn(50, callback=BeliefCallback({"moving left": lambda obs: obs[1] < 0}, endings=ENDINGS))


def test_values_slightly_beyond_a_bound_are_not_impossible() -> None:
    """CartPole with a discount of 0.98: rewards add up to at most 50."""
    near = out_of_range(np.linspace(20.0, 50.9, 100), np.ones(3), 0.98)
    assert near == {"impossible": 0.0, "excess": 0.0}
    far = out_of_range(np.array([20.0, 40.0, 70.0, 80.0]), np.ones(3), 0.98)
    assert far["impossible"] == 0.5
    assert far["excess"] == pytest.approx(30.0)
    below = out_of_range(np.array([-30.0, 10.0]), np.ones(3), 0.98)
    assert below["impossible"] == 0.5


def test_how_far_values_are_beyond_is_said() -> None:
    run = train_agent(gym.make("FrozenLake-v1", is_slippery=False), steps=300)[1].run
    assert run.trust is not None
    trust = replace(run.trust, impossible=0.4, excess=12.345)  # type: ignore[type-var]
    assert (
        "40 % of them cannot be reached by any sequence of the rewards seen in training; they are up to 12.35 too"
        in str(trust)
    )
