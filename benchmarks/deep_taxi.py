"""The thresholds of deep Taxi, measured for several seeds: `python benchmarks/deep_taxi.py --preset full --device cuda`.

The results are in benchmarks/deep_taxi.json, one entry for each head, seed and setting, also where an agent fails.
The head does not change the agent: it is bit-for-bit identical.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro

from whatfor.beliefs import ExactBeliefs, value_iteration
from whatfor.beliefs.distance import distance
from whatfor.deep.belief import BeliefNetwork
from whatfor.paper.deep import PRINTED_CASES, is_unfinished, value_errors
from whatfor.paper.deep_agents import Inputs, train_heads
from whatfor.paper.presets import PRESETS, Preset
from whatfor.paper.taxi import Case
from whatfor.runs import Run
from whatfor.worlds.taxi import ABOARD

RESULT = Path(__file__).with_name("deep_taxi.json")


def measure(run: Run) -> dict[str, Any]:
    """All measurements that have thresholds."""
    belief = run.beliefs
    assert isinstance(belief, BeliefNetwork)
    best = value_iteration("Taxi-v4", discount=1.0)
    states = np.flatnonzero(is_unfinished(run)).tolist()  # 400
    starts = [s for s in states if run.labels.values(s)[2] != ABOARD]  # 300: the passenger waits
    policy = run.values.argmax(axis=1)
    exact = ExactBeliefs("Taxi-v4", policy, discount=1.0)
    ending = [s for s in states if exact.has_finite_visits(s, int(policy[s]))]
    returns = [exact.value(s, int(policy[s])) if s in set(ending) else -np.inf for s in starts]
    value_gaps = np.abs(run.values[states].max(axis=1) - best[states].max(axis=1))
    observations = np.stack([np.asarray(belief.example(s)) for s in states])
    visits, earnings = belief.rows(observations, policy[states])
    rows = [at for at, s in enumerate(states) if s in set(ending)]
    distances = np.array(
        [distance(visits[at], exact.visits(states[at], int(policy[states[at]]))) for at in rows] or [np.inf]
    )
    gaps = np.abs(earnings.sum(axis=(1, 2)) - run.values[states, policy[states]])
    pairs = np.argwhere(belief.tries > 0)
    sums = np.concatenate(
        [
            belief.rows(np.stack([np.asarray(belief.example(int(s))) for s, _ in part]), part[:, 1])[1].sum(axis=(1, 2))
            for part in np.array_split(pairs, max(1, len(pairs) // 200))
        ]
    )
    values = run.values[pairs[:, 0], pairs[:, 1]]
    printed = {case.kind: _printed_errors(run, case) for case in PRINTED_CASES}
    return {
        "delivers_from": int(sum(s in set(ending) for s in starts)),
        # None: from some state it goes in circles
        "mean_return": float(np.mean(returns)) if np.isfinite(returns).all() else None,
        "optimal_return": float(best[starts].max(axis=1).mean()),
        "value_error": float(value_gaps.mean()),
        "printed": printed,
        "visits_distance": float(distances.mean()),
        "visits_states": len(rows),
        "earnings_gap": float(gaps.mean()),
        "correlation": float(np.corrcoef(sums, values)[0, 1]),
        "pairs": len(pairs),
        "episodes": len(run.history),
        "updates": belief.updates,
    }


def _printed_errors(run: Run, case: Case) -> dict[str, float]:
    of_best, of_other = value_errors(run, case)
    return {
        "mean_error_of_best": float(of_best.mean()),
        "most_error_of_best": float(of_best.max()),
        "mean_error_of_other": float(of_other.mean()),
        "most_error_of_other": float(of_other.max()),
    }


def main(
    preset: Literal["full", "small"] = "small",
    seeds: tuple[int, ...] = (0, 1, 2),
    head: Literal["faithful", "regression"] = "faithful",
    inputs: Inputs = "one-hot",
    device: str = "cpu",
    out: Path = RESULT,
    change: tuple[str, ...] = (),
) -> None:
    """Train and measure; ``change``: settings of the preset to change, as name=number."""
    chosen: Preset = PRESETS[preset]["taxi"]
    for text in change:
        name, _, number = text.partition("=")
        old = getattr(chosen, name)
        new: Any = tuple(int(x) for x in number.split("+")) if isinstance(old, tuple) else type(old)(float(number))
        chosen = replace(chosen, **{name: new})
    for seed in seeds:
        start = time.perf_counter()
        run = train_heads("taxi", chosen, (head,), inputs=inputs, seed=seed, device=device)[head]
        entry = {
            "preset": preset, "head": head, "inputs": inputs, "seed": seed, "device": _device_name(device), "settings": asdict(chosen),
            "seconds": round(time.perf_counter() - start, 1), **measure(run),
        }  # fmt: skip
        print(json.dumps(entry), flush=True)
        known = json.loads(out.read_text()) if out.exists() else []
        entry = json.loads(json.dumps(entry))  # as it is read from the file
        key = ("preset", "head", "inputs", "seed", "device", "settings")
        others = [one for one in known if any(one.get(name) != entry[name] for name in key)]
        out.write_text(json.dumps([*others, entry], indent=1) + "\n")


def _device_name(device: str) -> str:
    import torch

    return torch.cuda.get_device_name() if device.startswith("cuda") else "CPU"


if __name__ == "__main__":
    tyro.cli(main)
