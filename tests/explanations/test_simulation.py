"""Forward simulation: compared with exact futures, its random numbers, and where it is not possible."""

import gymnasium as gym
import numpy as np
import pytest
from scipy import stats

import whatfor as wf
from taxi_runs import START, train_taxi
from whatfor.beliefs import Situation
from whatfor.question import layout_of
from whatfor.testing import check_beliefs, random_world
from whatfor.text import amount
from whatfor.worlds.cartpole import BINS, BOUNDS
from whatfor.worlds.entering import observations_in
from whatfor.worlds.gymnasium import labels_of
from whatfor.worlds.making import binned


def random_policy(seed, states=5, actions=3):
    return np.random.default_rng(seed).dirichlet(np.ones(actions), size=states)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("discount", [0.0, 0.7, 1.0])
def test_rollouts_agree_with_the_exact_future(seed, discount):
    """Every pair within 5 standard errors: 15 pairs and 15 cases fail by chance about once in 5,000 runs."""
    world, policy = random_world(seed), random_policy(seed)
    simulated = wf.SimulatedBeliefs(world, policy, discount=discount, rollouts=4_000, seed=seed)
    exact = wf.ExactBeliefs(world, policy, discount=discount)
    off = np.abs(simulated.visits(0, 1) - exact.visits(0, 1))
    assert (off <= 5.0 * simulated.visits_error(0, 1) + 1e-3).all()
    returns = simulated.returns(0, 1)
    assert abs(returns.mean() - exact.value(0, 1)) <= 5.0 * returns.std() / np.sqrt(4_000) + 1e-12
    assert simulated.earnings(0, 1).sum() == pytest.approx(simulated.value(0, 1))


@pytest.mark.long
def test_intervals_cover_the_exact_value_as_often_as_they_say():
    world, policy = random_world(3), random_policy(3)
    true = wf.ExactBeliefs(world, policy, discount=0.9).value(2, 0)
    covered = 0
    for seed in range(400):
        beliefs = wf.SimulatedBeliefs(world, policy, discount=0.9, rollouts=100, seed=seed)
        low, high = wf.explanations.Simulation.of(beliefs, Situation(2), 0).interval
        covered += low <= true <= high
    assert stats.binomtest(covered, 400, 0.95).pvalue > 1e-4


