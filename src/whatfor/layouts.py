"""What a picture shows, as data: nothing is drawn here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from whatfor.explanations.intention import Intention
from whatfor.labels import Labels
from whatfor.worlds.taxi import ABOARD, LANDMARKS, WALLS

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Layer:
    """One number a cell, with a name and a colour."""

    name: str
    colour: str  # "yellow" or "green"
    cells: Rows  # (rows, columns)


@dataclass(frozen=True)
class Board:
    """A board with walls and marks, and layers of numbers over its cells."""

    title: str
    caption: str
    rows: int
    columns: int
    walls: tuple[tuple[int, int], ...]  # (row, column) of cells with a wall on their east side
    marks: tuple[tuple[str, int, int], ...]  # letter, row, column
    taxi: tuple[int, int]
    passenger: str | None  # the landmark where it waits; None: aboard
    destination: str
    layers: tuple[Layer, ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"layout": "board", **asdict(self)}


@dataclass(frozen=True)
class Bars:
    """Names and numbers."""

    title: str
    caption: str
    names: tuple[str, ...]
    numbers: tuple[float, ...]
    axis: str

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"layout": "bars", **asdict(self)}


Layout = Board | Bars


def layout_of(explanation: Intention, most: int = 12) -> Layout:
    """What a picture of an explanation shows: Taxi on its board, anything else by its most expected states."""
    labels = explanation.labels
    title = f"{labels.actions[explanation.action]}: worth {explanation.value:.3f}"
    caption = labels.words(explanation.state)
    if labels.kind == "taxi":
        return _taxi(explanation, labels, title, caption)
    expected = explanation.expected(most)
    names = tuple(f"{labels.words(state)}: {labels.actions[action]}" for state, action, _ in expected)
    return Bars(
        title, caption, names, tuple(visits for *_, visits in expected), "expected visits, discounted as learned"
    )


def _taxi(explanation: Intention, labels: Labels, title: str, caption: str) -> Board:
    row, column, passenger, destination = labels.values(explanation.state)
    by_state = explanation.visits.sum(axis=1).reshape(labels.shape)  # (row, column, passenger, destination)
    waiting = by_state[:, :, :ABOARD].sum(axis=(2, 3))
    aboard = by_state[:, :, ABOARD].sum(axis=2)
    return Board(
        title=title,
        caption=caption,
        rows=labels.shape[0],
        columns=labels.shape[1],
        walls=WALLS,
        marks=LANDMARKS,
        taxi=(row, column),
        passenger=None if passenger == ABOARD else LANDMARKS[passenger][0],
        destination=LANDMARKS[destination][0],
        layers=(Layer("before pick-up", "yellow", _rows(waiting)), Layer("passenger aboard", "green", _rows(aboard))),
    )


def _rows(numbers: np.ndarray[Any, np.dtype[np.float64]]) -> Rows:
    return tuple(tuple(float(x) for x in row) for row in numbers)
