"""Draw a board: each cell is split along its diagonal, with one layer in each half."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Rectangle

from whatfor.layouts import Board, Layer
from whatfor.pictures.cells import frame, hatch, titled
from whatfor.pictures.plain import PLAIN
from whatfor.pictures.scale import MAPS, Scale, mappable, readable_on, short
from whatfor.pictures.sizes import SQUARE
from whatfor.pictures.walk import ROLE_COLOURS, Position, legend_of

#: Cells narrower than this, in inches, have no room for their two numbers.
MIN_BOARD_CELL = 0.4
HALVES = ("upper left", "lower right")


def draw_board(board: Board, ax: Axes, scale: Scale, place: Position) -> None:
    """Draw a board on an axes."""
    thick = (1.0, 0.6, 0.5)[place.depth] * place.share
    hatch(ax, board.unknown)
    for layer, upper in zip(board.layers, (True, False), strict=True):
        _draw_layer(board, layer, upper, ax, scale, place)
    for row in range(board.rows):
        for column in range(board.columns):
            ax.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor="#c8c8c8", linewidth=0.8 * thick))
    for row, column in board.walls:
        ax.plot([column + 1, column + 1], [row, row + 1], color="#222222", linewidth=4 * thick, solid_capstyle="butt")
    ax.add_patch(Rectangle((0, 0), board.columns, board.rows, fill=False, edgecolor="#222222", linewidth=3 * thick))
    for letter, row, column, role in board.marks:
        colour = ROLE_COLOURS[board.roles.index(role)] if role else "#666666"
        _mark(ax, letter, row, column, (11, 6.5, 5)[place.depth] * place.share, colour)
    frame(ax, board.at, place.depth)
    ax.set(xlim=(-0.03, board.columns + 0.03), ylim=(board.rows + 0.03, -0.03), aspect="equal")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    titled(ax, board.title, board.caption, place.depth)
    _ticks(ax, board, place)
    for words, colour in (
        reversed(board_bars(board)) if place.alone else ()
    ):  # the last one added is nearest to the board
        bar = ax.figure.colorbar(mappable(board, scale, colour), ax=ax, shrink=0.75, pad=0.02, aspect=28)
        bar.set_label(words, fontsize=9, **PLAIN)


def _ticks(ax: Axes, board: Board, place: Position) -> None:
    """Numbers of rows and columns, if there is room for them."""
    if place.depth:
        ax.set(xticks=[], yticks=[])
        return
    ax.set_xticks([i + 0.5 for i in range(board.columns)], [str(i) for i in range(board.columns)])
    ax.set_yticks([i + 0.5 for i in range(board.rows)], [str(i) for i in range(board.rows)])
    ax.set_xlabel("\n".join(part for part in ("column", legend_of(board)) if part), **PLAIN)
    ax.set_ylabel("row")


def board_bars(board: Board) -> list[tuple[str, str]]:
    """The label and colour of each colour bar that a board needs."""
    halves = list(zip(HALVES, board.layers, strict=True))
    if board.diverging:
        layers = "; ".join(f"{half}: {layer.name}" for half, layer in halves)
        return [(f"{board.quantity}\n{layers}", "")]
    return [(f"{half} half:\n{board.quantity}, {layer.name}", layer.colour) for half, layer in halves]


def _draw_layer(board: Board, layer: Layer, upper: bool, ax: Axes, scale: Scale, place: Position) -> None:
    """Colour one half of each cell, and write the number into it if there is room."""
    colours = MAPS["signed" if board.diverging else layer.colour]
    shift = 0.3 if upper else 0.7
    for row, numbers in enumerate(layer.cells):
        for column, number in enumerate(numbers):
            if scale.is_faint(number):
                continue
            colour = colours(scale.norm(number))
            corner = (column, row) if upper else (column + 1, row + 1)
            ax.add_patch(Polygon([corner, (column + 1, row), (column, row + 1)], facecolor=colour, edgecolor="none"))
            if SQUARE[place.depth] * place.share >= MIN_BOARD_CELL:
                ax.text(
                    column + shift, row + shift, short(number, signed=board.diverging),
                    ha="center", va="center", fontsize=(8, 5.5)[place.depth], color=readable_on(colour),
                )  # fmt: skip


def _mark(ax: Axes, letter: str, row: int, column: int, size: float, colour: str) -> None:
    # In a corner without a number.
    ax.text(
        column + 0.86, row + 0.16, letter, ha="center", va="center", fontsize=size, fontweight="bold", color="white", **PLAIN,
        bbox={"boxstyle": "round,pad=0.18", "facecolor": colour, "edgecolor": "none"},
    )  # fmt: skip
