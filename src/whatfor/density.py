"""Density: expected states in a continuous space, as a mixture of Gaussians around states that were observed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.checks import whole
from whatfor.labels import Labels
from whatfor.points import Points, squared_distances

#: A quantile lies within this many widths of the kernel of some position; and how often the interval is halved.
MAX_WIDTHS_AWAY, HALVINGS = 40.0, 80
#: Samples for an energy distance are compared in blocks of this size.
BLOCK = 1_000

#: By the name or index of an axis, the lowest and the highest value.
Box = Mapping[int | str, tuple[float, float]]


class HasVisits(Protocol):
    """An answer with expected visits, such as an intention or a simulation."""

    @property
    def labels(self) -> Labels:
        """Names of states and actions."""

    @property
    def visits(self) -> NDArray[np.float64]:
        """(S, A)"""


@dataclass(frozen=True)
class Density:
    """A density over continuous states: a Gaussian kernel around each of the points, which are real states, by its weight.

    >>> density = Density.of(Points(("x",), [[1.0], [5.0]], spread=[1.0], width=0.5), [3.0, 1.0])
    >>> density.probability({"x": (-1.0, 3.0)}).__round__(4), density.probability(lambda obs: obs[0] > 2.0)
    (0.75, 0.25)
    >>> density.quantiles("x", [0.375]).round(6).tolist(), density.sample(3, seed=0).ravel().tolist()
    ([1.0], [1.0, 1.0, 1.0])
    """

    points: Points
    weights: NDArray[np.float64]  # (S,) they sum to 1

    @classmethod
    def of(cls, points: Points, weights: ArrayLike) -> Density:
        """From weights of any sum, such as expected visits."""
        given = np.asarray(weights, np.float64)
        if given.shape != (len(points),) or not np.isfinite(given).all() or (given < 0.0).any():
            raise ValueError(f"give a weight of at least zero to each of the {len(points):,} points")
        if not given.sum() > 0.0:
            raise ValueError("all weights are zero: no states are expected, so there is no density")
        return cls(points, given / given.sum())

    @property
    def error(self) -> float:
        """The error of the resolution: the mean distance between a real state and its point, in units of the spread."""
        return self.points.error

    def density(self, x: ArrayLike) -> Any:
        """The density at a state (D,), or at several (B, D)."""
        given = np.asarray(x, np.float64)
        at = given.reshape(-1, len(self.points.names))
        kernel = self.points.kernel
        squares = squared_distances(at / kernel, self.points.positions / kernel)
        scale = np.sqrt(2.0 * np.pi) ** len(kernel) * kernel.prod()
        found = np.exp(-0.5 * squares) @ self.weights / scale
        return float(found[0]) if given.ndim < 2 else found

    def probability(self, what: Box | Callable[[NDArray[np.float64]], Any]) -> float:
        """The probability of a box, in closed form; or of a condition on a state, by the weights of the points where it holds."""
        if callable(what):
            return float(self.weights[[bool(what(position)) for position in self.points.positions]].sum())
        inside = self.weights.copy()
        for axis, (low, high) in what.items():
            inside *= self._below(axis, high) - self._below(axis, low)
        return float(inside.sum())

    def cdf(self, axis: int | str, x: float) -> float:
        """The probability that an axis is at most ``x``."""
        return float(self._below(axis, x) @ self.weights)

    def quantiles(self, axis: int | str, shares: ArrayLike) -> NDArray[np.float64]:
        """The values of an axis below which these shares of the probability lie."""
        at, wanted = self.points.axis(axis), np.atleast_1d(np.asarray(shares, np.float64))
        if not ((wanted > 0.0) & (wanted < 1.0)).all():
            raise ValueError(f"the shares are {wanted}; each must lie between 0 and 1")
        expected = self.points.positions[self.weights > 0.0, at]
        reach = MAX_WIDTHS_AWAY * self.points.kernel[at]
        low, high = (np.full(wanted.shape, edge) for edge in (expected.min() - reach, expected.max() + reach))
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            under = np.array([self.cdf(at, float(x)) for x in middle]) < wanted
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return np.asarray(0.5 * (low + high))

    def marginal(self, *axes: int | str) -> Density:
        """The density over some of the axes."""
        return Density(self.points.over(axes), self.weights)

    def sample(self, n: int, seed: int = 0) -> NDArray[np.float64]:
        """(n, D) States drawn by their probability; each of them was observed."""
        chosen = np.random.default_rng(seed).choice(len(self.weights), size=whole("n", n, 1), p=self.weights)
        return np.asarray(self.points.positions[chosen])

    def energy_distance(self, states: ArrayLike) -> float:
        """The normalised energy distance to states (n, D): 0 if the distributions are the same, at most 1."""
        kept, other = self.weights > 0.0, np.asarray(states, np.float64).reshape(-1, len(self.points.names))
        weights = self.weights[kept], np.full(len(other), 1.0 / max(len(other), 1))
        return energy_distance(self.points.positions[kept] / self.points.spread, other / self.points.spread, *weights)

    def _below(self, axis: int | str, x: float) -> NDArray[np.float64]:
        """(S,) The share of each kernel that is at most ``x`` on an axis."""
        from scipy.special import ndtr

        at = self.points.axis(axis)
        return np.asarray(ndtr((x - self.points.positions[:, at]) / self.points.kernel[at]))


def density_of(answer: HasVisits) -> Density:
    """The density of the states that an answer expects: that of an intention or a simulation, over ``Anchors``.

    >>> from dataclasses import replace
    >>> from types import SimpleNamespace
    >>> labels = replace(Labels.plain(2, 1), points=Points(("x",), [[0.0], [1.0]], spread=[1.0], width=0.1))
    >>> answer = SimpleNamespace(labels=labels, visits=np.array([[3.0], [1.0]]))
    >>> density_of(answer).weights.tolist()
    [0.75, 0.25]
    """
    points = answer.labels.points
    if points is None:
        raise ValueError("the states of this run are not points of a continuous space: train with cells=wf.deep.Anchors(1024)")  # fmt: skip
    return Density.of(points, np.maximum(answer.visits, 0.0).sum(axis=1))


def energy_distance(
    one: NDArray[np.float64],  # (n, D)
    other: NDArray[np.float64],  # (m, D)
    one_weights: NDArray[np.float64],  # (n,) they sum to 1
    other_weights: NDArray[np.float64],  # (m,)
) -> float:
    """(2 E|X - Y| - E|X - X'| - E|Y - Y'|) / 2 E|X - Y|: 0 if two distributions are the same, at most 1.

    >>> energy_distance(np.zeros((1, 1)), np.ones((1, 1)), np.ones(1), np.ones(1))
    1.0
    """
    between = _mean_distance(one, other, one_weights, other_weights)
    within = _mean_distance(one, one, one_weights, one_weights)
    within += _mean_distance(other, other, other_weights, other_weights)
    return 0.0 if between == 0.0 else max(0.0, 1.0 - within / (2.0 * between))


def _mean_distance(
    one: NDArray[np.float64],
    other: NDArray[np.float64],
    one_weights: NDArray[np.float64],
    other_weights: NDArray[np.float64],
) -> float:
    blocks = (slice(at, at + BLOCK) for at in range(0, len(one), BLOCK))
    return float(sum(one_weights[at] @ np.sqrt(squared_distances(one[at], other)) @ other_weights for at in blocks))
