"""States: those that were discovered during training, in the order of discovery."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.structure import Scalar
from whatfor.text import MAX_LENGTH, count, is_plain, normalized

#: The kinds of values that an axis may have, apart from None.
KINDS: tuple[type, ...] = (bool, int, float, str, bytes)
#: Whole numbers become a range of numbers if at most this many times as many are in it as were met.
MAX_SPARSITY, MIN_RANGE = 4, 8


class DiscoveredStates:
    """The states that exist: for each its position on every axis, and for each axis its values.

    >>> states = DiscoveredStates.of([[1, 0, 1], ["b", "a", "a"]])
    >>> states.positions.tolist(), states.values, states.find((0, "a"))
    ([[1, 1], [0, 0], [1, 0]], ((0, 1), ('a', 'b')), 1)
    """

    def __init__(
        self,
        positions: NDArray[np.int32],  # (S, axes)
        values: Sequence[Sequence[Scalar]],  # of each axis
        state_of: Callable[[Any], Hashable] | None = None,
    ) -> None:
        self.positions = positions
        self.values = tuple(tuple(one) for one in values)
        self.state_of = state_of  # from an observation to its key; None: unknown, since functions are not saved

    @classmethod
    def of(
        cls, columns: Sequence[Sequence[Scalar]], state_of: Callable[[Any], Hashable] | None = None
    ) -> DiscoveredStates:
        """The states with these values: for each axis, the value of each state."""
        values = [_distinct(column) for column in columns]
        places: list[dict[Scalar, int]] = [{value: at for at, value in enumerate(one)} for one in values]
        rows = [[place[value] for value in column] for place, column in zip(places, columns, strict=True)]
        positions = np.array(rows, np.int32).reshape(len(columns), -1).T
        return cls(np.ascontiguousarray(positions), values, state_of)

    def __len__(self) -> int:
        return len(self.positions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DiscoveredStates):
            return NotImplemented
        return self.values == other.values and np.array_equal(self.positions, other.positions)

    def __hash__(self) -> int:
        return hash((self.values, self.positions.tobytes()))

    def row(self, state: int) -> tuple[Scalar, ...]:
        """The values of a state, one for each axis."""
        return tuple(values[at] for values, at in zip(self.values, self.positions[state].tolist(), strict=True))

    def columns(self) -> list[list[Scalar]]:
        """For each axis, the value of each state."""
        return [
            [values[at] for at in column] for values, column in zip(self.values, self.positions.T.tolist(), strict=True)
        ]

    def find(self, values: Sequence[Any]) -> int | None:
        """The state with these values; None: it was not met."""
        try:
            at = tuple(places[value] for places, value in zip(self._places, values, strict=True))
        except (KeyError, TypeError, ValueError):  # not met, not hashable, or of another length
            return None
        return self.at(at)

    def at(self, positions: Sequence[int]) -> int | None:
        """The state at a position on every axis; None: there is none."""
        return self._by_position.get(tuple(positions))

    @cached_property
    def _places(self) -> list[dict[Scalar, int]]:
        return [{value: at for at, value in enumerate(values)} for values in self.values]

    @cached_property
    def _by_position(self) -> dict[tuple[int, ...], int]:
        return {tuple(row): state for state, row in enumerate(self.positions.tolist())}

    def axes(self, names: Sequence[str], words: Sequence[Callable[[Any], str] | None] = ()) -> tuple[Axis, ...]:
        """The axes, with words for their values: of functions, or the values themselves."""
        words = words or [None] * len(names)
        return tuple(map(axis_of, names, self.values, words))


def not_met(states: int, shown: str, example: str) -> str:
    """The message for a state that was not discovered."""
    return f"training met no state {shown}; it met {count(states, 'state')}. {example}"


def _distinct(column: Sequence[Scalar]) -> list[Scalar]:
    """The values of an axis: in rising order, with all numbers of a range and None last; bytes in order of discovery."""
    met = dict.fromkeys(column)
    none: list[Scalar] = [None] if None in met else []
    given: list[Any] = [value for value in met if value is not None]
    if not given or isinstance(given[0], bytes):
        return given + none
    given.sort()
    if type(given[0]) is int and given[-1] - given[0] < MAX_SPARSITY * len(given) + MIN_RANGE:
        given = list(range(given[0], given[-1] + 1))
    return given + none


def axis_of(name: str, values: Sequence[Scalar], word: Callable[[Any], str] | None = None) -> Axis:
    """An axis with these values.

    >>> axis_of("row", (2, 3)), axis_of("door", (False, True)).values, axis_of("board", (b"x", b"y")).values
    (Axis(name='row', size=2, values=(), start=2, edges=(), repeats=False), ('no', 'yes'), ())
    """
    first: Any = values[0]
    if word is None and type(first) is int and values == tuple(range(first, first + len(values))):
        return Axis(name, len(values), start=first)
    words = tuple((word or _word)(value) for value in values)
    plain = all(0 < len(one) <= MAX_LENGTH and is_plain(one) and "{" not in one for one in words)
    if isinstance(first, bytes) or not plain or len({normalized(one) for one in words}) < len(words):
        return Axis(name, len(values))  # numbered
    return Axis(name, len(values), words)


def _word(value: Scalar) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.strip() if isinstance(value, str) else str(value)
