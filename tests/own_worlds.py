"""Environments that whatfor does not know, and names for them."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import whatfor as wf

LEARNER = wf.QLearning(step_size=0.2, discount=0.95, exploration=0.3)
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
KEY, LAVA, HOME, WALL = (0, 0), (1, 2), (3, 3), (1, 1)


class Home(gym.Env):
    """Four by four cells with a key, without which home is closed; slippery."""

    observation_space = spaces.Tuple((spaces.Discrete(4), spaces.Discrete(4), spaces.Discrete(2)))
    action_space = spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.key = (3, 0), 0
        return (*self.at, self.key), {}

    def step(self, action):
        if self.np_random.random() < 0.2:
            action = int(self.np_random.integers(4))
        to = self.at[0] + MOVES[action][0], self.at[1] + MOVES[action][1]
        if all(0 <= one < 4 for one in to) and to != WALL and (to != HOME or self.key):
            self.at = to
        self.key = int(self.key or self.at == KEY)
        reward = 10.0 if self.at == HOME else -10.0 if self.at == LAVA else -0.1
        return (*self.at, self.key), reward, self.at in (HOME, LAVA), False, {}


def at_home(last):
    return tuple(last[:2]) == HOME


NAMES = {
    "axes": {"row": 4, "column": 4, "key": ("without key", "with key")},
    "actions": ("up", "right", "down", "left"),
    "verbs": {"up": "moves up"},
    "endings": {
        "home": {"when": at_home, "phrase": "get home"},
        "burned": {"when": lambda last: tuple(last[:2]) == LAVA, "phrase": "burn", "bad": True},
    },
    "milestones": {"fetch the key": {"key": "with key"}},
    "marks": {"lava": {"at": LAVA, "closed": True}, "home": {"at": HOME, "letter": "*"}},
    "walls": [WALL, ((3, 0), (3, 1))],
}
START = (3, 0, 0)


class NamedHome(Home):
    """The same with its own names."""

    metadata = {"whatfor": NAMES}  # noqa: RUF012


class Machine(gym.Env):
    """No grid: a machine that is run, repaired or sold; what its sale pays is continuous."""

    observation_space, action_space = spaces.MultiDiscrete([4, 3]), spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.wear, self.stock = 0, 0
        return np.array([0, 0]), {}

    def step(self, action):
        if action == 2:
            sold = 3.0 * self.stock - 2.0 * self.wear + float(self.np_random.normal())
            return np.array([self.wear, self.stock]), sold, True, False, {}
        if action == 1:
            self.wear = max(0, self.wear - 1)
        else:
            self.stock, self.wear = min(self.stock + 1, 2), self.wear + int(self.np_random.random() < 0.4)
        broken = self.wear == 3
        return np.array([self.wear, self.stock]), -8.0 if broken else -0.2, broken, False, {}


class Endless(gym.Env):
    """It never ends, and whatever is done pays 1."""

    observation_space, action_space = spaces.Discrete(5), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, 1.0, False, False, {}


def trained(env=None, *, episodes=400, names=None, **more):
    """A run in one of them."""
    return wf.train(env or Home(), LEARNER, episodes=episodes, max_steps=100, seed=0, names=names, **more)
