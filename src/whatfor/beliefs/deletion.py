"""What a value would be without some of its experience: deleted from the ledger, and the rest replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.deletion import delete_blocks, delete_each, fold_without
from whatfor.ledger import Ledger

#: Episodes whose updates are scattered by replay are estimated; the largest estimates, this many, are replayed exactly.
MAX_REPLAYED = 50
#: The most cells of all tables that are replayed at once.
MAX_CELLS = 1 << 24


class Deletion(NamedTuple):
    """What deleting updates, or all updates of an episode, takes away from a value."""

    updates: NDArray[np.float64]  # (n,)
    episodes: NDArray[np.float64]  # (episodes,)
    exact: NDArray[np.bool_]  # (episodes,) False: an estimate, the sum over single updates


def deletion(ledger: Ledger, cells: NDArray[np.int64], errors: NDArray[np.float64]) -> Deletion:
    """Delete each update and each episode from the mean value of some cells; ``errors``: the TD error of every update.

    >>> ledger = Ledger(n_states=1, n_actions=1)
    >>> ledger.record(0, 0, 0.0, None, step_size=0.5, discount=1.0)
    >>> ledger.record(0, 0, 1.0, 0, 0, step_size=0.5, discount=1.0)
    >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
    >>> deletion(ledger, np.array([0]), np.array([0.0, 1.0, 0.5])).episodes.tolist()
    [0.0, 0.75]
    """
    replayed, n = ledger.order == "replayed", len(ledger)
    starts = np.array([0, n]) if replayed else np.append(ledger.episode_starts, n)
    left, updates, episodes = np.zeros(ledger.n_cells), np.empty(n), np.empty(len(starts) - 1)
    left[cells] = 1.0 / len(cells)
    delete_each(ledger.lines, errors, starts, left, updates, episodes)
    if replayed:
        episodes = np.full(ledger.n_episodes, np.nan)
    exact = ~np.isnan(episodes)
    if exact.all():
        return Deletion(updates, episodes, exact)
    of_update = ledger.episodes_and_steps()[0]
    estimates = np.bincount(of_update, weights=updates, minlength=len(episodes))
    episodes = np.where(exact, episodes, estimates)
    largest = np.argsort(-np.abs(np.where(exact, 0.0, estimates)), kind="stable")[:MAX_REPLAYED]
    largest = largest[~exact[largest]]
    episodes[largest] = _replayed(ledger, cells, of_update, largest)
    exact[largest] = True
    return Deletion(updates, episodes, exact)


def episode_deletions(
    ledger: Ledger, cells: Sequence[NDArray[np.int64]], errors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(episodes, values) As ``deletion`` for the episodes of several values; NaN where it would be an estimate.

    >>> ledger = Ledger(n_states=1, n_actions=1)
    >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
    >>> episode_deletions(ledger, [np.array([0])], np.array([1.0])).tolist()
    [[0.5]]
    """
    if ledger.order == "replayed":
        found = [deletion(ledger, own, errors) for own in cells]
        return np.stack([np.where(one.exact, one.episodes, np.nan) for one in found], axis=1)
    left, by_block = np.zeros((ledger.n_cells, len(cells))), np.zeros((ledger.n_episodes, len(cells)))
    for row, own in enumerate(cells):
        left[own, row] = 1.0 / len(own)
    delete_blocks(
        ledger.lines, errors, np.append(ledger.episode_starts, len(ledger)), left, np.zeros(len(cells)), by_block
    )
    return by_block


def _replayed(
    ledger: Ledger, cells: NDArray[np.int64], of_update: NDArray[np.int64], episodes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """What deleting each of some episodes takes away, by replaying the ledger without it."""
    value = float(ledger.values().ravel()[cells].mean())
    at_once = max(1, MAX_CELLS // ledger.n_cells)
    taken = np.empty(len(episodes))
    for first in range(0, len(episodes), at_once):
        some = episodes[first : first + at_once]
        group = np.full(ledger.n_episodes, -1, np.int32)
        group[some] = np.arange(len(some))
        tables = np.repeat(ledger.initial_tables().reshape(-1, 1), len(some), axis=1)
        fold_without(ledger.lines, group[of_update], tables, np.zeros(len(some)))
        taken[first : first + len(some)] = value - tables[cells].mean(axis=0)
    return taken
