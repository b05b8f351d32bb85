"""From a number to a folder: which run, which mutations."""

from __future__ import annotations

import random
from dataclasses import dataclass

from fuzz import archives, arrays, documents, manifests, settings, tensors
from fuzz.folders import Corpus, Inapplicable, Mutation, RunFolder

MUTATIONS: dict[str, Mutation] = {
    **documents.MUTATIONS, **settings.MUTATIONS, **arrays.MUTATIONS, **archives.MUTATIONS, **tensors.MUTATIONS, **manifests.MUTATIONS,
}  # fmt: skip

#: Weights of the mutations that leave readable files; they may be combined.
WEIGHTS: dict[str, dict[str, int]] = {
    "tabular": {
        "json setting": 30, "json replace": 12, "json tweak": 16, "json drop": 4, "json unknown": 4, "json repeat": 6, "json swap": 6, "json transplant": 14,
        "array number": 20, "array fill": 5, "array order": 5, "array resize": 8, "array dtype": 3, "array shape": 2, "npz member": 6,
    },
    "deep": {
        "json setting": 30, "json replace": 14, "json tweak": 18, "json drop": 5, "json unknown": 5, "json repeat": 6, "json swap": 6, "json transplant": 14,
        "array number": 5, "array fill": 2, "array resize": 3, "npz member": 2,
        "tensor number": 10, "tensor shape": 10, "tensor members": 6,
    },
}  # fmt: skip
#: Mutations after which nothing else can be changed: the last one of every fourth case.
LAST: dict[str, dict[str, int]] = {
    "tabular": {
        "json nest": 3, "json text": 4, "npz header": 10, "npz pickle": 2, "npz zip": 10, "raw damage": 4, "honest damage": 6,
        "manifest document": 3, "manifest entry": 2, "manifest entries": 2, "folder node": 3, "folder leftovers": 3,
    },
    "deep": {
        "json nest": 3, "json text": 3, "npz header": 2, "npz zip": 2, "tensor header": 10, "tensor text": 5, "tensor document": 6,
        "raw damage": 5, "honest damage": 6, "manifest document": 2, "manifest entry": 1, "manifest entries": 2, "folder node": 2, "folder leftovers": 1,
    },
}  # fmt: skip
#: The names of the runs in ``corpus`` and ``deep_corpus``; here, since those modules are slow to import.
RUNS: dict[str, list[str]] = {
    "tabular": [
        "lake", "lake stepped", "lake from 2", "sarsa", "double q, counted", "monte carlo, terminal", "lambda, bootstrap", "replay, latest",
        "replay, first", "parts, replayed", "discovered", "table", "blackjack", "cartpole", "cartpole by id", "chain", "mountain car", "own loop", "untrained", "no ledger",
    ],
    "deep": ["states", "regression", "bins", "clusters", "concepts", "endings", "normalised"],
}  # fmt: skip
#: The number of mutations of a case.
COUNTS = [1, 1, 1, 1, 2, 2, 3, 4]


@dataclass
class Case:
    """A folder to be loaded, and where it comes from."""

    run: str
    kinds: list[str]
    mutations: list[str]
    folder: RunFolder


def case_of(kind: str, number: int, corpus: Corpus) -> Case:
    """The case with a number; deterministic for a corpus."""
    rng = random.Random(f"{kind} {number}")
    run = rng.choice(sorted(corpus))
    case = Case(run, [], [], corpus[run].copy())
    count = rng.choice(COUNTS)
    last = rng.random() < 0.25
    while len(case.kinds) < count:
        weights = LAST[kind] if last and len(case.kinds) == count - 1 else WEIGHTS[kind]
        (name,) = rng.choices(list(weights), list(weights.values()))
        try:
            case.mutations.append(MUTATIONS[name](rng, case.folder, corpus))
            case.kinds.append(name)
        except Inapplicable:
            continue
    return case
