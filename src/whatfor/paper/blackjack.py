"""Figures 3, S1, S4 and S5: Blackjack."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs import Audit
from whatfor.explanations import Contrast
from whatfor.layouts import Bars, Layout, Series
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.paper.agents import Agents, RunOf
from whatfor.paper.evidence import Claim, Seen
from whatfor.paper.figure import Figure, Picture
from whatfor.question import layout_of
from whatfor.runs import Run

TEN, SEVENTEEN = "player 10, dealer 7, no usable ace", "player 17, dealer 9, no usable ace"
STICK, HIT = "stick", "hit"
HAND_ENDINGS = ("won", "drew", "lost", "bust")
#: A future state with at least this many expected visits counts as possible; so many of them are "various".
MIN_OPEN_VISITS, MIN_OPEN_STATES = 0.01, 5
#: From this sum on, the best play against a seven is to stick.
HIGH_SUM = 17
#: The sums of the first trend: below 20, without the second peak.
LOW_SUMS, UPPER_SUMS = range(12, 16), range(16, 20)
#: Against these cards the best play hits below 17; mean over them, since one belief averages few experiences.
HIGH_CARDS = ("ace", 7, 8, 9, 10)
MIN_RISE = 0.01  # less than half of the exact rise of the best play, 0.023; 0 if only one card can be drawn
#: A peak has so many times the visits of every other sum: 3 times with the game's ten, never more than once with as many of every card.
PEAK = 1.5
#: A belief averages about 19 experiences, in which such trends are lost. They are the mean of beliefs at so many times, from this share of training on.
TIMES, FROM = 100, 0.3


def _q(agents: Agents) -> Run:
    return agents.blackjack_q


def _mc(agents: Agents) -> Run:
    return agents.blackjack_mc


def figure_3(agents: Agents) -> Figure:
    """Beliefs and outcome beliefs at (10, 7), Q-learning."""
    return _ten_against_seven("3", "Q-learning", agents.blackjack_q)


def figure_s1(agents: Agents) -> Figure:
    """As figure 3, Monte Carlo."""
    return _ten_against_seven("S1", "Monte Carlo", agents.blackjack_mc)


def _ten_against_seven(id: str, method: str, run: Run) -> Figure:
    stick, hit = run.intention(TEN, STICK), run.intention(TEN, HIT)
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
        answers=(str(hit), str(run.contrast(TEN, HIT, STICK))),
        note="The weight of the present state is 1 by construction, so it is not counted as a check. With a constant step size of 0.1 a belief averages about 19 "
        f"experiences, so the weights of single sums are partly random; the exact ones of the best play rise from 0.08 at 12 to 0.11 at 19. The claims about sums are therefore measured on the mean of {TIMES} beliefs of the same agent, at {TIMES} times of its training.",
    )  # fmt: skip


def _after_hit(run: Run) -> NDArray[np.float64]:
    """(32, 2) The expected visits of each player's sum and action after hit, without the present state."""
    why = run.intention(TEN, HIT)
    visits = why.visits.copy()
    visits[why.state] = 0.0
    return np.asarray(visits.reshape(*run.labels.shape, 2).sum(axis=(1, 2)))


def _until_high(run_of: RunOf) -> Callable[[Agents], Seen]:
    def measure(agents: Agents) -> Seen:
        sticks, hits = _after_hit(run_of(agents)).T
        high = float(sticks[HIGH_SUM:].sum())
        return Seen(bool(high > 0.5 and hits[:HIGH_SUM].sum() > sticks[:HIGH_SUM].sum()), high)

    return measure


def _sums_over_time(run: Run, hands: Sequence[str]) -> NDArray[np.float64]:
    """(32,) The expected visits of each player's sum after hit, without the present state: mean over hands and over training."""
    ledger, hit = run.audit.ledger, run.labels.action(HIT)
    pairs = [(run.labels.index(hand), hit) for hand in hands]
    total = np.zeros(run.labels.shape[0])
    for episodes in np.linspace(FROM * ledger.n_episodes, ledger.n_episodes, TIMES).astype(int):
        for (hand, _), row in zip(pairs, Audit(ledger.until(int(episodes))).accounts(pairs), strict=True):
            visits = row.visits.copy()
            visits[hand] = 0.0
            total += visits.reshape(len(total), -1).sum(axis=1)
    return total / (TIMES * len(pairs))


def _peak_at_20(run_of: RunOf) -> Callable[[Agents], Seen]:
    def measure(agents: Agents) -> Seen:
        sums = _sums_over_time(run_of(agents), [TEN])
        ratio = float(sums[20] / max(np.delete(sums, 20).max(), 1e-300))
        return Seen(ratio > PEAK, ratio)

    return measure


