"""SIGKILL at random moments of saving and training: the folder loads, and training continues bit-for-bit."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import whatfor as wf
from fuzz.meetings import finished, in_child, left_behind
from whatfor import cli

SETTINGS: dict[str, Any] = {"step_size": 0.3, "discount": 0.95, "exploration": wf.linear(1.0, 0.1, episodes=40)}
LEARNERS = {
    "q": wf.QLearning(**SETTINGS),
    "sarsa": wf.Sarsa(**SETTINGS),
    "double q": wf.DoubleQLearning(**{**SETTINGS, "step_size": wf.visit_count(0.7)}, draw="step"),
    "monte carlo": wf.MonteCarlo(**SETTINGS),
}
ENGINES = ("compiled", "python")
#: Episodes between two saves.
STRIDE = 5


@cache
def uninterrupted(learner: str, engine: Any, episodes: int) -> wf.Run:
    """The run without an interruption."""
    return wf.train(
        "FrozenLake-v1", LEARNERS[learner], episodes=episodes, seed=3, max_steps=40, engine=engine, progress=False
    )


def same(one: wf.Run, other: wf.Run) -> bool:
    """Whether two runs are bit-for-bit identical."""
    pairs: list[Any] = [
        (one.tables, other.tables),
        (one.history.returns, other.history.returns),
        (one.history.lengths, other.history.lengths),
    ]
    if one.ledger is None or other.ledger is None:
        return False
    pairs += [
        *zip(one.ledger.lines, other.ledger.lines, strict=True),
        (one.ledger.breaks, other.ledger.breaks),
        (one.ledger.finals, other.ledger.finals),
    ]
    return all(np.array_equal(a, b) for a, b in pairs) and json.dumps(one.settings) == json.dumps(other.settings)


def kill_after(child: int, reading: int, seconds: float) -> None:
    """Run a process for a while, then kill it."""
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)


def killed_saves(folder: Path, times: int, seed: int) -> Counter[str]:
    """A process trains and saves over its run again and again, and is killed; the folder must contain one of its saves."""
    came: Counter[str] = Counter()
    rng, takes = random.Random(seed), dict[tuple[str, str], float]()
    cases = [(learner, engine) for learner in LEARNERS for engine in ENGINES]
    for at in range(times):
        learner, engine = cases[at % len(cases)]
        target, begun = folder / f"{learner} {engine}", uninterrupted(learner, engine, STRIDE)
        begun.save(target)

        def work(rounds: int, run: wf.Run = begun, target: Path = target) -> None:
            for _ in range(rounds):
                run = wf.train(run, episodes=STRIDE, progress=False)
                for _ in range(3):  # more time in saving than in training
                    run.save(target)

        if at < len(cases):  # measure how long one round takes
            takes[learner, engine] = _seconds(partial(work, 1))
            begun.save(target)
        kill_after(*in_child(partial(work, 1_000)), rng.uniform(0.0, 3.0 * takes[learner, engine]))
        came[_verdict(target, learner, engine)] += 1
    return came


def _verdict(target: Path, learner: str, engine: str) -> str:
    try:
        run = wf.load(target)
    except Exception as error:
        return f"WRONG: does not load, {type(error).__name__}: {error}"
    episodes = len(run.history)
    if episodes < STRIDE or episodes % STRIDE or not same(run, uninterrupted(learner, engine, episodes)):
        return "WRONG: not one of the saves"
    more = wf.train(run, episodes=STRIDE, progress=False)
    if not same(more, uninterrupted(learner, engine, episodes + STRIDE)):
        return "WRONG: continues otherwise"
    more.save(target)
    if left_behind(target):
        return "WRONG: the next save leaves files of the killed one"
    return "the earlier run" if episodes == STRIDE else "a later run"


def killed_trainings(folder: Path, times: int, seed: int) -> Counter[str]:
    """``whatfor train --out --replace`` over an earlier run, killed: the folder contains the earlier run or the new one."""
    came: Counter[str] = Counter()
    rng = random.Random(seed)
    command = ["train", "FrozenLake-v1", "--episodes", "400", "--seed", "1", "--max-steps", "40"]
    earlier, target = uninterrupted("q", "compiled", 10), folder / "run"
    takes = [_seconds(lambda: _command([*command, "--out", str(folder / "new"), "--replace"])) for _ in range(2)][-1]
    new = wf.load(folder / "new")
    for _ in range(times):
        earlier.save(target)
        kill_after(
            *in_child(lambda: _command([*command, "--out", str(target), "--replace"])), rng.uniform(0.0, 1.2 * takes)
        )
        try:
            run = wf.load(target)
        except Exception as error:
            came[f"WRONG: does not load, {type(error).__name__}: {error}"] += 1
            continue
        came[
            "the earlier run" if same(run, earlier) else "the new run" if same(run, new) else "WRONG: neither run"
        ] += 1
        earlier.save(target)
        came["WRONG: the next save leaves files of the killed one"] += bool(left_behind(target))
    return +came


def _command(arguments: list[str]) -> None:
    sys.argv = ["whatfor", *arguments]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    cli.main()


def _seconds(work: Callable[[], None]) -> float:
    """The duration of some work in a separate process."""
    begun = time.monotonic()
    finished(*in_child(work))
    return time.monotonic() - begun
