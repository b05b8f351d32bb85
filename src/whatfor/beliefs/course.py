"""The likeliest course: the most probable state-action pairs after a step, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NO_BOOTSTRAP, NOT_ENDED, TERMINATED, TIMED_OUT, ending_place
from whatfor.labels import Labels
from whatfor.ledger import Ledger
from whatfor.ledger.paid import last_steps_named

#: A course is not followed further once it is less probable, or longer, than this.
MIN_COURSE_CHANCE, MAX_COURSE_STEPS = 0.05, 500


@dataclass(frozen=True)
class Course:
    """The most probable sequence of steps after a state-action pair, by the agent's beliefs."""

    pairs: tuple[tuple[int, int], ...]  # state and action of every step, the asked one first
    chances: tuple[float, ...]  # the probability to get this far on this course; 1 for the asked step
    rewards: tuple[float, ...]  # expected at each step
    ending: str | None  # None: the course was not followed to an ending
    ending_chance: float
    comes_back_to: int | None  # the step whose pair follows the last one: the course is a loop
    stays: float  # the probability that the asked step does not change the state

    def to_json(self) -> dict[str, Any]:
        """The course as a JSON object."""
        steps = zip(self.pairs, self.chances, self.rewards, strict=True)
        return {
            "steps": [{"state": s, "action": a, "chance": p, "reward": r} for (s, a), p, r in steps],
            "ending": self.ending,
            "chance": self.ending_chance,
            "comes_back_to": self.comes_back_to,
        }


def course(
    ledger: Ledger,
    lines: NDArray[np.int64],  # the updates that carry weight
    weights: NDArray[np.float64],
    initial_weights: NDArray[np.float64],  # (S * A,) weight on initial values: where it leads is unknown
    state: int,
    action: int,
) -> Course:
    """Follow the updates that carry weight, from each pair to its most probable successor."""
    own = ledger.lines.cell[lines] % (ledger.n_states * ledger.n_actions)
    pairs, chances, rewards, chance = [state * ledger.n_actions + action], [1.0], [], 1.0
    ending, back, stays = None, None, None
    while True:
        here = np.flatnonzero(own == pairs[-1])
        to, shares, paid = _ahead(ledger, lines[here], weights[here])
        if len(to) == 0:  # its future is unknown
            rewards.append(0.0)
            break
        best = int(shares.argmax())
        known = float(shares.sum()) + float(initial_weights[pairs[-1]])
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
        if following == NO_BOOTSTRAP or chance < MIN_COURSE_CHANCE or len(pairs) == MAX_COURSE_STEPS:
            break
        pairs.append(following)
        chances.append(chance)
    steps: Sequence[tuple[int, int]] = [divmod(pair, ledger.n_actions) for pair in pairs]
    return Course(tuple(steps), tuple(chances), tuple(rewards), ending, chance, back, stays or 0.0)


def _ahead(
    ledger: Ledger, lines: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The successors of some updates: pairs (or ending codes), the weight on each, and that weight times the rewards.

    An update that bootstraps and also uses a λ-return counts for both.
    """
    columns, n_pairs = ledger.lines, ledger.n_states * ledger.n_actions
    lambda_ = columns.lambda_ if len(columns.lambda_) == 1 else columns.lambda_[lines]
    source = columns.source[lines].astype(np.int64)
    along = np.where(source >= NO_BOOTSTRAP, lambda_, 0.0)
    to = np.where(source >= NOT_ENDED, source % n_pairs, source)
    weight, reward = weights * (1.0 - along), columns.reward[lines]
    if along.any():
        before = columns.cell[lines - 1].astype(np.int64) % n_pairs
        to, weight = np.concatenate([to, before]), np.concatenate([weight, weights * along])
        reward = np.concatenate([reward, reward])
    places, which = np.unique(to[weight > 0.0], return_inverse=True)
    shares, paid = (np.bincount(which, weights=x[weight > 0.0]).astype(np.float64) for x in (weight, weight * reward))
    return places, shares, paid


def by_last_step(ledger: Ledger, weights: NDArray[np.float64], labels: Labels) -> dict[str, float]:
    """Endings without a name, described by the state, action and reward of the last step; ``weights``: (n,) undiscounted."""
    lines = ledger.lines
    last = np.flatnonzero((lines.source == TERMINATED) & (weights > 0.0))
    pairs = lines.cell[last] % (labels.n_states * labels.n_actions)
    chances: dict[str, float] = {}
    names = last_steps_named(labels, pairs.tolist(), lines.reward[last].tolist())
    for name, weight in zip(names, weights[last].tolist(), strict=True):
        chances[name] = chances.get(name, 0.0) + weight
    return chances