def _lower_below(run_of: RunOf) -> Callable[[Agents], Seen]:
    def measure(agents: Agents) -> Seen:
        sums = _sums_over_time(run_of(agents), [f"player 10, dealer {dealer}, no usable ace" for dealer in HIGH_CARDS])
        rise = float(sums[list(UPPER_SUMS)].mean() - sums[list(LOW_SUMS)].mean())
        return Seen(rise > MIN_RISE, rise)

    return measure


def figure_s4(agents: Agents) -> Figure:
    """Contrast at (10, 7), Monte Carlo."""
    run = agents.blackjack_mc
    return _contrast_figure(
        "S4", "player 10, dealer 7", "Hitting gives access to various future states; sticking is more likely to give −1.", run, run.contrast(TEN, HIT, STICK)
    )  # fmt: skip


def figure_s5(agents: Agents) -> Figure:
    """Contrast at (17, 9), Monte Carlo."""
    run = agents.blackjack_mc
    note = "The exact gap of the best play is 0.13, and a Monte Carlo value with a step size of 0.1 has a standard error of about 0.2."
    return _contrast_figure(
        "S5", "player 17, dealer 9", "Hitting mostly ends in a bust, which outweighs everything that sticking gives.", run, run.contrast(SEVENTEEN, STICK, HIT), note
    )  # fmt: skip


def _opens_futures(agents: Agents) -> Seen:
    contrast = agents.blackjack_mc.contrast(TEN, HIT, STICK)
    after_hit, after_stick = (
        int((numbers.sum(axis=1) >= MIN_OPEN_VISITS).sum()) for numbers in (contrast.gained, contrast.lost)
    )
    return Seen(after_hit >= MIN_OPEN_STATES > after_stick, after_hit)


def _sticking_loses(agents: Agents) -> Seen:
    sticks, hits = (agents.blackjack_mc.outcomes(TEN, action).chances for action in (STICK, HIT))
    lost = sticks.get("lost", 0.0)
    return Seen(lost > max(0.5, hits.get("lost", 0.0) + hits.get("bust", 0.0)), lost)


def _hitting_is_worse(agents: Agents) -> Seen:
    gap = agents.blackjack_mc.contrast(SEVENTEEN, STICK, HIT).gap
    return Seen(gap > 0.0, gap)


def _hitting_busts(agents: Agents) -> Seen:
    bust = agents.blackjack_mc.outcomes(SEVENTEEN, HIT).chances.get("bust", 0.0)
    return Seen(bust > 0.5, bust)


def _contrast_figure(id: str, hand: str, claim: str, run: Run, contrast: Contrast, note: str = "") -> Figure:
    ends = _outcome_bars(run, run.labels.words(contrast.state))
    return Figure(
        id=id,
        title=f"Blackjack contrast, {hand}, no ace (Monte Carlo)",
        claim=claim,
        pictures=(
            Picture.of(f"{id}-belief", _signed(contrast), "Visits expected after only one of the two actions."),
            Picture.of(f"{id}-outcomes", ends, "Outcome beliefs side by side."),
        ),
        answers=(str(contrast),),
        note=note,
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


_OVER_TIME = f"mean of the beliefs at {TIMES} times of training"
CLAIMS = (
    *(claim for figure, run_of in (("3", _q), ("S1", _mc)) for claim in (
        Claim(figure, "After hit, it keeps hitting until the sum is high enough.",
              f"below {HIGH_SUM} it expects to hit more often than to stick, and it expects to stick at {HIGH_SUM} or more with over 50 %", f"chance to stick at {HIGH_SUM} or more", _until_high(run_of), "trained on the negated reward"),
        Claim(figure, "A second peak is at 20, since face cards count ten.", f"after hit, 20 has over {PEAK:g} times the expected visits of every other sum, {_OVER_TIME}", "visits of 20, relative to the next sum", _peak_at_20(run_of), "a deck with as many tens as other cards"),
        Claim(figure, "Lower sums have lower weight, since fewer paths lead there.", f"after hit with a sum of 10, mean over the dealer's cards from 7 on: the sums 16 to 19 have {MIN_RISE:g} more expected visits than those of 12 to 15, {_OVER_TIME}", "their difference", _lower_below(run_of), "a game in which only one card can be drawn"),
    )),
    Claim("S4", "Hitting gives access to various future states.", f"at least {MIN_OPEN_STATES} states are expected only after hit, fewer only after stick", "states expected only after hit", _opens_futures, "beliefs of the present step alone"),
    Claim("S4", "Sticking is undesirable, since it is more likely to give −1.", "after stick it expects −1 with more than 50 %, and more likely than after hit", "believed chance of −1 after stick", _sticking_loses, "beliefs of the other action"),
    Claim("S5", "Hitting mostly ends in a bust.", "after hit it expects a bust with more than 50 %", "believed chance of a bust", _hitting_busts, "a deck of aces to fours"),
    Claim("S5", "Hitting has the more negative consequence.", "stick has the higher value", "gap", _hitting_is_worse, "trained on the negated reward"),
)  # fmt: skip
