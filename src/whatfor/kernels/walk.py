"""Backwards over the lines that carry weight only, by an index of the lines of each cell and a heap ordered by time."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import allocating, compiled, inlined
from whatfor.kernels.recursion import TIMED_OUT, LedgerLines, ending_place, line_at, mask


@compiled
def index_by_cell(
    cell: NDArray[np.int32],  # (n,)
    first: NDArray[np.int64],  # (cells + 1,): zeros; receives where each cell's lines start in order
    order: NDArray[np.int32],  # (n,): receives the lines, grouped by cell, each group in order of time
) -> None:
    """Counting sort: the lines that changed cell k are ``order[first[k]:first[k + 1]]``."""
    n_cells = len(first) - 1
    for i in range(len(cell)):
        first[cell[i] + 1] += 1
    for k in range(n_cells):
        first[k + 1] += first[k]
    for i in range(len(cell)):
        k = cell[i]
        order[first[k]] = i
        first[k] += 1
    for k in range(n_cells, 0, -1):  # each start has moved to its group's end
        first[k] = first[k - 1]
    first[0] = 0


@inlined
def lines_before(time: int, k: int, first: NDArray[np.int64], order: NDArray[np.int32]) -> int:
    """Where in ``order`` the lines of cell k before ``time`` end."""
    low, high = first[k], first[k + 1]
    while low < high:
        middle = (low + high) // 2
        if order[middle] < time:
            low = middle + 1
        else:
            high = middle
    return int(low)


@allocating
def walk(
    lines: LedgerLines,
    first: NDArray[np.int64],  # (cells + 1,)
    order: NDArray[np.int32],  # (n,) or longer: later lines are skipped
    asked: NDArray[np.int64],  # the asked cells; ``left`` has their weights
    left: NDArray[np.float64],  # (cells,): weight of the asked value on each cell; finally, on initial values
    place: NDArray[np.int64],  # (cells,): working space: the next line of each cell, as an index into order
    visits: NDArray[np.float64],  # (cells,)
    earnings: NDArray[np.float64],  # (cells,)
    endings: NDArray[np.float64],  # (endings,)
    used: NDArray[np.int64],  # (limit + 1,): receives the lines that carry weight, latest first
    weights: NDArray[np.float64],  # (limit + 1,): receives their m
    tolerance: float,
    limit: int,
) -> tuple[float, float, int]:
    """As ``scan`` for one row, visiting only lines with weight, latest first.

    A weight below ``tolerance`` is dropped. Returns the dropped weight, the sum of m * |r|, and the
    number of lines read, which is ``limit + 1`` if the walk gave up.
    """
    a_mask, g_mask, l_mask = mask(lines.step_size), mask(lines.discount), mask(lines.lambda_)
    n = len(lines.cell)
    heap = [-1 for _ in range(0)]  # times, negated: the next line of every cell with weight
    for k in asked:
        place[k] = lines_before(n, k, first, order) - 1
        if place[k] >= first[k]:
            heapq.heappush(heap, -order[place[k]])
    dropped, spread, carry, trailing, read = 0.0, 0.0, 0.0, -1, 0
    while len(heap) > 0 or trailing >= 0:
        on_top = len(heap) > 0 and -heap[0] >= trailing
        i = -heap[0] if on_top else trailing
        k = lines.cell[i]
        own = left[k] if on_top else 0.0
        passed = carry if i == trailing else 0.0
        carry, trailing = 0.0, -1
        if own + passed < tolerance:
            dropped += own + passed
            if on_top:
                left[k] = 0.0
                heapq.heappop(heap)
            continue
        read += 1
        if read > limit:
            return dropped, spread, read
        _, j, a, g, lambda_ = line_at(lines, i, a_mask, g_mask, l_mask)
        m = a * own + passed
        used[read - 1] = i
        weights[read - 1] = m
        visits[k] += m
        earnings[k] += m * lines.reward[i]
        spread += m * abs(lines.reward[i])
        if on_top:
            left[k] *= 1.0 - a
            place[k] -= 1
            if left[k] != 0.0 and place[k] >= first[k]:
                heapq.heapreplace(heap, -order[place[k]])
            else:
                heapq.heappop(heap)
        if j >= 0:
            given = g * (1.0 - lambda_) * m
            if given != 0.0:
                # A cell without weight is not in the heap, nor is one whose lines have all been read.
                if left[j] == 0.0:
                    place[j] = lines_before(i, j, first, order) - 1
                    if place[j] >= first[j]:
                        heapq.heappush(heap, -order[place[j]])
                left[j] += given
        elif j <= TIMED_OUT:
            endings[ending_place(j)] += m
        carry = g * lambda_ * m
        if carry != 0.0:
            trailing = i - 1
    return dropped, spread, read
