"""Names and numbers as horizontal bars."""

from __future__ import annotations

from matplotlib.axes import Axes

from whatfor.layouts import Bars


def draw_bars(bars: Bars, ax: Axes) -> Axes:
    """Draw bars on an axes, the largest on top."""
    places = range(len(bars.names))
    drawn = ax.barh(list(places), list(bars.numbers), color="#2a78b5")
    ax.bar_label(drawn, fmt="%.3f", padding=3, fontsize=8)
    ax.set_yticks(list(places), list(bars.names), fontsize=8)
    ax.invert_yaxis()
    ax.margins(x=0.12)
    ax.set_xlabel(bars.axis)
    ax.set_title(f"{bars.title}\n{bars.caption}", fontsize=10)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
