"""Tables of transitions: three equivalent forms, and invalid ones."""

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from whatfor.kernels.tables import start_state, step_table
from whatfor.worlds import table

NEXT = np.array([[1, 2], [2, 0], [2, 1]])
REWARD = np.array([[0.0, -1.0], [2.0, 0.5], [0.0, 3.0]])
ENDED = np.array([[False, False], [True, False], [False, True]])


def as_lists(following, reward, ended, chance=None):
    """Gymnasium's P, as nested dictionaries."""
    chance = np.ones(following.shape) if chance is None else chance
    entries = np.stack([chance, following, reward, ended], axis=-1).reshape(*following.shape[:2], -1, 4)
    return {
        s: {
            a: [(p, int(to), r, bool(end)) for p, to, r, end in entries[s, a].tolist()] for a in range(entries.shape[1])
        }
        for s in range(entries.shape[0])
    }


def same(one, other):
    return all(np.array_equal(mine, its) for mine, its in zip(one.table, other.table, strict=True))


def test_a_deterministic_table_is_the_same_as_pairs_as_outcomes_and_as_lists():
    pairs = table(NEXT, REWARD, ENDED, start=2)
    single = table(
        NEXT[..., None], REWARD[..., None], ENDED[..., None], probability=np.ones((3, 2, 1)), start=[0, 0, 1]
    )
    lists = table(as_lists(NEXT, REWARD, ENDED), start=2)
    assert same(pairs, single)
    assert same(pairs, lists)


def test_a_stochastic_table_is_the_same_as_arrays_and_as_lists():
    dice = np.random.default_rng(0)
    following, reward = dice.integers(3, size=(3, 2, 4)), dice.normal(size=(3, 2, 4))
    ended, chance = dice.random((3, 2, 4)) < 0.3, dice.dirichlet(np.ones(4), size=(3, 2))
    arrays = table(following, reward, ended, probability=chance, start=[0.25, 0.5, 0.25])
    lists = table(as_lists(following, reward, ended, chance), start=[0.25, 0.5, 0.25])
    assert same(arrays, lists)
    runs = [wf.train(world, wf.Sarsa(exploration=0.5), episodes=50, seed=1) for world in (arrays, lists)]
    assert len(runs[0].ledger) > 50
    assert np.array_equal(runs[0].tables, runs[1].tables)


def test_outcomes_have_the_given_probabilities():
    """10,000 steps from one state; each frequency within 5 standard errors: error rate 1e-6 each on other seeds."""
    world = table([[[0, 1, 0]]] * 2, [[[1.0, 2.0, 3.0]]] * 2, [[[True] * 3]] * 2, probability=[[[0.2, 0.5, 0.3]]] * 2)
    run = wf.train(world, episodes=10_000, seed=0)
    for reward, chance in ((1.0, 0.2), (2.0, 0.5), (3.0, 0.3)):
        share = (run.history.returns == reward).mean()
        assert abs(share - chance) < 5 * np.sqrt(chance * (1 - chance) / 10_000)


@pytest.mark.parametrize("size", [1, 2, 3, 12, 13, 50, 700])
def test_a_uniform_number_selects_the_same_entry_as_in_gymnasium(size):
    """Starts and steps, also with entries of probability 0, on and next to every boundary."""
    dice = np.random.default_rng(size)
    chance = dice.dirichlet(np.ones(size)) * (dice.random(size) < 0.7)
    chance[dice.integers(size)] += 1.0 - chance.sum()
    world = table([[[0] * size]] * size, 0.0, True, probability=[[chance]] * size, start=chance)
    summed = np.cumsum(chance)
    uniforms = np.concatenate([summed, np.nextafter(summed, 0), np.nextafter(summed, 1), dice.random(500), [0.0]])
    for uniform in uniforms[uniforms < 1.0]:
        entry = int(np.argmax(summed > uniform))
        assert start_state(world.table, uniform) == entry
        assert step_table(world.table, size - 1, uniform) == (size - 1) * size + entry


def test_a_single_reward_or_terminated_applies_to_all():
    assert same(table(NEXT, 1.0, True), table(NEXT, np.ones((3, 2)), np.ones((3, 2), bool)))


