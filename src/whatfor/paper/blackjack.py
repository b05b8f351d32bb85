"""Figures 3 and S1 to S5: Blackjack."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from whatfor.explanations import Contrast
from whatfor.layouts import Bars, Layout, Series
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.paper.agents import SEEDS, Agents
from whatfor.paper.figure import Check, Figure, Picture, residual_of
from whatfor.paper.tables import recovered
from whatfor.question import layout_of
from whatfor.runs import Run

TEN, SEVENTEEN = "player 10, dealer 7, no usable ace", "player 17, dealer 9, no usable ace"
STICK, HIT = "stick", "hit"
HAND_ENDINGS = ("won", "drew", "lost", "bust")
#: A future state with at least this many expected visits counts as possible.
MIN_OPEN_VISITS = 0.01


def figure_3(agents: Agents) -> Figure:
    """Beliefs and outcome beliefs at (10, 7), Q-learning."""
    return _ten_against_seven("3", "Q-learning", agents.blackjack_q(0), agents)


def figure_s1(agents: Agents) -> Figure:
    """As figure 3, Monte Carlo."""
    return _ten_against_seven("S1", "Monte Carlo", agents.blackjack_mc, agents)


def _ten_against_seven(id: str, method: str, run: Run, agents: Agents) -> Figure:
    stick, hit = run.intention(TEN, STICK), run.intention(TEN, HIT)
    now = [float(why.visits[why.state, why.action]) for why in (stick, hit)]
    sums = np.mean([_by_sum(agents.blackjack_q(seed)) for seed in range(SEEDS)], axis=0) if id == "3" else _by_sum(run)
    averaged = f"mean of {SEEDS} agents" if id == "3" else "this agent"
    possible = [int(((why.visits.sum(axis=1)) >= MIN_OPEN_VISITS).sum()) for why in (stick, hit)]
    ends = [run.outcomes(TEN, action) for action in (STICK, HIT)]
    lost, won = (ends[0].chances.get(name, 0.0) for name in ("lost", "won"))
    return Figure(
        id=id,
        title=f"Blackjack, player 10, dealer 7, no ace ({method})",
        claim="Both beliefs have a single point of certainty, the present state, in which every trajectory starts. After hit, the agent keeps "
        "hitting until the sum is high enough. A second peak is at 20, since face cards count ten; lower sums have lower weight.",
        pictures=(
            Picture.of(f"{id}-stick", layout_of(stick), "Belief for stick."),
            Picture.of(f"{id}-hit", layout_of(hit), "Belief for hit."),
            Picture.of(f"{id}-outcomes", _outcome_bars(run, TEN), "Outcome belief for stick and hit."),
        ),
        checks=(
            Check("expected visits of the present state, after stick and after hit", "1, 1 (the first peak)", f"{now[0]:.4f}, {now[1]:.4f}", min(now) > 0.99),
            Check(f"the sum at the second peak after hit ({averaged})", "20", f"{int(sums.argmax())} ({sums.max():.3f})", bool(sums.argmax() == 20 and sums.max() > 0.0)),
            Check(f"expected visits of each sum from 11 to 19 ({averaged})", "lower than at 20", f"at most {sums[11:20].max():.3f} against {sums[20]:.3f}",
                  bool(sums[11:20].max() < sums[20])),
            Check("states it expects to visit, after stick and after hit", "one, many", f"{possible[0]}, {possible[1]}", possible[0] == 1 and possible[1] >= 5),
            Check("outcome belief after stick", "lost outweighs won", f"lost {lost:.2f}, won {won:.2f}", lost > won),
        ),
        answers=(str(hit), str(run.contrast(TEN, HIT, STICK))),
        note="With a constant step size of 0.1 a belief averages about 19 experiences, so the second peak of a single agent is partly random. "
        "The check uses the mean over seeds." if id == "3" else "",
    )  # fmt: skip


def _by_sum(run: Run) -> NDArray[np.float64]:
    """(32,) The expected visits of each player's sum after hit, without the present state."""
    why = run.intention(TEN, HIT)
    visits = why.visits.copy()
    visits[why.state] = 0.0
    return np.asarray(visits.sum(axis=1).reshape(run.labels.shape).sum(axis=(1, 2)))


def figure_s2(agents: Agents) -> Figure:
    """Q-table and recovered table, Q-learning."""
    return recovered("S2", "Blackjack", "Q-learning", agents.blackjack_q(0))


