"""The runs that mutations start from: small, and of every kind that can be saved."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import whatfor as wf
from whatfor.testing import random_world

LEARNING: dict[str, Any] = {"step_size": 0.3, "discount": 0.95, "exploration": wf.linear(1.0, 0.1, episodes=40)}
PLAYING: dict[str, Any] = {"episodes": 12, "seed": 7, "max_steps": 15}
CART = [(-2.4, 2.4), (-2.5, 2.5), (-0.21, 0.21), (-1.0, 1.0)]


def _own_loop() -> wf.Run:
    ledger = wf.Ledger(n_states=3, n_actions=2, initial=[[0.5, 0.0], [0.0, -1.0], [0.0, 0.0]])
    for episode in range(4):
        ledger.new_episode()
        ledger.record(0, episode % 2, 1.0, 1, 0, step_size=0.5, discount=0.9)
        ledger.record(1, 0, -1.0, 2, 1, step_size=0.5, discount=0.9)
        ledger.record(2, 1, 2.0, None, step_size=0.25, discount=0.9, ending="won" if episode else "lost")
    return wf.Run(labels=wf.Labels.plain(3, 2), values=ledger.values(), ledger=ledger)


TABULAR: dict[str, Callable[[], wf.Run]] = {
    "lake": lambda: wf.train("FrozenLake-v1", wf.QLearning(**LEARNING), **PLAYING),
    "lake stepped": lambda: wf.train("FrozenLake-v1", wf.QLearning(**LEARNING), **PLAYING, engine="python"),
    "lake from 2": lambda: wf.train("FrozenLake-v1", wf.QLearning(**LEARNING, initial=2.0), **PLAYING),
    "sarsa": lambda: wf.train("CliffWalking-v1", wf.Sarsa(**LEARNING), **PLAYING),
    "double q, counted": lambda: wf.train(
        "FrozenLake-v1", wf.DoubleQLearning(**{**LEARNING, "step_size": wf.visit_count(0.7)}, draw="step"), **PLAYING
    ),
    "monte carlo, terminal": lambda: wf.train(
        "FrozenLake-v1", wf.MonteCarlo(**LEARNING), **PLAYING, time_limit="terminal"
    ),
    "lambda, bootstrap": lambda: wf.train("Taxi-v4", wf.LambdaReturns(**LEARNING, lambda_=0.7), **PLAYING),
    "replay, latest": lambda: wf.train(
        "FrozenLake-v1", wf.QLearning(**LEARNING), **PLAYING, replay=wf.Replay(capacity=40, batch=2, warmup=5)
    ),
    "replay, first": lambda: wf.train(
        "FrozenLake-v1", wf.DoubleQLearning(**LEARNING), **PLAYING, replay=wf.Replay(capacity=30, keep="first")
    ),
    "parts, replayed": lambda: wf.train(
        "FrozenLake-v1", wf.QLearning(**LEARNING), **PLAYING, replay=wf.Replay(capacity=40), reward_parts=["prob"]
    ),
    "discovered": lambda: wf.train(
        "FrozenLake-v1",
        wf.DoubleQLearning(**LEARNING),
        **PLAYING,
        state_of=lambda at: ((at // 4, f"{at % 4}"), at > 7 or None, bytes([at])),
    ),
    "table": lambda: wf.train(random_world(3), wf.QLearning(**LEARNING), **PLAYING),
    "blackjack": lambda: wf.train(wf.worlds.blackjack(), wf.QLearning(**LEARNING), **PLAYING),
    "cartpole": lambda: wf.train(wf.worlds.cartpole(max_steps=30), wf.QLearning(**LEARNING), **PLAYING),
    "cartpole by id": lambda: wf.train("CartPole-v1", wf.QLearning(**LEARNING), **PLAYING, bins=3, bounds=CART),
    "chain": lambda: wf.train(wf.worlds.chain(), wf.QLearning(**LEARNING), **PLAYING),
    "mountain car": lambda: wf.train(
        "MountainCar-v0", wf.Sarsa(**LEARNING), **PLAYING, bins=(4, 5), bounds=[(-1.2, 0.6), (-0.07, 0.07)]
    ),
    "own loop": _own_loop,
    "untrained": lambda: wf.train(wf.worlds.blackjack(), wf.QLearning(**LEARNING), episodes=0, seed=7),
    "no ledger": lambda: wf.train(
        wf.worlds.blackjack(), wf.QLearning(**LEARNING), **PLAYING, record=False, replay=wf.Replay()
    ),
}


def build(kind: str, target: Path) -> None:
    """Train and save the runs of one kind, "tabular" or "deep"; the folder appears when all are saved."""
    part = target.with_suffix(".part")
    if kind == "tabular":
        runs = TABULAR
    else:
        from fuzz.deep_corpus import DEEP as runs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few updates and short episodes are intended
        for name, make in runs.items():
            make().save(part / name)
    part.rename(target)
