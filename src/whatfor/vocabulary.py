"""Vocabulary: finds known multi-token words in a text in one pass, even if they overlap."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import chain

#: A character of a word, which must not follow a match: "3" is not found in "3.5", nor "4" in "4°".
WORD_CHARACTER = r"[\w.°]"
_WORD_CHARACTER = re.compile(WORD_CHARACTER)
_TOKEN = re.compile(r"[\w.]++°?|.", re.DOTALL)
_JOINED = re.compile(rf"(?<=[\w.]){WORD_CHARACTER}")


class Vocabulary:
    """An Aho-Corasick automaton over tokens. It reads from right to left, so its state gives the words that begin at a position.

    >>> scan = Vocabulary(["no", "ace", "usable ace", "no usable ace"]).scan("no usable ace")
    >>> scan.words_at(0), scan.words_at(3), scan.places()["ace"]
    (['no usable ace', 'no'], ['usable ace'], [10])
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._next: list[dict[str, int]] = [{}]
        self._word: list[str] = [""]
        for word in words:
            node = 0
            for token in reversed(_TOKEN.findall(word)):
                if token not in self._next[node]:
                    self._next[node][token] = len(self._next)
                    self._next.append({})
                    self._word.append("")
                node = self._next[node][token]
            self._word[node] = word
        self._link()

    def _link(self) -> None:
        """Link each node to the longest shorter match (``_fail``) and to the longest shorter word (``_shorter``)."""
        self._fail = [0] * len(self._next)
        self._shorter = [0] * len(self._next)
        waiting = deque(self._next[0].values())
        while waiting:
            node = waiting.popleft()
            fail = self._fail[node]
            self._shorter[node] = fail if self._word[fail] else self._shorter[fail]
            for token, child in self._next[node].items():
                self._fail[child] = self.advance(fail, token)
                waiting.append(child)

    def advance(self, node: int, token: str) -> int:
        """The state after one more token."""
        while node and token not in self._next[node]:
            node = self._fail[node]
        return self._next[node].get(token, 0)

    def scan(self, text: str) -> Scan:
        """Find the words in a text."""
        nodes: dict[int, int] = {}
        node, at, following, fail = 0, len(text), self._next, self._fail
        for token in reversed(_TOKEN.findall(text)):
            at -= len(token)
            node = following[node].get(token) or (self.advance(fail[node], token) if node else 0)
            if node:
                nodes[at] = node
        return Scan(self, text, nodes)

    def chain(self, node: int) -> Iterator[str]:
        """The words that end in a state, the longest first."""
        node = node if self._word[node] else self._shorter[node]
        while node:
            yield self._word[node]
            node = self._shorter[node]


class Scan:
    """The words of a vocabulary in one text, by their first character; ``nodes`` are ordered from right to left."""

    def __init__(self, vocabulary: Vocabulary, text: str, nodes: dict[int, int]) -> None:
        self._vocabulary, self._text, self._nodes = vocabulary, text, nodes

    def words_at(self, at: int) -> list[str]:
        """The whole words that begin at a position, the longest first."""
        node = self._nodes.get(at, 0)
        if not node and _JOINED.match(self._text, at):  # within a token, as in "row3": the rest of it counts as one
            rest = _TOKEN.match(self._text, at)
            node = 0 if rest is None else self._vocabulary.advance(self._nodes.get(rest.end(), 0), rest[0])
        return [word for word in self._vocabulary.chain(node) if ends(self._text, at + len(word))] if node else []

    def places(self) -> dict[str, list[int]]:
        """For each word, the positions where it begins, from left to right; it may be part of a longer word."""
        by_node: dict[int, list[int]] = defaultdict(list)
        for at, node in self._nodes.items():
            by_node[node].append(at)
        found: dict[str, list[list[int]]] = defaultdict(list)
        for node, places in by_node.items():
            for word in self._vocabulary.chain(node):
                found[word].append(places)
        return {word: places[0][::-1] if len(places) == 1 else sorted(chain(*places)) for word, places in found.items()}


def ends(text: str, at: int) -> bool:
    """Whether a word that ends at a position is a whole word.

    >>> ends("row 3, column 4.5", 5), ends("row 3, column 4.5", 15)
    (True, False)
    """
    return _WORD_CHARACTER.match(text, at) is None