def figure_s3(agents: Agents) -> Figure:
    """Q-table and recovered table, Monte Carlo."""
    return recovered("S3", "Blackjack", "Monte Carlo", agents.blackjack_mc)


def figure_s4(agents: Agents) -> Figure:
    """Contrast at (10, 7), Monte Carlo."""
    run = agents.blackjack_mc
    contrast = run.contrast(TEN, HIT, STICK)
    only_hit, only_stick = (
        int((numbers.sum(axis=1) >= MIN_OPEN_VISITS).sum()) for numbers in (contrast.gained, contrast.lost)
    )
    lost = run.outcomes(TEN, STICK).chances.get("lost", 0.0)
    return _contrast_figure("S4", "player 10, dealer 7", "Hitting leaves many futures possible; sticking mostly gives −1.", run, contrast, (
        Check("future states expected only after hit, and only after stick", "many, hardly any", f"{only_hit}, {only_stick}", only_hit >= 5 > only_stick),
        Check("probability of losing after stick", "more likely than not", f"{lost:.2f}", lost > 0.5),
        Check("which is better", "hit", f"hit by {contrast.gap:.3f}", contrast.gap > 0.0),
    ))  # fmt: skip


def figure_s5(agents: Agents) -> Figure:
    """Contrast at (17, 9), Monte Carlo."""
    run = agents.blackjack_mc
    contrast = run.contrast(SEVENTEEN, STICK, HIT)
    bust = run.outcomes(SEVENTEEN, HIT).chances.get("bust", 0.0)
    return _contrast_figure("S5", "player 17, dealer 9", "Hitting mostly ends in a bust, which outweighs everything that sticking gives.", run, contrast, (
        Check("probability of a bust after hit", "more likely than not", f"{bust:.2f}", bust > 0.5),
        Check("which is better", "stick", f"stick by {contrast.gap:.3f}" + (", not settled" if contrast.unsettled else ""), contrast.gap > 0.0),
    ))  # fmt: skip


def _contrast_figure(id: str, hand: str, claim: str, run: Run, contrast: Contrast, checks: tuple[Check, ...]) -> Figure:
    state = run.labels.words(contrast.state)
    ends = _outcome_bars(run, state)
    parts = Check(
        "parts sum to the gap",
        "to floating point",
        f"off by {residual_of(contrast):.1e}",
        residual_of(contrast) < 1e-9 and contrast.gap != 0.0,
    )
    return Figure(
        id=id,
        title=f"Blackjack contrast, {hand}, no ace (Monte Carlo)",
        claim=claim,
        pictures=(
            Picture.of(f"{id}-belief", _signed(contrast), "Visits expected after only one of the two actions."),
            Picture.of(f"{id}-outcomes", ends, "Outcome beliefs side by side."),
        ),
        checks=(*checks, parts),
        answers=(str(contrast),),
    )  # fmt: skip


def _signed(contrast: Contrast) -> Layout:
    one, other = (contrast.labels.actions[which.action] for which in (contrast.chosen, contrast.instead))
    return map_of(
        Map(
            contrast.labels,
            contrast.gained - contrast.lost,
            title=f"Expected only after {one} (above zero), only after {other} (below)",
            caption=contrast.labels.words(contrast.state),
            quantity="difference of expected visits",
            diverging=True,
            state=contrast.state,
        )
    )


def _outcome_bars(run: Run, state: str) -> Bars:
    """The expected outcomes of a hand, one series per action."""
    answers = {action: run.outcomes(state, action) for action in (STICK, HIT)}
    return outcome_bars(state, tuple(
        Series(action, (*(one.chances.get(name, 0.0) for name in HAND_ENDINGS), one.unknown)) for action, one in answers.items()
    ))  # fmt: skip


def outcome_bars(state: str, series: tuple[Series, ...]) -> Bars:
    """The probabilities of the four outcomes, and the unknown share."""
    unknown = (*(False for _ in HAND_ENDINGS), True)
    return Bars("How it expects the hand to end", state, (*HAND_ENDINGS, "unknown"), series, "chance", unknown)


BLACKJACK_FIGURES: dict[str, Callable[[Agents], Figure]] = {
    "3": figure_3, "S1": figure_s1, "S2": figure_s2, "S3": figure_s3, "S4": figure_s4, "S5": figure_s5,
}  # fmt: skip
