"""Futures of a policy from its rollouts: by the number of steps ahead, what is reached first, and single rewards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.futures import Arrivals, Depths, Payments
from whatfor.beliefs.solved import endings_of
from whatfor.concepts import Concept
from whatfor.kernels.recursion import NOT_ENDED, TIMED_OUT
from whatfor.labels import Labels
from whatfor.limits import check_limit
from whatfor.worlds.rolling import Rollouts

#: In place of the ending of a rollout that was still going when play stopped: no event has this name.
STILL_GOING = ""


def mean_depths(rollouts: Rollouts, shape: tuple[int, int], horizon: int, discount: float) -> Depths:
    """The share of rollouts in each pair after each number of steps, discounted."""
    check_limit("bytes", 8 * shape[0] * shape[1] * (horizon + 1), f"a horizon of {horizon:,} steps")
    known = rollouts.pair < shape[0] * shape[1]  # others are in states that training never met
    pair, step = rollouts.pair[known].astype(np.int64), rollouts.step[known]
    weight, n_pairs = np.power(discount, step, dtype=float) / len(rollouts), shape[0] * shape[1]
    at = np.minimum(step, horizon) * n_pairs + pair
    summed = np.bincount(at, weights=weight, minlength=(horizon + 1) * n_pairs).astype(float)
    summed = summed.reshape(horizon + 1, *shape)
    whole = np.bincount(pair, weights=weight, minlength=n_pairs).reshape(shape)
    unaccounted = float(np.abs(summed.sum(axis=0) - whole).max())
    certain = np.power(discount, np.arange(horizon), dtype=float)
    return Depths(summed[:-1], summed[-1], unaccounted, discount < 1.0, certain)


def mean_arrivals(
    rollouts: Rollouts,
    going: NDArray[np.bool_],  # (n,) whether a rollout was still going when play stopped
    labels: Labels,
    shape: tuple[int, int],
    concepts: Sequence[Concept],
    discount: float,
) -> Arrivals:
    """How many rollouts reach each concept first, or end before they reach one."""
    n, names = len(rollouts), endings_of(labels)
    state, later = rollouts.pair // shape[1], rollouts.step > 0
    weight = np.power(discount, rollouts.step, dtype=float) * later / n
    inside = [_inside(concept, state) for concept in concepts]
    which = np.where(going, len(names), TIMED_OUT - rollouts.ending)  # the last place: it has not ended
    reached = [later & there for there in inside]
    first = _first_reached(rollouts, reached, concepts, (*names, STILL_GOING), which, shape[0])
    ended = (first == len(concepts)) & ~going
    ends = Counter(compress(rollouts.ending_names(labels), ended.tolist()))
    return Arrivals(
        np.bincount(first, minlength=len(concepts) + 1)[:-1] / n,
        {name: ends[name] / n for name in (*names, *ends)},
        never=0.0,
        unknown=float(((first == len(concepts)) & going).mean()),
        visits=np.array([weight[there].sum() for there in inside]),
        earnings=np.array([(weight * rollouts.reward)[there].sum() for there in inside]),
        discounted=discount < 1.0,
    )


def _inside(concept: Concept, states: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether a concept holds in states; in those that training never met, it does not."""
    inside: NDArray[np.bool_] = np.append(concept.states, False)[np.minimum(states, len(concept.states))]
    return inside


def _first_reached(
    rollouts: Rollouts,
    reached: Sequence[NDArray[np.bool_]],  # (steps,) for each concept
    concepts: Sequence[Concept],
    names: Sequence[str],  # of endings
    which: NDArray[np.integer],  # (n,) the place of each rollout's ending among them
    n_states: int,
) -> NDArray[np.int64]:
    """(n,) The concept that each rollout reaches first; of several at once, the first; their number: none."""
    none = len(concepts)
    by_step, first = np.full(len(rollouts.pair), none), np.full(len(rollouts), none)
    finals = np.where(rollouts.final < n_states, rollouts.final, -1)
    for place, concept in reversed(list(enumerate(concepts))):
        by_step[reached[place]] = place
        first[concept.holds_at_end(finals, names, which)] = place
    hits = np.flatnonzero(by_step < none)
    which, where = np.unique(rollouts.rollout[hits], return_index=True)
    first[which] = by_step[hits[where]]
    return first


def mean_payments(rollouts: Rollouts, labels: Labels, n_pairs: int, discount: float) -> Payments:
    """A payment for every step of the rollouts."""
    ending = np.full(len(rollouts.pair), NOT_ENDED, np.int32)
    ending[rollouts.first[1:] - 1] = rollouts.ending
    weight = np.power(discount, rollouts.step, dtype=float) / len(rollouts)
    weight[rollouts.pair >= n_pairs] = 0.0  # no earnings are counted in states that training never met
    names = endings_of(labels)
    return Payments.of(
        rollouts.pair,
        rollouts.reward,
        weight,
        ending=ending,
        endings=names,
        discounted=discount < 1.0,
        rollout=rollouts.rollout,
    )
