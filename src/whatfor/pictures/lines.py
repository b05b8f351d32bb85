"""Draw lines."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from whatfor.layouts import Lines
from whatfor.pictures.bars import SERIES_COLOURS
from whatfor.pictures.cells import titled
from whatfor.pictures.plain import PLAIN, legend
from whatfor.pictures.scale import Scale
from whatfor.pictures.walk import Position

STYLES = ("-", "--", ":", "-.")
#: The opacity of the inner and the outer one of two intervals around one line.
NESTED = (0.45, 0.2)


def draw_lines(lines: Lines, ax: Axes, scale: Scale, place: Position) -> None:
    """Draw lines on an axes, with a band where the interval is known."""
    if lines.nested:
        _draw_nested(lines, ax)
    handles = []
    for at, series in enumerate(() if lines.nested else lines.series):
        colour, style = SERIES_COLOURS[at % len(SERIES_COLOURS)], STYLES[at % len(STYLES)]
        handles += ax.plot(lines.x, series.numbers, color=colour, linestyle=style, linewidth=1.6)
        if series.low is not None and series.high is not None:
            ax.fill_between(lines.x, series.low, series.high, color=colour, alpha=0.2, linewidth=0)
    room = 0.05 * (scale.high - scale.low or 1.0)
    if not lines.nested:  # an axis of a state has no zero to begin at
        ax.set_ylim(scale.low - room if scale.low < 0 else 0.0, scale.high + room)
    ax.set_xlabel(lines.x_axis, fontsize=9, **PLAIN)
    ax.set_ylabel(lines.y_axis, fontsize=9, **PLAIN)
    ax.tick_params(labelsize=8)
    ax.xaxis.set_major_locator(MaxNLocator(5))  # long numbers need room
    ax.xaxis.set_major_formatter("{x:,.0f}")
    titled(ax, lines.title, lines.caption, place.depth)
    ax.spines[["top", "right"]].set_visible(False)
    if len(handles) > 1:
        legend(ax, handles, (series.name for series in lines.series))


def _draw_nested(lines: Lines, ax: Axes) -> None:
    """Draw intervals around one line, the widest first."""
    colour = SERIES_COLOURS[0]
    for at, series in reversed(list(enumerate(lines.series))):
        if series.low is not None and series.high is not None:
            ax.fill_between(lines.x, series.low, series.high, color=colour, alpha=NESTED[at % 2], linewidth=0)
    (median,) = ax.plot(lines.x, lines.series[0].numbers, color=colour, linewidth=1.6)
    legend(ax, [median, *reversed(ax.collections)], ("median", *(series.name for series in lines.series)))
