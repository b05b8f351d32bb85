"""Which Gymnasium environments are replaced by a compiled twin, and the reasons that runs give."""

import re

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.toy_text.taxi import TaxiEnv
from gymnasium.wrappers import TimeLimit, TransformObservation, TransformReward

import whatfor as wf
from whatfor.worlds.cartpole import BINS, BOUNDS

BINNED = {"bins": BINS, "bounds": BOUNDS}


def train(env, **settings):
    return wf.train(env, wf.QLearning(), episodes=3, seed=0, **settings)


@pytest.mark.parametrize(
    ("id", "options", "settings"),
    [
        ("Taxi-v4", {}, {}),
        ("Taxi-v4", {"is_rainy": True}, {}),
        ("FrozenLake-v1", {}, {}),
        ("CliffWalking-v1", {}, {}),
        ("Blackjack-v1", {"natural": False, "sab": False}, {}),
        ("CartPole-v1", {}, BINNED),
    ],
)
def test_plain_environments_have_a_twin(id, options, settings):
    run = train(gym.make(id, **options), **settings)
    assert (run.engine, run.settings["engine_reason"]) == ("compiled", f"exact reimplementation of {id}")
    assert repr(run).endswith("engine='compiled')")
    by_hand = train(gym.make(id, **options), engine="python", **settings)
    assert (by_hand.engine, by_hand.settings["engine_reason"]) == ("python", "requested")


def semi_implicit():
    env = gym.make("CartPole-v1")
    env.unwrapped.kinematics_integrator = "semi-implicit euler"
    return env


class OwnTaxi(TaxiEnv):
    """A subclass, which may behave differently."""


def shuffled(env):
    order = np.random.default_rng(0).permutation(500)
    return TransformObservation(env, lambda seen: int(order[seen]), env.observation_space)


class Shorter(TimeLimit):
    """A subclass of the time limit."""


DIFFERENT = {
    "rewards changed": (lambda: TransformReward(gym.make("Taxi-v4"), lambda r: 2 * r), {}, "TransformReward"),
    "states changed": (lambda: shuffled(gym.make("Taxi-v4")), {}, "TransformObservation"),
    "a limit of one's own": (lambda: Shorter(gym.make("Taxi-v4"), 5), {}, "Shorter"),
    "rendering": (lambda: gym.make("Taxi-v4", render_mode="rgb_array"), {}, "render_mode='rgb_array'"),
    "fickle": (
        lambda: gym.make("Taxi-v4", fickle_passenger=True),
        {},
        "fickle_passenger=True.*table P does not contain",
    ),
    "sab": (lambda: gym.make("Blackjack-v1"), {}, "sab=True"),
    "natural": (lambda: gym.make("Blackjack-v1", natural=True, sab=False), {}, "natural=True"),
    "subclass": (lambda: TimeLimit(OwnTaxi(), 20), {}, "OwnTaxi"),
    "semi-implicit": (semi_implicit, BINNED, "semi-implicit euler"),
    "no twin": (lambda: gym.make("MountainCar-v0"), {"bins": 5}, "Continuous|MountainCar"),
    "rewards below bins": (lambda: TransformReward(gym.make("CartPole-v1"), lambda r: -r), BINNED, "TransformReward"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_environments_without_a_twin_use_the_python_engine_and_the_run_says_why(name):
    make, settings, reason = DIFFERENT[name]
    run = train(make(), **settings)
    assert run.engine == "python"
    assert re.search(reason, run.settings["engine_reason"])
    plain = train(make(), engine="python", **settings)
    assert np.array_equal(run.tables, plain.tables)


@pytest.mark.parametrize("name", [name for name in DIFFERENT if name != "subclass"])
def test_the_compiled_engine_is_refused_without_a_twin(name):
    make, settings, reason = DIFFERENT[name]
    with pytest.raises(ValueError, match=rf"no compiled engine for this environment: .*{reason}.*engine='python'"):
        train(make(), engine="compiled", **settings)


def test_a_wrapper_that_changes_rewards_is_used():
    doubled = TransformReward(gym.make("Taxi-v4"), lambda reward: 2 * reward)
    assert np.array_equal(train(doubled).history.returns, 2 * train("Taxi-v4").history.returns)


class Slope(gym.Env):
    """Walk up or down three steps, by the table ``P``."""

    def __init__(self):
        self.observation_space, self.action_space = spaces.Discrete(3), spaces.Discrete(2)
        self.P = {s: {a: self._entries(s, a) for a in (0, 1)} for s in range(3)}
        self.initial_state_distrib = np.array([1.0, 0.0, 0.0])

    @staticmethod
    def _entries(s, a):
        to = min(s + 1, 2) if a else max(s - 1, 0)
        return [(0.8, to, float(to == 2), to == 2), (0.2, s, 0.0, False)]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = 0
        self.np_random.random()  # Gymnasium's tables draw the first state, and so does the twin
        return self.s, {}

    def step(self, a):
        entries = self.P[self.s][a]
        _, self.s, reward, ended = entries[0 if self.np_random.random() < 0.8 else 1]
        return self.s, reward, ended, False, {}


def test_the_table_of_a_third_party_environment_is_not_its_twin():
    with pytest.raises(
        ValueError, match=r"no compiled engine for this environment: Slope .*worlds\.table\(env\.unwrapped\.P, start="
    ):
        wf.train(Slope(), episodes=1, seed=0, engine="compiled")
    slope = Slope()
    given = wf.train(wf.worlds.table(slope.P, start=slope.initial_state_distrib), episodes=200, seed=0, max_steps=50)
    by_hand = wf.train(Slope(), episodes=200, seed=0, max_steps=50)
    assert (given.engine, by_hand.engine) == ("compiled", "python")
    assert np.array_equal(given.tables, by_hand.tables)


def test_an_old_id_works_and_says_what_it_is_mapped_to():
    with pytest.warns(UserWarning, match="removed Taxi-v3; using Taxi-v4"):
        run = train("Taxi-v3")
    assert np.array_equal(run.tables, train("Taxi-v4").tables)


@pytest.mark.parametrize("engine", ["compiled", "python"])
@pytest.mark.parametrize(("own", "given", "longest"), [(30, None, 30), (30, 12, 12), (12, 30, 12), (None, None, 200)])
def test_the_shorter_time_limit_applies(engine, own, given, longest):
    env = gym.make("Taxi-v4") if own is None else gym.make("Taxi-v4", max_episode_steps=own)
    run = wf.train(env, wf.QLearning(exploration=1.0), episodes=20, seed=1, max_steps=given, engine=engine)
    assert run.history.lengths.max() == longest


def test_a_time_limit_wrapper_applies():
    run = train(TimeLimit(gym.make("CliffWalking-v1"), 9))
    assert run.engine == "compiled"
    assert run.history.lengths.max() <= 9


def test_an_episode_that_never_ends_is_truncated():
    run = wf.train(wf.worlds.table([[0]], [[1.0]]), wf.QLearning(discount=0.5), episodes=2, seed=0)
    assert run.history.lengths.tolist() == [10_000, 10_000]
