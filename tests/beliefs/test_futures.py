"""Futures of a policy besides its rows: exact ones against brute force, and rollouts against exact ones."""

import numpy as np
import pytest

import whatfor as wf
from whatfor.beliefs import Situation
from whatfor.concepts import Concept
from whatfor.kernels.recursion import NOT_ENDED
from whatfor.testing import check_beliefs, random_world
from whatfor.worlds import table

AT, DISCOUNT = Situation(0), 0.9


def beliefs_of(seed):
    world = random_world(seed)
    policy = np.random.default_rng(seed).dirichlet(np.ones(3), size=5)
    return wf.ExactBeliefs(world, policy, discount=DISCOUNT), world, policy


def stepped(world, policy, state, action, steps):
    """The distribution over pairs after each number of steps, by products."""
    chances = np.diff(world.table.chance.reshape(5, 3, 3), axis=2, prepend=0.0)
    following, goes_on = (
        column.reshape(5, 3, 3) for column in (world.table.next_state, world.table.ending == NOT_ENDED)
    )
    now = np.zeros((5, 3))
    now[state, action] = 1.0
    for _ in range(steps):
        yield now
        states = np.zeros(5)
        np.add.at(states, following[goes_on], (now[:, :, None] * chances)[goes_on])
        now = states[:, None] * policy


@pytest.mark.parametrize("seed", range(4))
def test_exact_depths_are_products_of_transitions(seed):
    exact, world, policy = beliefs_of(seed)
    for discount in (None, 0.5, 1.0):
        depths = exact.depths(AT, 1, 6, discount)
        g = DISCOUNT if discount is None else discount
        expected = np.array([g**d * now for d, now in enumerate(stepped(world, policy, 0, 1, 6))])
        assert np.abs(depths.visits - expected).max() < 1e-12
        assert depths.unaccounted < 1e-9
        assert depths.discounted is (g < 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_exact_arrivals_are_those_of_many_steps(seed):
    exact, world, policy = beliefs_of(seed)
    first, second = Concept("a", np.arange(5) == 3), Concept("b", np.isin(np.arange(5), (2, 3)))
    found = exact.arrivals(AT, 2, [first, second])
    chances = np.diff(world.table.chance.reshape(5, 3, 3), axis=2, prepend=0.0)
    following, ended = world.table.next_state.reshape(5, 3, 3), world.table.ending.reshape(5, 3, 3) != NOT_ENDED
    now, reached = np.zeros((5, 3)), np.zeros(3)  # a, b, an end before both
    now[0, 2] = 1.0
    for _ in range(3_000):
        moved, states = now[:, :, None] * chances, np.zeros(5)
        np.add.at(states, following, np.where(ended, 0.0, moved))
        arrived = np.zeros(5)  # also at ends: their final state counts
        np.add.at(arrived, following, moved)
        reached += [arrived[3], arrived[2], moved[ended & ~np.isin(following, (2, 3))].sum()]
        states[[2, 3]] = 0.0
        now = states[:, None] * policy
    assert found.concepts == pytest.approx(reached[:2], abs=1e-9)
    assert sum(found.endings.values()) == pytest.approx(reached[2], abs=1e-9)
    assert found.concepts.sum() + sum(found.endings.values()) + found.never + found.unknown == pytest.approx(1.0)


def test_a_policy_that_never_ends_never_arrives():
    ring = table([[1], [0]], [[0.0], [0.0]])
    exact = wf.ExactBeliefs(ring, [0, 0], discount=0.5)
    assert exact.arrivals(AT, 0, [Concept("nowhere", np.zeros(2, bool))]).never == pytest.approx(1.0)
    assert exact.arrivals(AT, 0, [Concept("here", np.array([True, False]))]).concepts == pytest.approx([1.0])
    assert exact.loop(AT, 0) == (pytest.approx(1.0), 0.0, None, True)
    with pytest.raises(ValueError, match="without a discount the visits are infinite"):
        exact.depths(AT, 0, 3, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_rollouts_agree_with_the_exact_future(seed):
    exact, world, policy = beliefs_of(seed)
    played = wf.SimulatedBeliefs(world, policy, discount=DISCOUNT, rollouts=20_000, seed=seed)
    depths, known = played.depths(AT, 1, 5), exact.depths(AT, 1, 5)
    assert np.abs(depths.visits - known.visits).max() < 0.02
    assert np.abs(depths.remainder - known.remainder).max() < 0.1
    assert depths.unaccounted < 1e-9
    concepts = [Concept("a", np.arange(5) == 3), Concept("b", np.isin(np.arange(5), (2, 3)))]
    mine, theirs = played.arrivals(AT, 1, concepts), exact.arrivals(AT, 1, concepts)
    assert np.abs(mine.concepts - theirs.concepts).max() < 0.02
    assert np.abs(mine.visits - theirs.visits).max() < 0.1
    assert np.abs(mine.earnings - theirs.earnings).max() < 0.3
    assert mine.concepts.sum() + sum(mine.endings.values()) + mine.unknown == pytest.approx(1.0)
    paid = played.payments(AT, 1)
    assert float(paid.weight @ paid.reward) == pytest.approx(played.value(0, 1))
    assert paid.error(paid.reward, 20_000) == pytest.approx(played.row(AT, 1).error)
    paid = exact.payments(AT, 1)
    assert float(paid.weight @ paid.reward) == pytest.approx(exact.value(0, 1))


def test_an_environment_is_played_as_its_table():
    """Rollouts of the Python loop know the final state of each episode, too."""
    import gymnasium as gym

    env, policy = gym.make("FrozenLake-v1"), np.full((16, 4), 0.25)
    slow = wf.SimulatedBeliefs(env, policy, discount=1.0, rollouts=500, enter=lambda env, s, rng: _enter(env, s))
    exact = wf.ExactBeliefs("FrozenLake-v1", policy, discount=1.0)
    goal = [exact.labels.where("row 3, column 3")]
    assert not slow.compiled
    at = Situation(14)
    assert abs(slow.arrivals(at, 2, goal).concepts[0] - exact.arrivals(at, 2, goal).concepts[0]) < 0.12
    assert exact.arrivals(at, 2, goal).concepts[0] == pytest.approx(exact.outcomes(14, 2)["reached the goal"])


def _enter(env, state):
    env.unwrapped.s = state


def test_the_contract_covers_what_a_source_declares():
    exact, _, _ = beliefs_of(0)
    check_beliefs(exact, 5, 3)

    class Wrong(wf.ExactBeliefs):
        def payments(self, at, action):
            paid = super().payments(at, action)
            return paid._replace(weight=2.0 * paid.weight)

    wrong = Wrong(random_world(0), exact.policy, discount=DISCOUNT)
    with pytest.raises(AssertionError, match=r"payments\(0, 0\) sum to"):
        check_beliefs(wrong, 5, 3)
