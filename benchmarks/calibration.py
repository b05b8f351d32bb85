"""How often ``run.comparison`` names a cause that is none, and finds one that is: ``python benchmarks/calibration.py [--seeds N]``.

Agents learn in worlds whose exact future is known. The belief about a greedy action is right except for noise, off-policy targets and
initial values, so it should be called wrong, and each tested cause be named, no more often than the stated rate. The tests are
then tried where their cause is known: Sutton and Barto's example 6.7, small replay buffers, and changed worlds.
The tables in docs/questions/comparison.md are generated from the output.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core: threads would only compete

import gymnasium as gym
import numpy as np
from scipy.stats import binomtest, norm

import whatfor as wf
from whatfor.beliefs.experience import played_steps
from whatfor.explanations.causes import RATE
from whatfor.explanations.comparison import Comparison
from whatfor.explanations.simulation import Simulation

RESULTS = Path(__file__).with_name("calibration.json")
EPISODES = {"Blackjack": 100_000, "random worlds": 2_000}
DECAY = wf.exponential(1.0, 0.05, decay=0.9999)
GAME = {"discount": 1.0, "exploration": 0.1}
SMALL = {"step_size": wf.visit_count(0.8), "discount": 0.9, "exploration": 0.2}
SETTINGS = {
    "Blackjack, Q-learning, step 1 / n": ("Blackjack", wf.QLearning(step_size=wf.visit_count(), **GAME)),
    "Blackjack, Q-learning, step 1 / n^0.8": ("Blackjack", wf.QLearning(step_size=wf.visit_count(0.8), **GAME)),
    "Blackjack, SARSA, step 1 / n^0.8": ("Blackjack", wf.Sarsa(step_size=wf.visit_count(0.8), **GAME)),
    "Blackjack, Monte Carlo, step 1 / n^0.8": ("Blackjack", wf.MonteCarlo(step_size=wf.visit_count(0.8), **GAME)),
    "random worlds, Q-learning, step 1 / n^0.8": ("random worlds", wf.QLearning(**SMALL)),
    "random worlds, double Q-learning, step 1 / n^0.8": ("random worlds", wf.DoubleQLearning(**SMALL)),
    "random worlds, lambda-returns, step 1 / n^0.8": ("random worlds", wf.LambdaReturns(lambda_=0.7, **SMALL)),
    "Blackjack, Q-learning, the paper's step 0.1": (
        "Blackjack",
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
TESTS = ("maximisation bias", "too little data", "different environment")
ROLLOUTS = 100  # the exact future is known: rollouts only name the endings
#: Small buffers: experiences, episodes of training, states asked for each agent, and the error of a bust that must be recognised.
BUFFERS, BUFFER_EPISODES, STATES_ASKED, MIN_BUST_ERROR = (200, 500, 1_000, 2_000), 20_000, 5, 0.15
#: Where the table is not known, play is the judge: so many rollouts by default, and few. Their seeds are apart from those of training.
PLAYED, PLAY_SEED = (1_000, 30), 10_000
CHANGED_SEEDS = 20


def held(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    """The tested causes that hold, and the numbers that they hold for."""
    return {cause.name: cause.measures for cause in comparison.found if cause.rate is not None}


def share(count: int, of: int) -> dict[str, object]:
    """A rate with its 95 % interval."""
    if of == 0:
        return {"count": 0, "of": 0, "rate": None, "interval": None}
    interval = binomtest(count, of).proportion_ci(method="exact")
    return {"count": count, "of": of, "rate": count / of, "interval": [interval.low, interval.high]}


# -- well-trained agents -------------------------------------------------------------------------


class Found(NamedTuple):
    """What a comparison found."""

    greedy: bool
    rare: bool
    verdict: str
    off: float  # the error of the value
    tests: list[str]  # those that hold


def compare(name: str, seed: int) -> list[Found]:
    """Compare each state and action of one agent."""
    kind, learner = SETTINGS[name]
    world = wf.worlds.blackjack() if kind == "Blackjack" else wf.testing.random_world(seed)
    longest = None if kind == "Blackjack" else 50  # some random worlds hardly ever end
    run = wf.train(world, learner, episodes=EPISODES[kind], seed=seed, max_steps=longest)
    found = []
    for state in HANDS if kind == "Blackjack" else range(3):
        for action in range(run.labels.n_actions):
            one = run.comparison(state, action, rollouts=ROLLOUTS)
            found.append(Found(one.greedy, one.rare, one.verdict, one.measures[0].difference, [*held(one)]))
    return found


def summary(found: list[Found]) -> dict[str, object]:
    """Counts and rates, of greedy actions with a verdict and of rarely tried actions."""
    greedy = [one for one in found if one.greedy and not one.rare]
    verdicts = Counter(one.verdict for one in greedy)
    judged = len(greedy) - verdicts["too few"] - verdicts["unknown"]
    rare = [one.off for one in found if one.rare and one.verdict != "unknown"]
    interval = binomtest(verdicts["differs"], judged).proportion_ci(method="exact")
    return {
        "judged": judged,
        "verdicts": dict(verdicts),
        "differs": verdicts["differs"] / judged,
        "interval": [interval.low, interval.high],
        "false_alarms": {test: sum(test in one.tests for one in greedy) / len(greedy) for test in TESTS},
        "rare": len(rare),
        "rare_off": float(np.mean(rare)) if rare else None,
        "rare_error": float(np.std(rare) / np.sqrt(len(rare))) if rare else None,
    }


# -- maximisation bias -----------------------------------------------------------------------------

LEFT = 1


def example_6_7(actions: int = 10, rewards: int = 20) -> wf.worlds.World:
    """Sutton and Barto's example 6.7: left leads to a state with many actions, whose rewards are normal around -0.1."""
    spread = norm.ppf((np.arange(rewards) + 0.5) / rewards)
    shape = (2, actions, rewards)
    next_state, reward, ended = np.zeros(shape, int), np.zeros(shape), np.ones(shape, bool)
    next_state[0, LEFT], ended[0, LEFT] = 1, False
    reward[1] = -0.1 + spread / spread.std()
    return wf.worlds.table(next_state, reward, ended, probability=np.full(shape, 1.0 / rewards))


