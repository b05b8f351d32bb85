"""The likeliest course: which pair is expected after which, followed step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import GOES_ON, NO_BOOTSTRAP, TIMED_OUT, ending_place
from whatfor.ledger import Ledger

#: A course is followed no further once it is less likely than this, or longer than that.
UNLIKELY, LONGEST = 0.05, 500


@dataclass(frozen=True)
class Course:
    """The likeliest way on from a state and action, as the agent believes it."""

    pairs: tuple[tuple[int, int], ...]  # state and action of every step, the asked one first
    chances: tuple[float, ...]  # of getting so far on this very way; 1 for the asked step
    rewards: tuple[float, ...]  # expected at each step
    ending: str | None  # how it ends; None: it is not followed to its end
    ending_chance: float
    comes_back_to: int | None  # the step whose pair follows again at the end: it goes in circles


def course(ledger: Ledger, lines: NDArray[np.int64], weights: NDArray[np.float64], state: int, action: int) -> Course:
    """Follow the lines that carry weight, from pair to the pair they mostly lead to."""
    own, ahead, weight, paid = _links(ledger, lines, weights)
    asked = state * ledger.n_actions + action
    pairs, chances, rewards, chance, at = [asked], [1.0], [], 1.0, asked
    ending, back = None, None
    while True:
        here = slice(*np.searchsorted(own, [at, at + 1]))
        if here.start == here.stop:  # nothing is known of it
            rewards.append(0.0)
            break
        to, which = np.unique(ahead[here], return_inverse=True)
        shares = np.bincount(which, weights=weight[here])
        best = int(shares.argmax())
        chance *= float(shares[best] / shares.sum())
        rewards.append(float(paid[here][which == best].sum() / shares[best]))
        following = int(to[best])
        if following <= TIMED_OUT:
            ending = ledger.endings[ending_place(following)]
            break
        if following in pairs:
            back = pairs.index(following)
            break
        if following == NO_BOOTSTRAP or chance < UNLIKELY or len(pairs) == LONGEST:
            break
        at = following
        pairs.append(at)
        chances.append(chance)
    steps: Sequence[tuple[int, int]] = [divmod(pair, ledger.n_actions) for pair in pairs]
    return Course(tuple(steps), tuple(chances), tuple(rewards), ending, chance, back)


def _links(
    ledger: Ledger, lines: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Own pair, pair ahead (or ending code), weight, and weight times reward, ordered by own pair.

    A line that looks ahead both to its table and along its trail makes two links.
    """
    columns, n_pairs = ledger.lines, ledger.n_states * ledger.n_actions
    trail = np.broadcast_to(columns.trail, len(ledger))[lines]
    source = columns.source[lines].astype(np.int64)
    to_table = np.where(source >= GOES_ON, source % n_pairs, source)
    trailing = (trail > 0.0) & (source >= NO_BOOTSTRAP)
    own = np.concatenate([columns.cell[lines], columns.cell[lines[trailing]]]).astype(np.int64) % n_pairs
    ahead = np.concatenate([to_table, columns.cell[lines[trailing] - 1].astype(np.int64) % n_pairs])
    weight = np.concatenate([weights * np.where(trailing, 1.0 - trail, 1.0), weights[trailing] * trail[trailing]])
    paid = weight * np.concatenate([columns.reward[lines], columns.reward[lines[trailing]]])
    order = np.argsort(own, kind="stable")
    kept = order[weight[order] > 0.0]
    return own[kept], ahead[kept], weight[kept], paid[kept]
