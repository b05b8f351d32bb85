"""A 1,000 × 1,000 grid world: train, save, load, ask; in its own process, to measure its memory.

``python benchmarks/big.py [SCALE]`` prints JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import whatfor as wf
from report import Row, number
from whatfor.worlds.world import World

SIDE = 1_000  # smaller at a smaller scale, for the same density of experience
GOAL_SPACING = 40  # cells between goals, so that each start is some tens of steps from one
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
UPDATES = 100_000_000
EPISODES = 2_150_000  # somewhat more than UPDATES steps
MIN_STEPS_TO_GOAL = 20
MAX_GB = 6.0


def grid(side: int) -> World:
    """A step costs 1; reaching a goal gives 100 and ends the episode; episodes start anywhere."""
    row, column = np.divmod(np.arange(side * side), side)
    following = np.stack(
        [np.clip(row + down, 0, side - 1) * side + np.clip(column + right, 0, side - 1) for down, right in MOVES],
        axis=1,
    )
    goal = (row % GOAL_SPACING == GOAL_SPACING // 2) & (column % GOAL_SPACING == GOAL_SPACING // 2)
    reached = goal[following]
    start = np.where(goal, 0.0, 1.0)
    return wf.worlds.table(
        next_state=following.astype(np.int32),
        reward=np.where(reached, 100.0, -1.0),
        terminated=reached,
        start=start / start.sum(),
        max_steps=100,
    )


def distances(side: int) -> np.ndarray:
    """Steps from each state to the goal of its square."""
    row, column = np.divmod(np.arange(side * side), side)
    middle = GOAL_SPACING // 2
    return np.abs(row % GOAL_SPACING - middle) + np.abs(column % GOAL_SPACING - middle)


def far_state(values: np.ndarray, away: np.ndarray) -> int:
    """The state far from its goal with the highest value: it was propagated over many steps."""
    return int(np.where(away >= MIN_STEPS_TO_GOAL, values.max(axis=1), -np.inf).argmax())


def peak_gb() -> float:
    """The peak memory of this process. ``ru_maxrss`` also counts that of its parent when it was started."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e9


def measure(scale: int) -> dict[str, Any]:
    """Seconds and peak memory of every stage."""
    stages: dict[str, float] = {}
    peaks: dict[str, float] = {}
    began = time.perf_counter()

    def stage(name: str) -> None:
        nonlocal began
        stages[name] = time.perf_counter() - began
        peaks[name] = peak_gb()
        began = time.perf_counter()

    side = round(SIDE / scale**0.5)
    world, away = grid(side), distances(side)
    stage("make the world")
    learner = wf.QLearning(step_size=0.5, discount=0.95, exploration=0.1)
    run = wf.train(world, learner, episodes=EPISODES // scale, seed=0, progress=False)
    stage("train")
    state, updates = far_state(run.values, away), len(run.ledger or ())
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run.save(folder)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        stage("save")
        del run
        run = wf.load(folder)
        stage("load")
    why = run.intention(state)
    stage("answer")
    scanned = run.audit.account(why.state, why.action, method="scan")
    stage("check by a full scan")
    run.audit.build_index()
    stage("build the index")
    walked = run.audit.account(why.state, why.action, method="walk")
    stage("answer by the index")
    return {
        "updates": updates,
        "seconds": stages,
        "peak_gb": peaks,
        "file_gb": size / 1e9,
        "value": why.value,
        "residual": why.residual,
        "goal_earnings": float(why.earnings[why.earnings > 0].sum()),
        "steps_to_goal": int(away[state]),
        "off_scan": float(np.abs(walked.visits - scanned.visits).sum()),
        "stated_error": walked.visits_error,
        "scan_value": scanned.total,
        "scale": scanned.scale,
        "dense_tb": (4.0 * side * side) ** 2 * 8 / 1e12,
    }


def section(scale: int) -> list[Row]:
    """The same in a child process, as rows."""
    done = subprocess.run([sys.executable, __file__, str(scale)], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    seconds = ", ".join(f"{name} {number(spent)} s" for name, spent in found["seconds"].items())
    peaks = ", ".join(f"{name} {number(peak)}" for name, peak in found["peak_gb"].items())
    asked = f"{found['steps_to_goal']} steps from its goal; earns {number(found['goal_earnings'], 4)} there; residual {found['residual']:.1e}"
    off = abs(found["scan_value"] - found["value"]) / found["scale"]
    return [
        Row("updates", found["updates"], "updates", UPDATES / scale, "at least", detail=found),
        Row("train, save, load, ask: all of it", sum(found["seconds"].values()), "s", note=seconds),
        Row("peak memory", max(found["peak_gb"].values()), "GB", MAX_GB, note=f"by then: {peaks}"),
        Row("what dense maps would need", found["dense_tb"], "TB"),
        Row("the run on disk", found["file_gb"], "GB"),
        Row("|value| asked for", abs(found["value"]), "", 1e-6, "at least", digits=6, note=asked),
        Row("full scan against the learner's value, relative to its scale", off, "", 1e-12, digits=2),
        Row("visits of the indexed answer against the full scan", found["off_scan"], "", found["stated_error"] + 1e-12, digits=2, note="the target is the stated error, and rounding"),
    ]  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1)))
