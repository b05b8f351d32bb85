"""A board: each cell split along its diagonal, one half a layer."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.patches import Polygon, Rectangle

from whatfor.layouts import Board

# Apart in lightness as well as in hue, and told apart by their half of the cell.
MAPS: dict[str, Colormap] = {
    "yellow": LinearSegmentedColormap.from_list("waiting", ["#ffffff", "#ffe27a", "#f2a900", "#b36b00"]),
    "green": LinearSegmentedColormap.from_list("aboard", ["#ffffff", "#a8dcc0", "#2a9d6f", "#0b4f37"]),
}
#: Expected visits below this are drawn as none.
FAINT = 5e-3


def draw_board(board: Board, ax: Axes) -> Axes:
    """Draw a board on an axes."""
    top = max(max(map(max, layer.cells)) for layer in board.layers) or 1.0
    norm = Normalize(0.0, top)
    for layer, upper in zip(board.layers, (True, False), strict=True):
        for row, numbers in enumerate(layer.cells):
            for column, number in enumerate(numbers):
                _half(ax, row, column, number, MAPS[layer.colour](norm(number)), upper)
    for row in range(board.rows):
        for column in range(board.columns):
            ax.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor="#c8c8c8", linewidth=0.8))
    for row, column in board.walls:
        ax.plot([column + 1, column + 1], [row, row + 1], color="#222222", linewidth=4, solid_capstyle="butt")
    ax.add_patch(Rectangle((0, 0), board.columns, board.rows, fill=False, edgecolor="#222222", linewidth=3))
    for letter, row, column in board.marks:
        _mark(ax, board, letter, row, column)
    row, column = board.taxi
    ax.add_patch(
        Rectangle(
            (column + 0.04, row + 0.04), 0.92, 0.92, fill=False, edgecolor="#111111", linewidth=2, linestyle=(0, (3, 2))
        )
    )
    ax.set(xlim=(-0.03, board.columns + 0.03), ylim=(board.rows + 0.03, -0.03), aspect="equal")
    ax.set_xticks([i + 0.5 for i in range(board.columns)], [str(i) for i in range(board.columns)])
    ax.set_yticks([i + 0.5 for i in range(board.rows)], [str(i) for i in range(board.rows)])
    ax.tick_params(length=0)
    ax.set_xlabel("column · dashed: the taxi now · blue: passenger · red: destination")
    ax.set_ylabel("row")
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title(f"{board.title}\n{board.caption}", fontsize=10)
    for layer, place in zip(board.layers, ("upper left half", "lower right half"), strict=True):
        bar = ax.figure.colorbar(ScalarMappable(norm, MAPS[layer.colour]), ax=ax, shrink=0.75, pad=0.02, aspect=28)
        bar.set_label(f"{place}: expected visits, {layer.name}", fontsize=9)
    return ax


def _half(ax: Axes, row: int, column: int, number: float, colour: tuple[float, ...], upper: bool) -> None:
    if number < FAINT:
        return
    corner = (column, row) if upper else (column + 1, row + 1)
    ax.add_patch(Polygon([corner, (column + 1, row), (column, row + 1)], facecolor=colour, edgecolor="none"))
    shift = 0.3 if upper else 0.7
    dark = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] < 0.5
    ax.text(
        column + shift,
        row + shift,
        f"{number:.2f}",
        ha="center",
        va="center",
        fontsize=8,
        color="white" if dark else "#222222",
    )


def _mark(ax: Axes, board: Board, letter: str, row: int, column: int) -> None:
    colour = "#1f4fd1" if letter == board.passenger else "#c4161c" if letter == board.destination else "#666666"
    # In the corner that the two halves leave free, so that no number is covered.
    ax.text(
        column + 0.86, row + 0.16, letter, ha="center", va="center", fontsize=11, fontweight="bold", color="white",
        bbox={"boxstyle": "round,pad=0.18", "facecolor": colour, "edgecolor": "none"},
    )  # fmt: skip
