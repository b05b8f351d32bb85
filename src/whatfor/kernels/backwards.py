"""Backwards: decompose values by scanning the ledger from its end, with one weight per cell.

The weight of update i in the asked value is ``m_i``. With initial values of 0, the value is exactly the sum of
``m_i * r_i``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import compiled
from whatfor.kernels.recursion import TIMED_OUT, LedgerLines, ending_place, line_at, mask


@compiled
def scan(
    lines: LedgerLines,
    left: NDArray[np.float64],  # (cells, rows): weight of the asked values on each cell; finally, on initial values
    carry: NDArray[np.float64],  # (rows,): zeros; finally, the weight on the target before the first line
    visits: NDArray[np.float64],  # (cells, rows): receives the sum of m
    earnings: NDArray[np.float64],  # (cells, rows): receives the sum of m * r
    endings: NDArray[np.float64],  # (endings, rows): receives m of the lines that ended an episode
    weights: NDArray[np.float64],  # (n, rows), or (0, rows) if not needed: receives m
    spread: NDArray[np.float64],  # (rows,): receives the sum of m * |r|, the scale for rounding errors
) -> None:
    """Read every line once, for several asked values together."""
    a_mask, g_mask, l_mask = mask(lines.step_size), mask(lines.discount), mask(lines.lambda_)
    rows = left.shape[1]
    carrying = False
    for i in range(len(lines.cell) - 1, -1, -1):
        k = lines.cell[i]
        touched = carrying
        for row in range(rows):
            if left[k, row] != 0.0:
                touched = True
        if not touched:
            continue
        _, j, a, g, lambda_ = line_at(lines, i, a_mask, g_mask, l_mask)
        carrying = g * lambda_ != 0.0
        for row in range(rows):
            m = a * left[k, row] + carry[row]
            left[k, row] *= 1.0 - a
            visits[k, row] += m
            earnings[k, row] += m * lines.reward[i]
            spread[row] += m * abs(lines.reward[i])
            if j >= 0:
                left[j, row] += g * (1.0 - lambda_) * m
            elif j <= TIMED_OUT:
                endings[ending_place(j), row] += m
            carry[row] = g * lambda_ * m
            if len(weights) > 0:
                weights[i, row] = m


@compiled
def scan_by_depth(
    lines: LedgerLines,
    left: NDArray[np.float64],  # (cells, depths): weight of the asked value on each cell, by steps ahead
    carry: NDArray[np.float64],  # (depths,): zeros
    moved: NDArray[np.float64],  # (depths,): working space
    reached: NDArray[np.int64],  # (cells,): 1 for asked cells, else 0; the depths that may have weight
    visits: NDArray[np.float64],  # (cells, depths): receives m; the last depth sums all deeper ones
) -> None:
    """As ``scan`` for one row, with weights by steps ahead.

    A bootstrap and a λ-return each look one step further ahead.
    """
    a_mask, g_mask, l_mask = mask(lines.step_size), mask(lines.discount), mask(lines.lambda_)
    depths = left.shape[1]
    trailing = 0  # the depths of the carry that may have weight
    for i in range(len(lines.cell) - 1, -1, -1):
        k = lines.cell[i]
        deep = max(reached[k], trailing)
        if deep == 0:
            continue
        _, j, a, g, lambda_ = line_at(lines, i, a_mask, g_mask, l_mask)
        for depth in range(deep):
            moved[depth] = a * left[k, depth] + carry[depth]
            left[k, depth] *= 1.0 - a
            visits[k, depth] += moved[depth]
            carry[depth] = 0.0
        trailing = 0
        if g == 0.0:
            continue
        if j >= 0 and lambda_ < 1.0:
            reached[j] = max(reached[j], min(deep + 1, depths))
        if lambda_ > 0.0:
            trailing = min(deep + 1, depths)
        for depth in range(deep):
            ahead = min(depth + 1, depths - 1)
            if j >= 0:
                left[j, ahead] += g * (1.0 - lambda_) * moved[depth]
            carry[ahead] += g * lambda_ * moved[depth]


@compiled
def scan_bootstraps(
    lines: LedgerLines,
    read: NDArray[np.bool_],  # (n,): the lines whose bootstraps are averaged
    share: float,  # the weight of each
    left: NDArray[np.float64],  # (cells,): zeros; changed in place
    weights: NDArray[np.float64],  # (n,): receives the weight of each line
) -> None:
    """The weight of every line in the mean of the discounted values that some lines bootstrapped from; without λ-returns."""
    a_mask, g_mask, l_mask = mask(lines.step_size), mask(lines.discount), mask(lines.lambda_)
    for i in range(len(lines.cell) - 1, -1, -1):
        k, j, a, g, _ = line_at(lines, i, a_mask, g_mask, l_mask)
        m = a * left[k]
        left[k] *= 1.0 - a
        weights[i] = m
        if j >= 0:
            left[j] += g * (m + share if read[i] else m)
