"""Adapter: names, compiled twin and layout of one environment; one module for each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.labels import Labels
from whatfor.layouts.map import Cells, Map
from whatfor.layouts.shapes import Layout
from whatfor.worlds.discovering import Discovery
from whatfor.worlds.world import World

#: Puts an environment that was just reset into a state. The state is an index or, for an agent that acts on
#: observations, a situation with ``index`` and ``observation``.
Enter = Callable[[Any, Any, np.random.Generator], None]
#: The state of every cell; for several panels, or the two layers of a board, one grid for each.
Places = Cells | tuple[Cells, ...] | None


def check_enter(enter: Any) -> Enter | None:
    """Validate ``enter=``, a function or None."""
    if enter is not None and not callable(enter):
        raise ValueError(
            f"enter must be a function (env, state, rng) that puts the environment into a state, not {enter!r}"
        )
    try:
        signature = None if enter is None else inspect.signature(enter)
    except (TypeError, ValueError):  # a builtin
        signature = None
    try:
        if signature is not None:
            signature.bind(None, None, None)
    except TypeError:
        raise ValueError(f"enter takes (env, state, rng), and this function takes {signature}") from None
    return enter  # type: ignore[no-any-return]


class NoTwin(ValueError):
    """A Gymnasium environment has no compiled twin; the message says why."""


@dataclass(frozen=True)
class Look:
    """A custom layout for maps of a world; chosen by ``Labels.kind``."""

    sizes: Mapping[str, int | None]  # of the axes it applies to (None: any)
    lay_out: Callable[[Map], Layout]
    places: Callable[[Labels, int], Places]  # the state of each cell, for a map of one state
    axes: Callable[[Labels], tuple[Axis, ...]] = lambda labels: labels.axes  # with names for pictures
    here: Callable[[Map], Layout] | None = None  # a map for every action; None: by the axes

    def fits(self, labels: Labels) -> bool:
        """Whether labels have the axes it applies to."""
        sizes = [(axis.name, axis.size) for axis in labels.axes]
        return [name for name, _ in sizes] == [*self.sizes] and all(
            self.sizes[name] in (None, size) for name, size in sizes
        )


@dataclass(frozen=True)
class Adapter:
    """What whatfor knows about one environment; fields may be None."""

    name: str  # of Gymnasium's class
    actions: tuple[str, ...]
    labels: Callable[[Any], Labels] | None = None  # of (env.unwrapped): names of its states
    bin_labels: Callable[[Sequence[NDArray[np.float64]]], Labels | None] | None = None  # of the edges of its bins
    twin: Callable[[Any, Labels, int | None], World] | None = None  # its compiled twin; raises NoTwin
    enter: Callable[[Any, Labels], Enter | None] | None = (
        None  # of (env.unwrapped, labels): a function that enters a state by index
    )
    enter_observation: Enter | None = None  # enters the state that an observation shows
    discovery: Callable[[Any, tuple[str, ...]], Discovery] | None = (
        None  # of (env, names of its actions): how its states are discovered
    )
    dimensions: tuple[str, ...] = ()  # names of the numbers of an observation
    kind: str = ""  # of the labels
    look: Look | None = None


def cells_of(states: NDArray[np.int64]) -> Cells:
    """States as the cells of one grid."""
    return tuple(tuple(int(state) for state in row) for row in states)
