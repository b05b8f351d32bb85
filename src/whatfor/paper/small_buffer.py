"""Figure 1: a well-trained agent and agents trained on a small fixed buffer, over many seeds and for one selected seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whatfor.beliefs import ExactBeliefs
from whatfor.layouts import Bars, Layout, Series
from whatfor.paper.agents import BUFFERS, SEEDS, Agents
from whatfor.paper.blackjack import HAND_ENDINGS, outcome_bars
from whatfor.paper.figure import Check, Figure, Picture
from whatfor.question import layout_of
from whatfor.runs import Run
from whatfor.text import percent
from whatfor.worlds import World

HAND, HIT = "player 7, dealer 5, no usable ace", "hit"
SHOWN_BUFFER = 2_000  # the buffer whose agent is shown
MIN_BUST_GAP = 0.1  # believed minus actual probability of a bust, at least this much in the paper's picture
HANDS = [(total, dealer, 0) for total in range(12, 22) for dealer in range(1, 11)]


@dataclass(frozen=True)
class Bust:
    """The probability of a bust after hit, as an agent believes it and as it is."""

    believed: float
    actual: float
    unknown: float
    sticks: float  # the share of hands from 12 on, without an ace, where it sticks

    @classmethod
    def of(cls, game: World, run: Run) -> Bust:
        """Measure one agent."""
        outcomes, state = run.outcomes(HAND, HIT), run.labels.index(HAND)
        actual = ExactBeliefs(game, run.policy, discount=1.0).outcomes(state, outcomes.action)
        sticks = np.mean([run.policy[run.labels.index(hand), 0] for hand in HANDS])
        return cls(outcomes.chances.get("bust", 0.0), actual.get("bust", 0.0), outcomes.unknown, float(sticks))

    @property
    def gap(self) -> float:
        """Believed minus actual."""
        return self.believed - self.actual


def figure_1(agents: Agents) -> Figure:
    """20 seeds for each of several buffer sizes, and one selected agent that reproduces the paper's picture."""
    well = [Bust.of(agents.game, agents.blackjack_q(seed)) for seed in range(SEEDS)]
    small = {size: [Bust.of(agents.game, agents.from_buffer(size, seed)) for seed in range(SEEDS)] for size in BUFFERS}
    selected = int(np.argmax([bust.gap for bust in small[SHOWN_BUFFER]]))
    good, bad = agents.blackjack_q(0), agents.from_buffer(SHOWN_BUFFER, selected)
    gap = small[SHOWN_BUFFER][selected].gap
    sides = ((good, "well trained"), (bad, f"from {SHOWN_BUFFER:,} fixed experiences (selected)"))
    return Figure(
        id="1",
        title="Blackjack, player 7, dealer 5, no ace, hit: a well-trained and a badly trained agent (Q-learning)",
        claim="Left two: forward simulation and belief of the well-trained agent. Right two: the same for an agent trained on a "
        "small fixed replay buffer. It overestimates the probability of a bust, and so sticks early.",
        pictures=(
            *(Picture.of(f"1-{kind}-{i}", layout, f"{kind.capitalize()}, {name}.") for i, (run, name) in enumerate(sides)
              for kind, layout in (("simulation", _simulated(run)), ("belief", layout_of(run.intention(HAND, HIT))))),
            Picture.of("1-outcomes", _ends(good, bad), "How the two expect the hand to end after hit."),
            Picture.of("1-seeds", _study(well, small), f"All {SEEDS} seeds: believed minus actual probability of a bust, mean and the middle 90 %."),
        ),
        checks=(
            Check(f"well trained: believed minus actual probability of a bust, mean of {SEEDS} seeds", "about 0", f"{_mean(well, 'gap'):+.3f}",
                  abs(_mean(well, "gap")) < 0.03),
            Check(f"from {SHOWN_BUFFER:,} experiences, seed {selected}, selected as the largest of {SEEDS}", "overestimates the probability of a bust", f"{gap:+.3f}", gap > MIN_BUST_GAP),
            Check("share of hands from 12 on where it sticks, this agent and well-trained ones", "it sticks early",
                  f"{percent(small[SHOWN_BUFFER][selected].sticks)}, {percent(_mean(well, 'sticks'))}", small[SHOWN_BUFFER][selected].sticks > _mean(well, "sticks") and gap > MIN_BUST_GAP),
            Check(f"all seeds from {SHOWN_BUFFER:,} experiences: believed minus actual probability of a bust, mean and standard error", "more than 0",
                  f"{_mean(small[SHOWN_BUFFER], 'gap'):+.3f} ± {_error(small[SHOWN_BUFFER]):.3f}", _mean(small[SHOWN_BUFFER], "gap") > 2.0 * _error(small[SHOWN_BUFFER])),
        ),
        answers=(str(good.comparison(HAND, HIT)), str(bad.comparison(HAND, HIT))),
        note="The badly trained agent is selected. Over all seeds, "
        + "; ".join(f"{sum(b.gap > MIN_BUST_GAP for b in busts)} of {SEEDS} agents from {size:,} experiences overestimate the probability of a bust by more than {MIN_BUST_GAP:g}, "
                    f"{sum(b.gap < -MIN_BUST_GAP for b in busts)} underestimate it by more than that ({percent(_mean(busts, 'unknown'))} of the belief is unknown; they stick on {percent(_mean(busts, 'sticks'))} of hands)" for size, busts in small.items())
        + f". Well-trained agents stick on {percent(_mean(well, 'sticks'))}.",
    )  # fmt: skip


def _mean(busts: list[Bust], name: str) -> float:
    return float(np.mean([getattr(bust, name) for bust in busts]))


def _error(busts: list[Bust]) -> float:
    return float(np.std([bust.gap for bust in busts]) / np.sqrt(len(busts)))


def _simulated(run: Run) -> Layout:
    return layout_of(run.simulation(HAND, HIT))


def _ends(good: Run, bad: Run) -> Bars:
    """The outcomes that both expect, and the actual ones of the badly trained agent's policy."""
    actual = bad.comparison(HAND, HIT)
    real = {measure.name: measure.actual for measure in actual.measures}
    expected = {"well trained": good.outcomes(HAND, HIT), "badly trained (selected)": bad.outcomes(HAND, HIT)}
    series = [
        Series(name, (*(one.chances.get(end, 0.0) for end in HAND_ENDINGS), one.unknown))
        for name, one in expected.items()
    ]
    series.append(Series("badly trained: actual", (*(real.get(end, 0.0) for end in HAND_ENDINGS), 0.0)))
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
        f"{SEEDS} seeds each; {HAND}, hit",
        tuple(kinds),
        (series,),
        "believed minus actual probability of a bust",
    )
