"""Draw a grid: a colour for every number."""

from __future__ import annotations

from typing import Literal

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from whatfor.layouts import Grid, Series
from whatfor.layouts.shapes import WALL
from whatfor.pictures.cells import frame, hatch, titled
from whatfor.pictures.plain import PLAIN
from whatfor.pictures.scale import MAPS, Scale, mappable, readable_on, short
from whatfor.pictures.sizes import BAR_WIDTH, across, cell_side, down, words_width
from whatfor.pictures.walk import Position, legend_of

#: Cells narrower than this, in inches, have no room for their number.
MIN_GRID_CELL = 0.33
WALL_COLOUR = "#6b6b6b"
#: Cells narrower than this have no lines between them.
MIN_LINED_CELL = 0.05


def draw_grid(grid: Grid, ax: Axes, scale: Scale, place: Position) -> None:
    """Draw a grid on an axes."""
    colours, norm = MAPS["signed" if grid.diverging else "blue"], scale.norm
    aspect: Literal["equal", "auto"] = "equal" if grid.is_board else "auto"  # the cells of a board are square
    ax.imshow(grid.numbers, cmap=colours, norm=norm, aspect=aspect, interpolation="nearest")
    hatch(ax, grid.unknown, corner=-0.5)
    wide = cell_side(grid, place.depth)[0] * place.share
    written = place.depth == 0 and wide >= MIN_GRID_CELL
    if written:
        for row, numbers in enumerate(grid.numbers):
            for column, number in enumerate(numbers):
                if not scale.is_faint(number):
                    ax.text(
                        column, row, short(number, signed=grid.diverging),
                        ha="center", va="center", fontsize=7.5, color=readable_on(colours(norm(number))),
                    )  # fmt: skip
    _walls(ax, grid, place)
    for letter, row, column, _ in grid.marks:
        if letter == WALL:
            ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=WALL_COLOUR, edgecolor="none"))
            continue
        number, size = grid.numbers[row][column], min(9.0, 36 * wide)
        aside = 0.3 if written and not scale.is_faint(number) else 0.0  # the number is in the middle
        ax.text(
            column - aside, row - aside, letter, ha="center", va="center", fontsize=(1 - aside) * size,
            fontweight="bold", color="#777777" if scale.is_faint(number) else readable_on(colours(norm(number))),
            **PLAIN,
        )  # fmt: skip
    if grid.beside is not None:
        _beside(ax, grid, grid.beside, scale)
    frame(ax, grid.marked, place.depth, corner=-0.5)
    _lines(ax, grid, wide)
    _ticks(ax, grid, place)
    too_wide = place.depth == 0 and words_width(grid) > wide * len(grid.columns) + 2 * BAR_WIDTH
    titled(ax, grid.title, grid.caption, place.depth, over_labels=too_wide)
    if place.depth == 0:
        ax.set_xlabel("\n".join(part for part in (grid.column_axis, legend_of(grid)) if part), fontsize=9, **PLAIN)
    if place.alone:
        bar = ax.figure.colorbar(mappable(grid, scale, "blue"), ax=ax, pad=0.02, aspect=28)
        bar.set_label(grid.quantity, fontsize=9, **PLAIN)


def _walls(ax: Axes, grid: Grid, place: Position) -> None:
    """Draw a line where a wall is between two cells."""
    for row, column, other_row, other_column in grid.walls:
        if row == other_row:
            x, y = [max(column, other_column) - 0.5] * 2, [row - 0.5, row + 0.5]
        else:
            x, y = [column - 0.5, column + 0.5], [max(row, other_row) - 0.5] * 2
        width = (3.0, 2.0, 1.4)[place.depth] * place.share
        ax.plot(x, y, color=WALL_COLOUR, linewidth=width, solid_capstyle="butt")


def _beside(ax: Axes, grid: Grid, beside: Series, scale: Scale) -> None:
    """Write one more number beside each row."""
    x = len(grid.columns) - 0.4
    for row, number in enumerate(beside.numbers):
        if not scale.is_faint(number):
            ax.text(x, row, short(number), ha="left", va="center", fontsize=7.5)
    ax.annotate(
        beside.name,
        (x, 0.0),
        (0, -4),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        va="top",
        fontsize=8,
        **PLAIN,
    )


def _lines(ax: Axes, grid: Grid, wide: float) -> None:
    """Draw thin lines between cells, so that empty ones can be counted, unless the cells are too small."""
    if wide >= MIN_LINED_CELL:
        ax.set_xticks([i - 0.5 for i in range(1, len(grid.columns))], minor=True)
        ax.set_yticks([i - 0.5 for i in range(1, len(grid.rows))], minor=True)
        ax.grid(which="minor", color="#e3e3e3", linewidth=0.5)
    ax.tick_params(which="both", length=0)
    ax.set_axisbelow(False)
    for spine in ax.spines.values():
        spine.set(color="#888888", linewidth=0.8)


def _ticks(ax: Axes, grid: Grid, place: Position) -> None:
    """Label the axes, unless a panel nearer to the edge has the same labels."""
    size = (8, 7, 6)[place.depth]
    wide, high = (side * place.share for side in cell_side(grid, place.depth))
    if place.bottom:
        step, stand = across(grid.columns, wide, place.depth)
        shown = range(0, len(grid.columns), step)
        words = [grid.columns[i] for i in shown]
        ax.set_xticks(shown, words, fontsize=size, rotation=90 if stand else 0, **PLAIN)
        ax.set_xlabel(grid.column_axis, fontsize=size + 1, **PLAIN)
    else:
        ax.xaxis.set_major_locator(NullLocator())
    if place.left:
        shown = range(0, len(grid.rows), down(grid.rows, high))
        ax.set_yticks(shown, [grid.rows[i] for i in shown], fontsize=size, **PLAIN)
        ax.set_ylabel(grid.row_axis, fontsize=size + 1, **PLAIN)
    else:
        ax.yaxis.set_major_locator(NullLocator())
