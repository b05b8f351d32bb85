"""Mutations of the arrays in npz files: numbers, lengths, types and shapes, with correct headers."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.folders import Corpus, Inapplicable, Mutation, RunFolder
from fuzz.members import Member, members_of, packed


def _wrong_numbers(array: NDArray[Any]) -> list[Any]:
    if array.dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1.0 + 1e-15, 1.5, 1e308, -1e308, 5e-324, 0.5]
    if array.dtype.kind not in "iu":
        raise Inapplicable
    bounds = np.iinfo(array.dtype)
    near = [int(array.max()) + 1, int(array.min()) - 1, len(array), len(array) + 1] if array.size else []
    wanted = [*near, -1, 0, 1, -2, -3, -4, -5, -1000, 10**6, bounds.max, bounds.min]
    return [number for number in wanted if bounds.min <= number <= bounds.max]


def number(rng: random.Random, array: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """One number out of range, by 1 or by much."""
    if not array.size:
        raise Inapplicable
    flat = array.ravel()
    at, value = rng.choice([0, len(flat) - 1, rng.randrange(len(flat))]), rng.choice(_wrong_numbers(array))
    flat[at] = value
    return flat.reshape(array.shape), f"[{at}] = {value}"


def fill(rng: random.Random, array: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """All numbers equal."""
    value = rng.choice(_wrong_numbers(array))
    return np.full_like(array, value), f"all {value}"


def order(rng: random.Random, array: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """The same numbers in another order."""
    if not array.size:
        raise Inapplicable
    way = rng.choice(["reversed", "rolled", "sorted"])
    flat = array.ravel()
    flat = flat[::-1] if way == "reversed" else np.roll(flat, 1) if way == "rolled" else np.sort(flat)
    return flat.reshape(array.shape), way


def resize(rng: random.Random, array: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """More numbers, or fewer."""
    if array.ndim == 0:
        raise Inapplicable
    length = rng.choice([0, 1, len(array) - 1, len(array) + 1, 2 * len(array), len(array) // 2, 100_000])
    length = max(0, min(length, 10**6 // max(1, int(np.prod(array.shape[1:])))))
    if array.size == 0:
        return np.zeros((length, *array.shape[1:]), array.dtype), f"{length} zeros"
    return np.resize(array, (length, *array.shape[1:])), f"{length} instead of {len(array)}"


DTYPES = [
    "<i4",
    "<i8",
    "<f8",
    "<f4",
    "<f2",
    "<u4",
    "<u8",
    "<i1",
    "|b1",
    "<c16",
    ">i4",
    ">f8",
    "S8",
    "U4",
    "M8[s]",
    "V4",
]


def dtype(rng: random.Random, array: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """Numbers of another kind."""
    kind = rng.choice(DTYPES)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return array.astype(kind), f"as {kind}"
        except (TypeError, ValueError):
            raise Inapplicable from None


def shape(rng: random.Random, array: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """The same numbers in another shape."""
    flat = array.ravel()
    shapes: list[Any] = [(-1, 1), (1, -1), (-1,), (1, 1, -1), (*array.shape, 1), array.shape[::-1], (0, 5)]
    wanted = rng.choice(shapes)
    return (flat[:0] if 0 in wanted else flat).reshape(wanted), f"shape {wanted}"


Change = Callable[[random.Random, NDArray[Any]], tuple[NDArray[Any], str]]
ARRAYS: dict[str, Change] = {
    "number": number, "fill": fill, "order": order, "resize": resize, "dtype": dtype, "shape": shape,
}  # fmt: skip


def _on_array(kind: str) -> Mutation:
    def mutate(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
        group = folder.pick(rng, "npz")
        members = members_of(folder.files[group])
        if not members:
            raise Inapplicable
        at = rng.randrange(len(members))
        array, what = ARRAYS[kind](rng, members[at].array)
        members[at] = Member.of(members[at].name, array)
        folder.files[group] = packed(members)
        return f"{group}/{members[at].name}: {what}"

    return mutate


MUTATIONS: dict[str, Mutation] = {f"array {kind}": _on_array(kind) for kind in ARRAYS}
