"""Layouts drawn with Matplotlib: takes an axes, returns it, never shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from whatfor.explanations.intention import Intention
from whatfor.layouts import Bars, Board, Layout, layout_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(explanation: Intention | Layout, ax: Axes | None = None) -> Figure:
    """A picture of an explanation, on ``ax`` or on a figure of its own. Nothing is shown or saved."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need Matplotlib: pip install 'whatfor[plot]'") from error
    from whatfor.pictures.bars import draw_bars
    from whatfor.pictures.board import draw_board

    layout = explanation if isinstance(explanation, (Board, Bars)) else layout_of(explanation)
    figure: Any = (
        Figure(figsize=(7.2, 5.6) if isinstance(layout, Board) else (9.0, 4.5), layout="constrained")
        if ax is None
        else ax.figure
    )
    ax = figure.subplots() if ax is None else ax
    if isinstance(layout, Board):
        draw_board(layout, ax)
    else:
        draw_bars(layout, ax)
    return cast("Figure", figure)


__all__ = ["draw"]
