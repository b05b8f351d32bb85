"""What is passed as names: keys and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

T = TypeVar("T")
#: More words than this are not listed.
MAX_LISTED = 12


def check_keys(what: str, given: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raise ``ValueError`` for a key that does not exist."""
    wrong = next((key for key in given if key not in keys), None)
    if wrong is not None:
        close = get_close_matches(str(wrong), keys, n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{what} has no key {wrong!r}.{meant} The keys are {', '.join(keys)}")


def texts(what: str, given: Any) -> tuple[str, ...]:
    """A list of texts.

    >>> texts("actions", ["left", "right"])
    ('left', 'right')
    """
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        raise ValueError(f'{what} is a list of texts, e.g. {what}=("left", "right"), not {given!r}')
    return tuple(given)


def pair(what: str, given: Any) -> tuple[str, str]:
    """The names of two axes."""
    names = texts(what, given)
    if len(names) != 2:
        raise ValueError(f'{what} names the axes of rows and of columns, e.g. {what}=("row", "column"), not {given!r}')
    return names[0], names[1]


def objects(what: str, given: Any, kind: type[T], example: str) -> tuple[T, ...]:
    """A list of ready-made objects."""
    if not isinstance(given, Sequence) or not all(isinstance(one, kind) for one in given):
        raise ValueError(f"{what} is a dictionary, e.g. {example}, or a list of {kind.__name__}, not {given!r}")
    return tuple(given)


def one_of(words: Sequence[str]) -> str:
    """The words that may be chosen from, or their range if they are many.

    >>> one_of(["open", "closed"]), one_of([str(i) for i in range(20)])
    ('open, closed', '0 to 19')
    """
    return ", ".join(words) if len(words) <= MAX_LISTED else f"{words[0]} to {words[-1]}"
