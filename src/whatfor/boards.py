"""Boards: which two axes are rows and columns, and whether walls and marks are on them."""

from __future__ import annotations

from collections.abc import Sequence

from whatfor.axes import Axis, Mark

#: The names of two axes that are rows and columns without being declared so; also of one thing, as "robot row" and "robot column".
ROWS_AND_COLUMNS = (("row", "column"), ("row", "col"), ("y", "x"))
#: Row and column of a cell; or of two cells beside each other, with a wall between them.
Wall = tuple[int, ...]


def board_axes(axes: Sequence[Axis], board: tuple[str, str] | None) -> tuple[int, int] | None:
    """The places of the axes that are rows and columns; None: no two axes are.

    >>> board_axes((Axis("key", 2), Axis("Row", 3), Axis("Column", 3)), None)
    (1, 2)
    >>> board_axes((Axis("robot row", 3), Axis("robot column", 3), Axis("parcel row", 3), Axis("parcel column", 3)), None)
    (0, 1)
    """
    names = [axis.name.lower() for axis in axes]
    if board is not None:
        declared = board[0].lower(), board[1].lower()
        return (names.index(declared[0]), names.index(declared[1])) if {*declared} <= {*names} else None
    of = ["", *dict.fromkeys(name.rpartition(" ")[0] + " " for name in names if " " in name)]  # whose row and column
    for thing in of:
        for rows, columns in ROWS_AND_COLUMNS:
            if thing + rows in names and thing + columns in names:
                return names.index(thing + rows), names.index(thing + columns)
    return None


def check_board(
    axes: Sequence[Axis], board: tuple[str, str] | None, walls: Sequence[Wall], marks: Sequence[Mark]
) -> None:
    """Raise ``ValueError`` unless the axes of the board exist, and walls and marked cells are on it."""
    at = board_axes(axes, board)
    names = ", ".join(axis.name for axis in axes)
    if board is not None and (at is None or at[0] == at[1]):
        raise ValueError(f"the board has the axes {board[0]!r} and {board[1]!r}; name two of the axes {names}")
    cells = [mark.cell for mark in marks if mark.cell is not None]
    if (walls or cells) and at is None:
        raise ValueError(
            f"walls and marks need a board, and the axes are {names}: name two axes row and column, or say which they are, "
            'e.g. board=("y position", "x position")'
        )
    for wall in walls:
        if len(wall) not in (2, 4):
            raise ValueError(f"{wall} is no wall: a wall is a cell, or two cells beside each other")
        first, *between = [(wall[0], wall[1]), *([(wall[2], wall[3])] if len(wall) == 4 else [])]
        if between and abs(first[0] - between[0][0]) + abs(first[1] - between[0][1]) != 1:
            raise ValueError(f"a wall is between {first} and {between[0]}, which are not beside each other")
        cells += [first, *between]
    if at is not None:
        rows, columns = axes[at[0]], axes[at[1]]
        odd = next((cell for cell in cells if not (0 <= cell[0] < rows.size and 0 <= cell[1] < columns.size)), None)
        if odd is not None:
            ways = [(rows, odd[0]), (columns, odd[1])] if at[0] < at[1] else [(columns, odd[1]), (rows, odd[0])]
            given, sizes = (
                " and ".join(texts)
                for texts in zip(
                    *(
                        (f"{one.name} {i + one.start}", f"{one.name} {one.start} to {one.start + one.size - 1}")
                        for one, i in ways
                    ),
                    strict=True,
                )
            )
            raise ValueError(f"a wall or a mark is at {given}; the board has {sizes}")
