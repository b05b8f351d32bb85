"""The kinds of layout: frozen, JSON-compatible, neither scaled nor drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Words = tuple[str, ...]
Vector = tuple[float, ...]
Rows = tuple[Vector, ...]
Mask = tuple[tuple[bool, ...], ...]


#: The letter of a mark for a cell that is a wall: the whole cell is filled.
WALL = "█"


def _check_length(what: str, numbers: Sequence[Any] | None, of: str, expected: int) -> None:
    """Raise ``ValueError`` unless there is one for each; None: left out."""
    if numbers is not None and len(numbers) != expected:
        raise ValueError(f"{what} has length {len(numbers)}; there are {expected} {of}: give one for each")


def _check_table(what: str, table: Sequence[Sequence[Any]] | None, rows: int, columns: int) -> None:
    """Raise ``ValueError`` unless a table has these rows and columns; None: left out."""
    _check_length(what, table, "rows", rows)
    for at, row in enumerate(table or ()):
        _check_length(f"row {at} of {what}", row, "columns", columns)


class _Plain:
    """Base class of layouts: conversion to JSON, and a short form."""

    title: str

    def __init_subclass__(cls) -> None:
        cls.__repr__ = _Plain.__repr__  # type: ignore[method-assign]  # else a dataclass prints all its numbers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r})"

    def to_json(self) -> dict[str, Any]:
        """The layout as JSON-compatible data, with its kind under ``layout``."""
        return {"layout": type(self).__name__.lower(), **_fields(self)}


def _fields(thing: Any) -> dict[str, Any]:
    """The fields by name; unlike ``asdict``, numbers are not copied one by one."""
    return {name: _jsonable(one) for name, one in vars(thing).items()}


def _jsonable(thing: Any) -> Any:
    if isinstance(thing, tuple) and thing and isinstance(thing[0], Layer | Series):
        return tuple(_fields(one) for one in thing)
    return _fields(thing) if isinstance(thing, Series | Contours) else thing


@dataclass(frozen=True)
class Layer:
    """One number per cell, with a name and a colour."""

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
    marks: tuple[tuple[str, int, int, str], ...]  # letter, row, column, and role in the state asked about
    piece: str  # the name of the piece that moves on it
    at: tuple[int, int] | None  # the cell of the piece; None: no state was asked about
    layers: tuple[Layer, ...]
    roles: Words = ()  # all roles that marks may have; each has a colour of its own
    quantity: str = "expected visits"
    diverging: bool = False  # signed numbers, zero in the middle
    unknown: Mask | None = None  # (rows, columns) cells without experience

    def __post_init__(self) -> None:
        for layer in self.layers:
            _check_table(f"layer {layer.name!r}", layer.cells, self.rows, self.columns)
        _check_table("unknown", self.unknown, self.rows, self.columns)


@dataclass(frozen=True)
class Series:
    """A named row of numbers, with intervals if they are known."""

    name: str
    numbers: Vector
    low: Vector | None = None
    high: Vector | None = None

    def __post_init__(self) -> None:
        for name, ends in (("low", self.low), ("high", self.high)):
            _check_length(f"{name} of series {self.name!r}", ends, "numbers", len(self.numbers))


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
    marks: tuple[tuple[str, int, int, str], ...] = ()  # letter, row, column, name
    walls: tuple[tuple[int, ...], ...] = ()  # two cells, (row, column, row, column), with a wall between them
    beside: Series | None = None  # one more number per row, of another quantity: written beside it, not coloured

    @property
    def is_board(self) -> bool:
        """Whether it shows places, with walls or marks."""
        return bool(self.marks or self.walls)

    def __post_init__(self) -> None:
        _check_table("numbers", self.numbers, len(self.rows), len(self.columns))
        _check_table("unknown", self.unknown, len(self.rows), len(self.columns))
        if self.beside is not None:
            _check_length(f"series {self.beside.name!r}", self.beside.numbers, "rows", len(self.rows))


@dataclass(frozen=True)
class Bars(_Plain):
    """Names with one or more numbers each."""

    title: str
    caption: str
    names: Words
    series: tuple[Series, ...]
    axis: str
    unknown: tuple[bool, ...] | None = None  # which bars show an unknown share

    def __post_init__(self) -> None:
        for one in self.series:
            _check_length(f"series {one.name!r}", one.numbers, "names", len(self.names))
        _check_length("unknown", self.unknown, "names", len(self.names))


@dataclass(frozen=True)
class Lines(_Plain):
    """Numbers along an axis."""

    title: str
    caption: str
    x: Vector
    series: tuple[Series, ...]
    x_axis: str
    y_axis: str
    nested: bool = False  # whether the series are intervals around one line, the narrowest first

    def __post_init__(self) -> None:
        for one in self.series:
            _check_length(f"series {one.name!r}", one.numbers, "values of x", len(self.x))


@dataclass(frozen=True)
class Contours:
    """A density on a grid, and the levels of its contours."""

    x: Vector  # the middles of the columns
    y: Vector  # the middles of the rows, the lowest first
    cells: Rows  # (rows, columns)
    levels: Vector
    shares: Vector  # of the probability that each level encloses

    def __post_init__(self) -> None:
        _check_table("cells", self.cells, len(self.y), len(self.x))
        _check_length("shares", self.shares, "levels", len(self.levels))


@dataclass(frozen=True)
class Cloud(_Plain):
    """Points over two axes, with a number each, and contours of their density."""

    title: str
    caption: str
    x: Vector
    y: Vector
    x_axis: str
    y_axis: str
    numbers: Vector  # of each point
    full: float  # numbers of this size and above have the full size and colour
    quantity: str = "expected visits"
    diverging: bool = False
    marked: int | None = None  # the point of the state asked about
    contours: Contours | None = None

    def __post_init__(self) -> None:
        for name, row in (("y", self.y), ("numbers", self.numbers)):
            _check_length(name, row, "values of x", len(self.x))


@dataclass(frozen=True)
class Panels(_Plain):
    """Layouts side by side, row after row."""

    title: str
    caption: str
    panels: tuple[Layout, ...]
    columns: int
    shared: bool = True  # whether all panels show the same quantity and share one scale
    column_heads: Words = ()
    row_heads: Words = ()

    def __post_init__(self) -> None:
        rows = -(-len(self.panels) // self.columns)
        _check_length("column_heads", self.column_heads or None, "columns", self.columns)
        _check_length("row_heads", self.row_heads or None, "rows of panels", rows)

    def to_json(self) -> dict[str, Any]:
        """The layout as JSON-compatible data, each panel with its own kind."""
        return {**super().to_json(), "panels": tuple(panel.to_json() for panel in self.panels)}


Layout = Board | Grid | Bars | Lines | Cloud | Panels
