"""Mutations that a schema lets through: settings of the right type that need too much, or another world."""

from __future__ import annotations

import random
from typing import Any

from fuzz.documents import Path, at, brief, decoded, dumped, path_text, put
from fuzz.folders import Corpus, Inapplicable, Mutation, RunFolder

LARGE = [1, 2, 10**5, 10**6, 3 * 10**7, 10**9, 10**12, 10**15, 2**31, 2**62]
UNIT = [0.0, 1.0, 0.5, 1e-300, 1.0 - 1e-16, 5e-324]
FLOATS = [0.0, -1.0, 1e-300, 1e15, 1e300, -1e300, 2.0]
BINS: list[Any] = [
    1,
    2,
    10**3,
    10**6,
    3 * 10**8,
    [3, 3, 6, 300_000_000],
    [1, 1, 5_000, 1],
    [10**4, 10**4],
    [1] * 4,
    [3] * 64,
    [1, 1],
]
BOUNDS: list[Any] = [
    [[1.0, 1.0000001]] * 4, [[1.0, 1.0000001]] * 2, [[0.0, 1e-320]] * 4, [[-1e308, 1e308]] * 4, [[-1e308, 1e308]] * 2, [], [[0.0, 1.0]], [[0.0, 1.0]] * 64,
    [[-2.4, 2.4], [-2.5, 2.5], [-0.21, 0.21], [1e15, 1e15 + 1]],
]  # fmt: skip
OPTIONS: list[Any] = [
    {}, {"map_name": "8x8"}, {"map_name": "x"}, {"is_slippery": "no"}, {"is_slippery": 2}, {"success_rate": 5}, {"success_rate": -1}, {"desc": ["SF", "HG"]},
    {"desc": ["S" * 3_000] * 3_000}, {"desc": []}, {"desc": ["XX"]}, {"desc": [["S", "F"], ["H"]]}, {"desc": "SFHG"}, {"reward_schedule": [1e308, -1e308, 0]},
    {"reward_schedule": ["a"]}, {"is_rainy": True}, {"fickle_passenger": True}, {"sutton_barto_reward": True}, {"goal_velocity": 1e308}, {"natural": True, "sab": False},
    {"render_mode": "human"}, {"max_episode_steps": 10**15}, {"disable_env_checker": True}, {"vector_entry_point": "bait:x"}, {"entry_point": "bait:x"}, {"additional_wrappers": [1]},
]  # fmt: skip
SCHEDULES: list[Any] = [
    {"kind": "Linear", "start": 1.0, "end": 0.0, "episodes": 0}, {"kind": "Linear", "start": 1e308, "end": -1e308, "episodes": 10**15},
    {"kind": "Exponential", "start": 1.0, "end": 0.0, "decay": 1e308}, {"kind": "Exponential", "start": 1.0, "end": 0.0, "decay": -1.0},
    {"kind": "VisitCount", "power": 1e308}, {"kind": "VisitCount", "power": -1.0}, {"kind": "VisitCount", "power": 0.0}, {"kind": "Linear", "start": 2.0, "end": 2.0, "episodes": 1},
    {"kind": "other", "words": "x"}, 0.0, 1.0, 2.0, -1.0, 1e-320,
]  # fmt: skip
REPLAYS: list[Any] = [
    None,
    *({"capacity": c, "batch": b, "keep": k, "warmup": w} for c, b, k, w in [
        (None, 1, "latest", None), (1, 1, "latest", 0), (10**12, 1, "latest", None), (10**12, 1, "first", None), (10, 10**9, "latest", None),
        (10, 1, "first", None), (None, 10**12, "latest", 10**15), (40, 2, "latest", 0), (2**62, 2**62, "first", 2**62),
    ]),
]  # fmt: skip
IDS = [
    "FrozenLake-v1",
    "FrozenLake8x8-v1",
    "Taxi-v4",
    "CartPole-v1",
    "CartPole-v0",
    "MountainCar-v0",
    "Acrobot-v1",
    "Pendulum-v1",
    "Blackjack-v1",
    "CliffWalking-v1",
    "CliffWalkingSlippery-v1",
]
NAMES = ["QLearning", "Sarsa", "DoubleQLearning", "MonteCarlo", "LambdaReturns"]
WORLDS: list[Any] = [{"kind": "chain"}, {"kind": "blackjack"}, {"kind": "table"}]
#: Valid names that may break pictures, patterns or sentences.
TEXTS = [
    "",
    " ",
    "{",
    "}",
    "{}",
    "{row}",
    "(",
    "[",
    "\\",
    "*",
    "$",
    "$5 to $10",
    "$\\frac{",
    "%",
    "%s",
    "0",
    "-1",
    "1e5",
    ",",
    "=",
    "and",
    "timed out",
    "terminated",
    "é°",
    "x" * 9_999,
]

