"""Structure: how an observation, or the key of a state, is built from single values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from whatfor.text import one_line

#: A single value of a key.
Scalar = None | bool | int | float | str | bytes
#: How deep keys and observations may be nested.
MAX_NESTING = 16
INT64 = np.iinfo(np.int64)


@dataclass(frozen=True)
class Structure:
    """A single value, an array of values, or a tuple or dictionary of structures.

    >>> pair = Structure("tuple", parts=(Structure(), Structure()))
    >>> home = Structure("dict", names=("at", "door"), parts=(pair, Structure()))
    >>> home.values({"at": (2, 3), "door": "open"}), home.build([2, 3, "open"])
    ([2, 3, 'open'], {'at': (2, 3), 'door': 'open'})
    >>> home.names_of_values()
    ('at[0]', 'at[1]', 'door')
    """

    kind: Literal["value", "array", "tuple", "dict"] = "value"
    names: tuple[str, ...] = ()  # of the parts of a dictionary
    parts: tuple[Structure, ...] = ()
    shape: tuple[int, ...] = ()  # of an array

    def __post_init__(self) -> None:
        if self.kind == "dict" and (len(self.names) != len(self.parts) or len(set(self.names)) != len(self.names)):
            raise ValueError("a dictionary has one name for each part, all different")
        if any(length < 0 for length in self.shape):
            raise ValueError("the shape of an array is not negative")

    @property
    def n_values(self) -> int:
        """The number of single values."""
        if self.kind == "array":
            return math.prod(self.shape)
        return 1 if self.kind == "value" else sum(part.n_values for part in self.parts)

    def values(self, thing: Any) -> list[Any]:
        """The single values of an observation or key; ``ValueError`` if it is built otherwise."""
        values: list[Any] = []
        self._collect(thing, values)
        return values

    def _collect(self, thing: Any, values: list[Any]) -> None:
        """Append the single values; every step of training does, so the usual types are recognised first."""
        if self.kind == "value":
            values.append(thing)
        elif self.kind == "array":
            array = thing if type(thing) is np.ndarray else np.asarray(thing)
            if array.shape != self.shape:
                raise ValueError(f"it has the shape {array.shape} instead of {self.shape}")
            values += array.ravel().tolist()
        else:
            for part, one in zip(self.parts, self._parts_of(thing), strict=True):
                part._collect(one, values)

    def _parts_of(self, thing: Any) -> Sequence[Any]:
        if self.kind == "dict":
            if not (type(thing) is dict or isinstance(thing, Mapping)) or thing.keys() != self._keys:
                raise ValueError(f"it must be a dictionary with {', '.join(map(repr, self.names))}")
            return [thing[name] for name in self.names]
        if not isinstance(thing, tuple | list) or len(thing) != len(self.parts):
            raise ValueError(f"it must be a tuple of {len(self.parts)}")
        return thing

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(self.names)

    def build(self, values: Sequence[Any]) -> Any:
        """The observation or key with these single values."""
        return self._build(iter(values))

    def _build(self, values: Iterator[Any]) -> Any:
        if self.kind == "value":
            return next(values)
        if self.kind == "array":
            return np.array([next(values) for _ in range(self.n_values)]).reshape(self.shape)
        parts = [part._build(values) for part in self.parts]
        return dict(zip(self.names, parts, strict=True)) if self.kind == "dict" else tuple(parts)

    def names_of_values(self, name: str = "") -> tuple[str, ...]:
        """A name for each single value, from the names of dictionaries and places in tuples and arrays."""
        if self.kind == "value":
            return (name or "state",)
        if self.kind == "array":
            if self.n_values == 1 and name:
                return (name,)
            return tuple(_inside(name, "][".join(map(str, at))) for at in np.ndindex(*self.shape))
        heads = self.names if self.kind == "dict" else [str(i) for i in range(len(self.parts))]
        named = self.kind == "dict"
        inside = (
            part.names_of_values(f"{name} {head}".strip() if named else _inside(name, head))
            for head, part in zip(heads, self.parts, strict=True)
        )
        return tuple(one for names in inside for one in names)


def _inside(name: str, place: str) -> str:
    """The name of a place in a tuple or an array: as Python indexes it, apart from the value beside it."""
    return f"{name}[{place}]" if name else f"x{place.replace('][', '_')}"


def structure_of(key: Any, depth: int = 0) -> Structure:
    """The structure of a key: a single value or nested tuples.

    >>> structure_of((3, ("a", None))).n_values
    3
    """
    if not isinstance(key, tuple):
        return Structure()
    if depth >= MAX_NESTING:
        raise ValueError(f"keys may be nested {MAX_NESTING} deep, and this one is nested deeper")
    return Structure("tuple", parts=tuple(structure_of(part, depth + 1) for part in key))


def scalar(value: Any) -> Scalar:
    """A single value of a key as plain Python; ``ValueError`` says what to return instead.

    >>> scalar(np.int64(3)), scalar(True), scalar("left")
    (3, True, 'left')
    >>> scalar(2**70)
    Traceback (most recent call last):
    ValueError: 1180591620717411303424 does not fit into 64 bits: return str(number), or number.to_bytes(...)
    """
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        number = int(value)
        if not INT64.min <= number <= INT64.max:
            raise ValueError(f"{number} does not fit into 64 bits: return str(number), or number.to_bytes(...)")
        return number
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a finite number: return None or a word for it")
        return float(value)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{one_line(ascii(value), 80)} is not valid text: return text.encode(errors='surrogatepass')"
            ) from None
        return str(value)
    if isinstance(value, bytes):
        return bytes(value)
    raise ValueError(f"{type(value).__name__} cannot be saved: {instead_of(value)}")


def instead_of(value: Any) -> str:
    """What to return instead of something that is no key.

    >>> instead_of({"row": 1})
    'return tuple(sorted(it.items())), or the values that matter: (it["row"], ...)'
    """
    if isinstance(value, np.ndarray):
        return "return tuple(it.ravel().tolist()), whose numbers become axes, or it.tobytes(), one axis"
    if isinstance(value, Mapping):
        first = next(iter(value), "row")
        return f'return tuple(sorted(it.items())), or the values that matter: (it["{first}"], ...)'
    if isinstance(value, set | frozenset):
        return "return a text, such as ' '.join(sorted(map(str, it)))"
    if isinstance(value, list):
        return "return tuple(it)"
    return "return whole numbers, finite numbers, text, bytes, None, or a tuple of these"
