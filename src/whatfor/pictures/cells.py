"""What boards and grids have in common: hatched cells, a dashed frame, a title."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from whatfor.layouts.shapes import Mask
from whatfor.pictures.plain import PLAIN

#: How what is not known looks: grey, which is no number's colour, and hatched.
UNKNOWN = {"facecolor": "#ececec", "edgecolor": "#a8a8a8", "hatch": "////"}


def hatch(ax: Axes, unknown: Mask | None, corner: float = 0.0) -> None:
    """Hatch the cells without experience: one path for all, since there may be many."""
    cells = np.argwhere(np.array(unknown if unknown else [[False]], dtype=bool))[:, ::-1] + corner  # (n, 2): x, y
    if len(cells):
        square = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(cells)
        path = Path((cells[:, None] + square).reshape(-1, 2), codes)
        ax.add_patch(PathPatch(path, linewidth=0, **UNKNOWN))


def frame(ax: Axes, at: tuple[int, int] | None, depth: int, corner: float = 0.0) -> None:
    """A dashed frame round the cell where the agent is now, black on white so that it shows on any colour."""
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


def titled(ax: Axes, title: str, caption: str, depth: int) -> None:
    """Title and caption above an axes."""
    text = "\n".join(part for part in (title, caption) if part)
    ax.set_title(text, fontsize=(10, 9, 7)[depth], **PLAIN)
