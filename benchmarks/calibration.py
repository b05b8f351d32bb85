"""How often ``run.comparison`` calls a belief wrong: ``python benchmarks/calibration.py [--seeds N]``.

Agents learn in worlds whose exact future is known. The belief about a greedy action is right except for noise and lag,
so it should be called wrong no more often than the stated rate. Rarely tried actions keep unlucky first estimates, and
are identified by their counts. The table in docs/questions/comparison.md is generated from the output.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core: threads would only compete

import numpy as np
from scipy.stats import binomtest

import whatfor as wf
from whatfor.explanations.comparison import RATE

RESULTS = Path(__file__).with_name("calibration.json")
EPISODES = {"blackjack": 100_000, "random worlds": 2_000}
DECAY = wf.exponential(1.0, 0.05, decay=0.9999)
GAME = {"discount": 1.0, "exploration": 0.1}
SMALL = {"step_size": wf.visit_count(0.8), "discount": 0.9, "exploration": 0.2}
SETTINGS = {
    "Blackjack, Q-learning, step 1 / n": ("blackjack", wf.QLearning(step_size=wf.visit_count(), **GAME)),
    "Blackjack, Q-learning, step 1 / n^0.8": ("blackjack", wf.QLearning(step_size=wf.visit_count(0.8), **GAME)),
    "Blackjack, SARSA, step 1 / n^0.8": ("blackjack", wf.Sarsa(step_size=wf.visit_count(0.8), **GAME)),
    "Blackjack, Monte Carlo, step 1 / n^0.8": ("blackjack", wf.MonteCarlo(step_size=wf.visit_count(0.8), **GAME)),
    "random worlds, Q-learning, step 1 / n^0.8": ("random worlds", wf.QLearning(**SMALL)),
    "random worlds, double Q-learning, step 1 / n^0.8": ("random worlds", wf.DoubleQLearning(**SMALL)),
    "random worlds, lambda-returns, step 1 / n^0.8": ("random worlds", wf.LambdaReturns(lambda_=0.7, **SMALL)),
    "Blackjack, Q-learning, the paper's step 0.1": (
        "blackjack",
        wf.QLearning(step_size=0.1, discount=1.0, exploration=DECAY),
    ),
}
HANDS = (
    "player 10, dealer 7, no usable ace",
    "player 17, dealer 9, no usable ace",
    "player 7, dealer 5, no usable ace",
    "player 14, dealer 10, no usable ace",
    "player 18, dealer 9, usable ace",
)


def compare(name: str, seed: int) -> list[tuple[bool, str, float]]:
    """For each state and action: whether it is greedy, the verdict, and the error of its value."""
    kind, learner = SETTINGS[name]
    world = wf.worlds.blackjack() if kind == "blackjack" else wf.testing.random_world(seed)
    longest = None if kind == "blackjack" else 50  # some random worlds hardly ever end
    run = wf.train(world, learner, episodes=EPISODES[kind], seed=seed, max_steps=longest)
    found = []
    for state in HANDS if kind == "blackjack" else range(3):
        for action in range(run.labels.n_actions):
            comparison = run.comparison(state, action)
            found.append((comparison.greedy, comparison.verdict, comparison.measures[0].difference))
    return found


def summary(found: list[tuple[bool, str, float]]) -> dict[str, object]:
    """Counts and rates, of greedy actions with a verdict and of rarely tried actions."""
    verdicts = Counter(verdict for greedy, verdict, _ in found if greedy)
    judged = sum(verdicts[verdict] for verdict in ("agrees", "lags", "differs"))
    rare = [off for _, verdict, off in found if verdict == "rarely tried"]
    interval = binomtest(verdicts["differs"], judged).proportion_ci(method="exact")
    return {
        "judged": judged,
        "verdicts": dict(verdicts),
        "differs": verdicts["differs"] / judged,
        "interval": [interval.low, interval.high],
        "rare": len(rare),
        "rare_off": float(np.mean(rare)) if rare else None,
        "rare_error": float(np.std(rare) / np.sqrt(len(rare))) if rare else None,
    }


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    given = parser.parse_args()
    results = {}
    with ProcessPoolExecutor() as pool:
        for name in SETTINGS:
            found = [one for seed in pool.map(partial(compare, name), range(given.seeds), chunksize=5) for one in seed]
            results[name] = summary(found)
            print(name, json.dumps(results[name]), flush=True)
    document = {"seeds": given.seeds, "episodes": EPISODES, "rate": RATE, "settings": results}
    RESULTS.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
