"""Through nested panels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whatfor.layouts import Bars, Board, Grid, Layout, Lines, Panels


@dataclass(frozen=True)
class Position:
    """Where in a picture something is drawn: words stand only where nobody nearer the edge has said them."""

    depth: int = 0  # how many panels it lies in; beyond two, nothing gets smaller
    left: bool = True
    bottom: bool = True
    alone: bool = True  # shares its scale with nobody, so it needs colour bars of its own
    share: float = 1.0  # how much of the room it would like it has


def leaves(layout: Layout) -> Iterator[Board | Grid | Bars | Lines]:
    """The layouts in panels, or the one itself."""
    if isinstance(layout, Panels):
        for panel in layout.panels:
            yield from leaves(panel)
    else:
        yield layout


def inside(panels: Panels, at: int, place: Position) -> Position:
    """The place of one panel."""
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
    """What would be written beside and below a layout."""
    leaf = next(leaves(layout), None)
    return (leaf.rows, leaf.columns) if isinstance(leaf, Grid) else (None, None)


#: What marks on a board may be to the state asked about, told apart by colour.
ROLES, ROLE_NAMES = ("#1f4fd1", "#c4161c"), ("blue", "red")


def roles_of(board: Board) -> list[str]:
    """What marks are, in the order of their colours."""
    return sorted({role for *_, role in board.marks if role}, reverse=True)


def key_of(layout: Layout) -> str:
    """What marks and hatches mean, in words."""
    shown = list(leaves(layout))
    boards = [leaf for leaf in shown if isinstance(leaf, Board)]
    grids = [leaf for leaf in shown if isinstance(leaf, Grid)]
    said = []
    said += sorted({f"dashed: the {board.piece} now" for board in boards if board.at})
    for board in boards[:1]:
        said += [f"{name}: {role}" for role, name in zip(roles_of(board), ROLE_NAMES, strict=False)]
    if any(grid.marked for grid in grids):
        said.append("dashed: now")
    masks = [leaf.unknown for leaf in shown if isinstance(leaf, (Board, Grid)) and leaf.unknown]
    if any(any(row) for mask in masks for row in mask):
        said.append("hatched: no experience")
    letters = dict.fromkeys(f"{letter}: {name}" for grid in grids for letter, _, _, name in grid.marks)
    return "\n".join(" · ".join(line) for line in (said, letters) if line)
