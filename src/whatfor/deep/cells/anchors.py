"""Anchors: observations that the agent made, over which beliefs are a density of continuous states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.axes import Axis
from whatfor.checks import whole
from whatfor.deep.cells.common import Centres, Partition, names_of_actions
from whatfor.deep.cells.nearest import check_centres, check_enough, flat, index_of_nearest
from whatfor.labels import Labels
from whatfor.points import Points, fit_width, spread_of
from whatfor.worlds.gymnasium import dimension_names

#: Visited observations are divided into this many blocks, and every so many blocks one is held out.
BLOCKS, HELD_OUT = 40, 4
#: The most observations that anchors are chosen from, and that their kernel is fitted to.
MAX_CHOSEN_FROM, MAX_FITTED = 50_000, 2_000
#: The most numbers of an anchor that its words state.
MAX_WORDED = 6


@dataclass(frozen=True)
class Anchors:
    """``n`` observations that the agent made, spread over all that it visited; beliefs over them are a density of states.

    A quarter of the visited observations is held out. Anchors are chosen from the others, as the first centres of k-means++ are: the
    further an observation is from all anchors so far, the likelier it is the next, so that rare regions are covered, too.
    Each number is scaled by its spread. The width of the kernel around anchors is the likeliest for what was held out.

    >>> visited = np.random.default_rng(0).normal(size=(400, 2))
    >>> cells = Anchors(50).partition(spaces.Box(-9, 9, (2,)), None, visited)
    >>> cells.labels.n_states, bool((visited == cells.representative(7)).all(axis=1).any()), cells.labels.points.names
    (50, True, ('x0', 'x1'))
    """

    n: int = 1024
    seed: int = 0

    def partition(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Partition:
        """The cells of an environment's observations: those nearest to each anchor."""
        whole("Anchors(n)", self.n, 1)
        if not isinstance(space, spaces.Box):
            raise ValueError(f"anchors are for continuous observations, a Box; these are {space}")
        observations, rng = np.asarray(visited), np.random.default_rng(self.seed)
        rows = flat(observations, space)
        kept, held_out = _split(len(rows))
        chosen_from = _some(kept, MAX_CHOSEN_FROM, rng)
        check_enough(rows[chosen_from], self.n, "anchor", ", not counting a quarter that is held out")
        spread = spread_of(rows)
        anchors = chosen_from[_spread_out(rows[chosen_from] / spread, self.n, rng)]
        examples, index = observations[anchors], index_of_nearest(Centres(rows[anchors] / spread, spread), "anchor")
        counts = np.bincount(index(rows[chosen_from]), minlength=self.n).astype(np.float64)
        fitted_to = rows[_some(held_out if len(held_out) else kept, MAX_FITTED, rng)]  # of three, none is held out
        distances = np.sqrt((((fitted_to - rows[anchors][index(fitted_to)]) / spread) ** 2).sum(axis=1))
        width = fit_width(rows[anchors], counts, fitted_to, spread)
        names = dimension_names(env, rows.shape[1])
        points = Points(names, rows[anchors], spread=spread, width=width, error=float(distances.mean()))
        return _partition(points, examples, space, labels_of_anchors(points, names_of_actions(env)))


def labels_of_anchors(points: Points, actions: tuple[str, ...]) -> Labels:
    """Labels of anchors, with their numbers as words.

    >>> points = Points(("position", "velocity"), [[-0.5, 0.0123]], spread=[1.0, 1.0], width=0.1)
    >>> labels_of_anchors(points, ("go",)).words(0)
    'anchor 0 (position -0.5, velocity 0.012)'
    """
    words = tuple(f"{at} ({_words(points.names, row)})" for at, row in enumerate(points.positions))
    return Labels((Axis("anchor", len(points), words),), actions, points=points)


def partition_by_anchors(
    arrays: Sequence[NDArray[Any]], dimensions: Sequence[str], space: spaces.Space[Any], labels: Labels
) -> Partition:
    """The cells of a saved network; ``arrays``: those that ``ARRAYS`` names."""
    examples, spread, kernel = arrays
    if (
        examples.dtype != space.dtype
        or spread.dtype != np.float64
        or kernel.dtype != np.float64
        or kernel.shape != (2,)
    ):
        raise ValueError(f"the numbers of its anchors do not fit observations of {space}")
    if len(set(dimensions)) != len(dimensions):
        raise ValueError("two dimensions of its observations have the same name")
    rows, (width, error) = flat(examples, space), kernel.tolist()
    check_centres(rows, spread, examples, space, "anchor")
    if len(rows) != labels.n_states:
        raise ValueError(f"it has {len(rows)} anchors; its labels name {labels.n_states}")
    return _partition(Points(dimensions, rows, spread=spread, width=width, error=error), examples, space, labels)


#: The arrays that a partition by anchors is saved as.
ARRAYS = ("examples", "spread", "kernel")


def _partition(points: Points, examples: NDArray[Any], space: spaces.Space[Any], labels: Labels) -> Partition:
    centres = Centres(points.positions / points.spread, points.spread)
    return Partition(
        replace(labels, points=points),
        space,
        index_of_nearest(centres, "anchor"),
        lambda cell: examples[cell],
        False,
        "anchors",
        centres=centres,
        arrays={"examples": examples, "spread": points.spread, "kernel": np.array([points.width, points.error])},
    )


def _split(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Observations that are kept and held out, in blocks: the neighbours of an observation in an episode are too much like it."""
    block = np.arange(n) * min(BLOCKS, n) // max(n, 1)
    held_out = block % HELD_OUT == HELD_OUT - 1
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def _some(places: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return places if len(places) <= n else np.sort(rng.choice(places, size=n, replace=False))


def _spread_out(points: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(n,) Different points, each drawn with a probability that grows with its squared distance to those before."""
    chosen = [int(rng.integers(len(points)))]
    nearest = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < n:
        chosen.append(int(rng.choice(len(points), p=nearest / nearest.sum())))
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen, np.int64)


def _words(names: Sequence[str], row: NDArray[np.float64]) -> str:
    more = ", ..." if len(names) > MAX_WORDED else ""
    return ", ".join(f"{name} {x:.2g}" for name, x in list(zip(names, row.tolist(), strict=True))[:MAX_WORDED]) + more
