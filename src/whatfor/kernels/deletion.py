"""Deletion: what a value loses if updates, or whole episodes, are deleted and the rest is replayed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import compiled
from whatfor.kernels.recursion import LedgerLines, line_at, mask, moved, target


@compiled
def delete_each(
    lines: LedgerLines,
    errors: NDArray[np.float64],  # (n,): the target of each update less the value before it
    starts: NDArray[np.int64],  # (blocks + 1,): where each block of lines starts, and n
    left: NDArray[np.float64],  # (cells,): weight of the asked value on each cell; changed in place
    by_line: NDArray[np.float64],  # (n,): receives what deleting the line takes away
    by_block: NDArray[np.float64],  # (blocks,): receives what deleting the block takes away; NaN: see below
) -> None:
    """What deleting each line and each block of lines takes away from the asked value, by one pass backwards.

    Deleting line i takes away its step size times the weight of its *cell* just after it times its error: a target
    that later lines use is the same without the step. Deleting a block takes away the change of the table over the
    block times the weights just after it. NaN: a later line uses the target of the block's last line.
    """
    a_mask, g_mask, l_mask = mask(lines.step_size), mask(lines.discount), mask(lines.lambda_)
    carry = 0.0
    for block in range(len(starts) - 2, -1, -1):
        taken = 0.0
        for i in range(starts[block], starts[block + 1]):
            taken += lines.step_size[i & a_mask] * left[lines.cell[i]] * errors[i]
        by_block[block] = taken if carry == 0.0 else np.nan
        for i in range(starts[block + 1] - 1, starts[block] - 1, -1):
            k, j, a, g, lambda_ = line_at(lines, i, a_mask, g_mask, l_mask)
            own = a * left[k]
            by_line[i] = own * errors[i]
            left[k] *= 1.0 - a
            if j >= 0:
                left[j] += g * (1.0 - lambda_) * (own + carry)
            carry = g * lambda_ * (own + carry)


@compiled
def fold_without(
    lines: LedgerLines,
    group: NDArray[np.int32],  # (n,): the column in which each line is deleted; -1: in none
    tables: NDArray[np.float64],  # (cells, groups): initial values; changed in place
    previous: NDArray[np.float64],  # (groups,): zeros; working space
) -> None:
    """Repeat the updates once for each group of lines, without that group: its step sizes are 0."""
    a_mask, g_mask, l_mask = mask(lines.step_size), mask(lines.discount), mask(lines.lambda_)
    for i in range(len(lines.cell)):
        k, j, a, g, lambda_ = line_at(lines, i, a_mask, g_mask, l_mask)
        for x in range(tables.shape[1]):
            bootstrap = tables[j, x] if j >= 0 else 0.0
            previous[x] = target(lines.reward[i], g, lambda_, bootstrap, previous[x])
            if group[i] != x:
                tables[k, x] = moved(tables[k, x], previous[x], a)


@compiled
def delete_blocks(
    lines: LedgerLines,
    errors: NDArray[np.float64],  # (n,): as in ``delete_each``
    starts: NDArray[np.int64],  # (blocks + 1,)
    left: NDArray[np.float64],  # (cells, rows): weight of each asked value on each cell; changed in place
    carry: NDArray[np.float64],  # (rows,): zeros; working space
    by_block: NDArray[np.float64],  # (blocks, rows): zeros; receives what deleting the block takes away; NaN: as there
) -> None:
    """As ``delete_each`` for several asked values together, and for blocks only."""
    a_mask, g_mask, l_mask = mask(lines.step_size), mask(lines.discount), mask(lines.lambda_)
    rows = left.shape[1]
    for block in range(len(starts) - 2, -1, -1):
        for i in range(starts[block], starts[block + 1]):
            moved_by = lines.step_size[i & a_mask] * errors[i]
            for row in range(rows):
                by_block[block, row] += left[lines.cell[i], row] * moved_by
        for row in range(rows):
            if carry[row] != 0.0:
                by_block[block, row] = np.nan
        for i in range(starts[block + 1] - 1, starts[block] - 1, -1):
            k, j, a, g, lambda_ = line_at(lines, i, a_mask, g_mask, l_mask)
            for row in range(rows):
                m = a * left[k, row] + carry[row]
                left[k, row] *= 1.0 - a
                if j >= 0:
                    left[j, row] += g * (1.0 - lambda_) * m
                carry[row] = g * lambda_ * m
