"""Mutations of JSON: every place of a document, and the text itself."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from fuzz.folders import Corpus, Inapplicable, Mutation, RunFolder

Path = tuple[Any, ...]

#: A placeholder for text that ``json.dumps`` cannot write: deep nesting, a number of 5,000 digits.
MARK = "\ue000"

NUMBERS = [
    0, 1, 2, 3, -1, -2, 16, 64, 1000, 10**6, 3 * 10**7, 2**31 - 1, 2**31, -(2**31), 2**32, 2**63 - 1, 2**63, -(2**63) - 1, 10**15,
    10**30, 0.0, -0.0, 0.5, 1.0, 1.5, -0.1, 1e-320, 1.0000001, 1e15, 1e306, 1e308, -1e308, float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
WORDS = [
    "", " ", "x", "0", "1", "nan", "inf", "-inf", "1e999", "\x00", "\x1b[31m", "\x07\n", "\u202e", "\ud800", "$5 to $10", "$\\frac{",
    "<script>", "{row}", "{", "{}", "{0.__class__}", "%s", "../..", "/etc/passwd", "é°" * 9, "x" * 100_000, "0 " * 1_000,
    "QLearning", "Sarsa", "DoubleQLearning", "MonteCarlo", "LambdaReturns", "VisitCount", "Linear", "Exponential",
    "bootstrap", "terminal", "latest", "first", "forwards", "replayed", "backwards", "compiled", "python", "auto",
    "gymnasium", "object", "table", "cartpole", "blackjack", "chain", "grid", "taxi", "index", "tuple", "array", "bins",
    "FrozenLake-v1", "Taxi-v4", "CartPole-v1", "MountainCar-v0", "Blackjack-v1", "CliffWalking-v1", "bait:Bait-v0", "bait:FrozenLake-v1", "NoSuch-v0",
    "states", "clusters", "concepts", "faithful", "regression", "discrete", "multidiscrete", "multibinary", "box", "float32", "U9", "PCG64", "MT19937",
    "timed out", "terminated",
]  # fmt: skip
OTHERS: list[Any] = [
    None, True, False, [], {}, [[]], [None], [0], [1, 2, 3], [-1] * 4, [1] * 1_000, [0.5, "x"], ["x"], ["x", "x"], [[1, 2], [3]], {"a": 1}, {"": None}, {"kind": "table"},
]  # fmt: skip


def wrong_value(rng: random.Random) -> Any:
    """An invalid or unusual value."""
    pools: list[list[Any]] = [NUMBERS, WORDS, OTHERS]
    return rng.choice(rng.choice(pools))


def places(document: Any, path: Path = ()) -> Iterator[Path]:
    """Every place of a document; of long lists, both ends."""
    yield path
    if isinstance(document, dict):
        items = list(document.items())
    elif isinstance(document, list):
        items = list(enumerate(document))
        items = items if len(items) <= 8 else [*items[:4], *items[-3:]]
    else:
        return
    for key, value in items:
        yield from places(value, (*path, key))


def place(rng: random.Random, document: Any) -> Path:
    """A place in a document; each of its parts has the same probability."""
    below = rng.choice(list(document) if isinstance(document, dict) else range(len(document)))
    return rng.choice([(below, *path) for path in places(document[below])])


def at(document: Any, path: Path) -> Any:
    """The value at a place."""
    for key in path:
        document = document[key]
    return document


def put(document: Any, path: Path, value: Any) -> Any:
    """The document with another value at a place."""
    if not path:
        return value
    at(document, path[:-1])[path[-1]] = value
    return document


def brief(value: Any) -> str:
    """A value as short text, for descriptions."""
    text = repr(value)
    return text if len(text) < 60 else f"{text[:40]}... ({len(text)} characters)"


def path_text(path: Path) -> str:
    """A place as text, for descriptions."""
    return ".".join(map(str, path)) or "(all)"


# -- changes of a decoded document -------------------------------------------------------------


def replace(rng: random.Random, document: Any) -> tuple[Any, str]:
    """Another value at a place."""
    path, value = place(rng, document), wrong_value(rng)
    return put(document, path, value), f"{path_text(path)} = {brief(value)}"


def tweak(rng: random.Random, document: Any) -> tuple[Any, str]:
    """A value that is nearly right."""
    path = place(rng, document)
    old = at(document, path)
    if isinstance(old, bool) or old is None:
        new: Any = rng.choice([not old, 0, 1, "true", str(old)])
    elif isinstance(old, int | float):
        near = [
            old + 1,
            old - 1,
            -old,
            2 * old,
            old + 0.5,
            float(old) if abs(old) < 1e300 else 0.0,
            str(old),
            [old],
            bool(old),
        ]
        new = rng.choice(near)
    elif isinstance(old, str):
        new = rng.choice(
            [old + "x", old[:-1], old.upper(), old * 2, " " + old, old + "\x1b[0m", [old], list(old), old + "\n"]
        )
    elif isinstance(old, list):
        new = rng.choice(
            [[], old[:-1], old + old[-1:], old + old, old[::-1], old[:1], [*old, None], [old], dict(enumerate(old))]
        )
    else:
        new = rng.choice(
            [list(old.values()), [old], {**old, "unknown": 1}, {str(k).upper(): v for k, v in old.items()}, list(old)]
        )
    return put(document, path, new), f"{path_text(path)}: {brief(old)} -> {brief(new)}"


def drop(rng: random.Random, document: Any) -> tuple[Any, str]:
    """Remove an entry."""
    path = place(rng, document)
    del at(document, path[:-1])[path[-1]]
    return document, f"{path_text(path)} is missing"


def unknown(rng: random.Random, document: Any) -> tuple[Any, str]:
    """Add an unknown key."""
    path = rng.choice([path for path in places(document) if isinstance(at(document, path), dict)])
    key = rng.choice(["unknown", "__class__", "self", "", "kind", "render_mode", "desc", "continuous", "size"])
    at(document, path)[key] = value = wrong_value(rng)
    return document, f"{path_text(path)}.{key} = {brief(value)} besides"


def repeat(rng: random.Random, document: Any) -> tuple[Any, str]:
    """The entries of a list more than once: duplicated names, other lengths."""
    path = rng.choice([path for path in places(document) if isinstance(at(document, path), list)] or [None])
    if path is None or not at(document, path):
        raise Inapplicable
    held = at(document, path)
    times = rng.choice([1, 1, 2, 100, 10_000])
    held.extend([json.loads(json.dumps(rng.choice(held)))] * times)
    return document, f"an entry of {path_text(path)} repeated {times} times"


def swap(rng: random.Random, document: Any) -> tuple[Any, str]:
    """Two places exchange their values."""
    one, two = place(rng, document), place(rng, document)
    if one[: len(two)] == two[: len(one)]:
        raise Inapplicable
    first, second = at(document, one), at(document, two)
    return put(put(document, one, second), two, first), f"{path_text(one)} and {path_text(two)} exchanged"


def nest(rng: random.Random, document: Any) -> tuple[Any, str]:
    """Values that are far too deep or too long; inserted into the text afterwards."""
    path = place(rng, document)
    what = rng.choice(["deep list", "deep object", "digits", "exponent", "long text", "long list"])
    return put(document, path, MARK + what), f"{path_text(path)} is a {what}"


HUGE: dict[str, Callable[[], str]] = {
    "deep list": lambda: "[" * 100_000 + "]" * 100_000,
    "deep object": lambda: '{"a":' * 5_000 + "1" + "}" * 5_000,
    "digits": lambda: "9" * 5_000,
    "exponent": lambda: "1e99999",
    "long text": lambda: '"' + "x" * 10_000_000 + '"',
    "long list": lambda: "[" + "0," * 2_000_000 + "0]",
}


def dumped(document: Any) -> bytes:
    """A document as text, with the placeholders replaced."""
    text = json.dumps(document)
    for what, written in HUGE.items():
        mark = json.dumps(MARK + what)
        if mark in text:
            text = text.replace(mark, written())
    return text.encode()


CHANGES: dict[str, Callable[[random.Random, Any], tuple[Any, str]]] = {
    "replace": replace,
    "tweak": tweak,
    "drop": drop,
    "unknown": unknown,
    "repeat": repeat,
    "swap": swap,
    "nest": nest,
}


def change(rng: random.Random, document: Any, kind: str) -> tuple[Any, str]:
    """One change of a document; only objects and lists can be changed."""
    if not isinstance(document, dict | list) or not document:
        raise Inapplicable
    return CHANGES[kind](rng, document)


# -- mutations of a folder -----------------------------------------------------------------------


def _on_document(kind: str) -> Mutation:
    def mutate(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
        name = folder.pick(rng, "json")
        document, what = change(rng, decoded(folder.files[name]), kind)
        folder.files[name] = dumped(document)
        return f"{name}: {what}"

    return mutate


def decoded(data: bytes) -> Any:
    """A document, if an earlier mutation left one."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Inapplicable from None


