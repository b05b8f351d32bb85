"""Copies of environments, and what counts as a setting of one."""

from typing import Any

import gymnasium as gym
import pytest

from whatfor.worlds.copying import TRIAL_STEPS, changed_setting, copies
from whatfor.worlds.making import make_env


class Counter(gym.Env[int, int]):
    """One setting, and three attributes that change: at a reset, at a step, and only in the last step of an episode."""

    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

    def __init__(self, level: int = 1, length: int = 20) -> None:
        self.level, self.length = level, length
        self.episodes = self.steps = self.wins = self.rights = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.episodes, self.at = self.episodes + 1, 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps, self.at, self.rights = self.steps + 1, self.at + 1, self.rights + action
        over = self.at == self.length
        self.wins += over
        return 0, 0.0, over, False, {}


@pytest.mark.parametrize("length", [1, 20, 1_000], ids=["an episode of one step", "some", "longer than the trial"])
def test_what_changes_during_episodes_is_no_setting(length):
    used = Counter(length=length)
    used.reset(seed=0)
    for action in (0, 1) * min(length, TRIAL_STEPS):
        used.step(action)
    assert changed_setting(used, Counter(length=length)) is None
    used.level = 2
    assert changed_setting(used, Counter(length=length)) == "level"


def test_the_trial_ends_after_its_steps_and_starts_episodes_again():
    fresh = Counter()
    changed_setting(Counter(), fresh)
    assert (fresh.steps, fresh.episodes) == (TRIAL_STEPS, TRIAL_STEPS // 20)
    assert 0 < fresh.rights < TRIAL_STEPS, "random actions"


def test_an_environment_that_cannot_be_reset_is_compared_by_its_attributes():
    class Fails(Counter):
        def reset(self, **_: Any) -> Any:
            raise RuntimeError("no simulator here")

    one = Fails()
    assert changed_setting(one, Fails()) is None
    one.level = 2
    assert changed_setting(one, Fails()) == "level"


def test_an_environment_that_was_changed_is_not_copied():
    env = make_env("CartPole-v1")
    assert len(copies(env, 3)) == 3
    env.unwrapped.gravity = 1.0
    assert copies(env, 3) == [env]
    assert copies(Counter(), 3)[1:] == [], "it is not registered"
