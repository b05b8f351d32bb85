"""Layouts by the axes of the labels: bars, one grid, or a grid for every value of the axes before the last two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.labels import Labels
from whatfor.layouts.map import Map, named
from whatfor.layouts.shapes import Bars, Grid, Layout, Panels, Series
from whatfor.layouts.words import pair_names

#: The most grids that are drawn side by side.
MAX_GRIDS = 16
MAX_PAIR_BARS = 12


def by_axes(shown: Map) -> Layout:
    """The layout of a world that has none of its own."""
    axes = shown.labels.axes
    if leads_of(axes) is None or not shown.labels.is_dense:
        return largest(shown)
    return one_grid(shown) if len(axes) == 2 else all_facets(shown, axes)


def leads_of(axes: Sequence[Axis]) -> list[tuple[int, ...]] | None:
    """For each grid of a layout by axes, the values of the axes before the last two; None: there are no grids.

    >>> from whatfor.labels import Labels
    >>> leads_of(Labels.plain(3, 1).axes)
    """
    if len(axes) < 2 or math.prod(axis.size for axis in axes[:-2]) > MAX_GRIDS:
        return None
    return list(product(*(range(axis.size) for axis in axes[:-2])))


def one_grid(shown: Map) -> Grid:
    """A grid of two axes, summed over actions."""
    rows, columns = shown.labels.axes
    marked = None if shown.at is None else (shown.at[0], shown.at[1])
    marks = tuple((mark.letter, *divmod(mark.state, columns.size), mark.name) for mark in shown.labels.marks)
    return shown.grid(
        shown.by_state,
        named(rows),
        named(columns),
        title=shown.title,
        caption=shown.caption,
        unknown=shown.unknown_states,
        marked=marked,
        marks=marks,
    )


def all_facets(shown: Map, axes: Sequence[Axis]) -> Panels:
    """A grid of the last two axes for every value of the axes before, summed over actions."""
    *leads, rows, columns = axes
    unknown = shown.unknown_states
    grids = []
    for at in product(*(range(axis.size) for axis in leads)):
        here = shown.at is not None and shown.at[:-2] == at
        grids.append(
            shown.grid(
                shown.by_state[at],
                named(rows),
                named(columns),
                title=", ".join(_heading(axis, i) for axis, i in zip(leads, at, strict=True)),
                unknown=None if unknown is None else unknown[at],
                marked=(shown.at[-2], shown.at[-1]) if here and shown.at else None,
            )
        )
    if len(leads) != 2:
        return Panels(shown.title, shown.caption, tuple(grids), columns=math.ceil(math.sqrt(len(grids))))
    down, across = ([_heading(axis, i, "\n") for i in range(axis.size)] for axis in leads)
    return Panels(
        shown.title, shown.caption, tuple(grids), len(across), column_heads=tuple(across), row_heads=tuple(down)
    )


def _heading(axis: Axis, value: int, gap: str = " ") -> str:
    """The name and value of an axis; only the value if it contains the name, as in "not fast"."""
    word = axis.word(value)
    return word if word in (axis.name, f"not {axis.name}") else f"{axis.name}{gap}{word}"


def facets_here(shown: Map, axes: Sequence[Axis]) -> Panels:
    """A grid of the last two axes for every action, with the other axes as in the state asked about."""
    if shown.at is None or len(axes) < 3 or not shown.labels.is_dense:
        raise ValueError(
            "facets='here' needs a state, and states of three axes or more with not too many combinations of values"
        )
    *leads, rows, columns = axes
    now, unknown = shown.at[:-2], shown.unknown_states
    where = "; ".join(_heading(axis, i) for axis, i in zip(leads, now, strict=True))
    grids = [
        shown.grid(
            shown.by_pair[now][..., action],
            named(rows),
            named(columns),
            title=name,
            unknown=None if unknown is None else unknown[now],
            marked=(shown.at[-2], shown.at[-1]),
        )
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
