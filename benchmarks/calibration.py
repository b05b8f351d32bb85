"""How often ``run.comparison`` calls a belief wrong: ``python benchmarks/calibration.py [--seeds N]``.

Agents learn Blackjack, whose exact future is known. What an agent believes of its own greedy action is right but for
noise and lag, so it should be called wrong no more often than the stated rate. Actions it rarely tries keep unlucky first
impressions, and are told apart by their counts. The table of docs/comparison.md is made of what this writes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

import whatfor as wf
from whatfor.explanations.comparison import RATE

RESULTS = Path(__file__).with_name("calibration.json")
EPISODES = 200_000
DECAY = wf.exponential(1.0, 0.05, decay=0.9999)
SETTINGS = {
    "step 1 / n, exploration 0.1": (wf.visit_count(), 0.1),
    "step 1 / n^0.8, exploration 0.1": (wf.visit_count(0.8), 0.1),
    "step 1 / n^0.8, the paper's exploration": (wf.visit_count(0.8), DECAY),
    "the paper's: step 0.1, its exploration": (0.1, DECAY),
}
HANDS = (
    "player 10, dealer 7, no usable ace",
    "player 17, dealer 9, no usable ace",
    "player 7, dealer 5, no usable ace",
    "player 14, dealer 10, no usable ace",
    "player 18, dealer 9, usable ace",
)


def judged(name: str, seed: int, episodes: int = EPISODES) -> list[tuple[bool, str, bool, float]]:
    """For each hand and action: whether it is greedy, the verdict, whether noise and lag explain it, and how far it is off."""
    step_size, exploration = SETTINGS[name]
    learner = wf.QLearning(step_size=step_size, discount=1.0, exploration=exploration)
    run = wf.train(wf.worlds.blackjack(), learner, episodes=episodes, seed=seed)
    found = []
    for hand in HANDS:
        for action in ("stick", "hit"):
            told = run.comparison(hand, action)
            greedy = bool(run.policy[told.state, told.action] > 0.0)
            beyond = any(measure.unexplained for measure in told.judged)
            found.append((greedy, told.verdict, beyond, told.measures[0].difference))
    return found


def summary(found: list[tuple[bool, str, bool, float]]) -> dict[str, object]:
    """Counts and rates, for greedy actions and for those rarely tried."""
    greedy = [verdict for is_greedy, verdict, *_ in found if is_greedy]
    rare = [(beyond, off) for _, verdict, beyond, off in found if verdict == "rarely tried"]
    differs = Counter(greedy)["differs"]
    sure = binomtest(differs, len(greedy)).proportion_ci(method="exact")
    return {
        "greedy": len(greedy),
        "verdicts": dict(Counter(greedy)),
        "differs": differs / len(greedy),
        "interval": [sure.low, sure.high],
        "rare": len(rare),
        "rare_beyond": sum(beyond for beyond, _ in rare) / max(1, len(rare)),
        "rare_off": float(np.mean([off for _, off in rare])) if rare else 0.0,
    }


def main() -> None:
    """Run the study and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    given = parser.parse_args()
    results = {}
    with ProcessPoolExecutor() as pool:
        for name in SETTINGS:
            found = [told for seed in pool.map(partial(judged, name), range(given.seeds), chunksize=5) for told in seed]
            results[name] = summary(found)
            print(name, json.dumps(results[name]), flush=True)
    document = {"seeds": given.seeds, "episodes": EPISODES, "rate": RATE, "settings": results}
    RESULTS.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
