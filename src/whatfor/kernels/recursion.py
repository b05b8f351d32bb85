"""The update recursion: the target of an update, and how it changes a cell.

    target_i  =  c_i + g_i * ((1 - l_i) * T[j_i] + l_i * target_{i-1})
    T[k_i]   <-  T[k_i] + a_i * (target_i - T[k_i])

Learners, the forward fold and the tests all call these two functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import inlined

# A negative ``source`` is a code: there is no bootstrap cell, and the code says why.
NOT_ENDED = 0  # only in worlds: the transition does not end the episode
NO_BOOTSTRAP = -1  # the target uses only the target of the line before
TIMED_OUT = -2  # a time limit, treated as an end
TERMINATED = -3  # the environment ended the episode; lower codes are endings with a name


@inlined
def ending_place(code: int) -> int:
    """The position of an ending code in a ledger's list of names, and the code of a position.

    >>> ending_place(TIMED_OUT), ending_place(TERMINATED), ending_place(2)
    (0, 1, -4)
    """
    return TIMED_OUT - code


class LedgerLines(NamedTuple):
    """Updates as columns, in the order in which they were applied.

    ``step_size``, ``discount`` and ``lambda_`` may have one entry instead of n: it holds for all lines.
    """

    cell: NDArray[np.int32]  # (n,)       k: the cell that changed
    source: NDArray[np.int32]  # (n,)     j: the cell bootstrapped from, or a code
    reward: NDArray[np.float64]  # (n,)   r
    step_size: NDArray[np.float64]  # (n,) or (1,)   a
    discount: NDArray[np.float64]  # (n,) or (1,)    g; taken as 0 where the episode ended
    lambda_: NDArray[np.float64]  # (n,) or (1,)       λ


@inlined
def target(cumulant: float, discount: float, lambda_: float, bootstrap: float, previous: float) -> float:
    """The target of an update.

    >>> target(1.0, 0.5, 0.0, 10.0, 0.0)
    6.0
    """
    return cumulant + discount * ((1.0 - lambda_) * bootstrap + lambda_ * previous)


@inlined
def moved(value: float, target: float, step_size: float) -> float:
    """The value of a cell after an update.

    >>> moved(2.0, 6.0, 0.25)
    3.0
    """
    return value + step_size * (target - value)


@inlined
def visit_step(tries: int, power: float) -> float:
    """The step size of a cell's update number ``tries``, counted from 1, with ``visit_count(power)``.

    >>> visit_step(4, 1.0), visit_step(4, 0.5)
    (0.25, 0.5)
    """
    return 1.0 / (float(tries) if power == 1.0 else float(tries) ** power)


@inlined
def mask(column: NDArray[np.float64]) -> int:
    """``column[i & mask(column)]`` is line i of a column, also if the column has a single entry."""
    return -1 if len(column) > 1 else 0


@inlined
def line_at(lines: LedgerLines, i: int, a_mask: int, g_mask: int, l_mask: int) -> tuple[int, int, float, float, float]:
    """Line i: cell, source, step size, discount (0 where the episode ended), λ."""
    source = lines.source[i]
    discount = lines.discount[i & g_mask] if source >= NO_BOOTSTRAP else 0.0
    return lines.cell[i], source, lines.step_size[i & a_mask], discount, lines.lambda_[i & l_mask]
