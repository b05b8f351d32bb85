"""The three worlds that are timed, with the paper's settings."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

import whatfor as wf
from whatfor.learners.schedules import explorations
from whatfor.training.places import Engine, place_of
from whatfor.training.session import Place, Session
from whatfor.worlds.cartpole import BINS, BOUNDS, MAX_STEPS

#: Sizes are divided by this for a smoke test.
QUICK = 50


@dataclass(frozen=True)
class Case:
    """One world with the paper's learner."""

    name: str
    world: Callable[[], Any]  # for the compiled engine
    env: Callable[[], gym.Env]  # the same world, stepped from Python
    index: Callable[[Any], int]  # from an observation to a state, as fast as possible
    learner: wf.QLearning
    episodes: int  # about four million steps
    python_episodes: int  # about forty thousand
    times_plain: float  # the target: this many times the speed of the plain loop
    time_out_ends: bool = False
    bins: tuple[int, ...] | None = None
    bounds: tuple[tuple[float, float], ...] | None = None

    def place(self, engine: Engine = "compiled") -> Place:
        """The world, ready for a session."""
        if engine == "compiled":
            return place_of(self.world())
        return place_of(self.env(), bins=self.bins, bounds=self.bounds, engine=engine)

    def session(self, place: Place, record: bool = True) -> Session:
        """A learner before its first episode."""
        return Session.fresh(place, self.learner, seed=0, time_out_ends=self.time_out_ends, replay=None, record=record)

    def epsilons(self, episodes: int) -> np.ndarray:
        """The exploration in each episode, as train() computes it."""
        return explorations(self.learner.exploration, 0, episodes)


CASES = (
    Case(
        "Taxi",
        lambda: "Taxi-v4",
        lambda: gym.make("Taxi-v4"),
        int,
        wf.QLearning(step_size=0.4, discount=0.9, exploration=wf.linear(1.0, 0.1, episodes=250)),
        episodes=250_000,
        python_episodes=400,
        times_plain=500,
    ),
    Case(
        "Blackjack",
        wf.worlds.blackjack,
        lambda: gym.make("Blackjack-v1", natural=False, sab=False),
        lambda seen: (seen[0] * 11 + seen[1]) * 2 + seen[2],
        wf.QLearning(step_size=0.1, discount=1.0, exploration=wf.exponential(1.0, 0.05, decay=0.9999)),
        episodes=2_500_000,
        python_episodes=20_000,
        times_plain=500,
    ),
    Case(
        "CartPole",
        wf.worlds.cartpole,
        lambda: gym.make("CartPole-v1", max_episode_steps=MAX_STEPS),
        int,
        wf.QLearning(step_size=0.1, discount=1.0, exploration=wf.linear(1.0, 0.1, episodes=500)),
        episodes=30_000,
        python_episodes=600,
        times_plain=300,
        time_out_ends=True,
        bins=BINS,
        bounds=BOUNDS,
    ),
)


def timed(session: Session, epsilons: np.ndarray) -> tuple[float, int]:
    """Play episodes; the seconds and steps that they took."""
    began = time.perf_counter()
    played, error = session.play(epsilons, progress=False)
    seconds = time.perf_counter() - began
    if error is not None:
        raise error
    return seconds, int(played.lengths.sum())


def touch(session: Session, lines: int) -> None:
    """Reserve room for this many updates, in memory that has been written to before."""
    assert session.ledger is not None
    store = session.ledger.writable()
    store.reserve(lines)
    for column in (store.cell, store.source, store.reward):
        column.fill(0)
