"""Draw any layout on an axes; panels get a grid of axes, and share a colour bar if they share a scale."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.gridspec import SubplotSpec

from whatfor.layouts import Bars, Board, Cloud, Grid, Layout, Lines, Panels
from whatfor.pictures.bars import draw_bars
from whatfor.pictures.board import board_bars, draw_board
from whatfor.pictures.cloud import draw_cloud
from whatfor.pictures.grid import draw_grid
from whatfor.pictures.lines import draw_lines
from whatfor.pictures.plain import PLAIN
from whatfor.pictures.scale import Scale, mappable
from whatfor.pictures.sizes import BAR_WIDTH, PANEL_GAP, colour_bars, header_height, inches, size_of, tracks
from whatfor.pictures.walk import Position, inside, leaves, legend_of

MIN_PANELS_SIDE = 1.0  # inches for the panels, however little room there is
PENS: dict[type[Layout], Any] = {
    Board: draw_board,
    Grid: draw_grid,
    Bars: draw_bars,
    Lines: draw_lines,
    Cloud: draw_cloud,
}


def draw_layout(layout: Layout, ax: Axes, scale: Scale, place: Position) -> None:
    """Draw any layout on an axes."""
    if isinstance(layout, Panels):
        draw_panels(layout, ax, scale, place)
    else:
        PENS[type(layout)](layout, ax, scale, place)


def draw_panels(panels: Panels, ax: Axes, scale: Scale, place: Position) -> None:
    """Draw panels in place of an axes: a header, the panels below it, colour bars on the right."""
    figure: Any = ax.figure
    bars = colour_bars(panels) if place.alone else 0
    sides = [BAR_WIDTH] * bars + [PANEL_GAP] * (place.depth > 0)
    widths, heights = tracks(panels, place)
    width, height = size_of(panels, place) if place.depth else inches(ax)
    header = header_height(panels, place.depth)
    outer = _room(ax).subgridspec(
        2, 1 + len(sides), hspace=0.0, wspace=0.0,
        height_ratios=[header, max(height - header, MIN_PANELS_SIDE)], width_ratios=[max(width - sum(sides), MIN_PANELS_SIDE), *sides],
    )  # fmt: skip
    ax.set_axis_off()
    _header(figure.add_subplot(outer[0, 0] if place.depth else outer[0, :]), panels, place.depth)
    inner = outer[1, 0].subgridspec(
        len(heights), len(widths), width_ratios=widths, height_ratios=heights, wspace=0.02, hspace=0.02
    )  # fmt: skip
    for at, panel in enumerate(panels.panels):
        row, column = divmod(at, panels.columns)
        around = inside(panels, at, place)
        here = figure.add_subplot(inner[row, column])
        draw_layout(panel, here, scale.panels[at] if scale.panels else scale, around)
        _heads(here, panels, row, column, around)
    leaf = next(leaves(panels), None)
    if bars and isinstance(leaf, (Board, Cloud, Grid)):
        _colour_bars(figure, leaf, scale, [outer[1, 1 + at] for at in range(bars)])


def _room(ax: Axes) -> SubplotSpec:
    """The position of an axes in its figure."""
    spec = ax.get_subplotspec()
    if spec is None:
        box, figure = ax.get_position(), ax.figure
        spec = figure.add_gridspec(1, 1, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)[0]
    return spec


def _header(ax: Axes, panels: Panels, depth: int) -> None:
    ax.set_axis_off()
    title = ax.text(
        0.5, 1.0, panels.title, ha="center", va="top", fontsize=(11, 9, 8)[depth], transform=ax.transAxes, **PLAIN
    )
    title.set_in_layout(False)  # its room is reserved already; a longer title must not squeeze the panels
    ax.annotate(
        panels.caption, (0.5, 0.0), (0, -3), xycoords=title, textcoords="offset points",
        ha="center", va="top", fontsize=(9, 8, 7)[depth], in_layout=False, **PLAIN,
    )  # fmt: skip
    if depth == 0:
        ax.text(
            0.5, 0.0, legend_of(panels), ha="center", va="bottom", fontsize=8, color="#555555",
            transform=ax.transAxes, in_layout=False, **PLAIN,
        )  # fmt: skip


def _heads(ax: Axes, panels: Panels, row: int, column: int, place: Position) -> None:
    """Headings of columns and rows, instead of a title for every panel."""
    size = (9, 8, 6)[place.depth]
    if panels.column_heads:
        ax.set_title(panels.column_heads[column] if row == 0 else "", fontsize=size, **PLAIN)
        if panels.columns > 2 and column != panels.columns // 2:  # narrow panels share one label
            ax.set_xlabel("")
    if panels.row_heads and place.left and column == 0:
        ax.set_ylabel(f"{panels.row_heads[row]}\n{ax.get_ylabel()}", fontsize=size, **PLAIN)


def _colour_bars(figure: Any, leaf: Board | Cloud | Grid, scale: Scale, places: list[SubplotSpec]) -> None:
    bars = board_bars(leaf) if isinstance(leaf, Board) else [(leaf.quantity, "blue")]
    for (words, colour), place in zip(bars, places, strict=True):
        side = figure.add_subplot(
            place.subgridspec(3, 3, height_ratios=[0.05, 0.9, 0.05], width_ratios=[0.02, 0.35, 0.63])[1, 1]
        )
        beyond = "neither" if not isinstance(leaf, Cloud) else "both" if leaf.diverging else "max"
        bar = figure.colorbar(mappable(leaf, scale, colour), cax=side, extend=beyond)
        bar.set_label(words, fontsize=8, **PLAIN)
        bar.ax.tick_params(labelsize=7)
