"""Clouds of expected states over two axes, and fans of their quantiles: layouts of states that are points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whatfor.density import Density
from whatfor.layouts.map import Map, rows_of
from whatfor.layouts.shapes import Cloud, Contours, Lines, Panels, Series, Vector
from whatfor.points import Points

#: Densities are drawn from the probabilities of this many cells along each axis; kernels are at least as wide as a cell.
CELLS = 48
#: A contour encloses this share of the probability.
SHARES = (0.5, 0.9)
#: The intervals of a fan, the narrowest first.
BANDS = ((0.25, 0.75), (0.05, 0.95))
#: The share of the points that are smaller than those of full size.
FULL = 0.99
#: An action with a smaller share of the visits has no contours.
MIN_SHARE = 0.01
#: Numbers of a picture are rounded to this many significant digits.
DIGITS = 4
#: More fans than this are not drawn.
MAX_FANS = 6


def cloud_of(shown: Map, points: Points, *, least: float = 0.0) -> Cloud:
    """A map over states that are points: a dot for each, over the first two axes.

    It has contours unless numbers are signed, or sum to no more than ``least``.
    """
    numbers, over = shown.numbers.sum(axis=1), points.over((0, 1))
    unknown = shown.unknown_by_state
    if unknown is not None:
        numbers = np.where(unknown, 0.0, numbers)
    drawn = None if shown.diverging or not numbers.sum() > least else Density.of(over, np.maximum(numbers, 0.0))
    return Cloud(
        title=shown.title,
        caption=shown.caption,
        x=_rounded(over.positions[:, 0]),
        y=_rounded(over.positions[:, 1]),
        x_axis=over.names[0],
        y_axis=over.names[1],
        numbers=_rounded(numbers),
        full=_full(numbers),
        quantity=shown.quantity,
        diverging=shown.diverging,
        marked=shown.state,
        contours=None if drawn is None else _contours(drawn),
    )


def clouds_by_action(shown: Map, points: Points) -> Panels:
    """A cloud for each action that is taken later."""
    actions, least = shown.labels.actions, MIN_SHARE * float(np.abs(shown.numbers).sum())
    alone = [replace(shown, numbers=np.where(np.arange(len(actions)) == at, shown.numbers, 0.0)) for at in range(len(actions))]  # fmt: skip
    panels = tuple(replace(cloud_of(one, points, least=least), title=name, caption="") for one, name in zip(alone, actions, strict=True))  # fmt: skip
    return Panels(shown.title, shown.caption, panels, len(panels))


def clouds(densities: Mapping[str, Density], axes: Sequence[int | str] = (0, 1), title: str = "") -> Panels:
    """Densities by name, side by side over two axes.

    >>> density = Density.of(Points(("x", "y"), [[0.0, 0.0], [1.0, 1.0]], spread=[1.0, 1.0], width=0.1), [1.0, 3.0])
    >>> [cloud.numbers for cloud in clouds({"left": density}, axes=("y", "x")).panels]
    [(0.25, 0.75)]
    """
    panels = []
    for name, density in densities.items():
        over = density.marginal(*axes)
        (x, y), at = over.points.names, over.points.positions
        panels.append(Cloud(name, "", _rounded(at[:, 0]), _rounded(at[:, 1]), x, y, _rounded(over.weights), _full(over.weights), "probability", contours=_contours(over)))  # fmt: skip
    return Panels(title, "", tuple(panels), max(len(panels), 1))


def fans(title: str, caption: str, steps: Sequence[Density]) -> Panels | Lines:
    """For each axis, its median and the intervals around it after each number of steps."""
    names = steps[0].points.names[:MAX_FANS]
    drawn = tuple(_fan(name, [density.quantiles(at, _shares()) for density in steps]) for at, name in enumerate(names))
    if len(drawn) == 1:
        return replace(drawn[0], title=title, caption=caption)
    return Panels(title, caption, drawn, 2 if len(drawn) == 4 else min(len(drawn), 3), shared=False)


def _shares() -> list[float]:
    return [0.5, *(share for band in BANDS for share in band)]


def _fan(name: str, quantiles: Sequence[NDArray[np.float64]]) -> Lines:
    median, *ends = (_rounded(column) for column in np.array(quantiles).T)
    bands = zip(BANDS, ends[::2], ends[1::2], strict=True)
    series = tuple(Series(f"{100 * (high - low):.0f} %", median, lower, upper) for (low, high), lower, upper in bands)
    return Lines("", "", tuple(float(at) for at in range(len(quantiles))), series, "steps ahead", name, nested=True)


def _contours(density: Density) -> Contours:
    """The probabilities of cells in closed form, and the levels that enclose shares of the probability."""
    points = density.points
    low, high = points.positions.min(axis=0), points.positions.max(axis=0)
    room = 3.0 * np.maximum(points.kernel, (high - low) / CELLS)  # kernels are not cut off
    edges = [np.linspace(at - more, to + more, CELLS + 1) for at, to, more in zip(low, high, room, strict=True)]
    across, down = (_in_cells(points, axis, row) for axis, row in enumerate(edges))  # (S, CELLS)
    cells = down.T @ (across * density.weights[:, None])
    largest_first = np.sort(cells, axis=None)[::-1]
    within = np.searchsorted(np.cumsum(largest_first), [share * cells.sum() for share in SHARES])
    levels = tuple(float(level) for level in largest_first[np.minimum(within, cells.size - 1)])
    x, y = (_rounded(0.5 * (row[1:] + row[:-1])) for row in edges)
    return Contours(x, y, rows_of(_significant(cells)), levels, SHARES)


def _in_cells(points: Points, axis: int, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S, cells) The share of each point's kernel in each cell of an axis."""
    from scipy.special import ndtr

    width = max(float(points.kernel[axis]), float(edges[1] - edges[0]))
    return np.asarray(np.diff(ndtr((edges - points.positions[:, axis, None]) / width), axis=1))


def _full(numbers: NDArray[np.float64]) -> float:
    """A number that few points exceed: the state asked about counts as one visit, more than most others."""
    sizes = np.abs(numbers[numbers != 0.0])
    return float(f"{np.quantile(sizes, FULL):.{DIGITS}g}") if len(sizes) else 0.0


def _significant(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([float(f"{number:.{DIGITS}g}") for number in numbers.ravel()]).reshape(numbers.shape)


def _rounded(numbers: NDArray[np.float64]) -> Vector:
    return tuple(_significant(numbers).tolist())
