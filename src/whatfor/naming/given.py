"""What is passed as names: keys and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any


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