ESTIMATES = {"step_size": 0.1, "discount": 1.0, "exploration": 0.1}
BIASED = {
    "Q-learning": wf.QLearning(**ESTIMATES),
    "double Q-learning": wf.DoubleQLearning(**ESTIMATES),
    "double Q-learning, drawn every step": wf.DoubleQLearning(**ESTIMATES, draw="step"),
}


def bias_found(name: str, seed: int) -> tuple[bool, bool, str]:
    """Whether maximisation bias is recognised after 300 episodes, by the table and by play alone, and the verdict."""
    run = wf.train(example_6_7(), BIASED[name], episodes=300, seed=seed)
    comparison = run.comparison(0, LEFT, rollouts=ROLLOUTS)
    played = by_play(run, 0, LEFT, {}, PLAYED[0], PLAY_SEED + seed)
    return "maximisation bias" in held(comparison), "maximisation bias" in played.tests, comparison.verdict


def study_bias(seeds: int, pool: ProcessPoolExecutor) -> dict[str, object]:
    """Maximisation bias in example 6.7, by learner."""
    results = {}
    for name in BIASED:
        found = list(pool.map(partial(bias_found, name), range(seeds), chunksize=10))
        results[name] = {
            **share(sum(holds for holds, *_ in found), seeds),
            "by_play": share(sum(holds for _, holds, _ in found), seeds),
            "verdicts": dict(Counter(verdict for *_, verdict in found)),
        }
    return results


# -- too little data -------------------------------------------------------------------------------


class Judged(NamedTuple):
    """A state that an agent from a small buffer was asked about."""

    bust_off: float  # believed less actual chance of a bust
    own: float  # the standard error of that belief
    tests: dict[str, tuple[str, ...]]  # the causes named where the table is known, and the numbers that they hold for
    by_play: dict[int, Played]  # by the number of rollouts


class Played(NamedTuple):
    """The same state judged by play alone."""

    right: dict[str, bool]  # by number: whether the belief is within two standard errors of play of the exact one
    tests: dict[str, tuple[str, ...]]


def from_buffer(capacity: int, seed: int) -> list[Judged]:
    """What one agent believes of hitting, in some states where it did."""
    learner = wf.QLearning(step_size=0.1, discount=1.0, exploration=DECAY)
    replay = wf.Replay(capacity=capacity, keep="first", batch=4)
    run = wf.train(wf.worlds.blackjack(), learner, episodes=BUFFER_EPISODES, seed=seed, replay=replay)
    hit = run.labels.action("hit")
    tried = np.flatnonzero(run.audit.tries[:, hit])
    asked = np.random.default_rng(seed).permutation(tried)[:STATES_ASKED]
    found = []
    for state in asked.tolist():
        comparison = run.comparison(state, hit, rollouts=ROLLOUTS)
        true = {measure.name: measure.exact for measure in comparison.measures}
        bust = next((measure for measure in comparison.measures if measure.name == "bust"), None)
        if bust is not None:
            assert bust.error is not None
            played = {rollouts: by_play(run, state, hit, true, rollouts, PLAY_SEED + seed) for rollouts in PLAYED}
            found.append(Judged(bust.difference, bust.error, held(comparison), played))
    return found


