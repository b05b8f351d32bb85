"""Any map of states and actions, laid out as its world is best seen; and which state each cell of it stands for."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from whatfor.labels import Labels
from whatfor.layouts.facets import MAX_GRIDS, by_axes, facets_here
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Bars, Grid, Layout, Panels
from whatfor.worlds.adapter import Cells, Places, cells_of
from whatfor.worlds.known import look_of

#: States of one axis: so many in a row, and no more in all can be pointed at.
STATES_PER_ROW, MAX_ROW_STATES = 10, 200
Facets = Literal["all", "here"]


def map_of(
    labels: Labels,
    numbers: ArrayLike,
    *,
    title: str = "",
    caption: str = "",
    quantity: str = "expected visits",
    diverging: bool = False,
    unknown: ArrayLike | None = None,
    state: int | None = None,
    facets: Facets = "all",
) -> Layout:
    """Lay out a number for every state and action.

    Worlds that have a look of their own (Taxi's board, Blackjack's hands, CartPole's poles) are shown so; others by the
    axes of their labels. Where actions have no place of their own, they are summed up.

    ``unknown``: (S, A), true where there is no experience; a cell without any is marked, never shown as zero.
    ``diverging``: signed numbers, zero in the middle. ``facets="here"``: of three axes or more, only the grids where
    all but the last two are as in ``state``, by action.

    >>> lake = Labels.from_json({**Labels.plain(1, 2).to_json(), "axes": [
    ...     {"name": name, "size": 2, "values": (), "start": 0, "edges": ()} for name in ("row", "column")]})
    >>> map_of(lake, [[1, 0], [0, 0.5], [0, 0.25], [0, 0]]).numbers
    ((1.0, 0.5), (0.25, 0.0))
    """
    expected = (labels.n_states, labels.n_actions)
    array: Any = np.asarray(numbers, dtype=np.float64)
    mask: Any = None if unknown is None else np.asarray(unknown, dtype=np.bool_)
    for what, given in (("numbers", array), ("unknown", mask)):
        if given is not None and given.shape != expected:
            raise ValueError(f"{what} has shape {given.shape}; a map of these labels has shape {expected}")
    if not np.isfinite(array).all():
        raise ValueError("numbers must be finite; what is not known is said with unknown=")
    shown = Map(labels, array, title, caption, quantity, diverging, mask, state)
    look = look_of(labels)
    if facets == "here":
        return facets_here(shown, labels.axes if look is None else look.axes(labels))
    return by_axes(shown) if look is None else look.lay_out(shown)


def places_of(labels: Labels, state: int) -> Places:
    """The states that the cells of ``map_of(labels, ..., state=state)`` stand for; None: that layout has no cells.

    Where a cell stands for many states, it is the one that is like the given state otherwise.

    >>> from whatfor.worlds.taxi import LABELS
    >>> [layer[0] for layer in places_of(LABELS, 68)], LABELS.words(68)
    ([(8, 28, 48, 68, 88), (16, 36, 56, 76, 96)], 'taxi at row 0, column 3; passenger at Y; destination R')
    """
    look = look_of(labels)
    if look is not None:
        return look.places(labels, state)
    states, leads = np.arange(labels.n_states).reshape(labels.shape), labels.shape[:-2]
    if len(labels.axes) == 2:
        return cells_of(states)
    if len(labels.axes) > 2 and math.prod(leads) <= MAX_GRIDS:
        return tuple(cells_of(states[lead]) for lead in product(*(range(size) for size in leads)))
    return None


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
    return _in_rows(labels, state) if len(labels.axes) == 1 and labels.n_states <= MAX_ROW_STATES else (None, None)


def _in_rows(labels: Labels, state: int) -> tuple[Grid, Cells]:
    """The states of a single axis, ten in a row."""
    width = min(STATES_PER_ROW, labels.n_states)
    rows = range(0, labels.n_states, width)
    places = tuple(tuple(at if at < labels.n_states else -1 for at in range(row, row + width)) for row in rows)
    axis, columns = labels.axes[0], tuple(str(i) for i in range(width))
    names, blank = tuple(axis.word(row) for row in rows), tuple((0.0,) * width for _ in rows)
    return Grid("", "", names, columns, axis.name, "and on", blank, marked=divmod(state, width)), places
