"""Points: where states lie in a continuous space, and the kernel that makes weights of them a density."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: The range of the factor between the spread of an axis and the width of the kernel on it.
MIN_WIDTH, MAX_WIDTH = 1e-3, 10.0
#: The factors that are compared before the best one is refined, and how often it is.
WIDTHS, REFINEMENTS = 33, 30


class Points:
    """The position of every state, with a Gaussian kernel: its width on an axis is ``width`` times the spread of that axis.

    ``error``: the mean distance between observations that were held out and their nearest position, in units of the spread.

    >>> points = Points(("x", "y"), [[0.0, 0.0], [1.0, 2.0]], spread=[0.5, 1.0], width=0.2, error=0.1)
    >>> len(points), points.kernel.tolist(), points.axis("y")
    (2, [0.1, 0.2], 1)
    """

    def __init__(
        self, names: Sequence[str], positions: object, *, spread: object, width: float, error: float = 0.0
    ) -> None:
        self.names = tuple(names)
        self.positions: NDArray[np.float64] = np.asarray(positions, np.float64)  # (S, D)
        self.spread: NDArray[np.float64] = np.asarray(spread, np.float64)  # (D,)
        self.width, self.error = float(width), float(error)
        if self.positions.ndim != 2 or self.positions.shape[1] != len(self.names) or not len(self.positions):
            raise ValueError(f"positions have the shape {self.positions.shape}; there are {len(self.names)} axes")
        if self.spread.shape != (len(self.names),) or not (self.spread > 0.0).all():
            raise ValueError(f"the spread is {self.spread}; give a number above zero for each axis")
        finite = all(np.isfinite(one).all() for one in (self.positions, self.spread, self.error))
        if not finite or not MIN_WIDTH <= self.width <= MAX_WIDTH or self.error < 0.0:
            raise ValueError("the positions of states or the width of their kernel are impossible")

    def __len__(self) -> int:
        return len(self.positions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Points):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.names, self.positions.tobytes(), self.spread.tobytes(), self.width, self.error

    @property
    def kernel(self) -> NDArray[np.float64]:
        """(D,) The standard deviation of the kernel on each axis."""
        return np.asarray(self.width * self.spread)

    def axis(self, axis: int | str) -> int:
        """The index of an axis given by its name or index."""
        if isinstance(axis, str) and axis in self.names:
            return self.names.index(axis)
        if isinstance(axis, str) or not 0 <= axis < len(self.names):
            raise ValueError(f"there is no axis {axis!r}; the axes are {', '.join(self.names)}, or 0 to {len(self.names) - 1}")  # fmt: skip
        return axis

    def over(self, axes: Sequence[int | str]) -> Points:
        """The same states on some of the axes."""
        at = [self.axis(axis) for axis in axes]
        names = [self.names[one] for one in at]
        return Points(names, self.positions[:, at], spread=self.spread[at], width=self.width, error=self.error)


def spread_of(observations: NDArray[np.float64]) -> NDArray[np.float64]:
    """(D,) The standard deviation of each number of observations (n, D); 1 for a number that does not vary.

    >>> spread_of(np.array([[0.0, 3.0], [2.0, 3.0]])).tolist()
    [1.0, 1.0]
    """
    spread = observations.std(axis=0)
    varies = spread > 1e-9 * np.abs(observations).max(axis=0)  # rounding alone is no spread
    return np.asarray(np.where(varies, spread, 1.0))


def fit_width(
    positions: NDArray[np.float64],  # (S, D)
    weights: NDArray[np.float64],  # (S,)
    held_out: NDArray[np.float64],  # (n, D)
    spread: NDArray[np.float64],  # (D,)
) -> float:
    """The kernel's width, in units of the spread, that gives observations that were held out the highest likelihood.

    >>> generator = np.random.default_rng(0)
    >>> fit_width(np.zeros((1, 1)), np.ones(1), generator.normal(0.0, 0.5, (2_000, 1)), np.ones(1)).__round__(1)
    0.5
    """
    with np.errstate(divide="ignore"):
        logs = np.log(weights / weights.sum())
    squares = squared_distances(held_out / spread, positions / spread)

    def likelihood(log_width: float) -> float:
        return float(_log_sums(logs - 0.5 * squares * np.exp(-2.0 * log_width)).mean()) - log_width * len(spread)

    grid = np.linspace(np.log(MIN_WIDTH), np.log(MAX_WIDTH), WIDTHS)
    best = int(np.argmax([likelihood(float(at)) for at in grid]))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, WIDTHS - 1)])
    for _ in range(REFINEMENTS):  # thirds: the likelihood has one maximum between them
        one, two = low + (high - low) / 3.0, high - (high - low) / 3.0
        low, high = (one, high) if likelihood(one) < likelihood(two) else (low, two)
    return float(np.clip(np.exp(0.5 * (low + high)), MIN_WIDTH, MAX_WIDTH))


def squared_distances(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, m) Squared distances between two sets of points; not by a product of matrices, which loses small ones."""
    squares = np.zeros((len(one), len(other)))
    for axis in range(one.shape[1]):
        squares += (one[:, axis, None] - other[None, :, axis]) ** 2
    return squares


def _log_sums(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) The logarithm of the sum of the exponentials of each row."""
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))