def by_play(run: wf.Run, state: int, action: int, true: dict[str, float | None], rollouts: int, seed: int) -> Played:
    """Judge a belief as in a world whose table is not known, and by its table whether it is right."""
    at, chosen = run.resolve(state, action)
    believed = run.expects(at, chosen)
    beliefs = run.playing.simulated(None, rollouts, seed, None, fewest=2)
    comparison = Comparison.of(
        run.audit,
        believed,
        Simulation.of(beliefs, at, chosen),
        None,
        run.policy,
        played=played_steps(beliefs.rollouts(at, chosen), run.labels.n_actions),
    )
    right = {
        measure.name: abs(measure.believed - (true.get(measure.name) or 0.0)) <= 2.0 * measure.simulated_error
        for measure in comparison.measures
    }
    return Played(right, held(comparison))


def study_buffers(seeds: int, pool: ProcessPoolExecutor) -> dict[str, object]:
    """Agents from small buffers, together and by size."""
    by_size = {
        size: [one for seed in pool.map(partial(from_buffer, size), range(seeds), chunksize=5) for one in seed]
        for size in BUFFERS
    }
    return {"all": _buffers([one for found in by_size.values() for one in found])} | {
        f"{size:,} experiences": _buffers(found) for size, found in by_size.items()
    }


def _buffers(found: list[Judged]) -> dict[str, object]:
    off = [one for one in found if abs(one.bust_off) > MIN_BUST_ERROR]
    return {
        "states": len(found),
        "recognised": share(sum("too little data" in one.tests for one in off), len(off)),
        "recognised_for_bust": share(sum("bust" in one.tests.get("too little data", ()) for one in off), len(off)),
        # The table is known: the beliefs that are right within two standard errors of play, as many rollouts as by default.
        "false_alarms": _alarms([(one.by_play[PLAYED[0]].right, one.tests) for one in found]),
        "by_play": {str(rollouts): _judged_by_play(found, off, rollouts) for rollouts in PLAYED},
        # From so few experiences, most large errors are within two standard errors of the belief itself.
        "off_within_own_error": share(sum(abs(one.bust_off) <= 2.0 * one.own for one in off), len(off)),
        "within_own_error": sum(abs(one.bust_off) <= 2.0 * one.own for one in found),
    }


def _judged_by_play(found: list[Judged], off: list[Judged], rollouts: int) -> dict[str, object]:
    """How often each cause is named by play alone: for a number that is right, in a state where all are, and for large errors."""
    return {
        "false_alarms": _alarms([(one.by_play[rollouts].right, one.by_play[rollouts].tests) for one in found]),
        "recognised": share(sum("too little data" in one.by_play[rollouts].tests for one in off), len(off)),
    }


def _alarms(found: list[tuple[dict[str, bool], dict[str, tuple[str, ...]]]]) -> dict[str, object]:
    """How often each test is named for a number that is right, and in a state where all are; ``found``: which are right, and the tests."""
    alarms = {
        name: {test: _named(test, name, found) for test in TESTS if name == "value" or test != TESTS[0]}
        for name in ("bust", "value")  # a bias of values alone
    }
    whole = [tests for right, tests in found if all(right.values())]
    return alarms | {"every number": {test: share(sum(test in one for one in whole), len(whole)) for test in TESTS}}


def _named(test: str, name: str, found: list[tuple[dict[str, bool], dict[str, tuple[str, ...]]]]) -> dict[str, object]:
    """How often a test is named for a number that is right."""
    right = [tests for right, tests in found if right.get(name, False)]
    return share(sum(name in tests.get(test, ()) for tests in right), len(right))


# -- an altered world --------------------------------------------------------------------------------


class Walk(gym.Env):  # type: ignore[type-arg]
    """A walk over nine cells to either end, with a wind; its table is not known to whatfor."""

    observation_space, action_space = gym.spaces.Discrete(9), gym.spaces.Discrete(2)

    def __init__(self, wind: float) -> None:
        self.wind, self.cell = wind, 4

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None):
        super().reset(seed=seed)
        self.cell = 4
        return self.cell, {}

    def step(self, action: int):
        blown = self.np_random.random() < self.wind
        self.cell += -1 if blown else (-1, 1)[action]
        return self.cell, float(self.cell == 8), self.cell in (0, 8), False, {}