def transplant(rng: random.Random, folder: RunFolder, corpus: Corpus) -> str:
    """A part of another run's document at the same place."""
    name, (source, other) = folder.pick(rng, "json"), rng.choice(list(corpus.items()))
    document, foreign = decoded(folder.files[name]), decoded(other.files[name])
    shared = [path for path in places(foreign) if path and _reaches(document, path[:-1], path[-1])]
    if not shared:
        raise Inapplicable
    path = rng.choice(shared)
    folder.files[name] = dumped(put(document, path, at(foreign, path)))
    return f"{name}: {path_text(path)} of {source!r}"


def _reaches(document: Any, path: Path, key: Any) -> bool:
    try:
        held = at(document, path)
    except (KeyError, IndexError, TypeError):
        return False
    return isinstance(held, dict) if isinstance(key, str) else isinstance(held, list) and key < len(held)


def text(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """Change the text of a document: invalid or unusual JSON."""
    name = folder.pick(rng, "json")
    data = folder.files[name]
    cut = rng.randrange(len(data) + 1)
    ways = {
        "empty": b"",
        "cut": data[:cut],
        "twice": data + data,
        "BOM": b"\xef\xbb\xbf" + data,
        "UTF-16": data.decode("latin-1").encode("utf-16"),
        "not UTF-8": data[:cut] + b"\xff\xfe" + data[cut:],
        "null bytes": data[:cut] + b"\0" * 9 + data[cut:],
        "duplicate key": b'{"labels": null,' + data[1:],
        "spaces": b" " * 1_000_000 + data,
        "list": b"[" + data + b"]",
        "byte": data[:cut] + bytes([rng.randrange(256)]) + data[cut + 1 :],
    }
    how = rng.choice(list(ways))
    folder.files[name] = ways[how]
    return f"{name}: text, {how} at {cut}"


MUTATIONS: dict[str, Mutation] = {f"json {kind}": _on_document(kind) for kind in CHANGES} | {
    "json transplant": transplant,
    "json text": text,
}
