"""Figure 1: a well-trained agent, and agents trained on a small fixed buffer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from whatfor.beliefs import ExactBeliefs, value_iteration
from whatfor.layouts import Bars, Layout, Series
from whatfor.paper.agents import BUFFERS, SEEDS, SHOWN_BUFFER, Agents, game
from whatfor.paper.blackjack import HAND_ENDINGS, outcome_bars
from whatfor.paper.evidence import Claim, Seen
from whatfor.paper.figure import Figure, Picture
from whatfor.question import layout_of
from whatfor.runs import Run
from whatfor.text import percent

HAND, HIT = "player 7, dealer 5, no usable ace", "hit"
MIN_BUST_GAP = 0.1  # believed minus actual probability of a bust: "increased belief"
MIN_MORE_HANDS = 0.05  # of hands from 12 on, more than the best play: "sticks early"
HANDS = [(total, dealer, 0) for total in range(12, 22) for dealer in range(1, 11)]


@dataclass(frozen=True)
class Bust:
    """The probability of a bust after hit, as an agent believes it and as it is."""

    believed: float
    actual: float
    unknown: float
    sticks: float  # the share of hands from 12 on, without an ace, where it sticks

    @classmethod
    def of(cls, run: Run) -> Bust:
        """Measure one agent."""
        outcomes, state = run.outcomes(HAND, HIT), run.labels.index(HAND)
        actual = ExactBeliefs(game(), run.policy, discount=1.0).outcomes(state, outcomes.action)
        sticks = np.mean([run.policy[run.labels.index(hand), 0] for hand in HANDS])
        return cls(outcomes.chances.get("bust", 0.0), actual.get("bust", 0.0), outcomes.unknown, float(sticks))

    @property
    def gap(self) -> float:
        """Believed minus actual."""
        return self.believed - self.actual


def figure_1(agents: Agents, seeds: int = SEEDS) -> Figure:
    """The most pessimistic of several agents beside a well-trained one, and all of them for several sizes of buffers."""
    others = [type(agents)(seed, trained=agents.trained) for seed in range(seeds)]
    well, small = [], {size: list[Bust]() for size in BUFFERS}
    for other in others:  # one at a time: a ledger takes some memory
        well.append(Bust.of(other.blackjack_q))
        for size, busts in small.items():
            busts.append(Bust.of(other.from_buffer(size)))
        other.__dict__.pop("blackjack_q", None)
    selected = int(np.argmax([bust.gap for bust in small[SHOWN_BUFFER]]))
    good, bad = agents.blackjack_q, others[selected].small_buffer
    sides = ((good, "well trained"), (bad, f"from {SHOWN_BUFFER:,} fixed experiences, the most pessimistic of {seeds}"))
    return Figure(
        id="1",
        title="Blackjack, player 7, dealer 5, no ace, hit: a well-trained and a badly trained agent (Q-learning)",
        claim="Left two: forward simulation and belief of the well-trained agent. Right two: the same for an agent trained on a "
        "small fixed replay buffer. It overestimates the probability of a bust, and so sticks early.",
        pictures=(
            *(Picture.of(f"1-{kind}-{i}", layout, f"{kind.capitalize()}, {name}.") for i, (run, name) in enumerate(sides)
              for kind, layout in (("simulation", _simulated(run)), ("belief", layout_of(run.intention(HAND, HIT))))),
            Picture.of("1-outcomes", _ends(good, bad), "How the two expect the hand to end after hit."),
            Picture.of("1-seeds", _study(well, small), f"All {seeds} seeds: believed minus actual probability of a bust, mean and the middle 90 %."),
        ),
        answers=(str(good.comparison(HAND, HIT)), str(bad.comparison(HAND, HIT))),
        note=f"The badly trained agent shown is selected; the rates count all {seeds}. "
        + " ".join(_rates(size, busts) for size, busts in small.items())
        + f" The best play sticks on {percent(best_sticks())} of hands from 12 on, well-trained agents on {percent(_mean(well, 'sticks'))}, and agents from a large buffer on more than those: "
        "that an agent sticks on more hands than a well-trained one does not show that its buffer is small.",
    )  # fmt: skip


def _rates(size: int, busts: list[Bust]) -> str:
    """The story in numbers, for one size of the buffer."""
    gaps, sticks = [bust.gap for bust in busts], [bust.sticks for bust in busts]
    correlation = float(np.corrcoef(gaps, sticks)[0, 1]) if np.ptp(gaps) and np.ptp(sticks) else 0.0
    return (
        f"{size:,} experiences: {sum(gap > MIN_BUST_GAP for gap in gaps)} of {len(busts)} overestimate busts by more than {MIN_BUST_GAP:g}, "
        f"{sum(gap < -MIN_BUST_GAP for gap in gaps)} underestimate them by as much, {sum(stick > best_sticks() + MIN_MORE_HANDS for stick in sticks)} stick on at least {percent(MIN_MORE_HANDS)} more hands than the best play; "
        f"overestimating and sticking correlate at {correlation:+.2f}; {percent(_mean(busts, 'unknown'))} of the belief is unknown."
    )


@cache
def best_sticks() -> float:
    """The share of hands from 12 on, without an ace, where the best play sticks."""
    values = value_iteration(game(), discount=1.0)
    return float(np.mean([values[game().labels.index(hand)].argmax() == 0 for hand in HANDS]))


def _mean(busts: list[Bust], name: str) -> float:
    return float(np.mean([getattr(bust, name) for bust in busts]))


def _simulated(run: Run) -> Layout:
    return layout_of(run.simulation(HAND, HIT))


def _ends(good: Run, bad: Run) -> Bars:
    """The outcomes that both expect, and the actual ones of the badly trained agent's policy."""
    actual = ExactBeliefs(game(), bad.policy, discount=1.0).outcomes(bad.labels.index(HAND), bad.labels.action(HIT))
    expected = {"well trained": good.outcomes(HAND, HIT), "badly trained (selected)": bad.outcomes(HAND, HIT)}
    series = [
        Series(name, (*(one.chances.get(end, 0.0) for end in HAND_ENDINGS), one.unknown))
        for name, one in expected.items()
    ]
    series.append(Series("badly trained: actual", (*(actual.get(end, 0.0) for end in HAND_ENDINGS), 0.0)))
    return outcome_bars(HAND, tuple(series))


