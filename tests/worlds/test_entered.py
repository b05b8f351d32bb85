"""A function that enters states is checked where the state can be read."""

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf


class Lift(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(5), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.floor = int(self.np_random.integers(4))
        return self.floor, {}

    def step(self, action):
        self.floor = int(np.clip(self.floor + (1 if action else -1), 0, 4))
        return self.floor, 10.0 if self.floor == 4 else -1.0, self.floor == 4, False, {}


class Readable(Lift):
    def _get_obs(self):
        return self.floor


@pytest.fixture(scope="module")
def lift():
    return wf.train(Lift(), wf.QLearning(discount=0.9, exploration=0.3), episodes=200, seed=0)


def test_a_function_that_fails_is_named(lift):
    with pytest.raises(ValueError, match="enter= failed for 'state 1': ZeroDivisionError: division by zero"):
        lift.simulation(1, rollouts=50, enter=lambda env, state, rng: 1 / 0)


def test_a_state_that_was_not_entered_is_an_error(lift):
    with pytest.raises(ValueError, match=r"after a reset to 'state \d', and it changed nothing$"):
        lift.simulation(1, rollouts=50, enter=lambda env, state, rng: None)
    with pytest.raises(ValueError, match=r"except for the new attribute 'flor'"):
        lift.comparison(1, rollouts=50, enter=lambda env, state, rng: setattr(env.unwrapped, "flor", state))
    right = lift.simulation(1, rollouts=50, enter=lambda env, state, rng: setattr(env.unwrapped, "floor", state))
    assert right.value == pytest.approx(-1 - 0.9 + 0.81 * 10)


def test_another_state_is_an_error_where_the_environment_tells_its_own():
    run = wf.train(Readable(), wf.QLearning(discount=0.9), episodes=50, seed=0)
    with pytest.raises(ValueError, match="into 'state 1', and it is in 'state 2'"):
        run.simulation(1, rollouts=5, enter=lambda env, state, rng: setattr(env.unwrapped, "floor", 2))
    lake = wf.train("FrozenLake-v1", wf.QLearning(discount=0.9), episodes=50, seed=0)
    with pytest.raises(ValueError, match="into 'row 2, column 0', and it is in 'row 0, column 0'"):
        lake.simulation("row 2, column 0", rollouts=5, enter=lambda env, state, rng: None)
    car = wf.train("MountainCar-v0", wf.QLearning(), episodes=1, seed=0, bins=6, max_steps=50)
    with pytest.raises(ValueError, match=r"enter= was to put the environment into .* and it is in"):
        car.simulation(0, rollouts=5, enter=lambda env, state, rng: None)


def test_an_observation_that_is_no_state_is_not_believed(lift):
    """What an environment observes right after a reset has to be the state that the reset returned."""

    class Noisy(Lift):
        def _get_obs(self):
            return (self.floor + 1) % 5

    run = wf.train(Noisy(), wf.QLearning(discount=0.9), episodes=200, seed=0)
    enter = lambda env, state, rng: setattr(env.unwrapped, "floor", state)  # noqa: E731
    assert run.simulation(1, rollouts=20, enter=enter).value == pytest.approx(-1 - 0.9 + 0.81 * 10)


def test_the_parameters_of_enter_are_checked(lift):
    with pytest.raises(ValueError, match=r"enter takes \(env, state, rng\), and this function takes \(env, state\)"):
        lift.simulation(1, enter=lambda env, state: None)


def test_a_state_that_only_ends_episodes_is_not_searched_for(lift, monkeypatch):
    monkeypatch.setenv("WHATFOR_MAX_SEARCH", "1")
    with pytest.raises(ValueError, match="episodes end on reaching 'state 4': nothing can be played from there"):
        lift.simulation(4)
    with pytest.raises(ValueError, match=r"never reached it in 1 steps, or episodes end there. To go on"):
        wf.Run(values=np.zeros((5, 2)), env=Lift(), discount=0.9).simulation(4)
