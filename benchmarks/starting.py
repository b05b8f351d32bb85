"""The time of a first use: with compilation, and with a filled compilation cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from report import Row, number

FIRST_USE = """
import json, time
began = time.perf_counter()
import whatfor as wf
imported = time.perf_counter()
run = wf.train("Taxi-v4", wf.QLearning(), episodes=5, seed=0)
trained = time.perf_counter()
run.audit.account(0, 0, method="walk")
run.audit.account(0, 0, method="scan")
asked = time.perf_counter()
print(json.dumps({"import": imported - began, "train": trained - imported, "ask": asked - trained}))
"""
FILLED_REPETITIONS = 3


def start(scale: int) -> list[Row]:
    """A first use with an empty cache, and later ones; each in a child process."""
    with tempfile.TemporaryDirectory() as cache:
        empty = _first_use(cache)
        filled = min((_first_use(cache) for _ in range(FILLED_REPETITIONS)), key=lambda stages: sum(stages.values()))
    return [
        _row("import, train 5 episodes of Taxi, ask: nothing compiled yet", empty),
        _row("the same, compiled code on disk", filled),
    ]


def _first_use(cache: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    stages: dict[str, float] = json.loads(done.stdout)
    return stages


def _row(what: str, stages: dict[str, float]) -> Row:
    note = ", ".join(f"{name} {number(seconds)} s" for name, seconds in stages.items())
    return Row(what, sum(stages.values()), "s", note=note, detail=stages)
