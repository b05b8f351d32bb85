"""Validation of whole numbers, finite numbers and flags, before compiled code reads them."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def whole(what: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """Validate a whole number from ``low`` to ``high``; floats and booleans are rejected, even with a whole value.

    >>> whole("episodes", 3)
    3
    >>> whole("episodes", 2.5)
    Traceback (most recent call last):
    ValueError: episodes is 2.5; it must be a whole number
    """
    if not isinstance(value, (bool, np.bool_)):
        try:
            number = int(operator.index(value))
        except TypeError:
            pass
        else:
            if (low is None or low <= number) and (high is None or number <= high):
                return number
    raise ValueError(f"{what} is {value!r}; it must be a whole number{_between(low, high)}")


def episode_number(value: Any, n_episodes: int) -> int:
    """Validate the number of an episode.

    >>> episode_number(3, 4)
    3
    >>> episode_number(999, 200)
    Traceback (most recent call last):
    ValueError: episode 999 does not exist; episodes are 0 to 199
    """
    one = whole("the number of an episode", value)
    if 0 <= one < n_episodes:
        return one
    exist = f"episodes are 0 to {n_episodes - 1:,}" if n_episodes else "nothing was recorded"
    raise ValueError(f"episode {one:,} does not exist; {exist}")


def number(what: str, value: object, low: float = -math.inf, high: float = math.inf) -> float:
    """Validate a finite number from ``low`` to ``high``.

    >>> number("discount", float("nan"), 0, 1)
    Traceback (most recent call last):
    ValueError: discount is nan; it must lie in [0, 1]
    """
    if not isinstance(value, (bool, np.bool_)) and isinstance(value, Real):
        try:
            given = float(value)
        except OverflowError:  # a whole number beyond the largest float
            given = math.nan
        if math.isfinite(given) and low <= given <= high:
            return given
    ends = math.isfinite(low) and math.isfinite(high)
    raise ValueError(f"{what} is {value!r}; it must {f'lie in [{low}, {high}]' if ends else 'be a finite number'}")


def flag(what: str, value: Any) -> bool:
    """Validate a boolean; other types are rejected.

    >>> flag("terminated", "False")
    Traceback (most recent call last):
    ValueError: terminated is 'False'; it must be True or False
    """
    if isinstance(value, (bool, np.bool_)) or (
        isinstance(value, np.ndarray) and value.shape == () and value.dtype == bool
    ):
        return bool(value)
    raise ValueError(f"{what} is {value!r}; it must be True or False")


def flags(what: str, values: Any) -> NDArray[np.bool_]:
    """Validate an array of booleans; 0 and 1 are accepted too.

    >>> flags("terminated", [[False, True]]).tolist()
    [[False, True]]
    """
    array = array_of(what, values, "biu", "True and False")
    if array.dtype.kind != "b" and array.size and not (array.min() >= 0 and array.max() <= 1):
        raise ValueError(f"{what} holds {array.min()} to {array.max()}; it must hold True and False")
    return array.astype(np.bool_)


def array_of(what: str, values: Any, kinds: str, are: str) -> NDArray[Any]:
    """Convert values to an array, and check that its ``dtype.kind`` is one of ``kinds``.

    >>> array_of("next_state", [0, 0.7], "iu", "whole numbers")
    Traceback (most recent call last):
    ValueError: next_state holds float64 values; it must hold whole numbers
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in kinds:
        raise ValueError(f"{what} holds {contents_of(array)}; it must hold {are}")
    return array


def contents_of(array: NDArray[Any]) -> str:
    """What an array holds, for messages.

    >>> contents_of(np.array(["up"])), contents_of(np.array([0.5]))
    ('text', 'float64 values')
    """
    return {"U": "text", "S": "bytes", "O": "Python objects"}.get(array.dtype.kind, f"{array.dtype} values")


def check_tables(shape: tuple[int, ...], owner: str, pairs: tuple[int, int]) -> None:
    """Check that an array of values has the states and actions of the labels or the ledger.

    >>> check_tables((4, 2), "the ledger has", (5, 2))
    Traceback (most recent call last):
    ValueError: values has shape (4, 2); the ledger has 5 states and 2 actions
    """
    if shape[-2:] != pairs or len(shape) not in (2, 3):
        states, actions = (f"{n} {name}{'s' * (n != 1)}" for n, name in zip(pairs, ("state", "action"), strict=True))
        raise ValueError(f"values has shape {shape}; {owner} {states} and {actions}")


def _between(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f" of at least {low}"
    return "" if high is None else f" of at most {high}"
