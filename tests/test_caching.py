"""A cache never exceeds its size, and drops what was not used for longest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whatfor.caching import Cache


def test_cached_answers_are_bounded() -> None:
    cache = Cache[int, bytes](max_size=50_000, size_of=len)
    cache.add(1, b"1" * 3_000)
    assert cache.get(1) == b"1" * 3_000
    for key in range(2, 100):
        cache.add(key, b"2" * 3_000)
        cache.add(key, b"3" * 3_000)  # replaces it
        assert cache.size <= 50_000
    assert cache.get(1) is None
    assert cache.get(99) == b"3" * 3_000


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8))))
def test_the_size_is_the_sum_of_what_is_there(added: list[tuple[int, int]]) -> None:
    cache = Cache[int, bytes](max_size=10, size_of=len)
    for key, size in added:
        cache.add(key, b"x" * size)
        values = [cache.get(one) or b"" for one in list(cache)]
        assert cache.size == sum(map(len, values))
        assert cache.size <= 10 or len(cache) == 1
        assert cache.get(key) == b"x" * size


def test_what_was_used_last_stays() -> None:
    cache = Cache[str, int](max_size=2)
    for key in "abac":
        cache.get_or_add(key, lambda: 1)
    assert list(cache) == ["a", "c"]