def test_rollouts_are_independent_and_seeded():
    world = wf.worlds.table(next_state=[[[0, 0]]], reward=[[[0.0, 1.0]]], terminated=True, probability=[[[0.5, 0.5]]])
    one, same, other = (wf.SimulatedBeliefs(world, [0], discount=1.0, rollouts=2_000, seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.returns(0, 0), same.returns(0, 0))
    assert not np.array_equal(one.returns(0, 0), other.returns(0, 0))
    wins = one.returns(0, 0)
    assert abs(np.corrcoef(wins[1:], wins[:-1])[0, 1]) < 0.1, "rollouts are independent"
    assert stats.binomtest(int(wins.sum()), 2_000, 0.5).pvalue > 1e-6


def test_equally_good_actions_are_played_equally_often():
    run = wf.Run(labels=wf.worlds.chain().labels, values=[[2.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    played = wf.SimulatedBeliefs(wf.worlds.chain(), run.policy, discount=1.0, rollouts=10)
    assert played.policy[0].tolist() == [0.5, 0.5]


def test_cartpole_starts_anywhere_in_the_bin():
    labels, dice = wf.worlds.cartpole().labels, np.random.default_rng(0)
    for state in (0, 79, 161):
        bodies = observations_in(labels, state, 500, dice)
        assert {labels.index(body.astype(np.float32)) for body in bodies} == {state}
        low, high = np.array(
            [(a.edges[i], a.edges[i + 1]) for a, i in zip(labels.axes, labels.values(state), strict=True)]
        ).T
        spread = (bodies - low) / (high - low)
        assert spread.min() < 0.05
        assert spread.max() > 0.95


def as_it_is(env):
    """A wrapper that changes nothing, but has no compiled twin."""
    return gym.wrappers.RecordEpisodeStatistics(env)


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("Taxi-v4", 68),
        ("FrozenLake-v1", 0),
        ("CliffWalking-v1", 36),
        ("Blackjack-v1", (14, 10, 0)),
        ("CartPole-v1", 79),
    ],
)
def test_an_environment_is_played_as_its_twin_is(name, state):
    env = gym.make(name, **({"sab": False} if name == "Blackjack-v1" else {}))
    wrapped = as_it_is(env)
    if name == "CartPole-v1":
        env, wrapped = binned(env, BINS, BOUNDS), binned(wrapped, BINS, BOUNDS)
    labels = labels_of(env)
    policy, index = np.ones(labels.n_states, int), labels.index(state)
    settings = {"discount": 0.9, "rollouts": 200, "max_steps": 50}
    twin, slow = (wf.SimulatedBeliefs(which, policy, **settings) for which in (env, wrapped))
    one, two = twin.returns(index, 1), slow.returns(index, 1)
    spread = np.hypot(one.std(), two.std()) / np.sqrt(200)
    assert abs(one.mean() - two.mean()) <= 5.0 * spread + 1e-9


class Strange(gym.Env):
    """It cannot be put into a given state without ``enter=``."""

    observation_space = gym.spaces.Discrete(4)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.hidden = int(self.np_random.integers(3))
        return self.hidden, {}

    def step(self, action):
        self.hidden += 1
        return self.hidden, 1.0, self.hidden == 3, False, {}


def test_a_state_that_play_does_not_reach_names_enter(monkeypatch):
    run = wf.train(Strange(), wf.QLearning(discount=1.0), episodes=20, seed=0)
    monkeypatch.setenv("WHATFOR_MAX_SEARCH", "20")
    with pytest.raises(ValueError, match=r"reached it .* in 20 steps.*enter=, .*`def enter\(env, state, rng\)"):
        run.simulation(1, rollouts=500)

    def enter(env, state, rng):
        env.unwrapped.hidden = state

    simulation = run.simulation(1, rollouts=5, enter=enter)
    assert (simulation.value, simulation.length) == (2.0, 2.0)
    assert run.comparison(1, rollouts=5, enter=enter).exact is None


def test_nothing_is_played_from_where_episodes_end():
    run = wf.train("FrozenLake-v1", wf.QLearning(), episodes=10, seed=0)
    with pytest.raises(ValueError, match="episodes end on reaching 'row 1, column 1'"):
        run.simulation("row 1, column 1")
    assert "never acted" in str(run.intention("row 1, column 1"))


@pytest.mark.parametrize(
    ("setting", "message"),
    [({"rollouts": 0}, "at least 1"), ({"max_steps": 0}, "at least 1"), ({"discount": 2.0}, "must lie in")],
)
def test_wrong_settings_are_rejected(setting, message):
    with pytest.raises(ValueError, match=message):
        wf.SimulatedBeliefs(wf.worlds.chain(), [0, 0, 0], **{"discount": 1.0, **setting})


def test_a_policy_that_never_ends_is_truncated_and_reported():
    run = wf.Run(labels=train_taxi(0).labels, values=np.eye(500, 6) * 0 + [0, 1, 0, 0, 0, 0])
    beliefs = wf.SimulatedBeliefs("Taxi-v4", run.policy, discount=0.9, rollouts=3)
    simulation = wf.explanations.Simulation.of(beliefs, Situation(68), 1)
    assert simulation.chances == {"timed out": 1.0}
    assert simulation.length == 200


def test_playing_does_not_disturb_training():
    env = as_it_is(gym.make("FrozenLake-v1"))
    run = wf.train(env, wf.QLearning(discount=0.9), episodes=100, seed=0)
    other = wf.train(as_it_is(gym.make("FrozenLake-v1")), wf.QLearning(discount=0.9), episodes=100, seed=0)
    run.simulation(0, rollouts=10)
    assert np.array_equal(wf.train(run, episodes=50).values, wf.train(other, episodes=50).values)


def test_the_answer_in_words(taxi_5k):
    text = str(taxi_5k.simulation(START))
    assert text.startswith(
        f"Played 1,000 times from '{START}' with 'south', then by its greedy policy. "
        "Playing its policy gives a return of -1.527 (discounted, identical in all rollouts), 8 undiscounted, in 13 steps on average."
    )
    assert "100 %  delivered (95 % interval > 99 % to 100 %)" in text
    assert layout_of(taxi_5k.simulation(START)).quantity == "mean visits, discounted"
    form = taxi_5k.simulation(START).to_json()
    assert form["chances"] == {"delivered": 1.0}


def test_simulations_are_beliefs():
    world, policy = random_world(1), random_policy(1)
    beliefs = wf.SimulatedBeliefs(world, policy, discount=0.9, rollouts=50)
    check_beliefs(beliefs, 5, 3)
    run = wf.Run(
        labels=world.labels, values=[[beliefs.value(s, a) for a in range(3)] for s in range(5)], beliefs=beliefs
    )
    why = run.intention(0)
    assert why.residual is None, "it is not what an agent learned"
    assert why.value == pytest.approx(why.earnings.sum())
    assert why.tries is None
    assert f"gives a return of {amount(why.value)}" in str(why)
    assert run.contrast(0).residual is None
    with pytest.raises(ValueError, match="needs the ledger"):
        run.provenance(0)
