"""Related methods on the same agents and the same questions: ``python benchmarks/related.py [--quick]``.

The methods are in methods.py. The tables in docs/related-work.md are generated from the output.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import whatfor as wf
from cases import CASES, QUICK
from methods import (
    HORIZON,
    Floats,
    Updates,
    minimal_sufficient,
    reward_decomposition,
    rollout,
    saliency,
    successor_representation,
    temporal_decomposition,
)
from report import Row
from whatfor.beliefs.distance import distance

RESULTS = Path(__file__).with_name("related.json")
QUESTIONS = 30
ROLLOUTS = 300
#: An action is asked about if the agent has updated its value this often.
MIN_TRIES = 20
#: With more distinct rewards than this, the parts are gains and losses.
MAX_KINDS = 12
TAXI, BLACKJACK = CASES[0].learner, CASES[1].learner
LAKE = wf.QLearning(step_size=0.1, discount=0.95, exploration=wf.linear(1.0, 0.1, episodes=2_000))
CLIFF = wf.QLearning(step_size=0.3, discount=0.95, exploration=0.1)
SMALL = wf.QLearning(step_size=0.1, discount=0.9, exploration=0.2)
AGENTS: dict[str, tuple[Callable[[], Any], wf.QLearning, int]] = {
    "Taxi": (lambda: "Taxi-v4", TAXI, 5_000),
    "FrozenLake": (lambda: "FrozenLake-v1", LAKE, 5_000),
    "CliffWalking": (lambda: "CliffWalking-v1", CLIFF, 400),
    "Blackjack": (wf.worlds.blackjack, BLACKJACK, 50_000),
    "random world": (lambda: wf.testing.random_world(0, states=20), SMALL, 2_000),
}


def agent(name: str, scale: int) -> tuple[wf.Run, wf.ExactBeliefs]:
    """A trained agent, and the exact future of its greedy policy."""
    make, learner, episodes = AGENTS[name]
    run = wf.train(make(), learner, episodes=max(100, episodes // scale), seed=0, max_steps=200)
    return run, wf.ExactBeliefs(make(), run.policy, discount=learner.discount)


def asked(run: wf.Run, exact: wf.ExactBeliefs, scale: int) -> list[int]:
    """Random states whose best action was often tried, with that action: as pairs."""
    best = run.values.argmax(axis=1)
    often = np.flatnonzero(run.audit.tries[np.arange(len(best)), best] >= (MIN_TRIES if scale == 1 else 1))
    often = [int(state) for state in often if exact.has_finite_visits(int(state), int(best[state]))]
    few = np.random.default_rng(0).permutation(often)[: max(3, QUESTIONS // scale)]
    return [int(state) * run.labels.n_actions + int(best[state]) for state in sorted(few)]


@dataclass(frozen=True)
class Learned:
    """What the methods learned alongside one agent, and what that cost."""

    visits: dict[str, Floats]  # by kind of successor representation: (pairs, pairs)
    parts: Floats  # (updates, parts) what each part of the reward contributed
    decomposed: Floats  # (pairs, parts)
    by_step: Floats  # (pairs, HORIZON + 1) rewards
    lengths: Floats  # (pairs, HORIZON + 1) steps
    clocks: dict[str, float]  # by method: microseconds for an update

    @classmethod
    def of(cls, seen: Updates, n_actions: int) -> Learned:
        """Learn it all from the agent's updates."""
        clocks = {}

        def timed(method: str, learn: Callable[..., Floats], *given: Any) -> Floats:
            began = time.perf_counter()
            learned = learn(seen, *given)
            clocks[method] = 1e6 * (time.perf_counter() - began) / len(seen.pair)
            return learned

        constant, parts = np.full(len(seen.pair), seen.step_size), reward_parts(seen.reward)
        visits = {
            "SR of the behaviour, own step sizes": successor_representation(seen, seen.taken(n_actions), seen.falling),
            "SR of the greedy policy, own step sizes": successor_representation(seen, seen.greedy, seen.falling),
            "SR on the agent's updates (belief map)": timed("SR", successor_representation, seen.greedy, constant),
        }
        decomposed = timed("reward decomposition", reward_decomposition, parts)
        by_step = timed("temporal decomposition", temporal_decomposition, seen.reward)
        lengths = temporal_decomposition(seen, np.ones(len(seen.pair)))
        return cls(visits, parts, decomposed, by_step, lengths, clocks)