def _study(well: list[Bust], small: dict[int, list[Bust]]) -> Bars:
    """The gap over all seeds, for each kind of training."""
    kinds = {"well trained": well, **{f"{size:,} experiences": busts for size, busts in small.items()}}
    gaps = [[bust.gap for bust in busts] for busts in kinds.values()]
    low, high = (tuple(float(np.quantile(row, at)) for row in gaps) for at in (0.05, 0.95))
    series = Series(
        "believed minus actual probability of a bust", tuple(float(np.mean(row)) for row in gaps), low, high
    )
    return Bars(
        "Do small buffers make agents pessimistic?",
        f"{len(well)} seeds each; {HAND}, hit",
        tuple(kinds),
        (series,),
        "believed minus actual probability of a bust",
    )


# -- claims --------------------------------------------------------------------------------


def _well_trained(agents: Agents) -> Seen:
    bust = Bust.of(agents.blackjack_q)
    return Seen(abs(bust.gap) < MIN_BUST_GAP and bust.unknown < MIN_BUST_GAP, bust.gap)


def _pessimistic(agents: Agents) -> Seen:
    gap = Bust.of(agents.small_buffer).gap
    return Seen(gap > MIN_BUST_GAP, gap)


def _sticks_early(agents: Agents) -> Seen:
    more = Bust.of(agents.small_buffer).sticks - best_sticks()
    return Seen(more > MIN_MORE_HANDS, more)


def _sticks_out_of_pessimism(agents: Agents) -> Seen:
    gap = _pessimistic(agents)
    return Seen(gap.met and _sticks_early(agents).met, gap.number)


_MORE = f"it sticks on at least {percent(MIN_MORE_HANDS)} more of the hands from 12 on than the best play does"
CLAIMS = (
    Claim("1", "The belief of a well-trained agent is about what happens.", f"its believed chance of a bust is within {MIN_BUST_GAP:g} of the exact one of its policy", "believed minus actual", _well_trained, "beliefs of another policy", form="{:+.3f}"),
    Claim("1", "A small fixed buffer makes an agent overestimate the chance of a bust.", f"from {SHOWN_BUFFER:,} experiences: believed minus actual is above {MIN_BUST_GAP:g}", "believed minus actual", _pessimistic, "a large buffer", form="{:+.3f}"),
    Claim("1", "Such an agent is conservative: it sticks early.", _MORE, "share of hands more", _sticks_early, "a large buffer", form="{:+.3f}"),
    Claim("1", "It sticks early because it overestimates busts.", f"both: it overestimates busts by more than {MIN_BUST_GAP:g}, and {_MORE}", "believed minus actual", _sticks_out_of_pessimism, "a large buffer", form="{:+.3f}"),
)  # fmt: skip
