"""Integer observations, environments with changed settings, and episodes that span two calls of learn()."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from small_agents import CONCEPTS, LITTLE, train_agent
from stable_baselines3.common.monitor import Monitor

import whatfor as wf
from whatfor.worlds.taxi import ABOARD, LABELS

TAXI_CONCEPTS = {
    "passenger aboard": lambda obs: LABELS.values(int(obs))[2] == ABOARD,
    "row": (lambda obs: str(LABELS.values(int(obs))[0]), ("0", "1", "2", "3", "4")),
}


@pytest.fixture(scope="module")
def taxi() -> wf.Run:
    _, callback = train_agent("Taxi-v4", TAXI_CONCEPTS, steps=600)
    return callback.run


def test_concepts_get_integer_observations_as_integers(taxi: wf.Run) -> None:
    """A replay buffer stores an integer as an array of one; a concept gets what the environment returns."""
    assert taxi.labels.shape == (2, 5)
    assert taxi.labels.actions == LABELS.actions
    for obs in (3, 300, 499):
        row, _, passenger, _ = LABELS.values(obs)
        assert taxi.labels.values(taxi.situation(obs).index) == (passenger == ABOARD, row)
        np.testing.assert_array_equal(taxi.values_at(obs), taxi.beliefs.q_values(np.array([obs]))[0])  # type: ignore[attr-defined]
    cell = taxi.situation("not passenger aboard; row 2")
    assert taxi.labels.values(cell.index) == (0, 2)
    assert LABELS.values(int(cell.observation))[0] == 2


@pytest.mark.parametrize("wrong", [500, -1, 3.5, np.nan])
def test_invalid_observations_are_refused(taxi: wf.Run, wrong: float) -> None:
    with pytest.raises(ValueError, match=r"is not an observation of Discrete\(500\)|NaN"):
        taxi.intention(wrong)


def test_a_run_with_integer_observations_is_saved_played_and_reported(taxi: wf.Run, tmp_path: Path) -> None:
    taxi.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run", cells=TAXI_CONCEPTS)
    assert loaded.intention(300).value == taxi.intention(300).value
    assert loaded.episode(300).steps[0][0] == 300
    loaded.report(tmp_path / "page.html", episodes=1)


def test_an_environment_with_a_changed_setting_is_played_with_it(tmp_path: Path) -> None:
    env = gym.make("CartPole-v1")
    env.unwrapped.gravity = 1.0  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="have not settled, .*cannot be made anew"):  # a new one would lack the setting
        _, callback = train_agent(env, CONCEPTS, settling=LITTLE)
    run = callback.run
    assert run is callback.learned
    assert run.playing.environment().unwrapped.gravity == 1.0
    run.save(tmp_path / "run")
    with pytest.raises(
        ValueError, match=r"its gravity was changed after it was created.*pass the environment of the run as env="
    ):
        wf.load(tmp_path / "run", cells=CONCEPTS).evaluate(1)
    loaded = wf.load(tmp_path / "run", cells=CONCEPTS, env=env)
    assert loaded.evaluate(3).mean == run.evaluate(3).mean
    with pytest.raises(ValueError, match="observation"):
        wf.load(tmp_path / "run", cells=CONCEPTS, env="MountainCar-v0")


def test_an_episode_continues_over_calls_of_learn() -> None:
    env = Monitor(gym.make("CartPole-v1"))
    model, callback = train_agent(env, CONCEPTS, steps=25)
    for _ in range(10):
        model.learn(25, callback=callback, reset_num_timesteps=False)
    assert [length for _, length in callback.history] == env.get_episode_lengths()
    assert [total for total, _ in callback.history] == env.get_episode_rewards()


def test_values_that_are_nan_are_reported() -> None:
    model, callback = train_agent("CartPole-v1", CONCEPTS)
    with torch.no_grad():
        next(iter(model.q_net.parameters())).fill_(torch.nan)
    with pytest.raises(ValueError, match="NaN or infinite: training has diverged"):
        callback.run.intention(np.zeros(4))


def test_a_batch_of_another_shape_is_refused() -> None:
    from types import SimpleNamespace

    _, callback = train_agent("CartPole-v1", CONCEPTS)
    assert callback.belief is not None
    zeros, actions = torch.zeros(3), torch.zeros(3, dtype=torch.long)
    batch = SimpleNamespace(
        observations=torch.zeros(3, 5), next_observations=torch.zeros(3, 5), actions=actions, rewards=zeros, dones=zeros
    )
    with pytest.raises(ValueError, match=r"observations have the shape \(3, 5\)"):
        callback.belief.update(batch, actions)


def test_text_of_numbers_is_an_observation_and_not_values_of_concepts() -> None:
    """Here there are as many concepts as an observation has numbers."""
    four = {
        name: (lambda obs, at=at: bool(obs[at] > 0.5)) for at, name in enumerate(("far", "fast", "tilted", "swinging"))
    }
    _, callback = train_agent("CartPole-v1", four)
    run = callback.run
    obs = np.array([0.0, 0.9, 0.1, 0.0])
    for text in ("[0, 0.9, 0.1, 0]", "0 0.9 0.1 0", "(0,0.9,0.1,0)"):
        assert run.intention(text).value == run.intention(obs).value
        assert run.labels.values(run.situation(text).index) == (0, 1, 0, 0)
    with pytest.raises(ValueError, match=r"shape \(4,\), not \(3,\)"):
        run.intention("[0, 0, 0]")
    with pytest.raises(ValueError, match="not a list of numbers"):
        run.intention("[0, 0, 0, -]")
