"""Clusters of the observations that an agent visited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.deep.cells.common import Centres, Partition, names_of_actions
from whatfor.deep.cells.nearest import check_centres, check_enough, flat, index_of_nearest
from whatfor.labels import Labels
from whatfor.needed import need
from whatfor.points import spread_of


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

        points = flat(visited, space)
        check_enough(points, self.n, "cluster")
        spread = spread_of(points)
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
    check_centres(centres, spread, examples, space, "cluster")
    nearest = Centres(centres / spread, spread)
    index = index_of_nearest(nearest, "cluster")
    words = tuple(f"{n} around ({', '.join(f'{x:.2g}' for x in centre[:6])})" for n, centre in enumerate(centres))
    labels = Labels((Axis("cluster", len(centres), words),), actions)
    arrays = {"centres": centres, "spread": spread, "examples": examples}
    return Partition(
        labels, space, index, lambda cell: examples[cell], False, "clusters", centres=nearest, arrays=arrays
    )
