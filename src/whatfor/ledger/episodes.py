"""The episodes of a ledger's lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NO_BOOTSTRAP, LedgerLines


def starts_of(
    order: str, ended: NDArray[np.bool_], breaks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First line and first experience of every episode.

    Lines with an ending mark the end of their episode; ``breaks`` (line, experience) are the other starts.

    >>> starts_of("forwards", np.array([False, True, False]), np.empty((0, 2), np.int64))[0].tolist()
    [0, 2]
    """
    n = len(ended)
    breaks = breaks[breaks[:, 0] < n]
    if order == "replayed":
        if n and (len(breaks) == 0 or breaks[0, 1] > 0):  # the first start was not recorded
            breaks = np.concatenate([np.zeros((1, 2), np.int64), breaks])
        return breaks[:, 0], breaks[:, 1]
    marked = np.flatnonzero(ended)
    if order == "forwards":
        marked = marked + 1  # the ended line is the last of its episode
    starts = np.union1d(breaks[:, 0], marked) if len(breaks) else marked
    starts = starts[starts < n]
    if n and (len(starts) == 0 or starts[0] != 0):
        starts = np.concatenate([[0], starts])
    return starts, starts


def origins_of(order: str, lines: NDArray[np.int64], n: int, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The experience behind some of n lines, if lines follow the steps of their episode forwards or backwards.

    >>> origins_of("backwards", np.arange(3), 3, np.array([0, 2])).tolist()
    [1, 0, 2]
    """
    if order == "forwards":
        return lines
    ends = np.append(starts[1:], n)
    episode = np.searchsorted(starts, lines, side="right") - 1
    origins: NDArray[np.int64] = starts[episode] + ends[episode] - 1 - lines
    return origins


def learned_from(applied: NDArray[np.bool_], lines: LedgerLines) -> NDArray[np.bool_]:
    """Whether each line changed its cell, or a later one did that used its target; ``applied``: whether it did itself.

    First-visit Monte Carlo records further visits with a step size of 0: their rewards are in the return all the same.

    >>> cells, rewards, one = np.zeros(2, np.int32), np.zeros(2), np.ones(1)
    >>> lines = LedgerLines(cells, np.array([-3, -1], np.int32), rewards, np.array([0.0, 0.5]), one, one)
    >>> learned_from(np.array([False, True]), lines).tolist()
    [True, True]
    """
    if applied.all():
        return applied
    at = np.arange(len(applied))
    follows = (np.broadcast_to(lines.lambda_, len(at)) > 0.0) & (lines.source >= NO_BOOTSTRAP)
    block: NDArray[np.int64] = np.cumsum(~follows) - (
        not follows[0]
    )  # lines that each use the target of the line before
    last = np.full(int(block[-1]) + 1, -1)
    np.maximum.at(last, block[applied], at[applied])
    return np.asarray(at <= last[block])
