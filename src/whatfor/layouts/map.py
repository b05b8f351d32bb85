"""Map: a number for every state and action, with its title, caption and unknown pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.labels import Labels
from whatfor.layouts.shapes import Grid, Mask, Rows, Words

#: The state of every cell of a grid, -1 for none.
Cells = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Map:
    """A number for every state and action, to be laid out by ``maps.map_of``."""

    labels: Labels
    numbers: NDArray[np.float64]  # (S, A)
    title: str = ""
    caption: str = ""
    quantity: str = "expected visits"
    diverging: bool = False  # signed numbers, with zero in the middle of the colours
    unknown: NDArray[np.bool_] | None = None  # (S, A) True without experience: marked instead of drawn as zero
    state: int | None = None  # the state asked about

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", np.asarray(self.numbers, dtype=np.float64))
        if self.unknown is not None:
            object.__setattr__(self, "unknown", np.asarray(self.unknown, dtype=np.bool_))
        expected = (self.labels.n_states, self.labels.n_actions)
        for name, given in (("numbers", self.numbers), ("unknown", self.unknown)):
            if given is not None and given.shape != expected:
                raise ValueError(f"{name} has shape {given.shape}; a map of these labels has shape {expected}")
        if not np.isfinite(self.numbers).all():
            raise ValueError("numbers must be finite; mark unknown ones with unknown=")

    @property
    def at(self) -> tuple[int, ...] | None:
        """The position of the state asked about on each axis."""
        return None if self.state is None else self.labels.values(self.state)

    @property
    def by_pair(self) -> NDArray[np.float64]:
        """The numbers by axis, with actions last."""
        return self.labels.on_axes(self.numbers)

    @property
    def by_state(self) -> NDArray[np.float64]:
        """The numbers by axis, summed over actions."""
        return self.labels.on_axes(self.numbers.sum(axis=1))

    @property
    def unknown_states(self) -> NDArray[np.bool_] | None:
        """States, by axis, without experience of any action, except those where no action is ever taken."""
        unknown = self.unknown_by_state
        return None if unknown is None else self.labels.on_axes(unknown, missing=True)

    @property
    def unknown_by_state(self) -> NDArray[np.bool_] | None:
        """(S,) The same for each state."""
        if self.unknown is None:
            return None
        nowhere = self.unknown.all(axis=1)
        if nowhere.all():  # there is no experience at all: mark every state
            return np.asarray(nowhere)
        closed = [mark for mark in self.labels.marks if mark.closed]
        is_open = ~np.isin(np.arange(self.labels.n_states), [mark.state for mark in closed if mark.state is not None])
        cells = [mark.cell for mark in closed if mark.cell is not None]
        if cells and self.labels.board_axes is not None:
            at = self.labels.positions[:, self.labels.board_axes]
            is_open &= ~(at[:, None] == np.array(cells)).all(axis=2).any(axis=1)
        return np.asarray(nowhere & is_open)

    def grid(
        self,
        numbers: NDArray[np.float64],
        rows: tuple[str, Words],
        columns: tuple[str, Words],
        *,
        title: str,
        caption: str = "",
        unknown: NDArray[np.bool_] | None = None,
        marked: tuple[int, int] | None = None,
        marks: tuple[tuple[str, int, int, str], ...] = (),
    ) -> Grid:
        """A grid of a part of this map; each axis is a name and a word for every value."""
        (row_axis, row_words), (column_axis, column_words) = rows, columns
        return Grid(
            title=title,
            caption=caption,
            rows=row_words,
            columns=column_words,
            row_axis=row_axis,
            column_axis=column_axis,
            numbers=rows_of(numbers),
            quantity=self.quantity,
            diverging=self.diverging,
            unknown=mask_of(unknown),
            marked=marked,
            marks=marks,
        )


def named(axis: Axis) -> tuple[str, Words]:
    """The name of an axis and the words for its values."""
    return axis.name, tuple(axis.word(at) for at in range(axis.size))


def rows_of(numbers: NDArray[Any]) -> Rows:
    """A matrix as tuples of Python numbers."""
    return tuple(tuple(float(x) for x in row) for row in numbers)


def mask_of(unknown: NDArray[np.bool_] | None) -> Mask | None:
    """A boolean matrix as tuples of Python booleans; None stays None."""
    return None if unknown is None else tuple(tuple(bool(x) for x in row) for row in unknown)