def reward_parts(rewards: Floats) -> Floats:
    """(updates, parts) One part for each distinct reward; where there are many, gains and losses."""
    kinds = np.unique(rewards[rewards != 0.0])
    if len(kinds) > MAX_KINDS:
        return np.column_stack([np.maximum(rewards, 0.0), np.minimum(rewards, 0.0)])
    return np.where(rewards[:, None] == kinds, rewards[:, None], 0.0)


def answer(run: wf.Run, exact: wf.ExactBeliefs, seen: Updates, learned: Learned, pair: int, played: list[tuple[Floats, float]]) -> dict[str, Any]:  # fmt: skip
    """What every method answers about one pair, measured."""
    state, action = divmod(pair, run.labels.n_actions)
    why, truth = run.intention(state, action), exact.visits(state, action)
    visits = {method: table[pair] for method, table in learned.visits.items()}
    value = {method: float(row @ seen.mean_rewards) for method, row in visits.items()}
    for method, some in (("one rollout", played[:1]), (f"{len(played):,} rollouts", played)):
        visits[method] = np.mean([one for one, _ in some], axis=0)
        value[method] = float(np.mean([total for _, total in some]))
    value["reward decomposition"] = float(learned.decomposed[pair].sum())
    value["temporal decomposition"] = float(learned.by_step[pair].sum())
    visits["whatfor"], value["whatfor"] = why.visits.ravel(), float(why.earnings.sum())
    return {
        "value": why.value,
        "off_value": {method: abs(total - why.value) for method, total in value.items()},
        "off_account": {method: distance(some, why.visits.ravel()) for method, some in visits.items()},
        "off_exact": {method: distance(some, truth.ravel()) for method, some in visits.items()},
        "off_parts": parts_difference(run, state, action, learned.parts, learned.decomposed[pair]),
        "off_timeline": steps_difference(run, state, action, learned.lengths[pair]),
        "reasons": reasons(run, state, action, learned.decomposed),
        "salient": saliency(run, state, action),
    }


def compare(name: str, scale: int = 1) -> dict[str, Any]:
    """Everything measured about one agent."""
    run, exact = agent(name, scale)
    seen, pairs, dice = Updates.of(run), asked(run, exact, scale), np.random.default_rng(0)
    learned = Learned.of(seen, run.labels.n_actions)
    n_rollouts = ROLLOUTS // min(scale, 20)
    found = [
        answer(run, exact, seen, learned, pair, [rollout(exact, pair, dice) for _ in range(n_rollouts)])
        for pair in pairs
    ]
    return {
        "episodes": len(run.history),
        "updates": len(run.ledger),
        "pairs": seen.n_pairs,
        "questions": len(found),
        "mean_abs_value": float(np.mean([abs(one["value"]) for one in found])),
        "methods": averaged(found),
        "off_parts": max(one["off_parts"] for one in found),
        "off_timeline": max(one["off_timeline"] for one in found),
        "reasons": {key: float(np.mean([one["reasons"][key] for one in found])) for key in found[0]["reasons"]},
        "n_parts": learned.parts.shape[1],
        "salient": first_features(found),
        "costs": costs(run, seen, pairs, learned),
    }


