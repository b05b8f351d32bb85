"""Through nested panels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whatfor.layouts import Bars, Board, Grid, Layout, Lines, Panels


@dataclass(frozen=True)
class Place:
    """Where in a picture something is drawn: words stand only where nobody nearer the edge has said them."""

    depth: int = 0  # how many panels it lies in
    left: bool = True
    bottom: bool = True


def leaves(layout: Layout) -> Iterator[Board | Grid | Bars | Lines]:
    """The layouts in panels, or the one itself."""
    if isinstance(layout, Panels):
        for panel in layout.panels:
            yield from leaves(panel)
    else:
        yield layout


def key_of(layout: Layout) -> str:
    """What marks and hatches mean, in words."""
    shown = list(leaves(layout))
    boards = [leaf for leaf in shown if isinstance(leaf, Board)]
    grids = [leaf for leaf in shown if isinstance(leaf, Grid)]
    said = []
    if any(board.taxi for board in boards):
        said.append("dashed: the taxi now · blue: passenger · red: destination")
    elif any(grid.marked for grid in grids):
        said.append("dashed: now")
    masks = [leaf.unknown for leaf in shown if isinstance(leaf, (Board, Grid)) and leaf.unknown]
    if any(any(row) for mask in masks for row in mask):
        said.append("hatched: no experience")
    return " · ".join(said)
