"""A cache of limited size that drops what was not used for longest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """Values by key, up to a total size; the least recently used ones are dropped first.

    ``size_of`` is the size of a value; by default each counts 1, so that ``max_size`` is a number of values.
    The latest value always stays, however large it is.

    >>> cache = Cache[str, bytes](max_size=10, size_of=len)
    >>> cache.add("one", b"12345678")
    >>> cache.get("one")
    b'12345678'
    >>> cache.add("two", b"12345678")
    >>> cache.get("one") is None
    True
    """

    def __init__(self, max_size: int, size_of: Callable[[Value], int] = lambda _: 1) -> None:
        self.max_size, self.size_of, self.size = max_size, size_of, 0
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Key]:
        """The keys, least recently used first."""
        return iter(self._values)

    def get(self, key: Key) -> Value | None:
        """A value that was added before and is still here."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key]

    def add(self, key: Key, value: Value) -> None:
        """Add a value, or replace the one of this key."""
        if key in self._values:
            self.size -= self.size_of(self._values.pop(key))
        self._values[key] = value
        self.size += self.size_of(value)
        while self.size > self.max_size and len(self._values) > 1:
            self.size -= self.size_of(self._values.popitem(last=False)[1])

    def get_or_add(self, key: Key, compute: Callable[[], Value]) -> Value:
        """The value of a key, computed where it is not here.

        >>> squares = Cache[int, int](max_size=2)
        >>> [squares.get_or_add(n, lambda n=n: n * n) for n in (1, 2, 1, 3)], list(squares)
        ([1, 4, 1, 9], [1, 3])
        """
        if key not in self._values:
            self.add(key, compute())
        self._values.move_to_end(key)
        return self._values[key]
