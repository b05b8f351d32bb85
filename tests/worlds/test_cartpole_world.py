"""CartPole's compiled physics is bit-for-bit identical to Gymnasium's."""

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from whatfor.worlds.cartpole import BINS, BOUNDS
from whatfor.worlds.gymnasium import twin
from whatfor.worlds.making import binned
from whatfor.worlds.steppers import EnvStepper, WorldStepper
from whatfor.worlds.stepping import bin_of


def heavy(core):
    core.gravity, core.force_mag, core.length, core.tau = 5.0, 7.0, 0.8, 0.03
    core.masspole = 0.3
    core.total_mass, core.polemass_length = core.masspole + core.masscart, core.masspole * core.length


def narrow(core):
    core.x_threshold, core.theta_threshold_radians = 0.3, 0.1


CASES = {
    "as it comes": ({}, lambda core: None),
    "sutton and barto's reward": ({"sutton_barto_reward": True}, lambda core: None),
    "another planet": ({}, heavy),
    "narrow limits": ({}, narrow),
}


@pytest.mark.parametrize("name", CASES)
def test_cartpole_moves_as_in_gymnasium(name):
    """60 episodes: the cart's own four numbers, bins, rewards and falls agree exactly."""
    options, change = CASES[name]
    env = gym.make("CartPole-v1", max_episode_steps=200, **options)
    change(env.unwrapped)
    seen = binned(env, BINS, BOUNDS)
    world = twin(seen)
    ours, theirs = WorldStepper(world, 5), EnvStepper(seen, world.labels, 5)
    dice = np.random.default_rng(0)
    fell, longest = 0, 0
    for _ in range(60):
        assert ours.reset() == theirs.reset()
        over, length, careful = False, 0, dice.random() < 0.3
        while not over:
            upright = int(ours.body[2] + ours.body[3] > 0)
            action = upright if careful or dice.random() < 0.3 else int(dice.integers(2))
            *mine, _ = ours.step(action)
            *its, truncated = theirs.step(action)
            assert mine == its
            assert np.array_equal(ours.body, env.unwrapped.state)
            over, length = truncated or mine[2] != 0, length + 1
            fell += mine[2] != 0
        longest = max(longest, length)
    assert fell > 10
    assert longest > (20 if change is narrow else 100)


def test_observations_on_and_near_the_edges_of_bins_are_binned_as_in_gymnasium():
    """Gymnasium bins the observation in single precision; the cart moves in double precision."""
    world, env = wf.worlds.cartpole(), binned(gym.make("CartPole-v1"), BINS, BOUNDS)
    bodies = []
    for axis, edges in enumerate(env.bin_edges):
        for edge in edges.astype(np.float64):
            for near in (edge, np.nextafter(edge, -1), np.nextafter(edge, 1), edge - 1e-12, edge + 1e-12, edge - 1e-3):
                body = np.zeros(4)
                body[axis] = near
                bodies.append(body)
    theirs = [env.observation(env.env.observation(body.astype(np.float32))) for body in bodies]
    assert [bin_of(world.arrays.cart, body) for body in bodies] == theirs
    assert len(set(theirs)) > 8


def test_the_papers_world_has_162_states_and_200_steps():
    world = wf.worlds.cartpole()
    run = wf.train(world, wf.QLearning(step_size=0.2, exploration=0.1), episodes=1_500, seed=0, time_limit="terminal")
    assert (world.labels.n_states, world.max_steps) == (162, 200)
    assert run.history.lengths.max() == 200
    assert np.array_equal(run.history.returns, run.history.lengths), "a reward of 1 a step"


def test_cartpole_ends_by_a_fall_or_the_time_limit():
    run = wf.train(wf.worlds.cartpole(max_steps=15), episodes=200, seed=0, time_limit="terminal")
    ends = {}
    for update in run.ledger:
        if update.ending:
            ends.setdefault(update.ending, set()).add(update.step == 14)
    assert set(ends) == {"fell", "timed out"}
    assert ends["timed out"] == {True}


def test_an_id_keeps_gymnasiums_own_limit():
    run = wf.train("CartPole-v1", bins=BINS, bounds=BOUNDS, episodes=3, seed=0)
    assert (run.engine, run.settings["max_steps"]) == ("compiled", 500)


def test_the_id_and_the_papers_world_learn_the_same():
    settings = {"episodes": 200, "seed": 3, "max_steps": 200}
    by_id = wf.train("CartPole-v1", bins=BINS, bounds=BOUNDS, **settings)
    paper = wf.train(wf.worlds.cartpole(), **settings)
    assert np.array_equal(by_id.tables, paper.tables)
    assert np.array_equal(by_id.history.returns, paper.history.returns)


def test_cartpole_has_no_table_and_the_error_names_the_alternative():
    with pytest.raises(ValueError, match=r"no table of transitions.*simulation"):
        _ = wf.worlds.cartpole().table
