"""Find the states that a text means, with helpful errors."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.checks import whole
from whatfor.parsing import AxisWords, StateParser, numbers_in
from whatfor.states import not_met
from whatfor.text import joined, normalized, shortened

if TYPE_CHECKING:
    from whatfor.labels import Labels


#: The longest text that is compared with the names of endings; the comparison is quadratic.
MAX_COMPARED = 100
#: The longest text that is read as a key.
MAX_KEY = 10_000
#: The number of candidates that an ambiguous word lists.
MAX_CANDIDATES = 10


class Reader:
    """Reads texts about the states of some labels."""

    def __init__(self, labels: Labels, template: str) -> None:
        self.labels, self.axes = labels, labels.axes
        self._parser = StateParser(
            [AxisWords(axis.name, axis.size, axis.values, axis.start) for axis in labels.axes], template
        )

    def state(self, text: str) -> int:
        """The state that a text means: words as ``Labels.words`` writes them, "axis=value" pairs, numbers in brackets, or an index."""
        same = self._by_words.get(normalized(text), [])
        if len(same) > 1:
            listed = ", ".join(repr(self.labels.values_in_words(state)) for state in same[:MAX_CANDIDATES])
            more = f" and {len(same) - MAX_CANDIDATES:,} more" if len(same) > MAX_CANDIDATES else ""
            raise ValueError(
                f"{shortened(text)!r} is ambiguous: these are the words for {listed}{more}. Write one of them"
            )
        if same:
            return same[0]
        written = _literal(text) if self.labels.states is not None else None
        if written is not None:
            return self.labels.index(written)
        numbers = numbers_in(text)
        if numbers:
            if len(numbers) not in (1, len(self.axes)):
                found = f"{shortened(text)!r} has {len(numbers)} numbers"
                raise ValueError(f"{found}; a state has {len(self.axes)}. {self.labels.example()}")
            return self.labels.index(numbers if len(numbers) > 1 else numbers[0])
        words, _ = self._parser.read(text)
        at = {i: self._value(i, words[i]) for i in range(len(self.axes)) if i in words}
        for i, axis in enumerate(self.axes):  # a wrong value is reported before a missing one
            if i not in at and axis.size == 1 and self.labels.discovered:
                at[i] = 0  # it never varied
            if i not in at and self.labels.discovered and len(self.axes) == 1:
                raise ValueError(not_met(self.labels.n_states, repr(shortened(text)), self.labels.example()))
            if i not in at:
                raise ValueError(
                    f"cannot parse the state {shortened(text)!r}: the {axis.name} is missing; {_choices(axis)}. {self.labels.example()}"
                )
        return self.labels.at([at[i] for i in range(len(self.axes))])

    @cached_property
    def _by_words(self) -> dict[str, list[int]]:
        """The states by the words of a function, which may repeat."""
        found: dict[str, list[int]] = {}
        for state, words in enumerate(self.labels.state_words):
            found.setdefault(normalized(words), []).append(state)
        return found

    def states(self, text: str, endings: Sequence[str]) -> NDArray[np.bool_]:
        """(S,) The states of which a text is true; every word of it must be understood."""
        same = self._by_words.get(normalized(text))
        if same is not None:
            return np.isin(np.arange(self.labels.n_states), same)
        words, rest = self._parser.read(text)
        unread = [piece for piece in re.split(r"[\s,;]+|\band\b", rest) if piece]
        if unread or not words:
            quoted = repr(shortened(text))
            what = f"cannot parse {shortened(' '.join(unread))!r} in {quoted}" if words else f"unknown event {quoted}"
            axes = "; ".join(_choices(axis) for axis in self.axes)
            raise ValueError(
                f"{what}.{_suggestion(text, endings)} Give values: {axes}; or name an ending: {', '.join(endings)}. {_example(self.axes[0])}"
            )
        at = [self._values(i, words[i], "") if i in words else range(axis.size) for i, axis in enumerate(self.axes)]
        if self.labels.states is not None:
            columns = self.labels.states.positions.T
            met = [np.isin(column, [*one]) for column, one in zip(columns, at, strict=True)]
            return np.asarray(np.array(met).all(axis=0))
        states = np.zeros(self.labels.shape, np.bool_)
        states[np.ix_(*at)] = True
        return states.ravel()

    def _value(self, at: int, word: str) -> int:
        """The value of an axis that a word means; ``ValueError`` with the candidates if there are several."""
        values, axis = self._values(at, word, self.labels.example()), self.axes[at]
        if len(values) > 1:
            candidates = ", ".join(str(value + axis.start) for value in values[:MAX_CANDIDATES])
            more = f" and {len(values) - MAX_CANDIDATES:,} more" if len(values) > MAX_CANDIDATES else ""
            raise ValueError(
                f"{axis.name} {shortened(word)!r} is ambiguous: it is the word for {candidates}{more}. "
                f"Write the number: '{axis.name}={values[0] + axis.start}'"
            )
        return values[0]

    def _values(self, at: int, word: str, hint: str) -> list[int]:
        """The values of an axis that a word means; at least one."""
        axis, values = self.axes[at], self._parser.axes[at].find_all(word)
        if not values:
            raise ValueError(f"{axis.name} cannot be {shortened(word)!r}; {_choices(axis)}. {hint or _example(axis)}")
        return values


def _example(axis: Axis) -> str:
    """A hint how to write a condition on an axis."""
    return f"Write it like this: {f'{axis.name} {axis.word(axis.size * 2 // 3)}'!r}"


def _suggestion(text: str, endings: Sequence[str]) -> str:
    """The ending that a text may mean, as a question."""
    text = " ".join(text.lower().split())
    similar = [name for name in endings if text and text in name.lower()]
    if not similar and len(text) <= MAX_COMPARED:
        close = get_close_matches(text, [name.lower() for name in endings], n=1)
        similar = [name for name in endings if name.lower() in close]
    return f" Did you mean {similar[0]!r}?" if similar else ""


def _literal(text: str) -> int | float | bytes | tuple[Any, ...] | None:
    """A whole number, or a key as Python writes it; None: the text is neither.

    >>> _literal("3"), _literal("('s1', 2)"), _literal("row 1")
    (3, ('s1', 2), None)
    """
    if len(text) > MAX_KEY:
        return None
    try:
        found = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return found if type(found) in (int, float, bytes, tuple) else None


def _choices(axis: Axis) -> str:
    if axis.size > 12 and not axis.values:
        return f"{axis.name} is a number from {axis.word(0)} to {axis.word(axis.size - 1)}"
    words = list(dict.fromkeys(axis.word(i) for i in range(axis.size)))  # words from a function may repeat
    more = f" and {len(words) - 12} others" if len(words) > 12 else ""
    return f"{axis.name} is one of {', '.join(words[:12])}{more}"


def action_of(actions: Sequence[str], given: int | str) -> int:
    """The index of an action given as index or name.

    >>> action_of(("north", "pick up"), "Pick-up"), action_of(("north", "pick up"), "0")
    (1, 0)
    """
    if isinstance(given, str) and not given.strip().isdecimal():
        for form in (str.lower, joined):  # "Pick-up", "pick_up" and "pickup" are "pick up"
            names = [form(name) for name in actions]
            if names.count(form(given.strip())) == 1:
                return names.index(form(given.strip()))
        close = get_close_matches(joined(given), names, n=1)
        meant = f". Did you mean {actions[names.index(close[0])]!r}?" if close else ""
        raise ValueError(f"there is no action {given!r}; the actions are {', '.join(actions)}{meant}")
    try:
        index = int(given) if isinstance(given, str) else whole("action", given)
    except ValueError:
        choices = ", ".join(repr(name) for name in actions)
        raise ValueError(f"action must be an integer or one of {choices}, not {given!r}") from None
    if not 0 <= index < len(actions):
        numbered = ", ".join(f"{a} {name}" for a, name in enumerate(actions))
        raise ValueError(f"there is no action {given}; the actions are {numbered}")
    return index
