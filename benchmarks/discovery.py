"""Training with states that are discovered, against the same environment with a Discrete space."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from cases import CASES, timed
from report import Row, number
from whatfor.learners.q_learning import QLearning
from whatfor.training.places import place_of
from whatfor.training.session import Place, Session

REPETITIONS = 7


class Ring(gym.Env[int, int]):
    """A ring of states, as cheap to step as an environment can be: the worst case for what a step costs besides."""

    def __init__(self, states: int = 5_000) -> None:
        self.states = states
        self.observation_space, self.action_space = gym.spaces.Discrete(states), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0
        return self.at, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.at = (self.at + (1 if action else -1)) % self.states
        return self.at, -1.0, self.at == self.states // 2, False, {}


def section(scale: int) -> list[Row]:
    """Time with discovered states / with a Discrete space, for keys that are a number and a tuple."""
    taxi = next(case for case in CASES if case.name == "Taxi")
    rows = []
    for name, make, learner, episodes, steps in (
        ("Taxi", taxi.env, taxi.learner, taxi.python_episodes // scale, None),
        ("A ring of 5,000 states", Ring, QLearning(exploration=0.5), 20 // min(scale, 10), 5_000),
    ):
        for key, state_of in (("a number", lambda state: state), ("a tuple of 3", lambda state: (state // 50, state // 5 % 10, state % 5))):  # fmt: skip
            listed, found = (
                place_of(make(), engine="python", max_steps=steps, state_of=one) for one in (None, state_of)
            )
            rows.append(_row(f"{name}: key {key}", listed, found, learner, episodes))
    return rows


def _row(what: str, listed: Place, found: Place, learner: QLearning, episodes: int) -> Row:
    epsilons = np.full(episodes, 0.3)
    times: dict[str, list[float]] = {"listed": [], "found": []}
    for _ in range(REPETITIONS):
        for name, place in (("listed", listed), ("found", found)):
            session = Session.fresh(place, learner, seed=0, time_out_ends=False, replay=None, record=True)
            seconds, steps = timed(session, epsilons)
            times[name].append(seconds / steps)
    ratio = min(times["found"]) / min(times["listed"])
    rates = {name: 1 / min(each) for name, each in times.items()}
    note = f"{number(rates['found'])} against {number(rates['listed'])} steps/s"
    return Row(f"{what}: time with discovered states / with a Discrete space", ratio, "×", 2.0, note=note, detail={"steps_a_second": rates})  # fmt: skip
