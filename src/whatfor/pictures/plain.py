"""Draw names as plain text: no dollar sign starts math, and no name reaches LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes

#: Properties of every text that contains a name.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}


def legend(ax: Axes, handles: Sequence[Any], names: Iterable[str], **options: Any) -> None:
    """A legend of plain text; the names are set afterwards, since Matplotlib skips those that begin with "_"."""
    drawn = ax.legend(handles, ["name"] * len(handles), fontsize=8, frameon=False, **options)
    for text, name in zip(drawn.get_texts(), names, strict=True):
        text.set(text=name, **PLAIN)
