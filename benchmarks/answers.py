"""The time of answers: the questions on the README's Taxi run, and all of the paper's figures."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import whatfor as wf
from cases import CASES
from report import Row
from whatfor.paper import FIGURES, reproduce
from whatfor.paper.evidence import counts

EPISODES = 5_000
N_STATES = 100
#: The targets of some questions, in milliseconds; the others have none.
TARGETS = {"intention": 5.0, "contrast": 10.0}
QUESTIONS = ("intention", "contrast", "outcomes", "timeline", "provenance", "parts", "simulation", "comparison")


def answers(scale: int) -> list[Row]:
    """Each question at random states with experience."""
    run = wf.train("Taxi-v4", CASES[0].learner, episodes=EPISODES, seed=0)
    met = np.flatnonzero(run.audit.tries.all(axis=1))
    states = np.random.default_rng(0).choice(met, size=N_STATES // min(scale, 10), replace=False).tolist()
    rows = []
    for name in QUESTIONS:
        times = [_milliseconds(getattr(run, name), state) for state in states]
        slow = f"95 % within {np.quantile(times, 0.95):.2g} ms"
        rows.append(
            Row(
                f"{name}, {len(run.ledger):,} updates, median",
                float(np.median(times)),
                "ms",
                TARGETS.get(name),
                note=slow,
            )
        )
    return rows  # fmt: skip


def findings(scale: int) -> list[Row]:
    """All findings of a Taxi agent, compiled code on disk."""
    rows = []
    for episodes, target in ((EPISODES, 2.0), (10 * EPISODES // scale, None)):
        run = wf.train("Taxi-v4", CASES[0].learner, episodes=episodes, seed=0)
        began = time.perf_counter()
        found = run.findings()
        seconds = time.perf_counter() - began
        what = f"findings of Taxi after {episodes:,} episodes, {len(run.ledger):,} updates"
        rows.append(Row(what, seconds, "s", target, note=f"{len(found)} found"))
    return rows


def _milliseconds(ask: Callable[..., Any], state: int) -> float:
    began = time.perf_counter()
    ask(state)
    return 1e3 * (time.perf_counter() - began)


def paper(scale: int) -> list[Row]:
    """All tabular figures, from training to picture, with a filled compilation cache."""
    only = ["2"] if scale > 1 else list(FIGURES)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        figures, results = reproduce(folder, only, progress=False)
        seconds = time.perf_counter() - began
    return [
        Row(f"whatfor paper: {len(figures)} figures, {len(results)} claims on 20 agents each", seconds, "s", 300.0),
        Row(
            f"whatfor paper: of {len(results)} claims, reproduced",
            counts(results)["reproduced"],
            "",
            note="the others are named on the page",
        ),
    ]
