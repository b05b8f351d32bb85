"""Forwards: apply every update, in order, to tables of another quantity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import compiled
from whatfor.kernels.recursion import LedgerLines, line_at, mask, moved, target


@compiled
def fold(
    lines: LedgerLines,
    amount: NDArray[np.float64],  # (n,) or (1,): the cumulant of each line
    tables: NDArray[np.float64],  # (cells, width): changed in place
    previous: NDArray[np.float64],  # (width,): the target of the line before; changed in place
    errors: NDArray[np.float64],  # (n,), or (0,) if not needed: receives target - value of column 0
) -> float:
    """Repeat the updates for another cumulant: ``amount[i]`` at column ``cell % width``.

    Width 1 and the rewards give the values; width S*A and ones give the visits to every cell
    (the paper's belief map); width S*A and the rewards give the earnings.
    Returns the largest absolute target of column 0; with the initial values, a bound on all values of that column.
    """
    a_mask, g_mask, l_mask, c_mask = mask(lines.step_size), mask(lines.discount), mask(lines.lambda_), mask(amount)
    width = tables.shape[1]
    peak, last = 0.0, previous[0]
    for i in range(len(lines.cell)):
        k, j, a, g, lambda_ = line_at(lines, i, a_mask, g_mask, l_mask)
        cumulant = amount[i & c_mask]
        own = k % width if width > 1 else 0  # a division takes as long as the rest
        before = tables[k, 0]
        if width == 1:  # in registers
            last = target(cumulant, g, lambda_, tables[j, 0] if j >= 0 else 0.0, last)
            tables[k, 0] = moved(before, last, a)
        else:
            for x in range(width):
                added = cumulant if x == own else 0.0
                bootstrap = tables[j, x] if j >= 0 else 0.0
                previous[x] = target(added, g, lambda_, bootstrap, previous[x])
                tables[k, x] = moved(tables[k, x], previous[x], a)
            last = previous[0]
        peak = max(peak, abs(last))
        if len(errors) > 0:
            errors[i] = last - before
    previous[0] = last
    return peak
