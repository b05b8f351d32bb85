"""Layouts by the axes of the labels: bars, one grid, or a grid for every value of the axes that are not rows and columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.labels import MAX_SPARE_CELLS, Labels
from whatfor.layouts.map import Cells, Map, named
from whatfor.layouts.shapes import WALL, Bars, Grid, Layout, Panels, Series, Words
from whatfor.layouts.words import pair_names

#: The most grids that are drawn side by side.
MAX_GRIDS = 16
MAX_PAIR_BARS = 12


@dataclass(frozen=True)
class Sheet:
    """One grid of a layout: the states on it, by the words that its other axes have in common."""

    words: Words  # of each other axis; empty: there is one grid
    states: NDArray[np.int64]  # (n,)
    here: bool = True  # whether the state asked about is on it


@dataclass(frozen=True)
class Sheets:
    """The grids of a layout: two axes are rows and columns, and there is one for each value of the others."""

    rows: int  # the place of the axis among the axes
    columns: int
    others: tuple[int, ...]
    sheets: tuple[Sheet, ...]

    def cells(self, labels: Labels, states: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Row and column of states."""
        at = labels.positions[states]
        return at[:, self.rows], at[:, self.columns]

    def shape(self, labels: Labels) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return labels.axes[self.rows].size, labels.axes[self.columns].size

    def places(self, labels: Labels, state: int) -> tuple[Cells, ...]:
        """The state behind each cell of each grid, -1 for none; of several, one that differs least from the given state."""
        at = labels.positions
        near = (at[:, self.others] == at[state, self.others]).sum(axis=1)
        grids = []
        for sheet in self.sheets:
            grid = np.full(self.shape(labels), -1)
            states = sheet.states[np.argsort(near[sheet.states], kind="stable")]  # the nearest is written last
            grid[self.cells(labels, states)] = states
            grids.append(tuple(tuple(row) for row in grid.tolist()))
        return tuple(grids)


def frame_of(labels: Labels) -> tuple[int, int, tuple[int, ...]]:
    """The places of the axes of rows and columns, the last two if none are named so, and those of the others."""
    rows, columns = labels.board_axes or (len(labels.axes) - 2, len(labels.axes) - 1)
    return rows, columns, tuple(at for at in range(len(labels.axes)) if at not in (rows, columns))


def sheets_of(labels: Labels, state: int | None = None, most: int = MAX_GRIDS) -> Sheets | None:
    """The grids of labels; None: there are too many, and no two axes are rows and columns.

    With more than ``most`` values of the other axes, a board has two grids: where these are as in the given state, and elsewhere.

    >>> from whatfor.axes import Axis
    >>> sheets = sheets_of(Labels((Axis("row", 2), Axis("column", 2), Axis("key", 2, ("no key", "key"))), ("go",)))
    >>> [(sheet.words, sheet.states.tolist()) for sheet in sheets.sheets]
    [(('no key',), [0, 2, 4, 6]), (('key',), [1, 3, 5, 7])]
    """
    axes = labels.axes
    if len(axes) < 2:
        return None
    rows, columns, others = frame_of(labels)
    if not labels.is_dense and (labels.board_axes is None or axes[rows].size * axes[columns].size > MAX_SPARE_CELLS):
        return None
    number = math.prod(axes[at].size for at in others)
    if number > most and labels.board_axes is None:
        return None
    positions = labels.positions[:, others]
    if number > most:
        everywhere = np.arange(labels.n_states)
        if state is None:
            return Sheets(rows, columns, others, (Sheet((), everywhere),))
        same = (positions == positions[state]).all(axis=1)
        now = tuple(heading(axes[at], int(i)) for at, i in zip(others, positions[state], strict=True))
        here = Sheet((", ".join(now),), everywhere[same])
        return Sheets(rows, columns, others, (here, Sheet(("elsewhere",), everywhere[~same], here=False)))
    sheets = []
    for values in product(*(range(axes[at].size) for at in others)):
        on = np.flatnonzero((positions == values).all(axis=1))
        words = tuple(heading(axes[at], i) for at, i in zip(others, values, strict=True))
        sheets.append(Sheet(words, on, state is None or tuple(positions[state].tolist()) == values))
    return Sheets(rows, columns, others, tuple(sheets))


def by_axes(shown: Map) -> Layout:
    """The layout of a world that has none of its own."""
    sheets = sheets_of(shown.labels, shown.state)
    return largest(shown) if sheets is None else all_facets(shown, shown.labels.axes, sheets)


def all_facets(shown: Map, axes: Sequence[Axis], sheets: Sheets) -> Layout:
    """A grid of rows and columns for every value of the other axes, summed over actions."""
    numbers, unknown = shown.numbers.sum(axis=1), shown.unknown_by_state
    grids = [_grid(shown, axes, sheets, sheet, numbers, unknown) for sheet in sheets.sheets]
    if len(grids) == 1:
        return replace(grids[0], title=shown.title, caption=shown.caption)
    leads = [axes[at] for at in sheets.others]
    if len(leads) != 2 or len(grids) < math.prod(axis.size for axis in leads):
        return Panels(shown.title, shown.caption, tuple(grids), columns=math.ceil(math.sqrt(len(grids))))
    down, across = ([heading(axis, i, "\n") for i in range(axis.size)] for axis in leads)
    return Panels(
        shown.title, shown.caption, tuple(grids), len(across), column_heads=tuple(across), row_heads=tuple(down)
    )


