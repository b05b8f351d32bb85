"""Loaded runs are identical to the saved ones, and resume as if training had not stopped."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

import whatfor as wf
from sameness import CASES
from saved import SAVED, assert_same, names, through_disk, trained
from whatfor.testing import random_world
from whatfor.worlds.gymnasium import twin

# -- there and back --------------------------------------------------------------------------


@pytest.mark.parametrize(("learner", "replay"), CASES)
def test_a_loaded_run_is_identical(learner, replay, tmp_path):
    run = trained("Taxi-v4", learner, replay)
    again = through_disk(run, tmp_path / "run")
    assert_same(run, again)
    assert names(tmp_path / "run") == SAVED
    assert again.audit.residual == run.audit.residual
    assert str(again.intention(68)) == str(run.intention(68))


def test_a_run_of_a_custom_loop_can_be_loaded(tmp_path):
    ledger = wf.Ledger(n_states=2, n_actions=1, initial=[[0.5], [0.0]])
    ledger.record(0, 0, 1.0, 1, 0, step_size=0.5, discount=0.9)
    ledger.record(1, 0, 2.0, None, step_size=0.25, discount=0.9, ending="won")
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)
    again = through_disk(run, tmp_path / "run")
    assert_same(run, again)
    assert [update.ending for update in again.ledger] == [None, "won"]
    with pytest.raises(ValueError, match="custom training loop"):
        wf.train(again, episodes=1)


def test_a_run_without_a_ledger_can_be_loaded_and_resumed(tmp_path):
    half = through_disk(trained(record=False, episodes=25), tmp_path / "run")
    assert half.ledger is None
    assert_same(wf.train(half, episodes=25), trained(record=False))


def test_saving_again_replaces_the_run_and_its_files(run, run_folder):
    more = wf.train(run, episodes=5)
    more.save(run_folder)
    assert_same(wf.load(run_folder), more)
    assert names(run_folder) == SAVED
    assert len(list(run_folder.iterdir())) == 5


@pytest.mark.parametrize("number", [np.int64(7), np.uint8(7)])
def test_numpy_numbers_are_numbers(number, tmp_path):
    run = trained(seed=number, episodes=number, max_steps=number)
    assert_same(through_disk(run, tmp_path / "run"), trained(seed=7, episodes=7, max_steps=7))


def test_a_run_with_replay_and_without_a_ledger_can_be_loaded(tmp_path):
    """Blackjack has named endings, which the replay buffer stores."""
    world = wf.worlds.blackjack()
    run = wf.train(world, wf.QLearning(), episodes=50, seed=0, record=False, replay=wf.Replay())
    again = through_disk(run, tmp_path / "run")
    assert_same(wf.train(again, episodes=20), wf.train(run, episodes=20))


# -- going on --------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compiled", "python"])
@pytest.mark.parametrize(("learner", "replay"), CASES)
def test_resumed_training_is_identical_to_uninterrupted_training(learner, replay, engine, tmp_path):
    whole = trained("FrozenLake-v1", learner, replay, engine=engine)
    half = trained("FrozenLake-v1", learner, replay, engine=engine, episodes=20)
    assert_same(wf.train(half, episodes=30), whole)
    assert_same(wf.train(through_disk(half, tmp_path / "run"), episodes=30), whole)


WORLDS = {
    "taxi": (lambda: "Taxi-v4", {}),
    "taxi, stepped": (lambda: "Taxi-v4", {"engine": "python"}),
    "rainy taxi, stepped": (lambda: gym.make("Taxi-v4", is_rainy=True), {"engine": "python"}),
    "blackjack, stepped": (lambda: gym.make("Blackjack-v1", sab=False), {"engine": "python"}),
    "fickle taxi": (lambda: gym.make("Taxi-v4", fickle_passenger=True), {}),
    "time limit by hand": (lambda: TimeLimit(gym.make("CliffWalking-v1"), 9), {}),
    "mountain car": (lambda: "MountainCar-v0", {"bins": (4, 5), "bounds": [(-1.2, 0.6), (-0.07, 0.07)]}),
    "cartpole by id": (lambda: "CartPole-v1", {"bins": 3, "bounds": [(-2, 2), (-2, 2), (-0.2, 0.2), (-2, 2)]}),
    "cartpole": (lambda: wf.worlds.cartpole(max_steps=30), {}),
    "blackjack": (wf.worlds.blackjack, {}),
    "chain": (wf.worlds.chain, {}),
    "table": (lambda: random_world(3), {}),
    "table, stepped": (lambda: random_world(3), {"engine": "python"}),
    "lake as a table": (lambda: twin(gym.make("FrozenLake-v1")), {}),
    "a map of one's own": (lambda: gym.make("FrozenLake-v1", desc=["SF", "HG"], reward_schedule=(5, -1, 0)), {}),
}


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_can_be_recreated(name, tmp_path):
    make, settings = WORLDS[name]
    whole = trained(make(), **settings)
    half = through_disk(trained(make(), **settings, episodes=20), tmp_path / "run")
    assert_same(wf.train(half, episodes=30), whole)
    assert np.array_equal(half.evaluate(5).returns, trained(make(), **settings, episodes=20).evaluate(5).returns)


def test_evaluating_in_between_changes_nothing(tmp_path):
    for engine in ("compiled", "python"):
        half = trained(engine=engine, episodes=20)
        half.evaluate(10)
        assert_same(wf.train(half, episodes=30), trained(engine=engine))


def changed_lake():
    env = gym.make("FrozenLake-v1")
    env.unwrapped.P[0][0] = [(1.0, 15, 3.0, True)]
    return env


def moon():
    env = gym.make("CartPole-v1")
    env.unwrapped.gravity = 1.6
    return env


def implicit():
    env = gym.make("CartPole-v1")
    env.unwrapped.kinematics_integrator = "semi-implicit euler"
    return env


CHANGED = {
    "random map": (lambda: gym.make("FrozenLake-v1", desc=None, map_name=None), {}),
    "changed table": (changed_lake, {}),
    "changed table, stepped": (changed_lake, {"engine": "python"}),
    "another planet": (moon, {"bins": 3, "bounds": [(-2, 2)] * 4}),
    "another integrator": (implicit, {"bins": 3, "bounds": [(-2, 2)] * 4}),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_world_that_cannot_be_recreated_must_be_passed(name, tmp_path):
    """A loaded run is never resumed in a different world."""
    make, settings = CHANGED[name]
    env = make()
    half = through_disk(trained(env, **settings, episodes=20), tmp_path / "run")
    with pytest.raises(ValueError, match="env="):
        wf.train(half, episodes=30)
    assert_same(wf.train(half, env=env, episodes=30), trained(env, **settings))


class Own(gym.Env):
    """An environment that cannot be recreated from its description."""

    observation_space, action_space = gym.spaces.Discrete(3), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return int(self.np_random.integers(3)), float(action), bool(self.np_random.random() < 0.2), False, {}


def test_a_third_party_environment_must_be_passed(tmp_path):
    half = through_disk(trained(Own(), episodes=20), tmp_path / "run")
    with pytest.raises(ValueError, match=r"Own is not registered.*env="):
        wf.train(half, episodes=30)
    assert_same(wf.train(half, env=Own(), episodes=30), trained(Own()))


def test_branches_leave_the_run_and_each_other_alone(tmp_path):
    for learner, replay in (("q", None), ("monte carlo", None), ("double q by step", "ring")):
        base = trained("FrozenLake-v1", learner, replay, episodes=20)
        before = through_disk(base, tmp_path / "before")
        one, other = wf.train(base, episodes=30), wf.train(base, episodes=10)
        further = wf.train(other, episodes=20)
        assert_same(base, before)
        assert_same(one, trained("FrozenLake-v1", learner, replay))
        assert_same(other, trained("FrozenLake-v1", learner, replay, episodes=30))
        assert_same(further, one)


def test_a_custom_exploration_must_be_passed_to_resume(tmp_path):
    learner = wf.QLearning(exploration=lambda episode: 1 / (1 + episode))
    whole = wf.train("FrozenLake-v1", learner, episodes=50, seed=1)
    half = through_disk(wf.train("FrozenLake-v1", learner, episodes=20, seed=1), tmp_path / "run")
    with pytest.raises(ValueError, match="pass the learner again"):
        wf.train(half, episodes=30)
    more = wf.train(half, learner, episodes=30)
    assert np.array_equal(more.tables, whole.tables)


def test_values_that_are_not_the_agents_own_stay_so(tmp_path):
    """A run as of an earlier time has no residual, also after it was saved and loaded."""
    earlier = wf.train("FrozenLake-v1", episodes=50, seed=0).as_of(20)
    assert earlier.intention(0).residual is None
    earlier.save(tmp_path / "run")
    assert wf.load(tmp_path / "run").intention(0).residual is None


def test_other_beliefs_are_not_dropped_silently(tmp_path):
    run = wf.train("FrozenLake-v1", episodes=50, seed=0)
    other = run.believing(wf.BeliefMap.from_ledger(run.ledger))
    with pytest.raises(wf.FolderError, match="beliefs of its own \\(BeliefMap\\)"):
        other.save(tmp_path / "run")