#: A place of the document, and its new values; "*" is any entry.
SETTINGS: list[tuple[Path, list[Any]]] = [
    (("settings", "max_steps"), LARGE),
    (("settings", "seed"), [0, 2**32, 2**63, 2**64, 10**18]),
    (("settings", "time_limit"), ["bootstrap", "terminal"]),
    (("settings", "engine"), ["python", "compiled"]),
    (("settings", "replay"), REPLAYS),
    (("settings", "reward_scale"), FLOATS),
    (("settings", "learner", "name"), NAMES),
    (("settings", "learner", "step_size"), SCHEDULES),
    (("settings", "learner", "exploration"), SCHEDULES),
    (("settings", "learner", "discount"), UNIT),
    (("settings", "learner", "lambda_"), UNIT),
    (("settings", "learner", "initial"), FLOATS),
    (("settings", "learner", "draw"), ["step", "episode"]),
    (("network", "agent", "layers"), [[], [1], [8, 8], [10**9], [10**5] * 2, [1] * 10_000]),
    (("network", "agent", "activation"), ["ReLU", "Tanh", "Module", "Sequential", "load", "__class__"]),
    *(
        setting
        for where in ("world", "environment")
        for setting in (
            (("settings", where), WORLDS),
            (("settings", where, "id"), IDS),
            (("settings", where, "options"), OPTIONS),
            (("settings", where, "max_steps"), [*LARGE, None]),
            (("settings", where, "bins"), [*BINS, None]),
            (("settings", where, "bounds"), [*BOUNDS, None]),
        )
    ),
    (("ledger", "endings"), [[], [], ["won"], ["won", "lost"], ["terminated"], ["x"] * 2, ["x"] * 100, [f"e{i}" for i in range(1_000)]]),
    (("ledger", "parts"), [[], ["prob"], ["rest"], ["x", "y"], ["x"] * 2, [""], [f"p{i}" for i in range(1_000)]]),
    (("settings", "reward_parts"), [{}, {"prob": "prob"}, {"rest": "prob"}, {"x": "a/b/c"}, {"prob": ""}]),
    (("ledger", "order"), ["forwards", "backwards", "replayed"]),
    (("ledger", "n_tables"), [1, 2, 3, 1_000, 3 * 10**7, 2**62]),
    (("ledger", "lines"), [0, 1, 2**31, 2**62]),
    (("table", "max_steps"), [*LARGE, None]),
    (("snapshot", "cuts"), LARGE),
    (("snapshot", "world", "begun"), [True, False]),
    (("snapshot", "world", "generator"), [None]),
    (("labels", "template"), [*TEXTS, "{row} {row}", "{state}{state}", "{row}{column}", "a" * 5_000 + "{row}"]),
    (("labels", "kind"), ["", "grid", "taxi", "blackjack", "cartpole"]),
    (("labels", "observed"), ["index", "tuple", "array", "bins"]),
    (("labels", "endings"), [[]]),
    (("labels", "verbs"), [[]]),
    (("labels", "actions", "*"), TEXTS),
    (("labels", "axes", "*", "name"), TEXTS),
    (("labels", "axes", "*", "values", "*"), TEXTS),
    (("labels", "axes", "*", "size"), [0, 1, 2, 10**6, 2**31, 2**62]),
    (("labels", "axes", "*", "start"), [-1, 1, 2**31, -(2**31), 2**62, 2**63 - 1]),
    (("labels", "axes", "*", "edges", "*"), FLOATS),
    (("labels", "endings", "*", "name"), TEXTS),
    (("labels", "endings", "*", "phrase"), TEXTS),
    (("labels", "endings", "*", "action"), [None, 0, 1, 100, -1]),
    (("labels", "endings", "*", "reward"), [None, *FLOATS]),
    (("labels", "marks", "*", "state"), [0, 1, 15]),
    (("labels", "marks", "*", "letter"), TEXTS),
    (("network", "settings", "head"), ["faithful", "regression"]),
    (("network", "settings", "reads"), ["state", "observation", "both"]),
    (("network", "settings", "loss"), ["huber", "cross-entropy", "squared"]),
    (("network", "settings", "discount"), UNIT),
    (("network", "settings", "seed"), [0, 2**32, 2**63, 2**64, -1]),
    (("network", "settings", "sizes", "joint"), [[], [8], [8, 8], [10**9], [1] * 5_000]),
    (("network", "settings", "sizes", "state"), [[], [8], [10**9]]),
    (("network", "settings", "sizes", "action"), [None, [], [8]]),
    (("network", "updates"), LARGE),
    (("network", "source"), TEXTS),
    (("network", "endings"), [[], ["fell left"], ["fell left"] * 2]),
    (("network", "space", "n"), LARGE),
    (("network", "space", "start"), [-1, 1, 2**62]),
    (("network", "space", "shape"), [[], [4, 1], [2, 2], [0], [10**9]]),
    (("network", "space", "dtype"), ["float64", "float16", "int8", "uint8", "bool"]),
    (("network", "space", "low", "*"), ["nan", "-inf", "inf", "1e999", "0", "-3.4e38"]),
    (("network", "space", "high", "*"), ["nan", "-inf", "inf", "1e999", "0", "3.4e38"]),
    (("network", "cells", "centres", "*", "*"), [0.0, 1e300, -1e300]),
    (("network", "cells", "spread", "*"), [0.0, -1.0, 1e-300, 1e300]),
    (("network", "cells", "kind"), ["states", "bins", "clusters", "concepts"]),
    (("network", "normaliser", "mean", "*"), [0.0, 1e300]),
    (("network", "normaliser", "scale", "*"), [0.0, -1.0, 1e-300, 1e300]),
    (("network", "normaliser", "clip"), [0.0, -1.0, 1e-300, "inf", "nan"]),
    (("network", "trust", "mean_residual"), ["nan", "inf", -1.0, 1e300]),
    (("network", "trust", "correlation"), ["nan", 5.0, -1e300]),
]  # fmt: skip


def _found(rng: random.Random, document: Any, path: Path) -> Path | None:
    """A place with an entry for each "*", if the document has such a place."""
    found: Path = ()
    for depth, key in enumerate(path):
        held = at(document, found)
        if key == "*" and isinstance(held, list) and held:
            found = (*found, rng.randrange(len(held)))
        elif key != "*" and isinstance(held, dict) and (key in held or depth == len(path) - 1):
            found = (*found, key)
        else:
            return None
    return found


def setting(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """One plausible but hostile setting; each part of the document has the same probability."""
    document = decoded(folder.files["run"])
    reached = [(found, values) for path, values in SETTINGS if (found := _found(rng, document, path))]
    if not reached:
        raise Inapplicable
    part = rng.choice(sorted({found[0] for found, _ in reached}))
    found, values = rng.choice([one for one in reached if one[0][0] == part])
    value = rng.choice(values)
    folder.files["run"] = dumped(put(document, found, value))
    return f"run: {path_text(found)} = {brief(value)}"


MUTATIONS: dict[str, Mutation] = {"json setting": setting}
