"""Observations that are integers, environments that were changed, episodes that continue."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from small_agents import CONCEPTS, learned
from stable_baselines3.common.monitor import Monitor

import whatfor as wf
from whatfor.worlds.taxi import ABOARD, LABELS

TAXI_CONCEPTS = {
    "passenger aboard": lambda seen: LABELS.values(int(seen))[2] == ABOARD,
    "row": (lambda seen: str(LABELS.values(int(seen))[0]), ("0", "1", "2", "3", "4")),
}


@pytest.fixture(scope="module")
def taxi() -> wf.Run:
    _, callback = learned("Taxi-v4", TAXI_CONCEPTS, steps=600)
    return callback.run


def test_concepts_are_told_of_observations_that_are_numbers(taxi: wf.Run) -> None:
    """A replay buffer holds a number as a row of one; a concept gets what the environment shows."""
    assert taxi.labels.shape == (2, 5)
    assert taxi.labels.actions == LABELS.actions
    for seen in (3, 300, 499):
        row, _, passenger, _ = LABELS.values(seen)
        assert taxi.labels.values(taxi.situation(seen).index) == (passenger == ABOARD, row), (
            "a number is an observation"
        )
        np.testing.assert_array_equal(taxi.values_at(seen), taxi.beliefs.q_values(np.array([seen]))[0])  # type: ignore[attr-defined]
    cell = taxi.situation("not passenger aboard; row 2")
    assert taxi.labels.values(cell.index) == (0, 2)
    assert LABELS.values(int(cell.observation))[0] == 2


@pytest.mark.parametrize("wrong", [500, -1, 3.5, np.nan])
def test_what_is_no_observation_is_refused(taxi: wf.Run, wrong: float) -> None:
    with pytest.raises(ValueError, match=r"is not an observation of Discrete\(500\)|NaN"):
        taxi.intention(wrong)


def test_such_an_agent_is_kept_played_and_shown(taxi: wf.Run, tmp_path: Path) -> None:
    taxi.save(tmp_path / "run")
    again = wf.load(tmp_path / "run", cells=TAXI_CONCEPTS)
    assert again.intention(300).value == taxi.intention(300).value
    assert again.episode(300).steps[0][0] == 300
    again.report(tmp_path / "page.html", episodes=1)


def test_an_environment_that_was_changed_is_played_as_it_is(tmp_path: Path) -> None:
    env = gym.make("CartPole-v1")
    env.unwrapped.gravity = 1.0  # type: ignore[attr-defined]
    _, callback = learned(env, CONCEPTS)
    run = callback.run
    assert run.playing.environment().unwrapped.gravity == 1.0
    run.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"its gravity was changed after it was created.*pass env="):
        wf.load(tmp_path / "run", cells=CONCEPTS).evaluate(1)


def test_an_episode_goes_on_where_learning_was_interrupted() -> None:
    env = Monitor(gym.make("CartPole-v1"))
    model, callback = learned(env, CONCEPTS, steps=25)
    for _ in range(10):
        model.learn(25, callback=callback, reset_num_timesteps=False)
    assert [length for _, length in callback.history] == env.get_episode_lengths()
    assert [paid for paid, _ in callback.history] == env.get_episode_rewards()


def test_values_that_are_no_numbers_are_said() -> None:
    model, callback = learned("CartPole-v1", CONCEPTS)
    with torch.no_grad():
        next(iter(model.q_net.parameters())).fill_(torch.nan)
    with pytest.raises(ValueError, match="NaN or infinite: its learning has diverged"):
        callback.run.intention(np.zeros(4))


def test_a_batch_of_another_shape_is_refused() -> None:
    from types import SimpleNamespace

    _, callback = learned("CartPole-v1", CONCEPTS)
    assert callback.belief is not None
    some, none = torch.zeros(3), torch.zeros(3, dtype=torch.long)
    batch = SimpleNamespace(
        observations=torch.zeros(3, 5), next_observations=torch.zeros(3, 5), actions=none, rewards=some, dones=some
    )
    with pytest.raises(ValueError, match=r"observations have the shape \(3, 5\)"):
        callback.belief.update(batch, none)


def test_numbers_in_words_are_an_observation_everywhere() -> None:
    """As many concepts as an observation has numbers: the text must not be read as their values."""
    four = {
        name: (lambda seen, at=at: bool(seen[at] > 0.5))
        for at, name in enumerate(("far", "fast", "tilted", "swinging"))
    }
    _, callback = learned("CartPole-v1", four)
    run = callback.run
    seen = np.array([0.0, 0.9, 0.1, 0.0])
    for text in ("[0, 0.9, 0.1, 0]", "0 0.9 0.1 0", "(0,0.9,0.1,0)"):
        assert run.intention(text).value == run.intention(seen).value
        assert run.labels.values(run.situation(text).index) == (0, 1, 0, 0)
    with pytest.raises(ValueError, match=r"shape \(4,\), not \(3,\)"):
        run.intention("[0, 0, 0]")
    with pytest.raises(ValueError, match="not a list of numbers"):
        run.intention("[0, 0, 0, -]")


def test_an_environment_that_fails_when_it_is_tried_is_compared_as_it_is() -> None:
    from whatfor.worlds.making import changed_setting

    class Fails(gym.Env[int, int]):
        observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

        def __init__(self) -> None:
            self.level = 1

        def reset(self, **_: object) -> tuple[int, dict[str, object]]:
            raise RuntimeError("no simulator here")

    one = Fails()
    assert changed_setting(one, Fails()) is None
    one.level = 2
    assert changed_setting(one, Fails()) == "level"
