"""Held-out play: what really followed in situations of a policy that were not learned from, and how far a belief is from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.deep.cells import Partition
from whatfor.deep.sequences import MIN_WEIGHT, Sequences

if TYPE_CHECKING:
    from whatfor.deep.belief import BeliefNetwork

#: Rows of beliefs are computed in chunks of this size: each is as large as a map.
CHUNK = 256


@dataclass(frozen=True)
class HeldOut:
    """Situations of held-out play, an action in each, and the future that followed while the policy was played."""

    observations: NDArray[Any]  # (n, ...)
    actions: NDArray[np.int64]  # (n,)
    visits: NDArray[np.float32]  # (n, S * A) discounted, of this step on
    returns: NDArray[np.float64]  # (n,) discounted
    endings: NDArray[np.int64]  # (n,) the index of the ending among the partition's; -1: none
    episode: NDArray[np.int64]  # (n,)

    def __len__(self) -> int:
        return len(self.actions)

    def error(self, belief: BeliefNetwork) -> float:
        """The mean distance of a belief's visits from those that followed."""
        return float(self.distances(belief).mean())

    def distances(self, belief: BeliefNetwork) -> NDArray[np.float64]:
        """(n,) The relative L1 distance of a belief's visits from those that followed."""
        return np.concatenate([distances(rows, self.visits[at]) for at, rows, _ in self.rows(belief)])

    def rows(self, belief: BeliefNetwork) -> Any:
        """Chunks of situations: which, and the belief's visits and earnings, (B, S * A) each."""
        for start in range(0, len(self), CHUNK):
            at = slice(start, start + CHUNK)
            visits, earnings = belief.rows(self.observations[at], self.actions[at])
            yield at, visits.reshape(len(visits), -1), earnings.reshape(len(earnings), -1)


def distances(believed: NDArray[np.float64], actual: NDArray[np.float32]) -> NDArray[np.float64]:
    """(B,) Relative L1 distances of believed visits (B, S * A) from actual ones."""
    return np.asarray(np.abs(believed - actual).sum(axis=1) / actual.sum(axis=1))


def held_out(
    played: Sequences,
    partition: Partition,
    discount: float,
    n: int,
    rng: np.random.Generator,
    *,
    limit: int | None,
    explored: bool = False,
) -> HeldOut:
    """At most ``n`` situations from which the policy was followed to the end of an episode, or until the discount left nothing.

    ``explored``: those after an action that was not the policy's, instead of its own. ``limit``: situations after so many steps of an
    episode are left out, since episodes of the environment do not come there.
    """
    step, lengths, episode = played.step, played.lengths, played.episode
    left = lengths[episode] - step  # steps from here on, this one included
    ends = played.ended[played.first[1:] - 1]
    known = ends[episode] | (discount ** left.astype(float) <= MIN_WEIGHT if discount < 1.0 else False)
    known &= step >= _last_explored(played)[episode]
    known &= played.explored == explored
    if limit is not None:
        known &= step < limit
    chosen = np.sort(rng.permutation(np.flatnonzero(known))[:n])
    n_pairs, n_actions = partition.n_pairs, partition.labels.n_actions
    pair = partition.index(played.observations) * n_actions + played.actions
    visits, returns = np.zeros((len(chosen), n_pairs), np.float32), np.zeros(len(chosen))
    endings = np.full(len(chosen), -1, np.int64)
    for i, at in enumerate(chosen.tolist()):
        future = slice(at, int(played.first[episode[at] + 1]))
        weights = discount ** np.arange(future.stop - at, dtype=float)
        np.add.at(visits[i], pair[future], weights)
        returns[i] = float(weights @ played.rewards[future])
        last = future.stop - 1
        if played.ended[last]:
            reward = float(played.rewards[last])
            endings[i] = partition.ending_index(played.next_observations[last], int(played.actions[last]), reward)
    return HeldOut(
        played.observations[chosen],
        played.actions[chosen],
        visits,
        returns,
        endings,
        episode[chosen],
    )


def _last_explored(played: Sequences) -> NDArray[np.int64]:
    """(m,) The last step of each episode whose action was not the policy's; 0 if there is none."""
    last = np.zeros(len(played.lengths), np.int64)
    np.maximum.at(last, played.episode, np.where(played.explored, played.step, 0))
    return last
