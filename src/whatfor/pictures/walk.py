"""Traversal of nested panels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whatfor.layouts import Bars, Board, Cloud, Grid, Layout, Lines, Panels
from whatfor.layouts.shapes import WALL
from whatfor.text import percent


@dataclass(frozen=True)
class Position:
    """The position of a layout in a picture; it decides which labels and colour bars are drawn."""

    depth: int = 0  # the depth of nesting in panels, at most 2
    left: bool = True  # whether it needs its own row labels
    bottom: bool = True  # whether it needs its own column labels
    alone: bool = True  # whether it has its own scale and so its own colour bars
    share: float = 1.0  # the available size, as a share of the ideal size


def leaves(layout: Layout) -> Iterator[Board | Grid | Bars | Lines | Cloud]:
    """The layouts in panels, or the layout itself."""
    if isinstance(layout, Panels):
        for panel in layout.panels:
            yield from leaves(panel)
    else:
        yield layout


def inside(panels: Panels, at: int, place: Position) -> Position:
    """The position of one panel."""
    row, column = divmod(at, panels.columns)
    here = _axes(panels.panels[at])
    beside = panels.panels[row * panels.columns]
    below = panels.panels[at + panels.columns] if at + panels.columns < len(panels.panels) else None
    return Position(
        depth=min(place.depth + 1, 2),
        left=column == 0 or here[0] != _axes(beside)[0] if place.left else False,
        bottom=below is None or here[1] != _axes(below)[1] if place.bottom else False,
        alone=place.alone and not panels.shared,
        share=place.share,
    )


def _axes(layout: Layout) -> tuple[object, object]:
    """The row and column labels of a layout."""
    leaf = next(leaves(layout), None)
    return (leaf.rows, leaf.columns) if isinstance(leaf, Grid) else (None, None)


#: The colours of the roles that marks on a board have in the state asked about.
ROLE_COLOURS, ROLE_COLOUR_NAMES = ("#1f4fd1", "#c4161c"), ("blue", "red")


def legend_of(layout: Layout) -> str:
    """The key: what marks and hatching mean."""
    parts = list(leaves(layout))
    boards = [leaf for leaf in parts if isinstance(leaf, Board)]
    grids = [leaf for leaf in parts if isinstance(leaf, Grid)]
    key = []
    key += sorted({f"dashed: the {board.piece} now" for board in boards if board.at})
    for board in boards[:1]:
        present = {role for *_, role in board.marks}
        names = zip(board.roles, ROLE_COLOUR_NAMES, strict=False)
        key += [f"{name}: {role}" for role, name in names if role in present]
    if any(grid.marked for grid in grids):
        key.append("dashed: now")
    clouds = [leaf for leaf in parts if isinstance(leaf, Cloud)]
    if any(cloud.marked is not None for cloud in clouds):
        key.append("ring: now")
    shares = next((cloud.contours.shares for cloud in clouds if cloud.contours is not None), ())
    if shares:
        key.append(f"lines enclose {' and '.join(percent(share) for share in shares)}")
    masks = [leaf.unknown for leaf in parts if isinstance(leaf, (Board, Grid)) and leaf.unknown]
    if any(any(row) for mask in masks for row in mask):
        key.append("hatched: no experience")
    letters = dict.fromkeys(
        f"{'filled' if letter == WALL else letter}: {name}" for grid in grids for letter, _, _, name in grid.marks
    )
    return "\n".join(" · ".join(line) for line in (key, letters) if line)
