"""One cell for each countable observation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.deep.cells.common import (
    MAX_CELLS,
    Partition,
    SpaceOnlyEnv,
    Strides,
    check_cell_count,
    names_of_actions,
)
from whatfor.labels import Labels
from whatfor.worlds.gymnasium import labels_of

#: Combinations of more bits than this are not counted: an index is an int64.
MAX_BITS = 62


@dataclass(frozen=True)
class States:
    """Every countable observation is a cell of its own.

    ``labels`` names them where a wrapper hides the environment's own names.

    >>> cells = States().partition(spaces.Discrete(3), None, np.zeros(0))
    >>> cells.index(np.array([2, 0])).tolist(), cells.whole
    ([2, 0], True)
    """

    labels: Labels | None = None

    def partition(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Partition:
        """The cells of an environment's observations."""
        sizes, start = _sizes(space)
        labels = self.labels or _labels(space, env)
        if labels.n_states != math.prod(sizes):
            raise ValueError(f"the labels name {labels.n_states} states; {space} has {math.prod(sizes)}")
        check_cell_count(labels)  # before the strides: an int64 could not hold those of too many cells
        strides = Strides(start, np.array([math.prod(sizes[i + 1 :]) for i in range(len(sizes))], np.int64))

        def index(observations: NDArray[Any]) -> NDArray[np.int64]:
            numbers = np.asarray(observations).reshape(len(observations), len(sizes)).astype(np.int64)
            return np.asarray((numbers - start) @ strides.step, np.int64)

        def representative(cell: int) -> Any:
            numbers = np.array(np.unravel_index(cell, sizes)) + start
            return np.int64(numbers[0]) if isinstance(space, spaces.Discrete) else numbers.astype(space.dtype)

        return Partition(labels, space, index, representative, True, "states", strides=strides)


def _sizes(space: spaces.Space[Any]) -> tuple[tuple[int, ...], NDArray[np.int64]]:
    """How many values each number of an observation has, and the first of them."""
    if isinstance(space, spaces.Discrete):
        return (int(space.n),), np.array([space.start], np.int64)
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return tuple(int(n) for n in space.nvec), np.asarray(space.start, np.int64)
    if isinstance(space, spaces.MultiBinary) and isinstance(space.n, int | np.integer) and space.n <= MAX_BITS:
        return (2,) * int(space.n), np.zeros(int(space.n), np.int64)
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.integer) and len(space.shape) == 1:
        sizes = tuple(int(n) for n in space.high.astype(np.int64) - space.low.astype(np.int64) + 1)
        if math.prod(sizes) <= MAX_CELLS:
            return sizes, space.low.astype(np.int64)
    raise ValueError(
        f"observations are not discrete ({space}), so divide them into cells: cells= a dictionary of concepts "
        '(e.g. {"moving left": lambda obs: obs[1] < 0}), Bins(...) or Clusters(n) of whatfor.deep'
    )


def _labels(space: spaces.Space[Any], env: gym.Env[Any, Any] | None) -> Labels:
    """The environment's own names where there are some; numbered ones elsewhere."""
    try:
        return labels_of(env if env is not None else SpaceOnlyEnv(space))
    except ValueError:
        sizes, start = _sizes(space)
        axes = tuple(Axis(f"x{i}", n, start=int(start[i])) for i, n in enumerate(sizes))
        return Labels(axes, names_of_actions(env), observed="array")