def test_the_time_limit_of_a_table_is_used():
    run = wf.train(table([[0]], [[1.0]], max_steps=7), episodes=3, seed=0)
    assert run.history.lengths.tolist() == [7, 7, 7]


def changed(array, at, value):
    array = np.array(array, dtype=np.result_type(array, type(value)))
    array[at] = value
    return array


TWO = np.zeros((1, 1, 2), int)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((NEXT, changed(REWARD, (1, 0), np.nan), ENDED), "reward of 'action 0' in 'state 1' is nan.*finite"),
        ((NEXT, changed(REWARD, (2, 1), np.inf), ENDED), "reward of 'action 1' in 'state 2' is inf"),
        ((changed(NEXT, (0, 0), 3), REWARD, ENDED), "next state 3 is out of range: there are states 0 to 2"),
        ((changed(NEXT, (0, 0), -1), REWARD, ENDED), "next state -1 is out of range"),
        ((changed(NEXT, (0, 0), 2**32), REWARD, ENDED), "next state 4294967296 is out of range"),
        ((NEXT.astype(float), REWARD, ENDED), "next_state holds float64 values; it must hold whole numbers"),
        ((NEXT, REWARD[:2], ENDED), r"reward has shape \(2, 2\), next_state has \(3, 2\)"),
        ((NEXT, REWARD, ENDED[:, :1].T), r"terminated has shape \(1, 3\), next_state has \(3, 2\)"),
        ((NEXT[0], REWARD[0], ENDED[0]), r"next_state has shape \(2,\); pass \(states, actions\)"),
        ((TWO, 0.0, True), "pass probability= of the same shape"),
        (({},), "Gymnasium's P"),
        ((5,), "Gymnasium's P"),
        (({0: {0: [(1.0, 0, 0.0)]}},), "Gymnasium's P"),
        (({0: {0: []}},), "at least one transition"),
        (({0: {0: [(1.0, 0, 0.0, True)], 1: []}},), "at least one transition"),
        (({0: {0: [(1.0, 2**32, 0.0, True)]}},), "next state 4294967296 is out of range"),
        (({0: {0: [(0.5, 0, 0.0, True)]}},), "probability of the only transition"),
        (({0: {0: [(0.5, 0, float("nan"), True), (0.5, 0, 0.0, True)]}},), "is nan"),
    ],
)
def test_bad_tables_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        table(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"probability": [[[0.5, 0.4]]]}, "probabilities of 'action 0' in 'state 0' are negative or sum to 0.9"),
        ({"probability": [[[1.5, -0.5]]]}, "probabilities of 'action 0' in 'state 0' are negative"),
        ({"probability": [[[np.nan, 0.5]]]}, "probabilities of 'action 0' in 'state 0'"),
        ({"probability": [0.5, 0.25, 0.25]}, r"probability has shape \(3,\)"),
        ({"probability": 0.5, "start": 1}, "start 1 is out of range: there are states 0 to 0"),
        ({"probability": 0.5, "start": [0.5]}, "start must have 1 probabilities that sum to 1"),
        ({"probability": 0.5, "start": [np.nan]}, "start must have 1 probabilities"),
        ({"probability": 0.5, "start": [0.5, 0.5]}, "start must have 1 probabilities"),
    ],
)
def test_invalid_probabilities_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        table(TWO, 0.0, True, **options)


def test_labels_must_fit():
    with pytest.raises(ValueError, match="labels= names 4 states and 2 actions; the table has 3 states and 2 actions"):
        table(NEXT, REWARD, ENDED, labels=wf.Labels.plain(4, 2))


def test_a_table_of_gymnasium_can_be_passed():
    core = gym.make("FrozenLake-v1").unwrapped
    world = table(core.P, start=core.initial_state_distrib)
    learner = wf.QLearning(exploration=0.5)
    by_hand = wf.train(world, learner, episodes=200, seed=4, max_steps=100)
    assert np.array_equal(by_hand.tables, wf.train("FrozenLake-v1", learner, episodes=200, seed=4).tables)
