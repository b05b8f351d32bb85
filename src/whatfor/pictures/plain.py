"""Names are drawn as they are written: a dollar sign is a dollar sign, and no name reaches LaTeX."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

#: Properties of every text that shows a name; numbers on axes are Matplotlib's own.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}


def legend(ax: Axes, **options: Any) -> None:
    """A legend of plain text."""
    for text in ax.legend(fontsize=8, frameon=False, **options).get_texts():
        text.set(**PLAIN)
