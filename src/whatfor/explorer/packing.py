"""JSON made small: numbers to six digits, matrices without their zeros, and what is said twice is held once.

``pack`` makes plain JSON; the page's script has the reverse of it.
An object with a key that begins with "~" says how something was packed:

    {"~m": [rows, columns, places, numbers]}   a matrix, what is not named is 0; places count along the rows
    {"~b": [rows, columns, "0110..."]}         a matrix of yes and no
    {"~t": [names, columns]}                   a list of objects with the same names
    {"~o": [[name, thing], ...]}               an object with a name that begins with "~" itself
    {"~r": n}                                  the same as the nth part
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

DIGITS = 6
#: What is shorter than this, written out, is not worth a reference.
SHORT = 24
#: So many objects of one kind are written as a table.
ROWS = 2


def rounded(number: float) -> float | int:
    """A number to six digits.

    >>> rounded(1 / 3), rounded(1234567.8), rounded(2.0)
    (0.333333, 1234570, 2)
    """
    short = float(f"{number:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def pack(thing: Any) -> str:
    """JSON of ``{"parts": [...], "root": ...}``.

    >>> board = [[0.0, 0.0, 0.5], [0.0, 0.0, 0.25]]
    >>> pack({"one": board, "two": board})
    '{"parts":[{"~m":[2,3,[2,5],[0.5,0.25]]}],"root":{"one":{"~r":0},"two":{"~r":0}}}'
    """
    packing = _Packing()
    return packing.written(packing.folded(thing))


@dataclass
class _Part:
    """An object or list, its own parts by their numbers; a text stands for itself."""

    pieces: list[str | int]
    length: int  # written out
    times: int = 0  # it is said


class _Packing:
    """Equal things become one part, from the smallest up: each is looked at once."""

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self.numbers: dict[str, int] = {}

    def folded(self, thing: Any) -> str | int:
        """The JSON of something small, or the number of a part."""
        kind = type(thing)  # most things are numbers, so these are looked for first
        if kind is float:
            return _dumped(rounded(thing))
        if kind is int:
            return str(thing)
        if isinstance(thing, dict):
            if any(name.startswith("~") for name in thing):
                return self._said("~o", [[name, one] for name, one in thing.items()])
            return self._part("{", [(_dumped(name) + ":", one) for name, one in thing.items()], "}")
        if isinstance(thing, list | tuple):
            packed = _matrix(thing) or _table(thing)
            return self._said(*packed) if packed else self._part("[", [("", one) for one in thing], "]")
        written = _dumped(rounded(thing) if isinstance(thing, float) else thing)
        return written if len(written) < SHORT else self._kept([written], len(written))

    def _said(self, how: str, of: Any) -> int | str:
        return self._part("{", [(f'"{how}":', of)], "}")

    def _part(self, opening: str, named: list[tuple[str, Any]], closing: str) -> int | str:
        pieces: list[str | int] = []
        text, length = opening, 0
        for at, (name, one) in enumerate(named):
            text += ("," if at else "") + name
            made = self.folded(one)
            if isinstance(made, str):
                text += made
            else:
                pieces += [text, made]
                length += len(text) + self.parts[made].length
                text = ""
        pieces.append(text + closing)
        return self._kept(pieces, length + len(text) + 1)

    def _kept(self, pieces: list[str | int], length: int) -> int | str:
        if length < SHORT and len(pieces) == 1:
            return str(pieces[0])
        key = "".join(piece if isinstance(piece, str) else f"\0{piece}\0" for piece in pieces)
        if key not in self.numbers:
            self.numbers[key] = len(self.parts)
            self.parts.append(_Part(pieces, length))
            for piece in pieces:
                if isinstance(piece, int):
                    self.parts[piece].times += 1
        return self.numbers[key]

    def written(self, root: str | int) -> str:
        """All of it: parts that are said twice, and the root."""
        places: dict[int, int] = {}
        texts: list[str] = []

        def text(piece: str | int) -> str:
            if isinstance(piece, str):
                return piece
            return f'{{"~r":{places[piece]}}}' if piece in places else "".join(map(text, self.parts[piece].pieces))

        for number, part in enumerate(self.parts):
            if part.times > 1 and part.length >= SHORT:
                written = "".join(map(text, part.pieces))
                places[number] = len(texts)
                texts.append(written)
        return f'{{"parts":[{",".join(texts)}],"root":{text(root)}}}'


_dumped = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _matrix(rows: list[Any] | tuple[Any, ...]) -> tuple[str, list[Any]] | None:
    """A matrix of yes and no, or of numbers that are mostly 0."""
    if not rows or not all(isinstance(row, list | tuple) and row and len(row) == len(rows[0]) for row in rows):
        return None
    kinds = {type(number) for row in rows for number in row}
    shape = [len(rows), len(rows[0])]
    if kinds == {bool}:
        return "~b", [*shape, "".join("01"[mark] for row in rows for mark in row)]
    if not kinds <= {int, float}:
        return None
    flat = [number for row in rows for number in row]
    places = [at for at, number in enumerate(flat) if number]
    if 2 * len(places) > len(flat):
        return None
    return "~m", [*shape, places, [flat[at] for at in places]]


def _table(rows: list[Any] | tuple[Any, ...]) -> tuple[str, list[Any]] | None:
    """Objects of the same names, column by column."""
    if len(rows) < ROWS or not all(isinstance(row, dict) for row in rows):
        return None
    names = list(rows[0])
    if not names or any(list(row) != names for row in rows):
        return None
    return "~t", [names, [[row[name] for row in rows] for name in names]]
