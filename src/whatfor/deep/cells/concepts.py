"""Named concepts of observations."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.deep.cells.common import Partition, Predicate, check_cell_count, evaluate_condition, names_of_actions
from whatfor.labels import Labels
from whatfor.worlds.bins import interval_words

#: Text that reads as an index or an observation, not as words.
NUMBERS = re.compile(r"[\s\d.,()\[\]-]+")

#: A condition; a function with the names it may return; or a function with the edges of its bins.
ConceptRule = Predicate | tuple[Predicate, Sequence[str]] | tuple[Predicate, Sequence[float]]


@dataclass(frozen=True)
class Concepts:
    """Named concepts of an observation; every combination of them is a cell.

    A concept is a condition (``lambda obs: obs[2] < 0``), a function with the names it may return
    (``(side, ("left", "right"))``), or a function with the edges of its bins (``(height, (-0.5, 0.0, 0.5))``).

    >>> concepts = Concepts({"left": lambda obs: obs[0] < 0.0, "speed": (lambda obs: obs[1], (0.0, 1.0))})
    >>> cells = concepts.partition(spaces.Box(-9, 9, (2,)), None, np.zeros(0))
    >>> [cells.labels.words(cell) for cell in cells.index(np.array([[-1.0, 0.5], [1.0, 2.0]]))]
    ['left; speed 0 to 1', 'not left; speed 1 or more']
    """

    concepts: Mapping[str, ConceptRule]

    def partition(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Partition:
        """The cells of an environment's observations."""
        if not self.concepts:
            raise ValueError('cells={} names no concept; give some, e.g. {"moving left": lambda obs: obs[1] < 0}')
        _check_names(list(self.concepts))
        parsed = [_parse(name, rule) for name, rule in self.concepts.items()]
        template = "; ".join(concept.template for concept in parsed)
        labels = Labels(tuple(concept.axis for concept in parsed), names_of_actions(env), template, observed="tuple")
        shape = labels.shape

        def index(observations: NDArray[Any]) -> NDArray[np.int64]:
            values = [[_evaluate(concept, obs) for obs in observations] for concept in parsed]
            return np.asarray(np.ravel_multi_index(tuple(np.array(values, np.int64)), shape), np.int64)

        return Partition(check_cell_count(labels), space, index, lambda _: None, False, "concepts")


class _Parsed(NamedTuple):
    """One concept, ready for use."""

    axis: Axis  # of the cells
    value: Callable[[NDArray[Any]], int]  # an observation's place on the axis
    template: str  # how it is put into words


def _parse(name: str, rule: ConceptRule) -> _Parsed:
    """A concept from what the user wrote; ``ValueError`` with an example of what to write."""
    if callable(rule):
        return _from_condition(name, rule)
    if not isinstance(rule, tuple) or len(rule) != 2 or not callable(rule[0]):
        raise ValueError(
            f"the concept {name!r} is {rule!r}; give a condition, (function, names) or (function, edges of its bins)"
        )
    function, choices = rule
    values = list(choices) if isinstance(choices, (Sequence, np.ndarray)) and not isinstance(choices, str) else []
    if not values:
        raise ValueError(
            f'the concept {name!r} has {choices!r} for its names or edges; write e.g. ("left", "right") or (0.0, 1.0)'
        )
    if all(isinstance(value, str) for value in values):
        return _from_names(name, function, tuple(str(value) for value in values))
    return _from_edges(name, function, values)


def _from_condition(name: str, condition: Predicate) -> _Parsed:
    axis = Axis(name, 2, (f"not {name}", name))
    return _Parsed(axis, lambda obs: int(evaluate_condition(name, condition, obs)), f"{{{name}}}")


def _from_names(name: str, function: Predicate, names: tuple[str, ...]) -> _Parsed:
    odd = next((value for value in names if not _is_plain(value)), None)
    if odd is not None:
        raise ValueError(f"the concept {name!r} has the name {odd!r}; write words with one space between them")
    duplicate = _first_duplicate(names)
    if duplicate is not None:
        raise ValueError(f"the concept {name!r} has the name {duplicate!r} twice, ignoring case; write every name once")

    def value(obs: NDArray[Any]) -> int:
        result = function(obs)
        if result not in names:
            raise ValueError(f"the concept {name!r} returns {result!r}; its names are {', '.join(names)}")
        return names.index(result)

    return _Parsed(Axis(name, len(names), names), value, f"{name} {{{name}}}")


def _from_edges(name: str, function: Predicate, values: list[Any]) -> _Parsed:
    try:
        edges = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        edges = np.zeros(0)  # not numbers: refused below
    if edges.ndim != 1 or not len(edges) or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise ValueError(
            f"the edges of {name!r} are {values!r}; they must be finite numbers, each above the one before"
        )
    words = interval_words(np.concatenate([[-np.inf], edges, [np.inf]]))
    bounds = edges.tolist()  # for a single number, bisect is ten times as fast as NumPy

    def value(obs: NDArray[Any]) -> int:
        number = float(function(obs))
        if math.isnan(number):
            raise ValueError(f"the concept {name!r} returns NaN for {obs!r}; it must return a number")
        return bisect_right(bounds, number)

    return _Parsed(Axis(name, len(edges) + 1, words), value, f"{name} {{{name}}}")


def _evaluate(concept: _Parsed, obs: NDArray[Any]) -> int:
    """The value of a concept; an error in its function is reported with its name."""
    try:
        return concept.value(obs)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(
            f"the concept {concept.axis.name!r} failed on {obs!r}: {type(error).__name__}: {error}"
        ) from error


def _check_names(names: Sequence[Any]) -> None:
    """Reject names that could not be parsed from text again: states can be given in words."""
    for name in names:
        if not isinstance(name, str) or not _is_plain(name) or re.search("[{}]", name) or NUMBERS.fullmatch(name):
            raise ValueError(
                f"the concept {name!r} needs another name: words with one space between them, no braces and not only "
                'a number, e.g. "moving left"'
            )
    duplicate = _first_duplicate(names)
    if duplicate is not None:
        raise ValueError(f"two concepts have the name {duplicate!r}, ignoring case; choose two names")


def _first_duplicate(names: Sequence[str]) -> str | None:
    """The first name that occurred before, ignoring case, as the parser of words does."""
    lower = [name.lower() for name in names]
    return next((name for at, name in enumerate(names) if name.lower() in lower[:at]), None)


def _is_plain(text: str) -> bool:
    """Whether a text is words with one space between them; the parser of words collapses spaces."""
    return bool(text) and text == " ".join(text.split())
