"""Bins of continuous observations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.deep.cells.common import Partition, SpaceOnlyEnv, check_cell_count
from whatfor.labels import Labels
from whatfor.worlds.gymnasium import labels_of
from whatfor.worlds.making import binned


@dataclass(frozen=True)
class Bins:
    """Gymnasium's own bins of a continuous observation.

    >>> cells = Bins((2, 3), bounds=[(0.0, 1.0), (-1.0, 1.0)]).partition(spaces.Box(-9, 9, (2,)), None, np.zeros(0))
    >>> cells.index(np.array([[0.2, 0.9]])).tolist(), cells.labels.words(2)
    ([2], 'x0 less than 0.5; x1 0.33 or more')
    """

    bins: int | Sequence[int]
    bounds: Sequence[tuple[float, float]] | None = None

    def partition(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Partition:
        """The cells of an environment's observations."""
        labels = labels_of(binned(env if env is not None else SpaceOnlyEnv(space), self.bins, self.bounds))
        return partition_by_bins(check_cell_count(labels), space)


def partition_by_bins(labels: Labels, space: spaces.Space[Any]) -> Partition:
    """Cells from labels whose axes have edges."""
    fits = isinstance(space, spaces.Box) and len(labels.axes) == math.prod(space.shape)
    rising = all(len(axis.edges) == axis.size + 1 and (np.diff(axis.edges) > 0.0).all() for axis in labels.axes)
    if not fits or not rising or labels.observed != "bins":
        raise ValueError(f"the labels are not of bins of {space}")

    def representative(cell: int) -> Any:
        return np.asarray(labels.observation(cell), space.dtype)

    return Partition(labels, space, labels.indices, representative, False, "bins")
