"""Parts that boards and grids share: hatched cells, a dashed frame, a title."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from whatfor.layouts.shapes import Mask
from whatfor.pictures.plain import PLAIN

#: The style of unknown cells and bars: hatched in grey, which is not the colour of any number.
UNKNOWN = {"facecolor": "#ececec", "edgecolor": "#a8a8a8", "hatch": "////"}


def hatch(ax: Axes, unknown: Mask | None, corner: float = 0.0) -> None:
    """Hatch the cells without experience, with one path for all of them, since there may be many."""
    cells = np.argwhere(np.array(unknown if unknown else [[False]], dtype=bool))[:, ::-1] + corner  # (n, 2): x, y
    if len(cells):
        square = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(cells)
        path = Path((cells[:, None] + square).reshape(-1, 2), codes)
        ax.add_patch(PathPatch(path, linewidth=0, **UNKNOWN))


def frame(ax: Axes, at: tuple[int, int] | None, depth: int, corner: float = 0.0) -> None:
    """Draw a dashed frame round the agent's current cell, black on white so that it is visible on any colour."""
    if at is None:
        return
    row, column = at
    width = (2.0, 1.4, 1.0)[depth]
    for colour, style in (("#ffffff", "-"), ("#111111", (0, (3, 2)))):
        ax.add_patch(
            Rectangle(
                (column + corner + 0.05, row + corner + 0.05), 0.9, 0.9,
                fill=False, edgecolor=colour, linewidth=width, linestyle=style,
            )
        )  # fmt: skip


def titled(ax: Axes, title: str, caption: str, depth: int, *, over_labels: bool = False) -> None:
    """Set the title and caption of an axes; ``over_labels``: they are too wide for it, and begin above its row labels."""
    text = "\n".join(part for part in (title, caption) if part)
    ax.set_title(text, loc="right" if over_labels else "center", fontsize=(10, 9, 7)[depth], **PLAIN)
