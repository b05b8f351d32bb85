"""Adapter: what whatfor knows of one environment; one file for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.labels import Labels
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Layout
from whatfor.worlds.world import World

#: Puts an environment that was just reset into a state: given by its index or, for an agent that acts on observations,
#: as a situation, with ``index`` and ``observation``.
Enter = Callable[[Any, Any, np.random.Generator], None]
#: A state for every cell of a grid, -1 where there is none; where there are several panels, or a board's two layers, one for each.
Cells = tuple[tuple[int, ...], ...]
Places = Cells | tuple[Cells, ...] | None


class NoTwin(ValueError):
    """Why a Gymnasium environment has no compiled twin."""


@dataclass(frozen=True)
class Look:
    """How maps of a world are laid out where their axes alone say too little; by ``Labels.kind``."""

    sizes: Mapping[str, int | None]  # of the axes that it is for (None: any)
    lay_out: Callable[[Map], Layout]
    places: Callable[[Labels, int], Places]  # the states that the cells stand for, of a map of one state
    axes: Callable[[Labels], tuple[Axis, ...]] = lambda labels: labels.axes  # named as pictures name them

    def fits(self, labels: Labels) -> bool:
        """Whether labels have the axes that it is for."""
        sizes = [(axis.name, axis.size) for axis in labels.axes]
        return [name for name, _ in sizes] == [*self.sizes] and all(
            self.sizes[name] in (None, size) for name, size in sizes
        )


@dataclass(frozen=True)
class Adapter:
    """What is known of an environment; ``None``: nothing, and whatfor does without."""

    name: str  # of Gymnasium's class
    actions: tuple[str, ...]
    labels: Callable[[Any], Labels] | None = None  # of (env.unwrapped): names of what it shows
    bin_labels: Callable[[Sequence[NDArray[np.float64]]], Labels | None] | None = None  # of the edges of bins over it
    twin: Callable[[Any, Labels, int | None], World] | None = None  # its compiled twin; raises NoTwin
    enter: Callable[[Any, Labels], Enter | None] | None = None  # of (env.unwrapped, labels): into a state by its index
    enter_observation: Enter | None = None  # into what an observation shows
    kind: str = ""  # of the labels
    look: Look | None = None


def cells_of(states: NDArray[np.int64]) -> Cells:
    """States as the cells of one grid."""
    return tuple(tuple(int(state) for state in row) for row in states)
