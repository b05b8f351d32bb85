"""Schedules: exploration by episode, step sizes by the number of updates."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.checks import whole
from whatfor.text import one_line


@dataclass(frozen=True)
class Linear:
    """Linear from ``start`` to ``end`` over ``episodes`` episodes, then constant."""

    start: float
    end: float
    episodes: int

    def __post_init__(self) -> None:
        whole("episodes", self.episodes, 1)

    def __call__(self, episode: int) -> float:
        """The number in an episode, counted from 0."""
        share = min(episode / self.episodes, 1.0)
        return (1.0 - share) * self.start + share * self.end

    @property
    def constant_from(self) -> int:
        """The episode from which the number is constant."""
        return self.episodes


@dataclass(frozen=True)
class Exponential:
    """Multiplied by ``decay`` after each episode, never below ``end``."""

    start: float
    end: float
    decay: float

    def __post_init__(self) -> None:
        decay: Any = self.decay
        if not isinstance(decay, numbers.Real) or not 0.0 <= float(decay) <= 1.0:
            raise ValueError(f"decay is {decay!r}; exploration is multiplied by it, so it must lie in [0, 1]")

    def __call__(self, episode: int) -> float:
        """The number in an episode, counted from 0."""
        return float(max(self.end, self.start * self.decay**episode))

    @property
    def constant_from(self) -> int | None:
        """The episode from which the number is constant; None: it never is."""
        if not (0.0 < self.decay < 1.0 and 0.0 < self.end < self.start):
            return None
        return math.ceil(math.log(self.end / self.start) / math.log(self.decay)) + 1


@dataclass(frozen=True)
class VisitCount:
    """A step size of 1 / n ** power at the n-th update of a state-action pair; power 1 gives the mean."""

    power: float = 1.0


Schedule = Callable[[int], float]


def linear(start: float, end: float, *more: float, episodes: int | None = None) -> Linear:
    """Exploration that decreases linearly over the first episodes.

    >>> linear(1.0, 0.1, episodes=250)(125)
    0.55
    """
    if more or episodes is None:
        raise TypeError(f"write linear({start}, {end}, episodes={next(iter(more), 250)})")
    return Linear(start, end, episodes)


def exponential(start: float, end: float, *, decay: float) -> Exponential:
    """Exploration that is multiplied by ``decay`` after each episode, down to ``end``.

    >>> exponential(1.0, 0.05, decay=0.5)(2)
    0.25
    """
    return Exponential(start, end, decay)


def visit_count(power: float = 1.0) -> VisitCount:
    """A step size that decreases with the number of updates of a state-action pair.

    >>> visit_count()
    VisitCount(power=1.0)
    """
    return VisitCount(power)


def explorations(exploration: float | Schedule, first: int, episodes: int) -> NDArray[np.float64]:
    """(episodes,) The exploration probability of each episode from ``first`` on, checked."""
    # a constant part is evaluated once
    constant_from = getattr(exploration, "constant_from", None if callable(exploration) else 0)
    changing = episodes if constant_from is None else min(max(constant_from - first, 0), episodes)
    chances = np.empty(episodes)
    chances[:changing] = [_chance(exploration, first + i) for i in range(changing)]
    if changing < episodes:
        chances[changing:] = _chance(exploration, first + changing)
    wrong = np.flatnonzero(~((chances >= 0.0) & (chances <= 1.0)))
    if len(wrong):
        raise ValueError(
            f"exploration is {chances[wrong[0]]}{_when(exploration, first + wrong[0])}; it is a probability and must lie in [0, 1]"
        )
    return chances


def _chance(exploration: float | Schedule, episode: int) -> float:
    """The exploration in an episode; its range is checked for all episodes together."""
    chance: object = exploration(episode) if callable(exploration) else exploration
    if isinstance(chance, bool) or not isinstance(chance, numbers.Real):
        schedule = (
            ""
            if callable(exploration)
            else "; pass a number in [0, 1], or a schedule such as linear(1, 0.1, episodes=250)"
        )
        must = schedule or f"{_when(exploration, episode)}; it is a probability and must lie in [0, 1]"
        raise ValueError(f"exploration is {chance!r}{must}")
    return float(chance)


def _when(exploration: float | Schedule, episode: int) -> str:
    return f" in episode {episode}" if callable(exploration) else ""


def to_json(value: Any) -> Any:
    """A parameter as JSON: numbers and text as they are, schedules by name, anything else as its ``repr``."""
    if isinstance(value, (Linear, Exponential, VisitCount)):
        return {"kind": type(value).__name__, **{name: to_json(number) for name, number in vars(value).items()}}
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Real):
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    return {"kind": "other", "words": one_line(repr(value), 1_000)}


def from_json(value: Any) -> Any:
    """The parameter that ``to_json`` wrote."""
    if not isinstance(value, dict):
        return value
    kinds = {kind.__name__: kind for kind in (Linear, Exponential, VisitCount)}
    fields = {name: number for name, number in value.items() if name != "kind"}
    if value.get("kind") not in kinds:
        raise ValueError(
            f"this run was trained with {value.get('words', value)}, which cannot be saved; "
            "to resume, pass the learner again: train(run, learner, episodes=...)"
        )
    return kinds[value["kind"]](**fields)
