"""Draw layouts with Matplotlib, without showing or saving them and without global state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whatfor.explanations import Explanation
from whatfor.layouts import Layout
from whatfor.layouts.beside import without_empty
from whatfor.needed import need_matplotlib
from whatfor.pictures.animation import animate
from whatfor.question import layout_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(answer: Explanation | Layout, ax: Axes | None = None, **options: Any) -> Figure:
    """Draw an explanation or a layout, on ``ax`` or on a new figure, which shows itself in a notebook. Nothing is saved.

    Of a map with many facets, those with the largest numbers are drawn; the caption says how many are left out.

    ``options`` are those of the explanation's layout: ``facets="here"`` for maps, ``show=`` for the other pictures of an answer
    (contrasts and changes: "parts"; comparisons: "difference" or "endings"), ``axes=("position", "velocity")`` for clouds of continuous
    states.

    >>> from whatfor.layouts import Bars, Series
    >>> figure = draw(Bars("the hand", "", ("won", "lost"), (Series("stick", (0.4, 0.6)),), "chance"))
    >>> figure.axes[0].get_xlabel()
    'chance'
    """
    need_matplotlib()
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from whatfor.pictures.panels import draw_layout
    from whatfor.pictures.scale import scale_of
    from whatfor.pictures.shown import ShownFigure
    from whatfor.pictures.sizes import figure_size, in_lines, place_on

    if not isinstance(answer, Explanation | Layout):
        raise TypeError(
            f"draw() takes an explanation, e.g. run.intention(state), or one of whatfor.layouts, not {answer!r}"
        )
    if options and not isinstance(answer, Explanation):
        raise TypeError(f"{', '.join(options)}= is for explanations; a layout is drawn as it is")
    layout = in_lines(without_empty(layout_of(answer, **options) if isinstance(answer, Explanation) else answer))
    if ax is not None and not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be one of Matplotlib's Axes, not {ax!r}; to write a file, use draw(...).savefig('FILE.png')"
        )
    if ax is None:
        ax = ShownFigure(figsize=figure_size(layout), layout="constrained").subplots()
    draw_layout(layout, ax, scale_of([layout]), place_on(ax, layout))
    figure = ax.figure
    return figure if isinstance(figure, Figure) else figure.figure


__all__ = ["animate", "draw"]
