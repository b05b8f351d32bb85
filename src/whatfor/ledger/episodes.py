"""The episodes of a ledger's lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
