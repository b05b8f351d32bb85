"""Sizes in inches, so that cells are about square and words have room."""

from __future__ import annotations

import math
import textwrap
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from whatfor.layouts import Bars, Board, Cloud, Grid, Layout, Lines, Panels
from whatfor.pictures.walk import Position, inside, leaves, legend_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Size = tuple[float, float]  # width, height
# By depth of nesting in panels:
CELL = (0.45, 0.21, 0.125)  # the side of a grid's cell
SQUARE = (1.0, 0.5, 0.36)  # the side of a board's cell
MAX_GRID_SIDE = (7.5, 3.0, 2.0)
MIN_GRID_SIDE = (2.6, 1.2, 0.66)
LETTER = (0.067, 0.058, 0.05)  # the width of a letter on an axis
CAPTION_LETTER = 0.077
LINE = 0.17  # the height of a line of text
MAX_LINE = 140  # letters in a line of a title
PANEL_GAP = 0.2  # beside nested panels, to group those of one map
MAX_STRETCH = 1.6  # of a board's height, where a long title makes it wider
BAR_WIDTH = 0.95  # a colour bar with its ticks and label


def figure_size(layout: Layout) -> Size:
    """The size of a figure that shows only this layout."""
    width, height = size_of(layout, Position())
    beside = BAR_WIDTH if isinstance(layout, Grid) else 0.0  # a title that is too wide ends above the colour bar
    wide = min(max(width, words_width(layout) + beside, 4.5), 16.0)
    grids = leaves(layout) if isinstance(layout, Panels) else ()
    if any(isinstance(grid, Grid) and grid.is_board for grid in grids):  # square cells grow where words make it wider
        height *= min(max(wide / width, 1.0), MAX_STRETCH)
    more = 0 if isinstance(layout, Panels) else max(0, layout.title.count("\n") - 1)  # the heights count on two lines
    return wide, min(max(height, 2.2) + LINE * more, 14.0)


def in_lines(layout: Layout) -> Layout:
    """The layout with the long lines of its title broken."""
    lines = [piece for line in layout.title.split("\n") for piece in (textwrap.wrap(line, MAX_LINE) or [""])]
    return replace(layout, title="\n".join(lines))


def words_width(layout: Layout) -> float:
    """The width of the title and caption of a layout."""
    return max(CAPTION_LETTER * len(line) for line in f"{layout.title}\n{layout.caption}".split("\n"))


def inches(ax: Axes) -> Size:
    """The approximate size of an axes before layout: its share of the figure."""
    spec, whole = ax.get_subplotspec(), ax.figure.bbox
    width, height = whole.width / ax.figure.dpi, whole.height / ax.figure.dpi
    if spec is None:
        box = ax.get_position()
        return width * box.width, height * box.height
    rows, columns = spec.get_gridspec().get_geometry()
    return width * len(spec.colspan) / columns, height * len(spec.rowspan) / rows


def place_on(ax: Axes, layout: Layout) -> Position:
    """The position of a whole picture on an axes."""
    (width, height), (wide, high) = inches(ax), size_of(layout, Position())
    return Position(share=min(1.0, width / wide, height / high))


def size_of(layout: Layout, place: Position) -> Size:
    """The size of a layout at a position in a picture, with its words unless it is a grid in panels."""
    depth = place.depth
    if isinstance(layout, Board):
        side = SQUARE[depth]
        return layout.columns * side + (2.2 if depth == 0 else 0.2), layout.rows * side + (0.6 if depth == 0 else 0.35)
    if isinstance(layout, Grid):
        width, height = (side * n for side, n in zip(cell_side(layout, depth), _shape(layout), strict=True))
        if depth:
            return width, height
        beside = LETTER[0] * longest(layout.rows) + (0.5 if layout.beside else 0.0)
        return width + beside + 1.7, height + _below(layout, 0) + 1.2
    if isinstance(layout, Bars):
        lines = len(layout.names) * (1 + 0.55 * (len(layout.series) - 1))
        return 4.2 + LETTER[0] * longest(layout.names), 1.2 + 0.27 * max(lines, 2)
    if isinstance(layout, Lines):
        return (6.0, 4.0) if depth == 0 else (4.5, 3.5)
    if isinstance(layout, Cloud):
        return (7.0, 5.0) if depth == 0 else (3.4, 3.1)
    widths, heights = tracks(layout, place)
    left, around = _words_round(layout, place)
    sides = colour_bars(layout) * BAR_WIDTH * place.alone + PANEL_GAP * (depth > 0)
    return sum(widths) + left + sides, sum(heights) + around + header_height(layout, depth)


