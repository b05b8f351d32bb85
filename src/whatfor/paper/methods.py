"""The paper's "minimal differences" between temporal-difference and Monte Carlo learning."""

from __future__ import annotations

import numpy as np

from whatfor.beliefs.distance import distance
from whatfor.beliefs.transitions import transition_matrix
from whatfor.layouts import Bars, Series
from whatfor.paper.agents import Agents, game
from whatfor.paper.evidence import Claim, Seen
from whatfor.paper.figure import Figure, Picture
from whatfor.runs import Run

#: The hands with a sum of 10 and no ace, and the states of CartPole with all but the angle in the middle: mean over these.
TENS = [f"player 10, dealer {dealer}, no usable ace" for dealer in ("ace", *range(2, 11))]
UPRIGHT = range(76, 92, 3)
#: Methods may differ by this much more than two seeds of Q-learning do.
MINIMAL = 0.1
#: Returns per hand that differ by less are similar; the best play loses 0.05 per hand.
SIMILAR_RETURN = 0.02
MAX_CARDS = 25  # no hand has more


def figure_td(agents: Agents) -> Figure:
    """Distances between the beliefs of the two methods, and between two seeds of one."""
    rows = {"Blackjack": _blackjack(agents), "CartPole": _cartpole(agents)}
    bars = tuple(
        Series(name, tuple(float(min(row[i], 2.0)) for row in rows.values()))
        for i, name in enumerate(("Q-learning and Monte Carlo", "two seeds of Q-learning"))
    )
    return Figure(
        id="TD",
        title="Temporal-difference and Monte Carlo learning",
        claim="Minimal differences between the two; on Blackjack, Monte Carlo performed similarly to Q-learning.",
        pictures=(Picture.of("TD-distance", Bars("How far apart beliefs are", "seed 0", tuple(rows), bars, "relative distance of expected visits")),),
        note=f"Beliefs after hit for the {len(TENS)} hands with a sum of 10; beliefs after the best action of Q-learning for {len(UPRIGHT)} states of CartPole. "
        "Two seeds of one method differ too, by chance; methods are compared with that.",
    )  # fmt: skip


def _blackjack(agents: Agents) -> tuple[float, float]:
    """The mean distance between methods, and between seeds."""
    runs = agents.blackjack_q, agents.blackjack_mc, agents.blackjack_q_again
    return _distances(runs, [(runs[0].labels.index(hand), runs[0].labels.action("hit")) for hand in TENS])


def _cartpole(agents: Agents) -> tuple[float, float]:
    runs = agents.cartpole_q, agents.cartpole_mc, agents.cartpole_q_again
    return _distances(runs, [(state, runs[0].best(state)) for state in UPRIGHT])


def _distances(runs: tuple[Run, ...], pairs: list[tuple[int, int]]) -> tuple[float, float]:
    """Of the first run from each of the others: relative to the one and to the other, mean of both and over pairs."""
    pairs = [pair for pair in pairs if all(run.audit.tries[pair] for run in runs)]
    if not pairs:
        return np.inf, 0.0
    one, *others = ([row.visits for row in run.audit.accounts(pairs)] for run in runs)
    method, seed = (
        np.mean([(distance(a, b) + distance(b, a)) / 2.0 for a, b in zip(one, other, strict=True)]) for other in others
    )
    return float(method), float(seed)


def _minimal(distances: tuple[float, float]) -> Seen:
    method, seed = distances
    return Seen(bool(0.0 < method < seed + MINIMAL), method - seed)


def expected_return(run: Run) -> float:
    """The exact mean return of the greedy policy, per hand of Blackjack."""
    table = game().table
    onward, rewards = transition_matrix(table, run.labels.n_actions)
    values = np.zeros(run.labels.n_states)
    for _ in range(MAX_CARDS):
        values = (run.policy * (rewards + (onward @ values).reshape(rewards.shape))).sum(axis=1)
    return float(np.diff(table.start, prepend=0.0) @ values)


def _performs_similarly(agents: Agents) -> Seen:
    gap = expected_return(agents.blackjack_mc) - expected_return(agents.blackjack_q)
    return Seen(0.0 < abs(gap) < SIMILAR_RETURN, gap)


_CLOSE = f"their mean distance is at most {MINIMAL:g} more than that of two seeds of Q-learning"
_NUMBER = "distance of the methods minus that of two seeds"
_WRONG = "Monte Carlo trained on the negated reward"
CLAIMS = (
    Claim("TD", "Minimal differences between the beliefs of Q-learning and of Monte Carlo: Blackjack.", f"after hit with a sum of 10, {_CLOSE}", _NUMBER, lambda agents: _minimal(_blackjack(agents)), _WRONG, form="{:+.2f}"),
    Claim("TD", "Minimal differences between the beliefs of Q-learning and of Monte Carlo: CartPole.", f"in the middle states, {_CLOSE}", _NUMBER, lambda agents: _minimal(_cartpole(agents)), _WRONG, form="{:+.2f}"),
    Claim("TD", "On Blackjack, Monte Carlo performs similarly to Q-learning.", f"their exact mean returns differ by less than {SIMILAR_RETURN:g} per hand", "Monte Carlo minus Q-learning", _performs_similarly, _WRONG, form="{:+.3f}"),
)  # fmt: skip
