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
    stays: float  # the chance that the asked step leaves it in its state, whatever it does next


def course(
    ledger: Ledger,
    lines: NDArray[np.int64],  # that carry weight
    weights: NDArray[np.float64],
    left: NDArray[np.float64],  # (S * A,) weight still on the start: of these shares nobody knows where they lead
    state: int,
    action: int,
) -> Course:
    """Follow the lines that carry weight, from pair to the pair they mostly lead to."""
    own = ledger.lines.cell[lines] % (ledger.n_states * ledger.n_actions)
    pairs, chances, rewards, chance = [state * ledger.n_actions + action], [1.0], [], 1.0
    ending, back, stays = None, None, None
    while True:
        here = np.flatnonzero(own == pairs[-1])
        to, shares, paid = _ahead(ledger, lines[here], weights[here])
        if len(to) == 0:  # nothing is known of it
            rewards.append(0.0)
            break
        best = int(shares.argmax())
        known = float(shares.sum()) + float(left[pairs[-1]])
        if stays is None:
            stays = float(shares[to // ledger.n_actions == state].sum()) / known
        chance *= float(shares[best]) / known
        rewards.append(float(paid[best] / shares[best]))
        following = int(to[best])
        if following <= TIMED_OUT:
            ending = ledger.endings[ending_place(following)]
            break
        if following in pairs:
            back = pairs.index(following)
            break
        if following == NO_BOOTSTRAP or chance < UNLIKELY or len(pairs) == LONGEST:
            break
        pairs.append(following)
        chances.append(chance)
    steps: Sequence[tuple[int, int]] = [divmod(pair, ledger.n_actions) for pair in pairs]
    return Course(tuple(steps), tuple(chances), tuple(rewards), ending, chance, back, stays or 0.0)


def _ahead(
    ledger: Ledger, lines: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Where some lines lead: pairs (or ending codes), the weight to each, and that weight times the rewards.

    A line that looks ahead both to its table and along its λ-return counts for both.
    """
    columns, n_pairs = ledger.lines, ledger.n_states * ledger.n_actions
    lambda_ = columns.lambda_ if len(columns.lambda_) == 1 else columns.lambda_[lines]
    source = columns.source[lines].astype(np.int64)
    along = np.where(source >= NO_BOOTSTRAP, lambda_, 0.0)
    to = np.where(source >= GOES_ON, source % n_pairs, source)
    weight, reward = weights * (1.0 - along), columns.reward[lines]
    if along.any():
        before = columns.cell[lines - 1].astype(np.int64) % n_pairs
        to, weight = np.concatenate([to, before]), np.concatenate([weight, weights * along])
        reward = np.concatenate([reward, reward])
    places, which = np.unique(to[weight > 0.0], return_inverse=True)
    shares, paid = (np.bincount(which, weights=x[weight > 0.0]).astype(np.float64) for x in (weight, weight * reward))
    return places, shares, paid
