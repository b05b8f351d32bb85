"""What is packed comes back."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from unpacking import unpack

from whatfor.explorer.packing import pack, rounded

WORDS = st.sampled_from(
    ["a", "~r", "~m", "~t", "a name that is long enough to be stored once", "~another name that is long enough"]
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32).map(rounded)
LEAVES = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | NUMBERS | WORDS | st.text(max_size=40)
MATRICES = st.tuples(st.integers(1, 3), st.integers(1, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(st.sampled_from([0, 0, 0, 0.5, 2]), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)
THINGS = st.recursive(
    LEAVES | MATRICES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=3)
    | st.tuples(st.lists(WORDS, min_size=1, max_size=2, unique=True), st.lists(inner, min_size=4, max_size=4)).map(
        lambda made: [dict.fromkeys(made[0], one) for one in made[1]]),
    max_leaves=30,
)  # fmt: skip


@given(THINGS)
def test_what_is_packed_comes_back(thing: Any) -> None:
    assert unpack(pack([thing, thing])) == [thing, thing]


def test_repeated_parts_are_stored_once() -> None:
    sentence = "a sentence that is repeated again and again"
    assert pack([sentence] * 9).count(sentence) == 1
    assert len(pack([[[0.0] * 30] * 30])) < 60


def test_it_is_json() -> None:
    assert json.loads(pack({"a": 1 / 3}))["root"] == {"a": 0.333333}