def _grid(
    shown: Map,
    axes: Sequence[Axis],
    sheets: Sheets,
    sheet: Sheet,
    numbers: NDArray[np.float64],  # (S,)
    unknown: NDArray[np.bool_] | None,  # (S,)
    title: str = "",
) -> Grid:
    """One grid: the sum of a number over the states of each cell."""
    labels, shape = shown.labels, sheets.shape(shown.labels)
    at = sheets.cells(labels, sheet.states)
    summed, masked = np.zeros(shape), None
    np.add.at(summed, at, numbers[sheet.states])
    if unknown is not None:
        exists, known = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        exists[at] = True
        known[tuple(one[~unknown[sheet.states]] for one in at)] = True
        masked = ~known if labels.states is not None else exists & ~known  # states that were not discovered are unknown
        for row, column, *between in labels.walls:
            masked[row, column] &= bool(between)
    marked = None
    if shown.at is not None and sheet.here:
        marked = (shown.at[sheets.rows], shown.at[sheets.columns])
    grid = shown.grid(
        summed,
        named(axes[sheets.rows]),
        named(axes[sheets.columns]),
        title=title or ", ".join(sheet.words),
        unknown=masked,
        marked=marked,
        marks=_marks(labels, sheets, sheet),
    )
    return replace(grid, walls=tuple(wall for wall in labels.walls if len(wall) == 4))


def _marks(labels: Labels, sheets: Sheets, sheet: Sheet) -> tuple[tuple[str, int, int, str], ...]:
    """The letter, row, column and name of the marks on one grid."""
    marks = [(WALL, wall[0], wall[1], "wall") for wall in labels.walls if len(wall) == 2]
    for mark in labels.marks:
        if mark.state is None:
            assert mark.cell is not None
            marks.append((mark.letter, *mark.cell, mark.name))
        elif mark.state in sheet.states:
            (row,), (column,) = sheets.cells(labels, np.array([mark.state]))
            marks.append((mark.letter, int(row), int(column), mark.name))
    return tuple(marks)


def heading(axis: Axis, value: int, gap: str = " ") -> str:
    """The name and value of an axis; only the value if it contains the name, as in "not fast" or "without key"."""
    word = axis.word(value)
    return word if axis.name.lower() in word.lower().split() else f"{axis.name}{gap}{word}"


def facets_here(shown: Map, axes: Sequence[Axis]) -> Panels:
    """A grid for every action, with the other axes as in the state asked about."""
    if shown.at is None or len(axes) < 3 or not shown.labels.is_dense:
        raise ValueError(
            "facets='here' needs a state, and states of three axes or more with not too many combinations of values"
        )
    rows, columns, others = frame_of(shown.labels)
    positions = shown.labels.positions[:, others]
    sheet = Sheet((), np.flatnonzero((positions == positions[shown.state]).all(axis=1)))
    sheets, unknown = Sheets(rows, columns, others, (sheet,)), shown.unknown_by_state
    where = "; ".join(heading(axes[at], shown.at[at]) for at in sheets.others)
    grids = [
        _grid(shown, axes, sheets, sheet, shown.numbers[:, action], unknown, name)
        for action, name in enumerate(shown.labels.actions)
    ]
    caption = "\n".join(line for line in (shown.caption, f"only {where}") if line)
    return Panels(shown.title, caption, tuple(grids), len(grids), column_heads=shown.labels.actions)


def largest(shown: Map) -> Bars:
    """The state-action pairs with the largest numbers, and the rest in one bar."""
    maps = {shown.quantity: shown.numbers}
    return side_by_side(
        shown.labels, maps, title=shown.title, caption=shown.caption, quantity=shown.quantity, state=shown.state
    )


def side_by_side(
    labels: Labels,
    maps: dict[str, NDArray[np.float64]],
    *,
    title: str,
    caption: str,
    quantity: str = "expected visits",
    state: int | None = None,
) -> Bars:
    """The state-action pairs with the largest numbers in any of several maps, one bar per map; the rest in one bar."""
    flat = np.array([numbers.ravel() for numbers in maps.values()])  # (maps, pairs)
    height = np.abs(flat).max(axis=0)
    found = int(np.count_nonzero(height))
    order = np.argsort(-height, kind="stable")[: min(MAX_PAIR_BARS, found)]
    names = pair_names(labels, [divmod(int(at), labels.n_actions) for at in order], state)
    bars = flat[:, order]
    if found > len(order):
        names = (*names, f"at {found - len(order):,} other places")
        bars = np.column_stack([bars, np.delete(flat, order, axis=1).sum(axis=1)])
    series = tuple(Series(name, tuple(float(x) for x in row)) for name, row in zip(maps, bars, strict=True))
    return Bars(title, caption, names, series, quantity)
