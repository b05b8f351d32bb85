"""A state's own picture, and which state each cell of a picture or map stands for, so that one can point at it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.labels import Labels
from whatfor.layouts import blackjack, cartpole, facets
from whatfor.layouts.maps import map_of
from whatfor.layouts.shapes import Bars, Grid, Layout, Panels
from whatfor.worlds.taxi import ABOARD

#: A state for every cell of a grid, -1 where there is none; where there are several panels, or a board's two layers, one for each.
Cells = tuple[tuple[int, ...], ...]
Places = Cells | tuple[Cells, ...] | None
#: States of one axis: so many in a row, and no more in all can be pointed at.
ROW, MOST_CELLS = 10, 200


def places_of(labels: Labels, state: int) -> Places:
    """The states that the cells of ``map_of(labels, ..., state=state)`` stand for; None: that layout has no cells.

    Where a cell stands for many states, it is the one that is like the given state otherwise.

    >>> from whatfor.worlds.taxi import LABELS
    >>> [layer[0] for layer in places_of(LABELS, 68)], LABELS.words(68)
    ([(8, 28, 48, 68, 88), (16, 36, 56, 76, 96)], 'taxi at row 0, column 3; passenger at Y; destination R')
    """
    states, at = np.arange(labels.n_states).reshape(labels.shape), labels.values(state)
    if labels.kind == "taxi":
        return _cells(states[:, :, at[2], at[3]]), _cells(states[:, :, ABOARD, at[3]])
    if labels.kind == "blackjack":
        hands = [_cells(states[:, :, ace][np.ix_(blackjack.SUMS[ace], blackjack.CARDS)]) for ace in range(2)]
        return tuple(cells for cells in hands for _ in labels.actions)
    if labels.kind == "cartpole" and math.prod(labels.shape[:2]) > cartpole.MOST_FACETS:
        return tuple(_cells(states[at[:2]]) for _ in labels.actions)
    if len(labels.axes) == 2:
        return _cells(states)
    leads = labels.shape[:-2]
    if len(labels.axes) > 2 and (labels.kind == "cartpole" or math.prod(leads) <= facets.MOST_FACETS):
        return tuple(_cells(states[lead]) for lead in product(*(range(size) for size in leads)))
    return None


def _cells(states: NDArray[np.int64]) -> Cells:
    return tuple(tuple(int(state) for state in row) for row in states)


def picture_of(labels: Labels, state: int) -> tuple[Layout | None, Places]:
    """A state on its board, or in the part of its map that it lies in, and which state each cell stands for; None: it has no place.

    >>> shown, places = picture_of(Labels.plain(3, 1), 1)
    >>> shown.marked, places
    ((0, 1), ((0, 1, 2),))
    """
    places: Any = places_of(labels, state)
    shown: Layout = map_of(labels, np.zeros((labels.n_states, labels.n_actions)), state=state)
    if isinstance(shown, Panels):
        at = next((i for i, panel in enumerate(shown.panels) if isinstance(panel, Grid) and panel.marked), 0)
        panel = shown.panels[at]
        if shown.column_heads == labels.actions:  # a state has no action
            panel = replace(panel, title=shown.row_heads[at // shown.columns] if shown.row_heads else "")
        return panel, None if places is None else places[at]
    if not isinstance(shown, Bars):
        return shown, places
    return _in_rows(labels, state) if len(labels.axes) == 1 and labels.n_states <= MOST_CELLS else (None, None)


def _in_rows(labels: Labels, state: int) -> tuple[Grid, Cells]:
    """The states of a single axis, ten in a row."""
    width = min(ROW, labels.n_states)
    rows = range(0, labels.n_states, width)
    places = tuple(tuple(at if at < labels.n_states else -1 for at in range(row, row + width)) for row in rows)
    axis, columns = labels.axes[0], tuple(str(i) for i in range(width))
    names, blank = tuple(axis.word(row) for row in rows), tuple((0.0,) * width for _ in rows)
    return Grid("", "", names, columns, axis.name, "and on", blank, marked=divmod(state, width)), places
