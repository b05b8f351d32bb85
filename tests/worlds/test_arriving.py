"""Rollouts from a state that nobody can enter: fresh episodes are played until they reach it."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from scipy import stats

import whatfor as wf
from whatfor.worlds.arriving import Search


class Ferry(gym.Env):
    """Two banks and a current: the boat drifts, and a random number of crates is unloaded at the end."""

    observation_space, action_space = spaces.Discrete(7), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self.at, {}

    def step(self, action):
        drift = int(self.np_random.random() < 0.3)
        self.at = min(6, max(0, self.at + (1 if action else -1) - drift))
        ended = self.at == 6 or bool(self.np_random.random() < 0.02)
        return self.at, float(self.np_random.integers(3)) if ended else -0.1, ended, False, {}


class Vault(gym.Env):
    """A dial and a fuse: its policy never turns the dial back, so only random actions reach what lies there."""

    observation_space, action_space = spaces.MultiDiscrete([5, 4]), spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.dial, self.fuse = 2, 3
        return (self.dial, self.fuse), {}

    def step(self, action):
        self.dial = (self.dial + action - 1) % 5
        self.fuse = max(0, self.fuse - int(self.np_random.random() < 0.4))
        opened = self.dial == 4
        return (self.dial, self.fuse), 5.0 if opened else -1.0, opened or self.fuse == 0, False, {}


def enter_ferry(env, state, rng):
    env.unwrapped.at = state


def enter_vault(env, state, rng):
    env.unwrapped.dial, env.unwrapped.fuse = divmod(state, 4)


CASES = {
    "ferry": (Ferry, enter_ferry, 2, 0),
    "ferry, limited": (lambda: gym.wrappers.TimeLimit(Ferry(), 8), enter_ferry, 3, 1),
    "vault": (Vault, enter_vault, 0 * 4 + 2, 1),
}


@pytest.mark.parametrize("case", CASES)
def test_rollouts_are_those_of_a_state_that_is_entered(case):
    make, enter, state, action = CASES[case]
    run = wf.train(make(), wf.QLearning(discount=0.9), episodes=300, seed=0)
    played, entered = (run.playing.simulated(None, 800, 0, one) for one in (None, enter))
    assert played.arrives
    assert not entered.arrives
    at = run.situation(run.labels.observation(state))
    assert (played.rollouts(at, action).pair[played.rollouts(at, action).first[:-1]] == state * run.labels.n_actions + action).all()  # fmt: skip
    returns = [beliefs.returns(at, action) for beliefs in (played, entered)]
    assert stats.ks_2samp(*returns).pvalue > 1e-3
    lengths = [beliefs.rollouts(at, action).lengths for beliefs in (played, entered)]
    assert stats.ks_2samp(*lengths).pvalue > 1e-3
    off = np.abs(played.visits(at, action) - entered.visits(at, action))
    assert (off <= 5.0 * np.hypot(played.visits_error(at, action), entered.visits_error(at, action)) + 1e-3).all()


def test_the_answer_says_how_it_came_there():
    run = wf.train(Ferry(), wf.QLearning(discount=0.9), episodes=300, seed=0)
    why = run.simulation(2, rollouts=50)
    assert str(why) == str(run.simulation(2, rollouts=50)), "the same seed gives the same rollouts"
    text = "Each rollout starts where a fresh episode, played by its policy and with random actions where needed, reached this state"
    assert text in str(why)
    assert text in str(run.comparison(2, rollouts=50))
    assert text not in str(run.simulation(2, rollouts=50, enter=enter_ferry))
    assert run.episode(2).steps[0][0] == 2


def test_a_time_limit_starts_where_the_rollout_does():
    """On the way to the state the limit of the environment has run already."""
    run = wf.train(gym.wrappers.TimeLimit(Ferry(), 8), wf.QLearning(discount=0.9), episodes=300, seed=0)
    within = run.playing.simulated(None, 500, 0, None).rollouts(3, 1).lengths
    assert within.max() > 5, "a rollout from 3 has taken 3 steps at least"


def test_a_budget_that_is_used_up_shows_how_to_go_on(monkeypatch):
    run = wf.train(Ferry(), wf.QLearning(discount=0.9), episodes=300, seed=0)
    monkeypatch.setenv("WHATFOR_MAX_SEARCH", "100")
    message = r"1,000 rollouts from 'state 4' cannot be played: .* reached it only \d+ times in 100 steps.*play fewer rollouts \(rollouts=\d+\).*WHATFOR_MAX_SEARCH=1000.*`def enter"
    with pytest.raises(ValueError, match=message):
        run.simulation(4, rollouts=1_000)
    never = wf.train(Ferry(), wf.QLearning(discount=0.9), episodes=5, seed=0)
    with pytest.raises(ValueError, match="episodes end on reaching 'state 6'"):
        never.simulation(6, rollouts=10)
    with pytest.raises(ValueError, match="never reached it in 100 steps, or episodes end there"):
        wf.Run(values=never.values, env=Ferry(), discount=0.9).simulation(6, rollouts=10)


class Belt(gym.Env):
    """A belt that never stops. Its policy stays where it is in all places but two; episodes begin in one of six."""

    observation_space, action_space = spaces.Discrete(6), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(6))
        return self.at, {}

    def step(self, action):
        self.at = min(5, self.at + int(action))
        return self.at, float(action), self.at == 5, False, {}


def test_a_policy_that_goes_round_does_not_use_up_the_budget(monkeypatch):
    """An episode that stays for ever in another state is given up; later when nothing is found."""
    monkeypatch.setenv("WHATFOR_MAX_SEARCH", "30000")
    values = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
    run = wf.Run(values=values, env=Belt(), discount=0.9)
    assert run.simulation(3, rollouts=20).value == pytest.approx(1.0 + 0.9)


def test_the_patience_grows_until_the_state_is_reached():
    run = wf.Run(values=np.zeros((6, 2)), env=Belt(), discount=0.9)
    search = Search(run.labels, 3, 0, 5, np.random.default_rng(0))
    assert [search.gives_up(steps) for steps in (99, 100, 199, 200)] == [False, True, False, True]
    search.has_arrived(3, 0.0)
    assert [search.gives_up(400) for _ in range(2)] == [True, True]
    assert search.patience == 400
