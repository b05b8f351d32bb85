"""Draw horizontal bars."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.container import BarContainer

from whatfor.layouts import Bars, Series
from whatfor.pictures.cells import UNKNOWN, titled
from whatfor.pictures.plain import PLAIN, legend
from whatfor.pictures.scale import Scale
from whatfor.pictures.sizes import LETTER, inches, longest, words_width
from whatfor.pictures.walk import Position

#: Blue and orange, then grey: distinguishable for colour-blind readers.
SERIES_COLOURS = ("#2a78b5", "#e08214", "#7a7a7a", "#08306b")


def draw_bars(bars: Bars, ax: Axes, scale: Scale, place: Position) -> None:
    """Draw bars on an axes, the first on top."""
    thick = 0.8 / len(bars.series)
    handles = []
    for at, series in enumerate(bars.series):
        middle = (at - (len(bars.series) - 1) / 2) * thick
        places = [i + middle for i in range(len(bars.names))]
        handles.append(_row(ax, bars, series, places, thick, SERIES_COLOURS[at % len(SERIES_COLOURS)]))
    ax.set_yticks(range(len(bars.names)), bars.names, fontsize=8, **PLAIN)
    ax.set_ylim(max(len(bars.names), 1) - 0.5, -0.5)
    room = 0.14 * (scale.high - scale.low or 1.0)  # for the numbers beside the bars
    ax.set_xlim(scale.low - room if scale.low < 0 else 0.0, scale.high + room)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=8)
    ax.set_xlabel(bars.axis, fontsize=9, **PLAIN)
    beside = inches(ax)[0] - LETTER[place.depth] * longest(bars.names)
    titled(ax, bars.title, bars.caption, place.depth, over_labels=words_width(bars) > beside)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if len(bars.series) > 1:
        legend(ax, handles, (series.name for series in bars.series), loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if bars.names:
        ax.axvline(0.0, color="#444444", linewidth=0.8)
    else:
        ax.set_xticks([])
        ax.text(0.5, 0.5, "nothing stands out", transform=ax.transAxes, ha="center", va="center", color="#666666")


def _row(ax: Axes, bars: Bars, series: Series, places: list[float], thick: float, colour: str) -> BarContainer:
    """The bars of one series; unknown shares are hatched in grey."""
    drawn = ax.barh(places, series.numbers, height=thick, color=colour)
    for patch, nothing in zip(drawn, bars.unknown or (), strict=False):
        if nothing:
            patch.set(linewidth=0.8, **UNKNOWN)
    if series.low is not None and series.high is not None:
        errors = [
            [x - low for x, low in zip(series.numbers, series.low, strict=True)],
            [high - x for x, high in zip(series.numbers, series.high, strict=True)],
        ]
        ax.errorbar(series.numbers, places, xerr=errors, fmt="none", ecolor="#222222", elinewidth=1.0, capsize=2.5)
    signed = any(number < 0 for number in series.numbers)
    small = 0 < max(map(abs, series.numbers), default=0.0) < 0.01
    for place, number, low, high in zip(
        places, series.numbers, series.low or series.numbers, series.high or series.numbers, strict=True
    ):
        ax.annotate(
            f"{number:{'+' if signed else ''}{'.2g' if small else '.3f'}}", (low if number < 0 else high, place),
            (-3 if number < 0 else 3, 0), textcoords="offset points", ha="right" if number < 0 else "left",
            va="center", fontsize=7.5,
        )  # fmt: skip
    return drawn