def enter(env: gym.Env, state: int, _: np.random.Generator) -> None:  # type: ignore[type-arg]
    """Put a walk into a state."""
    env.unwrapped.cell = state  # type: ignore[attr-defined]


def lake(slippery: bool) -> gym.Env:  # type: ignore[type-arg]
    """FrozenLake with or without slipping."""
    return gym.make("FrozenLake-v1", is_slippery=slippery)


def shifted(seed: int, *, changed: bool) -> wf.worlds.World:
    """A random world, or the same with other rewards."""
    world = wf.testing.random_world(seed)
    table = world.table
    arrays = world.arrays._replace(table=table._replace(reward=table.reward + 0.5 * changed))
    return wf.worlds.World(world.labels, arrays)


CHANGES: dict[str, tuple[Callable[[int], object], Callable[[int], object], wf.QLearning, int, int]] = {
    "FrozenLake, learned slippery, now without slipping": (
        lambda _: lake(True), lambda _: lake(False), wf.QLearning(step_size=wf.visit_count(0.8), discount=0.95, exploration=0.3), 3_000, 0,
    ),
    "FrozenLake, learned without slipping, now slippery": (
        lambda _: lake(False), lambda _: lake(True), wf.QLearning(step_size=wf.visit_count(0.8), discount=0.95, exploration=0.5), 3_000, 0,
    ),
    "random worlds, every reward 0.5 higher": (
        partial(shifted, changed=False), partial(shifted, changed=True), wf.QLearning(**SMALL), 2_000, 0,
    ),
    "a walk whose table is unknown, wind 0.1, now 0.4": (
        lambda _: Walk(0.1), lambda _: Walk(0.4), wf.QLearning(step_size=wf.visit_count(0.8), discount=0.95, exploration=0.2), 1_000, 4,
    ),
}  # fmt: skip


def change_found(name: str, seed: int) -> tuple[bool, bool, str]:
    """Whether a changed world is recognised, whether the unchanged one is named, and the verdict on the changed one."""
    before, after, learner, episodes, state = CHANGES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = wf.train(before(seed), learner, episodes=episodes, seed=seed, max_steps=100)
        more = {"enter": enter, "rollouts": 1_000} if name.startswith("a walk") else {"rollouts": ROLLOUTS}
        changed, same = (run.comparison(state, env=world(seed), **more) for world in (after, before))
    return "different environment" in held(changed), "different environment" in held(same), changed.verdict


def study_changes(pool: ProcessPoolExecutor) -> dict[str, object]:
    """Changed worlds, recognised and not."""
    results = {}
    for name in CHANGES:
        found = list(pool.map(partial(change_found, name), range(CHANGED_SEEDS)))
        results[name] = {
            "recognised": share(sum(changed for changed, *_ in found), CHANGED_SEEDS),
            "false_alarms": share(sum(same for _, same, _ in found), CHANGED_SEEDS),
            "verdicts": dict(Counter(verdict for *_, verdict in found)),
        }
    return results


def study_settings(seeds: int, pool: ProcessPoolExecutor) -> dict[str, object]:
    """Well-trained agents, by setting."""
    settings = {}
    for name in SETTINGS:
        found = pool.map(partial(compare, name), range(seeds), chunksize=5)
        settings[name] = summary([one for seed in found for one in seed])
        print(name, json.dumps(settings[name]), flush=True)
    return settings


#: The parts of the results.
STUDIES: dict[str, Callable[[int, ProcessPoolExecutor], dict[str, object]]] = {
    "bias": study_bias,
    "changes": lambda seeds, pool: study_changes(pool),
    "buffers": study_buffers,
    "settings": study_settings,
}


def main() -> None:
    """Run the studies and write their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=[*STUDIES], help="the other results stay as they are")
    given = parser.parse_args()
    document: dict[str, object] = json.loads(RESULTS.read_text()) if given.only else {}
    if given.only and document["seeds"] != given.seeds:
        parser.error(f"the other results are of {document['seeds']} seeds: leave out --only, or --seeds")
    document |= {"seeds": given.seeds, "episodes": EPISODES, "rate": RATE}
    with ProcessPoolExecutor() as pool:
        for name in given.only or STUDIES:
            document[name] = STUDIES[name](given.seeds, pool)
            print(name, json.dumps(document[name]), flush=True)
    RESULTS.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