def tracks(panels: Panels, place: Position) -> tuple[list[float], list[float]]:
    """The widths of the columns and the heights of the rows."""
    sizes = [size_of(panel, inside(panels, at, place)) for at, panel in enumerate(panels.panels)]
    rows = [sizes[at : at + panels.columns] for at in range(0, len(sizes), panels.columns)]
    widths = [max(row[at][0] for row in rows if at < len(row)) for at in range(min(panels.columns, len(sizes)))]
    return widths, [max(height for _, height in row) for row in rows]


def header_height(panels: Panels, depth: int) -> float:
    """The height of the title and caption above panels, and of the key, which only the outermost panels have."""
    lines = [line for text in (panels.title, panels.caption) if text for line in text.split("\n")]
    key = len(legend_of(panels).splitlines()) if depth == 0 else 0
    return LINE * (len(lines) + key + 0.5) if lines or key else 0.05


def colour_bars(layout: Layout) -> int:
    """The number of colour bars that a layout needs."""
    if isinstance(layout, Panels):
        return colour_bars(layout.panels[0]) if layout.shared else 0
    if isinstance(layout, Board) and not layout.diverging:
        return len(layout.layers)
    return int(isinstance(layout, (Board, Cloud, Grid)))


def cell_side(grid: Grid, depth: int) -> Size:
    """The width and height of one cell: smaller if there are many, larger if there are few."""
    columns, rows = _shape(grid)
    wide, high = (min(max(CELL[depth], MIN_GRID_SIDE[depth] / n), MAX_GRID_SIDE[depth] / n) for n in (columns, rows))
    return wide, min(high, 0.3) if longest(grid.rows) > 20 else high  # rows of long names need not be square


def across(words: tuple[str, ...], cell: float, depth: int) -> tuple[int, bool]:
    """Every how many words below an axis one is written, and whether they are rotated."""
    letters = longest(words)
    step = _round(1.15 * letters * LETTER[depth] / cell)
    lying = step == 1 or (letters <= 4 and len(words) >= 4 * step)
    return (step, False) if lying else (down(words, cell), True)


def down(words: tuple[str, ...], cell: float) -> int:
    """Every how many words beside an axis one is written, so that lines do not touch."""
    return _round(0.115 / cell) if len(words) > 3 else 1


def _round(step: float) -> int:
    """The next of 1, 2, 5, 10, 20, 50, ..."""
    steps = (digit * int(10**zeros) for zeros in count() for digit in (1, 2, 5))
    return next(rounded for rounded in steps if rounded >= step)


def longest(words: tuple[str, ...]) -> int:
    """The length of the longest word."""
    return max(map(len, words), default=0)


def _shape(grid: Grid) -> tuple[int, int]:
    return max(len(grid.columns), 1), max(len(grid.rows), 1)


def _below(grid: Grid, depth: int) -> float:
    """The height of the words below a grid."""
    _, stand = across(grid.columns, cell_side(grid, depth)[0], depth)
    return LETTER[depth] * longest(grid.columns) if stand else LINE


def _words_round(panels: Panels, place: Position) -> Size:
    """The room for words round grids: beside and below the outermost grids, and above all of them."""
    depth = min(place.depth + 1, 2)
    grids = [panel for panel in panels.panels if isinstance(panel, Grid)]
    heads = [text.count("\n") + 1 for text in (panels.column_heads or ("a title",))]
    if not grids:
        return 0.1 * panels.columns, 0.0
    left = max(LETTER[depth] * longest(grid.rows) + 0.35 for grid in grids) + (0.2 if panels.row_heads else 0.0)
    below = max(_below(grid, depth) + LINE for grid in grids)
    bars = 0.0 if panels.shared else BAR_WIDTH
    gaps = (0.1 + bars) * panels.columns, 0.1 * math.ceil(len(grids) / panels.columns)
    above = max(heads) * LINE * (1 if panels.column_heads else len(grids) / panels.columns)
    return gaps[0] + left * place.left, gaps[1] + below * place.bottom + above
