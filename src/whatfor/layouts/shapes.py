"""The kinds of layout: frozen, of plain numbers and words, JSON-able. Nothing is scaled and nothing is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Words = tuple[str, ...]
Numbers = tuple[float, ...]
Rows = tuple[Numbers, ...]
Mask = tuple[tuple[bool, ...], ...]


class _Plain:
    """What every layout can do: become JSON, its own name under ``layout``."""

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"layout": type(self).__name__.lower(), **_shown(self)}


def _shown(thing: Any) -> dict[str, Any]:
    """By name, what it holds; not copied number by number, as ``asdict`` does."""
    return {name: _opened(one) for name, one in vars(thing).items()}


def _opened(thing: Any) -> Any:
    if isinstance(thing, tuple) and thing and isinstance(thing[0], Layer | Series):
        return tuple(_shown(one) for one in thing)
    return _shown(thing) if isinstance(thing, Series) else thing


@dataclass(frozen=True)
class Layer:
    """One number a cell, with a name and a colour."""

    name: str
    colour: str  # "yellow" or "green"
    cells: Rows  # (rows, columns)


@dataclass(frozen=True)
class Board(_Plain):
    """A board with walls and marks, and layers of numbers over its cells."""

    title: str
    caption: str
    rows: int
    columns: int
    walls: tuple[tuple[int, int], ...]  # (row, column) of cells with a wall on their east side
    marks: tuple[tuple[str, int, int, str], ...]  # letter, row, column, and what it is to the state asked about
    piece: str  # what moves on it
    at: tuple[int, int] | None  # where that is; None: no state was asked about
    layers: tuple[Layer, ...]
    quantity: str = "expected visits"
    diverging: bool = False  # signed numbers, zero in the middle
    unknown: Mask | None = None  # (rows, columns) cells without experience


@dataclass(frozen=True)
class Series:
    """A named row of numbers, with an interval round each where one is known."""

    name: str
    numbers: Numbers
    low: Numbers | None = None
    high: Numbers | None = None


@dataclass(frozen=True)
class Grid(_Plain):
    """Numbers by row and column, the first row on top.

    >>> Grid("a lake", "", ("0", "1"), ("0",), "row", "column", ((1.0,), (0.5,))).to_json()["numbers"]
    ((1.0,), (0.5,))
    """

    title: str
    caption: str
    rows: Words  # a word for each row
    columns: Words
    row_axis: str
    column_axis: str
    numbers: Rows  # (rows, columns)
    quantity: str = "expected visits"
    diverging: bool = False
    unknown: Mask | None = None
    marked: tuple[int, int] | None = None  # (row, column) of the state asked about
    marks: tuple[tuple[str, int, int, str], ...] = ()  # letter, row, column, what it is
    beside: Series | None = None  # one more number a row, of another kind: written beside it, not coloured


@dataclass(frozen=True)
class Bars(_Plain):
    """Names, and a number or several for each."""

    title: str
    caption: str
    names: Words
    series: tuple[Series, ...]
    axis: str
    unknown: tuple[bool, ...] | None = None  # bars that stand for what is not known


@dataclass(frozen=True)
class Lines(_Plain):
    """Numbers along an axis."""

    title: str
    caption: str
    x: Numbers
    series: tuple[Series, ...]
    x_axis: str
    y_axis: str


@dataclass(frozen=True)
class Panels(_Plain):
    """Layouts side by side, row after row."""

    title: str
    caption: str
    panels: tuple[Layout, ...]
    columns: int
    shared: bool = True  # all panels show the same quantity, so one scale is for all
    column_heads: Words = ()
    row_heads: Words = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it, each panel with its own kind."""
        return {**super().to_json(), "panels": tuple(panel.to_json() for panel in self.panels)}


Layout = Board | Grid | Bars | Lines | Panels
