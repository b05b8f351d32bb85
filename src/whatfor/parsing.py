"""Parse texts about states, axis by axis, in time linear in the text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from whatfor.text import normalized
from whatfor.vocabulary import WORD_CHARACTER, Vocabulary, ends

# Possessive only after single characters: before Python 3.11.5, possessive groups match wrongly.
_NUMBER = r"-?\d++(?:\.\d++)?(?:[eE][-+]?\d++)?"
_NUMBERS = re.compile(rf"[\s(\[]*+({_NUMBER}(?:[\s,]++{_NUMBER})*)[\s)\]]*+")
_INTEGER = re.compile(rf"-?[0-9]++(?!{WORD_CHARACTER})")
_BEFORE = re.compile(r"[^\w.-]")
#: The separators between a name and its value: "row 1", "row=1", "row: 1", "passenger at Y".
_BETWEEN = "(?P<before> ?(?P<sign>[=:]?) ?(?P<at>at )?)"


def numbers_in(text: str) -> list[float]:
    """The numbers of a text that consists only of numbers, in brackets or not; otherwise an empty list.

    >>> numbers_in("[0.5, -1e-3]"), numbers_in("row 1")
    ([0.5, -0.001], [])
    """
    found = _NUMBERS.fullmatch(text)
    return [float(part) for part in re.split(r"[\s,]+", found[1])] if found else []


class AxisWords:
    """The words of one axis: its name and the words for its values.

    >>> passenger = AxisWords("passenger", 3, ("at R", "at G", "aboard"), start=0)
    >>> passenger.find("At G"), passenger.find("g"), passenger.find("2"), passenger.find("nowhere")
    (1, 1, 2, None)
    >>> AxisWords("room", 3, ("hall", "closet", "closet"), start=0).find_all("closet")
    [1, 2]
    """

    def __init__(self, name: str, size: int, values: Sequence[str], start: int) -> None:
        self.name, self.size, self.start = normalized(name), size, start
        self.names = [normalized(value) for value in values]
        self._values: dict[str, int] = {}
        self._repeated: dict[str, list[int]] = defaultdict(list)
        self._last: dict[str, int | None] = {}  # by the last word of a value; None: several values share it
        for at, value in enumerate(self.names):
            self._values.setdefault(value, at)
            self._repeated[value].append(at)
            for word in value.split()[-1:]:
                self._last[word] = None if word in self._last else at

    def find(self, word: str) -> int | None:
        """The value that a word means, or None."""
        word = normalized(word)
        if word in self._values:
            return self._values[word]
        if (at := self._last.get(word)) is not None:  # "Y" for "at Y"
            return at
        try:
            at = int(word) - self.start
        except ValueError:
            return None
        return at if 0 <= at < self.size else None

    def find_all(self, word: str) -> list[int]:
        """All values that a word means: several if words repeat."""
        at = self.find(word)
        return [] if at is None else self._repeated.get(normalized(word), [at])

    @cached_property
    def known(self) -> frozenset[str]:
        """All words that mean a value, except numbers."""
        return frozenset(word for word in {*self._values, *self._last} if word and self.find(word) is not None)


@dataclass
class Reading:
    """A text in the course of parsing: the words found for each axis, and which characters have been read."""

    text: str
    words: dict[int, str]
    used: bytearray  # for each character, 1 if it has been read

    def take(self, axis: int, word: str, begin: int, end: int) -> None:
        """Assign a word to an axis, and mark its characters as read."""
        self.words[axis] = word
        self.used[begin:end] = b"\1" * (end - begin)

    def free(self, begin: int, end: int) -> bool:
        """Whether no character of a range has been read yet."""
        return self.used.find(1, begin, end) < 0

    def holds(self, word: str, at: int) -> bool:
        """Whether an unread whole word is at this position."""
        opens = at == 0 or self.used[at - 1] or _BEFORE.match(self.text, at - 1)
        return bool(opens) and ends(self.text, at + len(word)) and self.free(at, at + len(word))

    def rest(self) -> str:
        """The unread parts of the text, joined by ";"."""
        parts, at = [], 0
        while (begin := self.used.find(1, at)) >= 0:
            end = self.used.find(0, begin)
            parts.append(self.text[at:begin])
            at = end if end >= 0 else len(self.text)
        return ";".join([*parts, self.text[at:]])


class StateParser:
    """Finds the value of each axis in a text that follows the template, or has the values in any order.

    >>> taxi = StateParser([AxisWords("row", 5, (), 0), AxisWords("column", 5, (), 0)], "taxi at row {row}, column {column}")
    >>> taxi.read("Taxi at row 1, column 3"), taxi.read("column=3 please")
    (({0: '1', 1: '3'}, ''), ({1: '3'}, '; please'))
    """

    def __init__(self, axes: Sequence[AxisWords], template: str) -> None:
        self.axes = axes
        names = {axis.name: i for i, axis in reversed(list(enumerate(axes)))}
        places = "|".join(re.escape(f"{{{name}}}") for name in names)
        parts = re.split(f"({places})", normalized(template)) if names else [normalized(template)]
        self._literals = parts[::2]
        self._places = [names[part[1:-1]] for part in parts[1::2]]  # the axis after each literal but the last
        #: For each axis, the words that introduce its value: those before it in the template, and its name.
        self._leads: list[list[str]] = [[axis.name] if axis.name else [] for axis in axes]
        for literal, i in zip(self._literals, self._places, strict=False):
            lead = re.split("[{}]", literal)[-1].strip(" ,;:")
            if lead and lead not in self._leads[i]:
                self._leads[i].insert(0, lead)

    def read(self, text: str) -> tuple[dict[int, str], str]:
        """The word for each axis in a text, and the rest of the text."""
        text = normalized(text)
        words = self._by_template(text)
        return (words, "") if words is not None else self._in_any_order(text)

    def _by_template(self, text: str) -> dict[int, str] | None:
        """The values between the literal parts of the template, each as short as possible; None: no match."""
        first, *others = self._literals
        if not others:
            return {} if text == first else None
        if not text.startswith(first):
            return None
        words: dict[int, str] = {}
        at = len(first)
        for k, (axis, literal) in enumerate(zip(self._places, others, strict=True)):
            if k < len(others) - 1:
                end = text.find(literal, at + 1)
            else:
                end = len(text) - len(literal) if text.endswith(literal) else -1
            if end <= at or words.setdefault(axis, text[at:end]) != text[at:end]:
                return None
            at = end + len(literal)
        return words

    def _in_any_order(self, text: str) -> tuple[dict[int, str], str]:
        """Each part of the text is read once, so that no word counts for two axes."""
        reading = Reading(text, {}, bytearray(len(text)))
        scan = self._vocabulary.scan(text)
        for i, axis in enumerate(self.axes):  # a name and a value
            for begin, at in self._introduced(text, i):
                word = next(filter(axis.known.__contains__, scan.words_at(at)), None)
                if word is None and (number := _INTEGER.match(text, at)):
                    word = number[0]
                if word is not None and reading.free(begin, at + len(word)):
                    reading.take(i, word, begin, at + len(word))
                    break
        places = {word: places for word, places in scan.places().items() if word in self._owners}
        for word in sorted(places, key=lambda word: (-len(word), places[word][0])):  # values that only one axis has
            if self._owners[word] not in reading.words:
                at = next((at for at in places[word] if reading.holds(word, at)), -1)
                if at >= 0:
                    reading.take(self._owners[word], word, at, at + len(word))
        rest = reading.rest()
        for i, axis in enumerate(self.axes):  # a name and a wrong value, for the error message
            if i not in reading.words and axis.name and (wrong := self._wrong[i].search(rest)):
                reading.words[i] = wrong[1]
                rest = f"{rest[: wrong.start()]};{rest[wrong.end() :]}"
        return reading.words, rest

    def _introduced(self, text: str, axis: int) -> Iterator[tuple[int, int]]:
        """From left to right, the positions where a name of an axis begins, and where its value may begin."""
        patterns = self._introductions[axis]
        hits = [pattern.search(text) for pattern in patterns]
        while begins := [hit.start() for hit in hits if hit]:
            begin = min(begins)
            for k, pattern in enumerate(patterns):
                hit = hits[k]
                if hit is not None and hit.start() == begin:
                    hits[k] = pattern.search(text, begin + 1)
                    yield begin, hit.end("before")
                    if hit["at"]:  # "at" may belong to the value
                        yield begin, hit.start("at")
                    if hit["sign"]:
                        yield begin, hit.start("sign")

    @cached_property
    def _introductions(self) -> list[list[re.Pattern[str]]]:
        """For each axis, a pattern per name that matches the name before a possible value.

        The pattern starts with the name, which makes the search fast.
        """
        found = []
        for axis, leads in zip(self.axes, self._leads, strict=True):
            first = "".join(sorted({word[0] for word in axis.known}))
            value = rf"(?={_BETWEEN}[{re.escape(first)}0-9-])"
            found.append([re.compile(f"{_word_start(name)}{value}") for name in leads])
        return found

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(dict.fromkeys(word for axis in self.axes for word in sorted(axis.known)))

    @cached_property
    def _owners(self) -> dict[str, int]:
        """For each value that only one axis has, that axis. Numbers are left out: they need the name of their axis."""
        owners: dict[str, set[int]] = defaultdict(set)
        for i, axis in enumerate(self.axes):
            for value in axis.names:
                if value and not value.isdigit():
                    owners[value].add(i)
        return {value: min(axes) for value, axes in owners.items() if len(axes) == 1}

    @cached_property
    def _wrong(self) -> list[re.Pattern[str]]:
        """For each axis, a pattern of its name and any word."""
        return [re.compile(rf"{_word_start(axis.name)} ?[=:]? ?([^ ,;=]+)") for axis in self.axes]


def _word_start(name: str) -> str:
    """A pattern of a name at the start of a word."""
    return rf"{re.escape(name)}(?<!\w{re.escape(name)})"
