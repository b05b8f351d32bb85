"""Forward simulation: what happens when the policy is played."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.simulated import SimulatedBeliefs
from whatfor.beliefs.situation import Situation
from whatfor.checks import whole
from whatfor.explanation import Explanation
from whatfor.explanations.phrases import counted
from whatfor.history import Evaluation
from whatfor.kernels.recursion import TIMED_OUT
from whatfor.labels import Labels
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Layout
from whatfor.maps import Facets, map_of
from whatfor.question import Action, Parameter, State, question
from whatfor.text import amount, percent
from whatfor.worlds.adapter import Enter

if TYPE_CHECKING:
    from whatfor.runs import Run

Interval = tuple[float, float]
#: The confidence level of intervals.
CONFIDENCE = 0.95


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
    chances: dict[str, float]  # how the rollouts ended, the most frequent first; "timed out" where one was truncated
    counts: dict[str, int]  # the rollouts with each ending
    length: float  # steps, on average
    beyond: float  # the mean discounted weight of what lies beyond truncated rollouts
    discount: float
    residual: None = None  # there is no value of the agent to compare with

    @classmethod
    def of(cls, beliefs: SimulatedBeliefs, at: Situation, action: int) -> Simulation:
        """Play the rollouts and summarize them."""
        whole("rollouts", beliefs.n, 2)  # fewer have no interval
        rollouts, labels = beliefs.rollouts(at, action), beliefs.labels
        earnings, returns = beliefs.earnings(at, action), beliefs.returns(at, action)
        played = Evaluation.of(returns, rollouts.lengths)
        counts = rollouts.ending_counts(labels)
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
            value_error=float(returns.std(ddof=1) / np.sqrt(len(returns))),
            chances={name: count / len(rollouts) for name, count in counts.items()},
            counts=counts,
            length=float(rollouts.lengths.mean()),
            beyond=float(
                np.where(
                    rollouts.ending == TIMED_OUT, np.power(beliefs.discount, rollouts.lengths, dtype=float), 0.0
                ).mean()
            ),
            discount=beliefs.discount,
        )

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """95 % intervals for the chances of the endings (Clopper and Pearson); computed when asked for, since they take milliseconds."""
        return {name: _interval(count, self.rollouts) for name, count in self.counts.items()}

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        low, high = self.interval
        notes = [] if self.discount == 1.0 else ["discounted"]
        notes += [f"95 % interval {amount(low)} to {amount(high)}" if high > low else "identical in all rollouts"]
        lines = [
            f"Played {self.rollouts:,} times from {here!r} with {doing!r}, then by its greedy policy. "
            f"Playing its policy gives a return of {amount(self.value)} ({', '.join(notes)}), in {counted(f'{self.length:.3g}', 'step')} on average.",
            "How the episodes ended:",
        ]
        for name, chance in self.chances.items():
            low, high = self.intervals[name]
            lines.append(f"  {percent(chance):>7}  {name} (95 % interval {percent(low)} to {percent(high)})")
        return lines

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
            "visits": self._map(self.visits),
            "visits_error": self._map(self.visits_error),
            "earnings": self._map(self.earnings),
            "sentences": self.sentences(),
        }


def _interval(count: int, of: int) -> Interval:
    from scipy.stats import binomtest  # takes half a second to import

    interval = binomtest(count, of).proportion_ci(CONFIDENCE)
    return float(interval.low), float(interval.high)


def layout(why: Simulation, *, facets: Facets = "all") -> Layout:
    """A map of the mean visits."""
    return map_of(
        Map(
            why.labels,
            why.visits,
            title=f"{why.labels.actions[why.action]}: {why.rollouts:,} rollouts gave a return of {amount(why.value)}",
            caption=why.labels.words(why.state),
            quantity="mean visits",
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
    beliefs = run.playing.simulated(env, rollouts, seed, enter)
    return Simulation.of(beliefs, *run.resolve(state, action))
