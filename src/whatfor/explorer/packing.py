"""Small JSON: numbers to six digits, matrices without their zeros, and repeated parts only once.

``pack`` writes plain JSON; the page's script unpacks it.
An object whose only key begins with "~" is packed:

    {"~m": [rows, columns, places, numbers]}   a matrix: numbers at places, counted along the rows; the rest is 0
    {"~b": [rows, columns, "0110..."]}         a matrix of booleans
    {"~t": [names, columns]}                   a list of objects with the same keys
    {"~o": [[name, thing], ...]}               an object with a key that begins with "~" itself
    {"~r": n}                                  the same as the nth part
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

DIGITS = 6
#: A chance closer to 1 than this is 1: the rest is rounding error.
CERTAIN = 1e-11
#: Shorter parts are repeated: a reference would not be shorter.
MIN_LENGTH = 24
#: Fewer objects with the same keys are not written as a table.
MIN_ROWS = 2


def rounded(number: float) -> float | int:
    """A number to six digits; a chance just below 1 stays below 1.

    >>> rounded(1 / 3), rounded(1234567.8), rounded(2.0), rounded(1 - 1e-8)
    (0.333333, 1234570, 2, 0.999999)
    """
    short = float(f"{number:.{DIGITS}g}")
    if short == 1.0 and number < 1.0 - CERTAIN:
        short -= 10.0**-DIGITS
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def pack(thing: Any) -> str:
    """JSON of ``{"parts": [...], "root": ...}``.

    >>> board = [[0.0, 0.0, 0.5], [0.0, 0.0, 0.25]]
    >>> pack({"one": board, "two": board})
    '{"parts":[{"~m":[2,3,[2,5],[0.5,0.25]]}],"root":{"one":{"~r":0},"two":{"~r":0}}}'
    """
    packer = Packer()
    return packer.write(packer.fold(thing))


@dataclass
class _PackedPart:
    """An object or list: pieces of JSON, and the numbers of its own parts."""

    pieces: list[str | int]
    length: int  # as JSON
    uses: int = 0


class Packer:
    """Finds equal parts, from the smallest up."""

    def __init__(self) -> None:
        self.parts: list[_PackedPart] = []
        self.numbers: dict[str, int] = {}
        self._new: list[str] = []

    def fold(self, thing: Any) -> str | int:
        """The JSON of something small, or the number of a part."""
        kind = type(thing)  # most things are numbers, so these come first
        if kind is float:
            return _dumped(rounded(thing))
        if kind is int:
            return str(thing)
        if isinstance(thing, dict):
            if any(name.startswith("~") for name in thing):
                return self._packed("~o", [[name, one] for name, one in thing.items()])
            return self._part("{", [(_dumped(name) + ":", one) for name, one in thing.items()], "}")
        if isinstance(thing, list | tuple):
            packed = _matrix(thing) or _table(thing)
            return self._packed(*packed) if packed else self._part("[", [("", one) for one in thing], "]")
        written = _dumped(rounded(thing) if isinstance(thing, float) else thing)
        return written if len(written) < MIN_LENGTH else self._add([written], len(written))

    def _packed(self, how: str, of: Any) -> int | str:
        return self._part("{", [(f'"{how}":', of)], "}")

    def _part(self, opening: str, named: list[tuple[str, Any]], closing: str) -> int | str:
        pieces: list[str | int] = []
        text, length = opening, 0
        for at, (name, one) in enumerate(named):
            text += ("," if at else "") + name
            folded = self.fold(one)
            if isinstance(folded, str):
                text += folded
            else:
                pieces += [text, folded]
                length += len(text) + self.parts[folded].length
                text = ""
        pieces.append(text + closing)
        return self._add(pieces, length + len(text) + 1)

    def _add(self, pieces: list[str | int], length: int) -> int | str:
        if length < MIN_LENGTH and len(pieces) == 1:
            return str(pieces[0])
        key = "".join(piece if isinstance(piece, str) else f"\0{piece}\0" for piece in pieces)
        if key not in self.numbers:
            self.numbers[key] = len(self.parts)
            self.parts.append(_PackedPart(pieces, length))
            for piece in pieces:
                if isinstance(piece, int):
                    self.parts[piece].uses += 1
                else:
                    self._new.append(piece)
        return self.numbers[key]

    def new_text(self) -> str:
        """The JSON that was new since the last call: what the latest parts add to the size."""
        text = "".join(self._new)
        self._new.clear()
        return text

    def write(self, root: str | int) -> str:
        """The JSON of the root and of the parts that it repeats."""
        places: dict[int, int] = {}
        texts: list[str] = []

        def text(piece: str | int) -> str:
            if isinstance(piece, str):
                return piece
            return f'{{"~r":{places[piece]}}}' if piece in places else "".join(map(text, self.parts[piece].pieces))

        for number, part in enumerate(self.parts):
            if part.uses > 1 and part.length >= MIN_LENGTH:
                written = "".join(map(text, part.pieces))
                places[number] = len(texts)
                texts.append(written)
        return f'{{"parts":[{",".join(texts)}],"root":{text(root)}}}'


_dumped = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _matrix(rows: list[Any] | tuple[Any, ...]) -> tuple[str, list[Any]] | None:
    """A matrix of booleans, or of numbers that are mostly 0."""
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
    """Objects with the same keys, column by column."""
    if len(rows) < MIN_ROWS or not all(isinstance(row, dict) for row in rows):
        return None
    names = list(rows[0])
    if not names or any(list(row) != names for row in rows):
        return None
    return "~t", [names, [[row[name] for row in rows] for name in names]]
