"""Which state a cell of a map stands for, so that one can point at it."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from numpy.typing import NDArray

from whatfor.labels import Labels
from whatfor.layouts import blackjack, cartpole, facets

#: A state for every cell of a grid, -1 where there is none; a grid for every panel, where there are several.
Cells = tuple[tuple[int, ...], ...]
Places = Cells | tuple[Cells, ...] | None


def places_of(labels: Labels, state: int) -> Places:
    """The states that the cells of ``map_of(labels, ..., state=state)`` stand for; None: that layout has no cells.

    Where a cell stands for many states, it is the one that is like the given state otherwise.

    >>> from whatfor.worlds.taxi import LABELS
    >>> places_of(LABELS, 68)[0], LABELS.words(68)
    ((8, 28, 48, 68, 88), 'taxi at row 0, column 3; passenger at Y; destination R')
    """
    states, at = np.arange(labels.n_states).reshape(labels.shape), labels.values(state)
    if labels.kind == "taxi":
        return _cells(states[:, :, at[2], at[3]])
    if labels.kind == "blackjack":
        hands = [_cells(states[:, :, ace][np.ix_(blackjack.SUMS[ace], blackjack.CARDS)]) for ace in range(2)]
        return tuple(cells for cells in hands for _ in labels.actions)
    if labels.kind == "cartpole" and math.prod(labels.shape[:2]) > cartpole.MOST_FACETS:
        return tuple(_cells(states[at[:2]]) for _ in labels.actions)
    if len(labels.axes) == 2:
        return _cells(states)
    leads = labels.shape[:-2]
    if len(labels.axes) > 2 and (labels.kind == "cartpole" or math.prod(leads) <= facets.MOST_FACETS):
        return tuple(_cells(states[lead]) for lead in product(*(range(size) for size in leads)))
    return None


def _cells(states: NDArray[np.int64]) -> Cells:
    return tuple(tuple(int(state) for state in row) for row in states)
