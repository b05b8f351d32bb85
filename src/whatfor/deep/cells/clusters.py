"""Clusters of the observations that an agent visited."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.deep.cells.common import Partition, names_of_actions
from whatfor.labels import Labels
from whatfor.needed import need


@dataclass(frozen=True)
class Clusters:
    """``n`` clusters of the observations that the agent visited, by scikit-learn's KMeans; each number is scaled by its spread.

    >>> visited = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> cells = Clusters(2).partition(spaces.Box(-9, 9, (1,)), None, visited)
    >>> len(set(cells.index(visited).tolist()))
    2
    """

    n: int
    seed: int = 0

    def partition(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Partition:
        """The cells of an environment's observations."""
        if self.n < 1:
            raise ValueError(f"Clusters({self.n}): ask for at least one")
        need("sklearn", "scikit-learn", "deep")
        from sklearn.cluster import KMeans

        size = math.prod(space.shape or ())  # reshape() cannot infer it from no observations
        points = np.asarray(visited, np.float64).reshape(len(visited), size)
        different = len(np.unique(points, axis=0))
        if different < self.n:
            raise ValueError(
                f"{self.n} clusters need at least as many different observations; the agent has visited {different}: "
                "ask for fewer, or start learning later (learning_starts=); in a custom training loop, pass some (visited=)"
            )
        spread = np.maximum(points.std(axis=0), 1e-12)
        fitted = KMeans(self.n, random_state=self.seed, n_init=1).fit(points / spread)
        centres = fitted.cluster_centers_ * spread
        nearest = [int((((points - centre) / spread) ** 2).sum(axis=1).argmin()) for centre in centres]
        return partition_by_centres(centres, spread, np.asarray(visited)[nearest], space, names_of_actions(env))


def partition_by_centres(
    centres: NDArray[np.float64],
    spread: NDArray[np.float64],
    examples: NDArray[Any],
    space: spaces.Space[Any],
    actions: tuple[str, ...],
) -> Partition:
    """Cells of the observations nearest to each centre; ``examples``: the observation that represents each."""
    _check_centres(centres, spread, examples, space)
    scaled, lengths = centres / spread, ((centres / spread) ** 2).sum(axis=1)

    def index(observations: NDArray[Any]) -> NDArray[np.int64]:
        try:
            with np.errstate(over="raise", invalid="raise"):
                flat = np.asarray(observations, np.float64).reshape(len(observations), -1) / spread
                return np.asarray((lengths - 2.0 * flat @ scaled.T).argmin(axis=1), np.int64)
        except FloatingPointError:
            raise ValueError("an observation is too far from every cluster to find the nearest one") from None

    words = tuple(f"{n} around ({', '.join(f'{x:.2g}' for x in centre[:6])})" for n, centre in enumerate(centres))
    labels = Labels((Axis("cluster", len(centres), words),), actions)
    arrays = {"centres": centres, "spread": spread, "examples": examples}
    return Partition(labels, space, index, lambda cell: examples[cell], False, "clusters", arrays=arrays)


def _check_centres(
    centres: NDArray[np.float64], spread: NDArray[np.float64], examples: NDArray[Any], space: spaces.Space[Any]
) -> None:
    shape = space.shape or ()
    size, finite = math.prod(shape), np.isfinite(centres).all() and np.isfinite(spread).all()
    if centres.shape != (len(examples), size) or spread.shape != (size,) or examples.shape[1:] != shape or not finite:
        raise ValueError(f"the centres of clusters do not fit observations of {space}")
    if (spread <= 0.0).any():
        raise ValueError("the spread of clusters must be above zero")
