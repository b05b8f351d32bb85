"""Figure 1: a well-trained agent and one from a small fixed buffer, over many seeds and for one that was selected."""

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
MIN_BUST_GAP = 0.1  # believed chance to bust less the actual one, at least so much in the paper's picture
HANDS = [(total, dealer, 0) for total in range(12, 22) for dealer in range(1, 11)]


@dataclass(frozen=True)
class Bust:
    """What an agent believes of hitting, and what is true of it."""

    believed: float
    actual: float
    unknown: float
    sticks: float  # share of the hands from 12 on, without an ace, where it sticks

    @classmethod
    def of(cls, game: World, run: Run) -> Bust:
        """Ask one agent."""
        told, state = run.outcomes(HAND, HIT), run.labels.index(HAND)
        actual = ExactBeliefs(game, run.policy, discount=1.0).outcomes(state, told.action)
        sticks = np.mean([run.policy[run.labels.index(hand), 0] for hand in HANDS])
        return cls(told.chances.get("bust", 0.0), actual.get("bust", 0.0), told.unknown, float(sticks))

    @property
    def gap(self) -> float:
        """Believed less actual."""
        return self.believed - self.actual


def figure_1(agents: Agents) -> Figure:
    """Over 20 seeds and several sizes, and one agent that shows the paper's picture."""
    well = [Bust.of(agents.game, agents.blackjack_q(seed)) for seed in range(SEEDS)]
    small = {size: [Bust.of(agents.game, agents.from_buffer(size, seed)) for seed in range(SEEDS)] for size in BUFFERS}
    selected = int(np.argmax([bust.gap for bust in small[SHOWN_BUFFER]]))
    good, bad = agents.blackjack_q(0), agents.from_buffer(SHOWN_BUFFER, selected)
    gap = small[SHOWN_BUFFER][selected].gap
    sides = ((good, "well trained"), (bad, f"from {SHOWN_BUFFER:,} fixed experiences (selected)"))
    return Figure(
        id="1",
        title="Blackjack, player 7, dealer 5, no ace, hit: a well-trained and a badly trained agent (Q-learning)",
        claim="Left two: what forward simulation shows and what the well-trained agent believes; right two: the same of an agent trained on a "
        "small fixed replay buffer. It believes more than is true that it will go bust, and so sticks early.",
        pictures=(
            *(Picture.of(f"1-{kind}-{i}", layout, f"{kind.capitalize()}, {name}.") for i, (run, name) in enumerate(sides)
              for kind, layout in (("simulation", _simulated(run)), ("belief", layout_of(run.intention(HAND, HIT))))),
            Picture.of("1-outcomes", _ends(good, bad), "How the two expect the hand to end after hit."),
            Picture.of("1-seeds", _study(well, small), f"All {SEEDS} seeds: believed less actual chance to bust, mean and the middle 90 %."),
        ),
        checks=(
            Check(f"well trained: believed less actual chance to bust, mean of {SEEDS} seeds", "about 0", f"{_mean(well, 'gap'):+.3f}",
                  abs(_mean(well, "gap")) < 0.03),
            Check(f"from {SHOWN_BUFFER:,} experiences, seed {selected}, selected as the largest of {SEEDS}", "believes more busts than there are", f"{gap:+.3f}", gap > MIN_BUST_GAP),
            Check("the same agent: share of hands from 12 on where it sticks, against well-trained ones", "it sticks early",
                  f"{percent(small[SHOWN][selected].sticks)}, {percent(_mean(well, 'sticks'))}", small[SHOWN_BUFFER][selected].sticks > _mean(well, "sticks") and gap > MIN_BUST_GAP),
            Check(f"all seeds from {SHOWN_BUFFER:,} experiences: believed less actual chance to bust, mean and standard error", "more than 0",
                  f"{_mean(small[SHOWN], 'gap'):+.3f} ± {_error(small[SHOWN]):.3f}", _mean(small[SHOWN_BUFFER], "gap") > 2.0 * _error(small[SHOWN_BUFFER])),
        ),
        answers=(str(good.comparison(HAND, HIT)), str(bad.comparison(HAND, HIT))),
        note="The badly trained agent is selected. Of all seeds, "
        + "; ".join(f"{sum(b.gap > GAP for b in busts)} of {SEEDS} from {size:,} experiences believe in over {MIN_BUST_GAP:g} too many busts, {sum(b.gap < -GAP for b in busts)} in over {MIN_BUST_GAP:g} "
                    f"too few ({percent(_mean(busts, 'unknown'))} of the belief is unknown; it sticks on {percent(_mean(busts, 'sticks'))} of hands)" for size, busts in small.items())
        + f". Well-trained agents stick on {percent(_mean(well, 'sticks'))}.",
    )  # fmt: skip


def _mean(busts: list[Bust], name: str) -> float:
    return float(np.mean([getattr(bust, name) for bust in busts]))


def _error(busts: list[Bust]) -> float:
    return float(np.std([bust.gap for bust in busts]) / np.sqrt(len(busts)))


def _simulated(run: Run) -> Layout:
    return layout_of(run.simulation(HAND, HIT))


def _ends(good: Run, bad: Run) -> Bars:
    """How both expect the hand to end, and how the badly trained one's policy really ends it."""
    actual = bad.comparison(HAND, HIT)
    real = {measure.name: measure.actual for measure in actual.measures}
    told = {"well trained": good.outcomes(HAND, HIT), "badly trained (selected)": bad.outcomes(HAND, HIT)}
    series = [Series(name, (*(one.chances.get(end, 0.0) for end in HAND_ENDINGS), one.unknown)) for name, one in told.items()]
    series.append(Series("badly trained: actual", (*(real.get(end, 0.0) for end in HAND_ENDINGS), 0.0)))
    return outcome_bars(HAND, tuple(series))


def _study(well: list[Bust], small: dict[int, list[Bust]]) -> Bars:
    """The gap over all seeds, by how the agent was trained."""
    kinds = {"well trained": well, **{f"{size:,} experiences": busts for size, busts in small.items()}}
    gaps = [[bust.gap for bust in busts] for busts in kinds.values()]
    low, high = (tuple(float(np.quantile(row, at)) for row in gaps) for at in (0.05, 0.95))
    series = Series("believed less actual chance to bust", tuple(float(np.mean(row)) for row in gaps), low, high)
    return Bars(
        "Do small buffers make pessimists?",
        f"{SEEDS} seeds each; {HAND}, hit",
        tuple(kinds),
        (series,),
        "believed less actual chance to bust",
    )
