"""Worlds as environments, whose states are listed by their space or discovered by a key."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import whatfor as wf
from sameness import LEARNERS, REPLAYS
from whatfor.kernels.tables import first_above, start_state
from whatfor.testing import random_world

STATES = 40


def key_of(state):
    """A key with a value of every kind; different states have different keys."""
    return state % 7, "abcde"[state % 5], (state >= 20, None if state % 3 else 0.5 * state), bytes([state])


class TableEnv(gym.Env):
    """A random world, stepped with the numbers that the compiled engine draws."""

    action_space = spaces.Discrete(3)

    def __init__(self, seed=0, states=STATES):
        self.world = random_world(seed, states=states, actions=3)
        self.observation_space = spaces.Discrete(states)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = start_state(self.world.table, self.np_random.random())
        return self.state, {}

    def step(self, action):
        table, pair = self.world.table, self.state * 3 + int(action)
        at = first_above(table.chance, table.first[pair], table.first[pair + 1], self.np_random.random())
        self.state = int(table.next_state[at])
        return self.state, float(table.reward[at]), bool(table.ending[at]), False, {}


def settings_of(learner="q", replay=None, **more):
    return {
        "learner": LEARNERS[learner],
        "replay": REPLAYS.get(replay),
        "episodes": 60,
        "seed": 7,
        "max_steps": 30,
    } | more


def listed(env=None, **more):
    return wf.train(env or TableEnv(), **settings_of(**more))


def discovered(env=None, state_of=key_of, **more):
    return wf.train(env or TableEnv(), state_of=state_of, **settings_of(**more))


def order_of(run):
    """The numbers of a run's states in the world, in the order of discovery."""
    numbers = {key_of(state): state for state in range(STATES)}
    return [numbers[run.labels.observation(state)] for state in range(run.labels.n_states)]


def assert_permuted(run, other):
    """A run that discovered its states is the other one with other numbers, bit for bit."""
    order = order_of(run)
    assert np.array_equal(run.tables, other.tables[:, order])
    assert np.array_equal(run.history.returns, other.history.returns)
    untouched = np.ones(STATES, bool)
    untouched[order] = False
    assert len(np.unique(other.tables[:, untouched])) <= 1, "states that were not discovered keep the initial value"
    if run.ledger is not None:
        lines, others = run.ledger.lines, other.ledger.lines
        width, pairs = run.labels.n_actions, (run.ledger.n_states * run.labels.n_actions, STATES * run.labels.n_actions)
        for one, its in ((lines.cell, others.cell), (lines.source, others.source)):
            cells = one >= 0
            table, pair = np.divmod(one[cells], pairs[0])
            renumbered = table * pairs[1] + np.array(order)[pair // width] * width + pair % width
            assert np.array_equal(renumbered, its[cells])
            assert np.array_equal(one[~cells], its[~cells])
        for name in ("reward", "step_size", "discount", "lambda_"):
            assert np.array_equal(getattr(lines, name), getattr(others, name)), name
        assert np.array_equal(run.ledger.episode_starts, other.ledger.episode_starts)
