"""Several maps side by side; where each has many facets, a row for each facet that matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whatfor.layouts.shapes import Grid, Layout, Panels
from whatfor.text import count, percent

#: Maps with more facets than this are drawn by facet; if two quantities arrange them, with more than this.
MAX_NESTED, MAX_ARRANGED = 3, 9
#: Several maps with more boards than this in all are drawn by facet, too.
MAX_TOGETHER = 12
#: The most facets that are drawn, of several maps and of one.
MAX_ROWS, MAX_FACETS = 4, 6
#: A facet with a smaller share of the numbers is left out.
MIN_SHARE = 5e-3


def beside(title: str, caption: str, maps: Sequence[Layout], columns: int, *, boards: bool) -> Panels:
    """Maps side by side; their captions are left out. ``boards``: whether their facets are boards, of rows and columns."""
    faceted = [one for one in maps if isinstance(one, Panels)]
    together = boards and sum(len(one.panels) for one in faceted) > MAX_TOGETHER
    if len(faceted) == len(maps) and all(_has_many(one, together) for one in faceted):
        return _by_facet(title, caption, faceted)
    return Panels(title, caption, tuple(replace(one, caption="") for one in maps), columns)


def without_empty(layout: Layout) -> Layout:
    """One map with at most ``MAX_FACETS`` facets: those with the largest numbers, and that of the state asked about."""
    if not isinstance(layout, Panels) or layout.column_heads or not _has_many(layout):
        return layout
    if len(layout.panels) <= MAX_FACETS:
        return layout
    kept = _that_matter([layout], MAX_FACETS)
    panels = tuple(layout.panels[at] for at in kept)
    return Panels(layout.title, _noted(layout.caption, [layout], kept), panels, min(3, len(kept)))


def _has_many(layout: Panels, together: bool = False) -> bool:
    """Whether a layout is a map with many facets, or one of several that have many ``together``; not those for each action."""
    by_action = bool(layout.column_heads) and not layout.row_heads
    many = together or len(layout.panels) > (MAX_ARRANGED if layout.column_heads else MAX_NESTED)
    return many and not by_action and all(isinstance(one, Grid) for one in layout.panels)


def _by_facet(title: str, caption: str, maps: Sequence[Panels]) -> Panels:
    """A row for each facet, a column for each map."""
    kept = _that_matter(maps, MAX_ROWS)
    panels = tuple(replace(one.panels[at], title="") for at in kept for one in maps)
    heads = tuple(maps[0].panels[at].title.replace(", ", "\n") for at in kept)
    columns = tuple(one.title for one in maps)
    return Panels(
        title, _noted(caption, maps, kept), panels, len(maps), shared=True, column_heads=columns, row_heads=heads
    )


def _weights(one: Panels) -> NDArray[np.float64]:
    """(facets,) The sum of the absolute numbers of each facet."""
    return np.array([float(np.abs(grid.numbers).sum()) for grid in one.panels if isinstance(grid, Grid)])


def _that_matter(maps: Sequence[Panels], most: int) -> list[int]:
    """The facets with the largest numbers in any of several maps, and that of the state asked about, in their order."""
    shares = np.array([weights / max(float(weights.sum()), 1e-300) for weights in map(_weights, maps)]).max(axis=0)
    here = np.array([isinstance(grid, Grid) and grid.marked is not None for grid in maps[0].panels])
    order = np.lexsort((-shares, ~here))
    kept = [int(at) for at in order[:most] if here[at] or shares[at] >= MIN_SHARE]
    return sorted(kept) or [0]


def _noted(caption: str, maps: Sequence[Panels], kept: Sequence[int]) -> str:
    """The caption with the number of facets that are left out, and their share of the numbers."""
    left = len(maps[0].panels) - len(kept)
    if not left:
        return caption
    total = sum(float(_weights(one).sum()) for one in maps)
    share = 1.0 - sum(float(_weights(one)[list(kept)].sum()) for one in maps) / max(total, 1e-300)
    note = count(left, "empty board")
    if share >= MIN_SHARE:
        note = f"{count(left, 'board')} with {percent(share)} of the total"
    return "\n".join(line for line in (caption, f"{note} left out") if line)
