"""What follows each update: links between the updates of a cell, ways out of loops, and steps that do not continue."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import compiled
from whatfor.kernels.recursion import (
    NO_BOOTSTRAP,
    NOT_ENDED,
    TERMINATED,
    TIMED_OUT,
    LedgerLines,
    line_at,
    mask,
    moved,
    target,
)

#: Stages of a cell in a search for ways out.
NEW, MET, OPEN = 0, 1, 2
#: Positions in the counts of ``count_jumps``.
ONWARD, ENDED, JUMPS, FIRST_JUMP = 0, 1, 2, 3


@compiled
def link_updates(
    cell: NDArray[np.int32],  # (n,)
    latest: NDArray[Any],  # (cells,): filled with -1; receives the latest line of each cell
    earlier: NDArray[Any],  # (n,): receives the line before of the same cell; -1: there is none
) -> None:
    """Link every line to the one before that changed the same cell."""
    for i in range(len(cell)):
        k = cell[i]
        earlier[i] = latest[k]
        latest[k] = i


@compiled
def find_ways_out(
    lines: LedgerLines,
    latest: NDArray[Any],  # (cells,): of link_updates
    earlier: NDArray[Any],  # (n,)
    onto: NDArray[np.int64],  # (cells,): the cell that is taken to follow where each was bootstrapped from
    stage: NDArray[np.int8],  # (cells,): NEW, or OPEN if known; changed in place
    met: NDArray[np.int64],  # (cells,): the asked cells first; working space
    asked: int,  # how many cells are asked about
    min_weight: float,  # lines with less weight in their own cell lead nowhere
    min_step: float,  # a smaller probability is no way out
    max_initial: float,  # a cell with less weight on its initial value is known
) -> bool:
    """Whether every cell that may follow the asked ones has a way out, by the latest lines of each; only then they are OPEN.

    A way out is an ending, or a cell with weight on its initial value.
    """
    a_mask, l_mask = mask(lines.step_size), mask(lines.lambda_)
    n_met = 0
    for x in range(asked):
        if stage[met[x]] == NEW:
            stage[met[x]] = MET
            met[n_met] = met[x]
            n_met += 1
    at = 0
    while at < n_met:  # all cells that may follow; those that leave at once are OPEN
        k = met[at]
        at += 1
        left, onward = 1.0, 0.0
        i = latest[k]
        while i >= 0 and left > min_weight:
            a = lines.step_size[i & a_mask]
            weight = a * left
            left *= 1.0 - a
            if weight > min_weight and lines.source[i] >= NO_BOOTSTRAP:
                along = lines.lambda_[i & l_mask]
                to = np.int64(lines.source[i])
                if to >= NOT_ENDED:
                    onward += weight * (1.0 - along)
                    to = onto[to]
                    if stage[to] == NEW:
                        stage[to] = MET
                        met[n_met] = to
                        n_met += 1
                if along > 0.0:
                    onward += weight * along
                    to = onto[lines.cell[i - 1]]
                    if stage[to] == NEW:
                        stage[to] = MET
                        met[n_met] = to
                        n_met += 1
            i = earlier[i]
        if left < max_initial:
            onward /= 1.0 - left
        if 1.0 - onward > min_step:
            stage[k] = OPEN
    closed, before = n_met, n_met + 1
    while 0 < closed < before:  # cells that lead to open ones are open
        before, closed = closed, 0
        for at in range(n_met - 1, -1, -1):
            k = met[at]
            if stage[k] == OPEN:
                continue
            left, out = 1.0, 0.0
            i = latest[k]
            while i >= 0 and left > min_weight and out < min_step:
                a = lines.step_size[i & a_mask]
                weight = a * left
                left *= 1.0 - a
                if weight > min_weight and lines.source[i] >= NO_BOOTSTRAP:
                    along = lines.lambda_[i & l_mask]
                    if lines.source[i] >= NOT_ENDED and stage[onto[lines.source[i]]] == OPEN:
                        out += weight * (1.0 - along)
                    if along > 0.0 and stage[onto[lines.cell[i - 1]]] == OPEN:
                        out += weight * along
                i = earlier[i]
            if out >= min_step:
                stage[k] = OPEN
            else:
                closed += 1
    for at in range(n_met if closed else 0):  # cells with a way out may also lead into a loop
        stage[met[at]] = NEW
    return closed == 0


@compiled
def count_jumps(
    cell: NDArray[np.int32],  # (n,): -1 where a step is not known
    source: NDArray[np.int32],  # (n,)
    state_of: NDArray[np.int32],  # (cells,): the state of each cell
    starts: NDArray[np.int64],  # (starts,): ascending; an episode starts at these lines, besides after endings
    backwards: bool,  # whether the lines of an episode are in the order from its end to its start
    counts: NDArray[np.int64],  # (4,): zeros; receives steps onward, endings, jumps, and where the first jump is
    updated: NDArray[np.bool_],  # (states,): False; receives whether a state was updated
) -> None:
    """Count the lines that do not continue in the state that the line before led to."""
    n, ahead = len(cell), -1 if backwards else 1
    place = 0
    for i in range(n):
        if cell[i] >= 0:
            updated[state_of[cell[i]]] = True
        j, after = source[i], i + ahead
        if j <= TIMED_OUT:
            counts[ENDED] += 1
        if j < NOT_ENDED:
            continue
        counts[ONWARD] += 1
        if after < 0 or after >= n or cell[after] < 0 or state_of[j] == state_of[cell[after]]:
            continue
        border = i if backwards else after  # a start here separates the line from the one that follows
        while place < len(starts) and starts[place] < border:
            place += 1
        if place == len(starts) or starts[place] != border:
            if counts[JUMPS] == 0:
                counts[FIRST_JUMP] = i
            counts[JUMPS] += 1


@compiled
def count_updates(
    cell: NDArray[np.int32],  # (n,)
    step_size: NDArray[np.float64],  # (n,) or (1,)
    counts: NDArray[np.int64],  # (cells,): zeros; receives how often each cell was updated
) -> None:
    """Count the lines of each cell that changed it; with a step size of 0, a line did not."""
    a_mask = mask(step_size)
    for i in range(len(cell)):
        if step_size[i & a_mask] > 0.0:
            counts[cell[i]] += 1


@compiled
def kinds_of_ends(
    lines: LedgerLines,
    n_actions: int,
    action: NDArray[np.int64],  # (kinds,): receives the action of each kind
    code: NDArray[np.int64],  # (kinds,): receives its ending
    reward: NDArray[np.float64],  # (kinds,): receives its reward
) -> int:
    """The number of different last lines of episodes that terminated; one more than there is room for if there are more."""
    found = 0
    for i in range(len(lines.cell)):
        if lines.source[i] > TERMINATED:
            continue
        own, j, r = lines.cell[i] % n_actions, lines.source[i], lines.reward[i]
        at = 0
        while at < found and (action[at] != own or code[at] != j or reward[at] != r):
            at += 1
        if at < found:
            continue
        if found == len(code):
            return found + 1
        action[found], code[found], reward[found] = own, j, r
        found += 1
    return found


@compiled
def count_explored(
    lines: LedgerLines,
    pairs: int,  # cells of one table
    n_actions: int,
    tables: NDArray[np.float64],  # (cells,): initial values; changed in place
) -> int:
    """How many lines follow an action that was not the best at that time, or the steps that were taken."""
    a_mask, g_mask, l_mask = mask(lines.step_size), mask(lines.discount), mask(lines.lambda_)
    previous, explored = 0.0, 0
    for i in range(len(lines.cell)):
        k, j, a, g, lambda_ = line_at(lines, i, a_mask, g_mask, l_mask)
        followed = lambda_ > 0.0 and j >= NO_BOOTSTRAP
        if j >= 0 and not followed:
            action = j % n_actions
            first = k // pairs * pairs + (j - action) % pairs  # the table that changes selects
            for other in range(n_actions):
                if tables[first + other] > tables[first + action]:
                    followed = True
        explored += followed
        previous = target(lines.reward[i], g, lambda_, tables[j] if j >= 0 else 0.0, previous)
        tables[k] = moved(tables[k], previous, a)
    return explored
