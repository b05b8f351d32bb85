"""Answers that were computed before, up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict

#: Bytes of answers that are kept.
MAX_BYTES = 32_000_000


class AnswerCache:
    """Answers by their requests; the least recently used ones are dropped first.

    >>> cache = AnswerCache(max_bytes=10)
    >>> cache.add("state", {"state": "1"}, b"12345678")
    >>> cache.find("state", {"state": "1"})
    b'12345678'
    >>> cache.add("state", {"state": "2"}, b"12345678")
    >>> cache.find("state", {"state": "1"}) is None
    True
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes, self.size = max_bytes, 0
        self._answers: OrderedDict[tuple[object, ...], bytes] = OrderedDict()

    def find(self, what: str, given: dict[str, str]) -> bytes | None:
        """An answer that was added before."""
        found = self._answers.get(_key(what, given))
        if found is not None:
            self._answers.move_to_end(_key(what, given))
        return found

    def add(self, what: str, given: dict[str, str], answer: bytes) -> None:
        """Keep an answer."""
        key = _key(what, given)
        self.size += len(answer) - len(self._answers.pop(key, b""))
        self._answers[key] = answer
        while self.size > self.max_bytes and len(self._answers) > 1:
            self.size -= len(self._answers.popitem(last=False)[1])


def _key(what: str, given: dict[str, str]) -> tuple[object, ...]:
    return (what, *sorted(given.items()))
