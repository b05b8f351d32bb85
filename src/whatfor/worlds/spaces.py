"""Countable observation spaces: their axes, and how an observation becomes one value for each axis."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.labels import MAX_AXES, Labels
from whatfor.limits import limit
from whatfor.structure import Structure
from whatfor.text import count, either, is_plain, normalized

#: More dimensions than this are counted and not listed.
MAX_LISTED = 8

Range = tuple[int, int]  # the smallest value, and how many there are


class NotCountable(ValueError):
    """Observations that are not discrete. The message tells what to pass to ``train``."""

    def __init__(self, space: str, message: str) -> None:
        super().__init__(message)
        self.space = space

    def without_training(self, labels: str = "") -> ValueError:
        """The error where no training follows, so that neither bins nor a function can be passed; ``labels``: what else can be."""
        return ValueError(
            f"the observations of this environment are not discrete ({self.space}): {labels}wrap the environment, "
            "e.g. gymnasium.wrappers.DiscretizeObservation(env, bins)"
        )


def ranges_of(space: spaces.Space[Any]) -> list[Range] | None:
    """The whole numbers in an observation of a space, as ranges; None: it is not countable."""
    if isinstance(space, spaces.Discrete):
        return [(int(space.start), int(space.n))]
    if isinstance(space, spaces.MultiDiscrete):
        return list(zip(space.start.ravel().tolist(), space.nvec.ravel().tolist(), strict=True))
    if isinstance(space, spaces.MultiBinary):
        return [(0, 2)] * math.prod(space.shape)
    if isinstance(space, spaces.Box):
        if not np.issubdtype(space.dtype, np.integer):
            return None
        lows, highs = space.low.ravel().tolist(), space.high.ravel().tolist()
        return [(low, high - low + 1) for low, high in zip(lows, highs, strict=True)]
    if isinstance(space, spaces.Tuple | spaces.Dict):
        inside = [ranges_of(part) for part in _parts(space)]
        return None if None in inside else [one for part in inside if part is not None for one in part]
    return None


def _parts(space: Any) -> Sequence[spaces.Space[Any]]:
    """The parts of a Tuple or Dict."""
    return tuple(space.spaces.values()) if isinstance(space, spaces.Dict) else tuple(space.spaces)


def structure_of_space(space: spaces.Space[Any]) -> Structure:
    """How observations of a countable space are built."""
    if isinstance(space, spaces.Discrete):
        return Structure()
    if isinstance(space, spaces.Dict):
        return Structure("dict", tuple(map(str, space.spaces)), tuple(map(structure_of_space, _parts(space))))
    if isinstance(space, spaces.Tuple):
        return Structure("tuple", parts=tuple(map(structure_of_space, _parts(space))))
    return Structure("array", shape=tuple(space.shape or ()))


def countable(space: spaces.Space[Any]) -> list[Range]:
    """The ranges of a countable space; ``NotCountable`` if it is none, or an image."""
    ranges = ranges_of(space)
    if ranges is not None and 0 < len(ranges) <= MAX_AXES:
        return ranges
    if ranges is not None:
        raise NotCountable(
            _shown(space),
            f"observations are {len(ranges):,} whole numbers ({_shown(space)}), and a state has at most {MAX_AXES}: pass "
            "state_of=, a function that maps an observation to its state, e.g. state_of=lambda seen: seen.tobytes()",
        )
    if isinstance(space, spaces.Box):
        endless = unbounded_text(space.low.ravel(), space.high.ravel())
        python = f", and bounds=[(low, high), ...], a pair for each dimension: {endless}" if endless else ""
        python = f"pass the number of bins, e.g. bins=10{python}; or pass state_of=, a function that maps an observation to its state"
        shell = f", and --bounds low high ..., a pair for each dimension: {endless}" if endless else ""
        raise NotCountable(
            _shown(space),
            f"observations are continuous ({_shown(space)}): {either(python, f'add the number of bins, e.g. --bins 10{shell}')}",
        )
    raise NotCountable(
        _shown(space),
        f"observations must be Discrete, MultiDiscrete, MultiBinary, a Dict or Tuple of these, or Box with {either('bins=', '--bins')}; this environment has "
        f"{_shown(space)}: {either('', 'in Python, ')}pass state_of=, a function that maps an observation to its state, as a whole number, text, or a tuple of these",
    )


def unbounded_text(low: NDArray[Any], high: NDArray[Any]) -> str:
    """The dimensions without finite bounds, in words; empty if there are none.

    >>> unbounded_text(np.array([0.0, -np.inf, 0.0, 0.0]), np.array([1.0, 1.0, 1.0, np.inf]))
    'dimensions 1 and 3 (counted from 0) are unbounded'
    >>> unbounded_text(np.array([-np.inf]), np.array([np.inf])), unbounded_text(np.zeros(2), np.ones(2))
    ('dimension 0 (counted from 0) is unbounded', '')
    """
    endless = [str(at) for at in np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))]
    if len(endless) == 0:
        return ""
    if len(endless) > MAX_LISTED:
        return f"{len(endless)} of {len(low)} dimensions are unbounded"
    named = f"{', '.join(endless[:-1])} and {endless[-1]}" if len(endless) > 1 else endless[0]
    return (
        f"dimension{'s' * (len(endless) > 1)} {named} (counted from 0) {'are' if len(endless) > 1 else 'is'} unbounded"
    )


def _shown(space: spaces.Space[Any]) -> str:
    return " ".join(str(space).split())


def is_small(ranges: Sequence[Range]) -> bool:
    """Whether every combination of values may be a state; otherwise states are discovered."""
    return math.prod(size for _, size in ranges) <= limit("states")


def axis_names(structure: Structure) -> tuple[str, ...]:
    """Names of axes from the keys of dictionaries; numbers where these cannot be names."""
    names = structure.names_of_values()
    fine = all(is_plain(name) and not set("{}") & set(name) for name in names)
    distinct = len({normalized(name) for name in names}) == len(names)
    return names if fine and distinct else tuple(f"x{i}" for i in range(len(names)))


def product_labels(space: spaces.Space[Any], ranges: Sequence[Range], actions: tuple[str, ...]) -> Labels:
    """Labels in which every combination of values is a state."""
    if isinstance(space, spaces.Discrete):
        return Labels((Axis("state", ranges[0][1], start=ranges[0][0]),), actions)
    structure = structure_of_space(space)
    names = axis_names(structure)
    axes = tuple(Axis(name, size, start=low) for name, (low, size) in zip(names, ranges, strict=True))
    if structure.kind == "array" and len(structure.shape) == 1:
        return Labels(axes, actions, observed="array")
    if structure.kind == "tuple" and all(part.kind == "value" for part in structure.parts):
        return Labels(axes, actions, observed="tuple")
    return Labels(axes, actions, observed="nested", structure=structure)


def values_in(structure: Structure, ranges: Sequence[Range]) -> Callable[[Any], tuple[int, ...]]:
    """A function from an observation to its values, which checks that they are within the space."""

    def values(observation: Any) -> tuple[int, ...]:
        try:
            found = tuple(map(operator.index, structure.values(observation)))
            for value, (low, size) in zip(found, ranges, strict=True):
                if not low <= value < low + size:
                    raise ValueError(f"{value} is out of range: {low} to {low + size - 1}")
        except (TypeError, ValueError) as error:
            why = misfit(structure.values, observation, len(ranges), error)
            raise ValueError(
                f"the environment returned the observation {observation!r}, which is not in its space: {why}"
            ) from None
        return found

    return values


def misfit(numbers_of: Callable[[Any], Iterable[Any]], observation: Any, n: int, error: Exception) -> str:
    """Why an observation is not n whole numbers; ``error``: what was raised while they were read.

    >>> misfit(iter, [1.0, 2], 2, TypeError()), misfit(iter, [1], 2, ValueError()), misfit(iter, 7, 2, TypeError())
    ('1.0 is not a whole number', 'it has 1 number', 'it is a single int')
    """
    try:
        numbers = list(numbers_of(observation))
    except TypeError:
        return f"it is a single {type(observation).__name__}"
    except ValueError as other:
        return str(other)
    if len(numbers) != n:
        return f"it has {count(len(numbers), 'number')}"
    for number in numbers:
        try:
            operator.index(number)
        except TypeError:
            return f"{number} is not a whole number"
    return str(error)
