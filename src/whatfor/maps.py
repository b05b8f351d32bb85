"""Layouts of maps over states and actions, and the state behind each cell of a layout."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from whatfor.labels import Labels
from whatfor.layouts.clouds import cloud_of, clouds_by_action
from whatfor.layouts.facets import by_axes, facets_here, sheets_of
from whatfor.layouts.map import Cells, Map
from whatfor.layouts.shapes import Bars, Grid, Layout, Panels
from whatfor.worlds.adapter import Places
from whatfor.worlds.known import look_of

#: Worlds with a single axis: how many states a row has, and the most states for which such a grid is drawn.
STATES_PER_ROW, MAX_ROW_STATES = 10, 200
Facets = Literal["all", "here"]


def map_of(given: Map, *, facets: Facets = "all") -> Layout:
    """Lay out a number for every state and action.

    Some worlds have their own layout (Taxi's board, Blackjack's hands, CartPole's poles); others are laid out by the
    axes of their labels. Layouts that do not show actions sum over them.

    ``facets="here"``: with three axes or more, only the grids where all axes but the last two are as in the map's state,
    one for each action.

    >>> lake = Labels.from_json({**Labels.plain(1, 2).to_json(), "axes": [
    ...     {"name": name, "size": 2, "values": (), "start": 0, "edges": ()} for name in ("row", "column")]})
    >>> map_of(Map(lake, np.array([[1, 0], [0, 0.5], [0, 0.25], [0, 0]]))).numbers
    ((1.0, 0.5), (0.25, 0.0))
    """
    look, points = look_of(given.labels), given.labels.points
    if points is not None and len(points.names) > 1:
        return clouds_by_action(given, points) if facets == "here" else cloud_of(given, points)
    if look is None and given.labels.varying is not given.labels:
        given = replace(given, labels=given.labels.varying)
    if facets == "here" and look is not None and look.here is not None:
        return look.here(given)
    if facets == "here":
        return facets_here(given, given.labels.axes if look is None else look.axes(given.labels))
    return by_axes(given) if look is None else look.lay_out(given)


def places_of(labels: Labels, state: int) -> Places:
    """The states behind the cells of ``map_of(Map(labels, ..., state=state))``; None: that layout has no cells.

    A cell that covers several states has the one that agrees with the given state on the other axes.

    >>> from whatfor.worlds.taxi import LABELS
    >>> [layer[0] for layer in places_of(LABELS, 68)], LABELS.words(68)
    ([(8, 28, 48, 68, 88), (16, 36, 56, 76, 96)], 'taxi at row 0, column 3; passenger at Y; destination R')
    """
    look = look_of(labels)
    if look is not None:
        return look.places(labels, state)
    labels = labels.varying
    sheets = sheets_of(labels, state)
    if sheets is None:
        return None
    grids = sheets.places(labels, state)
    return grids if len(grids) > 1 else grids[0]


def picture_of(labels: Labels, state: int) -> tuple[Layout | None, Places]:
    """A state on its board or grid, and the state behind each cell; None: there is no such layout.

    >>> layout, places = picture_of(Labels.plain(3, 1), 1)
    >>> layout.marked, places
    ((0, 1), ((0, 1, 2),))
    """
    places: Any = places_of(labels, state)
    layout: Layout = map_of(Map(labels, np.zeros((labels.n_states, labels.n_actions)), state=state))
    if isinstance(layout, Panels):
        at = next((i for i, panel in enumerate(layout.panels) if isinstance(panel, Grid) and panel.marked), 0)
        panel = layout.panels[at]
        if layout.column_heads == labels.actions:  # a state has no action
            panel = replace(panel, title=layout.row_heads[at // layout.columns] if layout.row_heads else "")
        return panel, None if places is None else places[at]
    if not isinstance(layout, Bars):
        return layout, places
    labels = labels.varying
    return _in_rows(labels, state) if len(labels.axes) == 1 and labels.axes[0].size <= MAX_ROW_STATES else (None, None)


def _in_rows(labels: Labels, state: int) -> tuple[Grid, Cells]:
    """The states of a single axis in rows of ten."""
    axis = labels.axes[0]
    width = min(STATES_PER_ROW, axis.size)
    rows = range(0, axis.size, width)
    states = dict(enumerate(labels.grid.ravel().tolist()))  # by position on the axis
    places = tuple(tuple(states.get(at, -1) for at in range(row, row + width)) for row in rows)
    columns = tuple(str(i) for i in range(width))
    names, blank = tuple(axis.word(row) for row in rows), tuple((0.0,) * width for _ in rows)
    return Grid("", "", names, columns, axis.name, "plus", blank, marked=divmod(labels.values(state)[0], width)), places