def averaged(found: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The mean of each measure, by method; the error of the value relative to the mean |value|."""
    scale = np.mean([abs(one["value"]) for one in found]) or 1.0  # an untrained agent may know nothing but 0
    methods: dict[str, dict[str, float]] = {}
    for measure in ("off_value", "off_account", "off_exact"):
        for method in found[0][measure]:
            mean = float(np.mean([one[measure][method] for one in found]))
            methods.setdefault(method, {})[measure] = mean / float(scale) if measure == "off_value" else mean
    return methods


def parts_difference(run: wf.Run, state: int, action: int, parts: Floats, learned: Floats) -> float:
    """The largest difference between decomposed Q-values and the parts that the ledger gives afterwards."""
    names = {str(at): column for at, column in enumerate(parts.T)}
    totals = run.parts(state, action, parts=names).totals
    return float(np.abs(np.array([totals[name] for name in names]) - learned).max(initial=0.0))


def steps_difference(run: wf.Run, state: int, action: int, learned: Floats) -> float:
    """The largest difference between the chances to act in each step, learned alongside, and those of the timeline."""
    line = run.timeline(state, action, horizon=HORIZON)
    return float(np.abs(np.append(line.visits.sum(axis=(1, 2)), line.remainder.sum()) - learned).max(initial=0.0))


def reasons(run: wf.Run, state: int, action: int, decomposed: Floats) -> dict[str, float]:
    """How many parts of the reward, and how many state-action pairs, explain the preference to the second best action."""
    why = run.contrast(state, action)
    first, second = (state * run.labels.n_actions + one for one in why.actions)
    return {
        "parts of the reward": minimal_sufficient(decomposed[first] - decomposed[second]),
        "state-action pairs": len(why.reasons),
    }


def first_features(found: list[dict[str, Any]]) -> dict[str, int]:
    """How often each feature is the most salient one; empty where a state has one feature only."""
    names = list(found[0]["salient"])
    most = [max(one["salient"], key=one["salient"].get) for one in found]
    return {name: most.count(name) for name in names} if len(names) > 1 else {}


def costs(run: wf.Run, seen: Updates, pairs: list[int], learned: Learned) -> dict[str, dict[str, float]]:
    """Microseconds for an update stepped from Python, milliseconds for a question, and bytes of memory, by method."""
    recorded, n_actions = wf.Ledger(run.labels.n_states, run.labels.n_actions), run.labels.n_actions
    few = min(20_000, len(seen.pair))
    began = time.perf_counter()
    for pair, after, reward in zip(seen.pair[:few].tolist(), seen.greedy[:few].tolist(), seen.reward[:few].tolist(), strict=True):  # fmt: skip
        following = divmod(after, n_actions) if after >= 0 else (None, None)
        recorded.record(*divmod(pair, n_actions), reward, *following, step_size=seen.step_size, discount=seen.discount)
    clocks = {"whatfor": 1e6 * (time.perf_counter() - began) / few, **learned.clocks}
    tables = {
        "SR": learned.visits["SR on the agent's updates (belief map)"],
        "reward decomposition": learned.decomposed,
        "temporal decomposition": learned.by_step,
    }
    asking: dict[str, Callable[[int], Any]] = {method: table.__getitem__ for method, table in tables.items()}
    asking["whatfor"] = lambda pair: run.intention(*divmod(pair, n_actions))
    sizes = {"whatfor": run.ledger.nbytes, **{method: table.nbytes for method, table in tables.items()}}
    return {
        method: {"update": clock, "question": _milliseconds(asking[method], pairs), "bytes": sizes[method]}
        for method, clock in clocks.items()
    }


def _milliseconds(ask: Callable[[int], Any], pairs: list[int]) -> float:
    """The median time of an answer."""
    times = []
    for pair in pairs * 2:
        began = time.perf_counter()
        ask(pair)
        times.append(1e3 * (time.perf_counter() - began))
    return float(np.median(times))


def measure(scale: int = 1) -> dict[str, Any]:
    """The whole comparison."""
    settings = {"rollouts": ROLLOUTS, "horizon": HORIZON, "min_tries": MIN_TRIES}
    return {**settings, "agents": {name: compare(name, scale) for name in AGENTS}}


def section(scale: int) -> list[Row]:
    """For ``make bench``: the comparison, written where docs/related-work.md reads it unless it is a smoke test."""
    document = measure(scale)
    if scale == 1:
        RESULTS.write_text(json.dumps(document, indent=2) + "\n")
    rows = []
    for name, one in document["agents"].items():
        for method, cost in one["costs"].items():
            rows.append(Row(f"{name}: {method}, one update, stepped from Python", cost["update"], "µs"))
    return rows


def main() -> None:
    """Run the comparison and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"a smoke test at 1/{QUICK} of the size; writes nothing")
    scale = QUICK if parser.parse_args().quick else 1
    for row in section(scale):
        print(row.what, row.measured)


if __name__ == "__main__":
    main()
