"""Marks and walls on the board, from cells as the environment counts them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from whatfor.axes import Mark, check_distinct
from whatfor.boards import Wall, board_axes
from whatfor.labels import Labels
from whatfor.naming.given import check_keys, objects

#: What describes a mark.
MARK_KEYS = ("at", "letter", "closed")


def marks_of(labels: Labels, given: Any) -> tuple[Mark, ...]:
    """Marks from names and cells; each name has a letter of its own."""
    if not isinstance(given, Mapping):
        return objects("marks", given, Mark, '{"lava": [(2, 3), (4, 1)]}')
    described = {}
    for name, one in given.items():
        described[name] = one if isinstance(one, Mapping) else {"at": one}
        check_keys(f"the mark {name!r}", described[name], MARK_KEYS)
    taken = [one["letter"] for one in described.values() if one.get("letter")]
    check_distinct("the letters of marks", taken)
    marks = []
    for name, one in described.items():
        free = [
            letter for letter in f"{name}ABCDEFGHIJKLMNOPQRSTUVWXYZ".upper() if letter.isalnum() and letter not in taken
        ]
        letter = one.get("letter") or (free or ["?"])[0]
        taken.append(letter)
        if "at" not in one:
            raise ValueError(f"the mark {name!r} is nowhere: give its cells, e.g. {{'at': [(0, 3)]}}")
        at = one["at"]
        cells = [at] if _is_cell(at) else _several(f"the mark {name!r}", at)
        places = [_cell(labels, cell) for cell in cells]
        marks += [Mark(None, letter, name, bool(one.get("closed")), at) for at in places if _is_met(labels, at)]
    return tuple(marks)


def walls_of(labels: Labels, given: Any) -> tuple[Wall, ...]:
    """Walls from cells, and from pairs of cells beside each other."""
    walls: list[Wall] = []
    for one in _several("walls", given):
        cells = [one] if _is_cell(one) else _several(f"the wall {one!r}", one)
        if len(cells) > 2:
            raise ValueError(f"the wall {one!r} is neither a cell nor two cells beside each other")
        places = [_cell(labels, cell) for cell in cells]
        if all(_is_met(labels, at) for at in places):
            walls.append(tuple(one for at in places for one in at))
    return tuple(walls)


def _several(what: str, given: Any) -> list[Any]:
    """A list of cells."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise ValueError(f"{what} is a list of cells, e.g. [(1, 2), (1, 3)], not {given!r}")
    return list(given)


def _is_met(labels: Labels, cell: tuple[int, int]) -> bool:
    """Whether a cell is on the board, if that has only the rows and columns of discovered states."""
    at = labels.board_axes
    if not labels.discovered or at is None:
        return True  # else it is an error
    return all(0 <= one < labels.axes[i].size for one, i in zip(cell, at, strict=True))


def _is_cell(given: Any) -> bool:
    """Whether it is one cell, and not several."""
    try:
        return len(given) == 2 and all(isinstance(int(one), int) for one in given)
    except (TypeError, ValueError):
        return False


def _cell(labels: Labels, given: Any) -> tuple[int, int]:
    """A row and a column counted from 0, from a cell as the environment has it: two numbers, in the order of the axes.

    >>> from whatfor.axes import Axis
    >>> _cell(Labels((Axis("x", 4), Axis("y", 2)), ("go",), observed="tuple"), (3, 0))  # x 3, y 0
    (0, 3)
    """
    if not _is_cell(given):
        raise ValueError(
            f"{given!r} is not a cell; a cell is two numbers, in the order of the axes, e.g. (row, column)"
        )
    one, two = int(given[0]), int(given[1])
    at = board_axes(labels.axes, labels.board)
    if at is None:
        return one, two  # for the error that there is no board
    rows, columns = (labels.axes[i].start for i in at)
    return (one - rows, two - columns) if at[0] < at[1] else (two - rows, one - columns)
