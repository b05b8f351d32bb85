"""Forward simulation: what happens when the policy is played."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.futures import standard_error
from whatfor.beliefs.loop import Loop
from whatfor.beliefs.simulated import SimulatedBeliefs
from whatfor.beliefs.situation import Situation
from whatfor.explanation import Explanation
from whatfor.explanations.intervals import Interval, interval_of
from whatfor.explanations.phrases import LIKELY, MIN_STATED_SHARE, PAST_LIMIT, counted, without_end
from whatfor.explanations.spread import distance_lines
from whatfor.history import Evaluation
from whatfor.labels import ENDINGS, Labels
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Layout
from whatfor.maps import Facets, map_of
from whatfor.question import Action, Parameter, State, question
from whatfor.text import amount, count, percent
from whatfor.worlds.adapter import Enter

if TYPE_CHECKING:
    from whatfor.runs import Run


@dataclass(frozen=True)
class Simulation(Explanation):
    """What followed one action in many independent rollouts of the policy, with intervals."""

    labels: Labels
    state: int
    action: int
    rollouts: int
    visits: NDArray[np.float64]  # (S, A) mean, discounted as the agent learned
    visits_error: NDArray[np.float64]  # (S, A) its standard error
    earnings: NDArray[np.float64]  # (S, A)
    value: float  # the mean return, discounted as the agent learned
    interval: Interval  # 95 % interval for it (Student's t)
    value_error: float  # its standard error
    chances: dict[
        str, float
    ]  # how the rollouts ended, the most frequent first; "timed out": at a time limit that ends episodes
    counts: dict[str, int]  # the rollouts with each ending
    length: float  # steps, on average
    beyond: float  # the mean discounted weight of what was not played
    discount: float
    limit: int | None  # the time limit of an episode; None: there is none
    max_steps: int  # the steps of the longest rollout: beyond the limit if the agent looks beyond it
    within: dict[str, int]  # the rollouts with each ending within the limit
    unmet: float  # the share of steps in states that training never met, where no visits are counted
    within_length: float  # steps within the limit, on average
    undiscounted: float  # the mean return within the limit, without a discount
    still_going: float  # the share of rollouts that were still going when play stopped
    never: float | None  # the exact probability that its policy never ends; None: unknown
    arrived: bool = False  # whether rollouts start where fresh episodes reach the state, which could not be entered
    start_text: tuple[str, ...] = ()  # where and when rollouts start, if that matters
    residual: None = None  # there is no value of the agent to compare with

    @classmethod
    def of(cls, beliefs: SimulatedBeliefs, at: Situation, action: int) -> Simulation:
        """Play the rollouts and summarize them."""
        rollouts, labels = beliefs.rollouts(at, action), beliefs.labels
        earnings, returns = beliefs.earnings(at, action), beliefs.returns(at, action)
        played = Evaluation.of(returns, rollouts.lengths)
        counts = beliefs.ending_counts(at, action)
        within = rollouts if beliefs.limit is None else rollouts.within(beliefs.limit)
        return cls(
            labels=labels,
            state=at.index,
            action=action,
            rollouts=len(rollouts),
            visits=beliefs.visits(at, action),
            visits_error=beliefs.visits_error(at, action),
            earnings=earnings,
            value=played.mean,
            interval=(played.low, played.high),
            value_error=standard_error(returns),
            chances={name: times / len(rollouts) for name, times in counts.items()},
            counts=counts,
            length=float(rollouts.lengths.mean()),
            beyond=beliefs.unplayed(at, action),
            discount=beliefs.discount,
            limit=beliefs.limit,
            max_steps=beliefs.max_steps,
            within=counts if within is rollouts else within.ending_counts(beliefs.played_labels),
            unmet=beliefs.unmet(at, action),
            within_length=float(within.lengths.mean()),
            undiscounted=float(within.returns.mean()),
            still_going=beliefs.still_going(at, action),
            never=beliefs.never_ends(at, action),
            arrived=beliefs.arrives,
            start_text=(*beliefs.start_text, *_whole_limit(beliefs, counts)),
        )

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """95 % intervals for the chances of the endings (Clopper and Pearson); computed when asked for, since they take milliseconds."""
        return {name: interval_of(times, self.rollouts) for name, times in self.counts.items()}

    @property
    def played_on(self) -> bool:
        """Whether a rollout went on beyond the time limit."""
        return self.length > self.within_length

    @property
    def is_cut(self) -> bool:
        """Whether play stopped where the values still look ahead."""
        return self.beyond >= MIN_STATED_SHARE

    def cut_text(self) -> str:
        """Where play stopped while the values still look ahead; empty: nowhere."""
        steps = count(self.max_steps, "step")
        where, it = (f"at the limit of {steps}", "it") if self.max_steps == self.limit else (f"after {steps}", "that")
        return f"rollouts stop {where}, and its values look beyond {it}" if self.is_cut else ""

    def distance_lines(self, expected: NDArray[np.float64]) -> list[str]:
        """How far the states of expected visits (S, A) are from those of the rollouts, where states are points."""
        return distance_lines(self.labels.points, expected, self.visits)

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        lines = [
            f"Played {self.rollouts:,} times from {here!r} with {doing!r}, then by its greedy policy. "
            f"Playing its policy gives a return of {self._returns()}, {self._length_text()}."
        ]
        if self.played_on:
            lines += [
                f"Within the time limit of {count(self.limit or 0, 'step')}, the return is {amount(self.undiscounted)} undiscounted, "
                f"in {counted(amount(self.within_length), 'step')} on average. How the episodes ended within it:",
                *self._endings(self.within),
                f"{PAST_LIMIT}, for up to {count(self.max_steps, 'step')}:",
            ]
        else:
            lines.append(
                "Where the episodes stood when play stopped:" if self.still_going else "How the episodes ended:"
            )
        lines += self._endings(self.counts)
        if self.unmet:
            lines.append(
                f"{percent(self.unmet)} of its steps were in states that training never met, where it acts at random; no visits are counted there."
            )
        if self.is_cut and self.discount == 1.0 and self.limit is not None:
            lines.append(
                f"Its values bootstrap through the time limit of {count(self.limit, 'step')}; undiscounted rollouts stop there."
            )
        elif self.is_cut and self.discount < 1.0:
            lines.append(f"Later steps, which were not played, are discounted to {percent(self.beyond)} on average.")
        return [*lines, *(self.without_end() if self.never else []), *self.start_text]

    def _length_text(self) -> str:
        """How long rollouts were; an average over rollouts that were cut is no length of episodes."""
        if not self.still_going:
            return f"in {counted(amount(self.length), 'step')} on average"
        if self.still_going == 1.0:
            return f"over the {count(self.max_steps, 'step')} that were played"
        return f"over {counted(amount(self.length), 'step')} on average, of at most {self.max_steps:,}"

    def _returns(self) -> str:
        """The mean return, discounted and not."""
        low, high = self.interval
        spread = f"95 % interval {amount(low)} to {amount(high)}" if high > low else "identical in all rollouts"
        if self.discount == 1.0:
            return f"{amount(self.value)} (undiscounted, {spread})"
        discounted = f"{amount(self.value)} (discounted, {spread})"
        return discounted if self.played_on else f"{discounted}, {amount(self.undiscounted)} undiscounted"

    def _endings(self, counts: dict[str, int]) -> list[str]:
        """A line for each ending, and for what was still going."""
        lines = []
        for name, times in counts.items():
            low, high = interval_of(times, self.rollouts)
            lines.append(
                f"  {percent(times / self.rollouts):>7}  {name} (95 % interval {percent(low)} to {percent(high)})"
            )
        if counts is self.counts and self.still_going:
            when = "at the time limit" if self.max_steps == self.limit else f"after {count(self.max_steps, 'step')}"
            lines.append(f"  {percent(self.still_going):>7}  still going {when}")
        return lines

    def without_end(self) -> list[str]:
        """A sentence if playing the policy goes on without end; empty if not."""
        known = Loop(self.never or 0.0, known=True)
        if known.stated:
            return without_end(known)
        if self.still_going >= LIKELY:
            return [
                f"{percent(self.still_going)} of the rollouts were still going when play stopped, after {count(self.max_steps, 'step')}."
            ]
        return []

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {
            "question": "simulation",
            "state": self.state,
            "action": self.action,
            "rollouts": self.rollouts,
            "value": self.value,
            "interval": list(self.interval),
            "chances": self.chances,
            "intervals": {name: list(interval) for name, interval in self.intervals.items()},
            "length": self.length,
            "limit": self.limit,
            "within": self.within,
            "within_length": self.within_length,
            "undiscounted": self.undiscounted,
            "still_going": self.still_going,
            "never": self.never,
            "arrived": self.arrived,
            "visits": self._map(self.visits),
            "visits_error": self._map(self.visits_error),
            "earnings": self._map(self.earnings),
            "sentences": self.sentences(),
        }


def _whole_limit(beliefs: SimulatedBeliefs, counts: dict[str, int]) -> list[str]:
    """A sentence if rollouts had the whole time limit ahead and reached it; an episode that gets to the state has less."""
    if beliefs.limit is None or beliefs.beyond_limit or ENDINGS[0] not in counts:
        return []
    steps = count(beliefs.limit, "step")
    return [
        f"Each rollout has the whole time limit of {steps} ahead; an episode that reaches this state later has fewer left."
    ]


def layout(why: Simulation, *, facets: Facets = "all") -> Layout:
    """A map of the mean visits."""
    return map_of(
        Map(
            why.labels,
            why.visits,
            title=f"{why.labels.actions[why.action]}: {why.rollouts:,} rollouts gave a return of {amount(why.value)}{' (discounted)' if why.discount < 1.0 else ''}",
            caption=why.labels.words(why.state),
            quantity="mean visits, discounted" if why.discount < 1.0 else "mean visits",
            state=why.state,
        ),
        facets=facets,
    )


ROLLOUTS = Parameter("rollouts", "the number of episodes to play", "number")


@question(
    "simulation",
    "what happens when it plays",
    answer=Simulation,
    layout=layout,
    needs=["play"],
    parameters=(ROLLOUTS,),
    clickable=("",),
    place=90,
)
def ask(
    run: Run,
    state: State,
    action: Action | None = None,
    *,
    rollouts: int = 1_000,
    seed: int = 0,
    env: Any = None,
    enter: Enter | None = None,
) -> Simulation:
    """What happens when the greedy policy is played from a state; by default, after its best action.

    ``env``: the environment to play in, if a loaded run cannot create its own, or another one.
    ``enter``: a function (env, state, rng) that puts the environment into a state, if whatfor cannot.
    """
    beliefs = run.playing.simulated(env, rollouts, seed, enter, fewest=2)  # fewer have no interval
    return Simulation.of(beliefs, *run.resolve(state, action))
