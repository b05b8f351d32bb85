"""Held-out play: what really followed in situations of a policy that were not learned from, and how far a belief is from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    """Situations of held-out play, an action in each, and what followed while the policy was played: one future, or the mean of several."""

    steps: NDArray[np.int64]  # (n,) which steps of the play
    episode: NDArray[np.int64]  # (n,) of which episodes
    observations: NDArray[Any]  # (n, ...)
    actions: NDArray[np.int64]  # (n,)
    visits: NDArray[np.float32]  # (n, S * A) discounted, of this step on
    returns: NDArray[np.float64]  # (n,) discounted
    endings: NDArray[np.float64]  # (n, E) shares of futures with each ending of the partition; the rest had none
    noise: NDArray[np.float64]  # (n, 2) how far visits (relative L1) and returns are from their expectation by chance
    measured: bool  # whether that is known: False where no future was played twice
    cut: float  # the share of episodes that reached the time limit; 0 if there is none
    several: HeldOut | None = None  # some of the situations with several futures of each, where these differ

    @property
    def each(self) -> HeldOut:
        """The situations to compare one by one: with several futures where these differ."""
        return self if self.several is None else self.several

    def __len__(self) -> int:
        return len(self.actions)

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
    visits, returns, endings = _futures(played, chosen, partition, discount)
    return HeldOut(
        steps=chosen,
        episode=episode[chosen],
        observations=played.observations[chosen],
        actions=played.actions[chosen],
        visits=visits,
        returns=returns,
        endings=endings,
        noise=np.zeros((len(chosen), 2)),
        measured=False,
        cut=_share_cut(played, limit),
    )


def _share_cut(played: Sequences, limit: int | None) -> float:
    """The share of whole episodes that came to a time limit without an end."""
    ended = played.ended[played.first[1:] - 1]
    reached = np.zeros(len(ended), bool) if limit is None else played.lengths >= limit
    whole = ended | reached
    return float((reached & ~(ended & (played.lengths == limit))).sum() / max(1, whole.sum()))


def _futures(
    played: Sequences, steps: NDArray[np.int64], partition: Partition, discount: float
) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
    """Visits, returns and endings from some steps to the ends of their episodes."""
    n_actions, ends = partition.labels.n_actions, played.first[1:][played.episode[steps]]
    pair = partition.index(played.observations) * n_actions + played.actions
    visits, returns = np.zeros((len(steps), partition.n_pairs), np.float32), np.zeros(len(steps))
    endings = np.zeros((len(steps), len(partition.ending_names)))
    for i, (at, end) in enumerate(zip(steps.tolist(), ends.tolist(), strict=True)):
        weights = discount ** np.arange(end - at, dtype=float)
        np.add.at(visits[i], pair[at:end], weights)
        returns[i] = float(weights @ played.rewards[at:end])
        if played.ended[end - 1]:
            action, reward = int(played.actions[end - 1]), float(played.rewards[end - 1])
            endings[i, partition.ending_index(played.next_observations[end - 1], action, reward)] = 1.0
    return visits, returns, endings


def with_futures(held: HeldOut, futures: Sequences, partition: Partition, discount: float, each: int) -> HeldOut:
    """The means of ``each`` futures of every situation, one after the other, and how far they are off by chance.

    The difference of the means of two halves says how far the mean of all is off: half of that.
    """
    visits, returns, endings = _futures(futures, futures.first[:-1], partition, discount)
    half = each // 2

    def means(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        grouped = values.reshape(len(held), each, *values.shape[1:])
        return grouped.mean(axis=1), (grouped[:, :half].mean(axis=1) - grouped[:, half : 2 * half].mean(axis=1)) / 2

    (visits, visits_off), (returns, returns_off), (endings, _) = means(visits), means(returns), means(endings)
    noise = np.stack([np.abs(visits_off).sum(axis=1) / visits.sum(axis=1), np.abs(returns_off)], axis=1)
    return replace(held, visits=visits, returns=returns, endings=endings, noise=noise, measured=True)


def some_of(held: HeldOut, n: int) -> HeldOut:
    """At most ``n`` of the situations, evenly spaced."""
    at = np.unique(np.linspace(0, len(held) - 1, min(n, len(held))).astype(int))
    columns = {name: value[at] for name, value in vars(held).items() if name not in ("measured", "cut", "several")}
    return replace(held, **columns)


def _last_explored(played: Sequences) -> NDArray[np.int64]:
    """(m,) The last step of each episode whose action was not the policy's; 0 if there is none."""
    last = np.zeros(len(played.lengths), np.int64)
    np.maximum.at(last, played.episode, np.where(played.explored, played.step, 0))
    return last
