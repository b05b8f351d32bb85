"""Relearning: apply recorded updates again, with the choices that a learner would make on the way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import compiled, inlined
from whatfor.kernels.recursion import LedgerLines, line_at, mask, moved, target, visit_step


@inlined
def chosen_again(tables: NDArray[np.float64], recorded: int, first: int, n_actions: int) -> int:
    """The greedy action of the row that starts at cell ``first``; of equal ones the recorded one, else the lowest."""
    best = 0
    for action in range(1, n_actions):
        if tables[first + action] > tables[first + best]:
            best = action
    return recorded if tables[first + recorded] == tables[first + best] else best


@compiled
def relearn(
    lines: LedgerLines,
    deleted: NDArray[np.bool_],  # (n,): lines that change nothing and count for nothing
    choosing: bool,  # whether the learner bootstraps from its greedy action
    power: float,  # > 0: step sizes are 1 / count ** power, counted again
    pairs: int,  # cells of one table
    n_actions: int,
    tables: NDArray[np.float64],  # (cells,): initial values; changed in place
    tries: NDArray[np.int64],  # (cells,): zeros; changed in place
    source: NDArray[np.int32],  # (n,): receives the cell bootstrapped from, or the recorded code
    step_size: NDArray[np.float64],  # (n,): receives the step size
) -> None:
    """Apply the lines in their order: pair, reward, table and λ as recorded, bootstrap action and counted step size anew.

    The table that a line changes selects the action; the table that it was recorded to bootstrap from evaluates it.
    """
    a_mask, g_mask, l_mask = mask(lines.step_size), mask(lines.discount), mask(lines.lambda_)
    previous = 0.0
    for i in range(len(lines.cell)):
        k, j, a, g, lambda_ = line_at(lines, i, a_mask, g_mask, l_mask)
        if choosing and j >= 0:
            recorded = j % n_actions
            first = j - recorded
            j = first + chosen_again(tables, recorded, k // pairs * pairs + first % pairs, n_actions)
        if deleted[i]:
            a = 0.0
        elif power > 0.0:
            tries[k] += 1
            a = visit_step(tries[k], power)
        bootstrap = tables[j] if j >= 0 else 0.0
        previous = target(lines.reward[i], g, lambda_, bootstrap, previous)
        tables[k] = moved(tables[k], previous, a)
        source[i] = j
        step_size[i] = a
