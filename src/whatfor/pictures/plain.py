"""Names are drawn as they are written: a dollar sign is a dollar sign, and no name reaches LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes

#: Properties of every text that shows a name; numbers on axes are Matplotlib's own.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}


def legend(ax: Axes, handles: Sequence[Any], names: Iterable[str], **options: Any) -> None:
    """A legend of plain text; the names are set afterwards, since Matplotlib leaves out those that begin with "_"."""
    made = ax.legend(handles, ["name"] * len(handles), fontsize=8, frameon=False, **options)
    for text, name in zip(made.get_texts(), names, strict=True):
        text.set(text=name, **PLAIN)
