"""The reverse of packing, as the page's script has it."""

from __future__ import annotations

import json
from typing import Any


def unpack(text: str) -> Any:
    """What was packed, but for the digits."""
    packed = json.loads(text)
    parts = packed["parts"]

    def meant(thing: Any) -> Any:
        return meant(parts[thing["~r"]]) if isinstance(thing, dict) and "~r" in thing else thing

    def opened(thing: Any) -> Any:
        thing = meant(thing)
        if isinstance(thing, list):
            return [opened(one) for one in thing]
        if not isinstance(thing, dict):
            return thing
        how, of = next(iter(thing.items()), ("", None))
        if not how.startswith("~"):
            return {name: opened(one) for name, one in thing.items()}
        of = [meant(one) for one in meant(of)]
        if how == "~t":
            names, columns = opened(of[0]), opened(of[1])
            return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        if how == "~o":
            return {opened(name): opened(one) for name, one in of}
        rows, columns, *rest = of
        flat: list[Any] = [mark == "1" for mark in rest[0]] if how == "~b" else [0] * (rows * columns)
        for place, number in zip(*rest, strict=True) if how == "~m" else ():
            flat[place] = number
        return [flat[row * columns : (row + 1) * columns] for row in range(rows)]

    return opened(packed["root"])
