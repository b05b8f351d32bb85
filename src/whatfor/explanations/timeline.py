"""When the agent expects what: expected visits, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.loop import NO_LOOP, Loop
from whatfor.beliefs.protocol import Beliefs
from whatfor.beliefs.situation import Situation
from whatfor.density import Density
from whatfor.explanation import Explanation
from whatfor.explanations.intervals import interval_of
from whatfor.explanations.phrases import MIN_STATED_SHARE, beyond_limit, without_end
from whatfor.labels import Labels
from whatfor.layouts.clouds import fans
from whatfor.layouts.map import rows_of
from whatfor.layouts.shapes import Grid, Layout, Series
from whatfor.layouts.words import pair_names
from whatfor.question import Action, Parameter, State, question, source_of
from whatfor.text import count, percent

if TYPE_CHECKING:
    from whatfor.runs import Run

#: The list of steps ends where no pair has more expected visits than this.
MIN_STEP_VISITS = 5e-3
#: The number of rows in a picture.
MAX_ROWS = 14


@dataclass(frozen=True)
class Timeline(Explanation):
    """Expected visits by the number of steps ahead; with the remainder, they sum to the visits."""

    labels: Labels
    state: int
    action: int
    visits: NDArray[np.float64]  # (horizon, S, A) slice d: visits d steps ahead
    remainder: NDArray[np.float64]  # (S, A) visits beyond the horizon
    unaccounted: float  # the largest difference between that sum and the visits
    discount: float | None = None  # of the visits; None: as learned
    discounted: bool = True  # whether that discount is below 1
    loop: Loop = NO_LOOP  # whether it goes on without a recorded end
    faults: tuple[str, ...] = ()  # what seems to be wrong with the ledger
    learned: bool = True  # False: what playing its policy leads to
    rollouts: int | None = None  # that the visits are means over; None: they are not sampled
    certain: NDArray[np.float64] | None = (
        None  # (horizon,) of rollouts: what a visit in all of them counts at each step
    )
    limit: int | None = None  # the time limit of episodes, where it does not end rollouts that reach it
    beyond: float = 0.0  # visits beyond it
    residual: None = None  # there is no value of the agent to compare with

    @classmethod
    def of(
        cls,
        beliefs: Beliefs,
        labels: Labels,
        at: Situation,
        action: int,
        *,
        horizon: int,
        discount: float | None = None,
    ) -> Timeline:
        """Read it from a source."""
        if not isinstance(horizon, (int, np.integer)):
            raise ValueError(f"horizon is {horizon!r}; give a whole number of steps")
        if horizon < 1:
            raise ValueError(f"horizon is {horizon}; ask for at least one step")
        depths = beliefs.depths(at, action, horizon, discount)
        more: dict[str, Any] = {"loop": beliefs.loop(at, action), "faults": beliefs.faults}
        more |= {"learned": beliefs.learned, "rollouts": beliefs.samples(at, action), "certain": depths.certain}
        if (within := beliefs.within_limit(at, action)) is not None:
            inside = within.depths(at, action, horizon, discount)
            more |= {"limit": within.limit, "beyond": depths.total - inside.total}
        return cls(
            labels,
            at.index,
            action,
            depths.visits,
            depths.remainder,
            depths.unaccounted,
            discount,
            depths.discounted,
            **more,
        )

    def sentences(self) -> list[str]:
        """The answer in words: what is most expected at each step."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        after = f"after {doing!r}" if self.learned else f"playing its policy after {doing!r}"
        over = "" if self.rollouts is None else f" over {count(self.rollouts, 'rollout')}"
        lines = [
            f"In {here!r}, {after}: the most likely state-action pair at each step, with its {self._probability()}{over}:"
        ]
        for step, expected in enumerate(self.visits):
            state, action = divmod(int(expected.argmax()), expected.shape[1])
            if expected[state, action] < MIN_STEP_VISITS:
                break
            lines.append(
                f"  {step:3d}  {expected[state, action]:.3f}  {self._pair(state, action)}{self._interval(step, expected[state, action])}"
            )
        if len(lines) == 1:
            return [f"In {here!r}, {doing!r} was never tried: it has no expectation."]
        listed = len(lines) - 1  # fewer than there are where no pair is likely any more
        untaught = 1.0 - float(self.visits[0].sum())
        if untaught >= MIN_STATED_SHARE:
            lines.append(f"  The other {percent(untaught)} rest on the initial value of {doing!r}: unknown.")
        beyond = float(self.visits[listed:].sum() + self.remainder.sum())
        if beyond >= MIN_STEP_VISITS:
            lines.append(f"  Beyond step {listed - 1}: {beyond:.3f} {self._adjective()}visits in total.")
        past = beyond_limit(self.beyond, self.limit, f"{self._adjective()}visits")
        return [*lines, *past, *without_end(self.loop), *self.faults]

    def _interval(self, step: int, visits: float) -> str:
        """The interval of visits in one step: a share of the rollouts, times the discount; empty: they are not sampled."""
        certain = 0.0 if self.certain is None else float(self.certain[step])
        if step == 0 or not certain or self.rollouts is None:
            return ""
        low, high = interval_of(round(visits / certain * self.rollouts), self.rollouts)
        low, high = min(low * certain, visits), max(high * certain, visits)  # rounded as the visits are
        return f" (95 % interval {low:.3f} to {high:.3f})"

    def _adjective(self) -> str:
        return "discounted " if self.discounted else ""

    def _probability(self) -> str:
        by = "" if self.discount is None or not self.discounted else f" (by {self.discount:g} per step)"
        return f"{self._adjective()}probability{by}"

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {
            "question": "timeline",
            "state": self.state,
            "action": self.action,
            "steps": [self._map(expected) for expected in self.visits],
            "remainder": self._map(self.remainder),
            "loop": self.loop.to_json(),
            "rollouts": self.rollouts,
            "limit": self.limit,
            "beyond": self.beyond,
            "unaccounted": self.unaccounted,
            "sentences": self.sentences(),
        }


def layout(why: Timeline) -> Layout:
    """A row for each pair, ordered by when it is most expected, and a column for each step; of states that are points, fans."""
    title = f"{why.labels.actions[why.action]}: {'what it expects when' if why.learned else 'when playing its policy leads where'}"
    if why.labels.points is not None and why.visits.any():
        going = [visits.sum(axis=1) for visits in why.visits if visits.any()]  # in later steps, all rollouts have ended
        return fans(title, why.labels.words(why.state), [Density.of(why.labels.points, visits) for visits in going])
    horizon, _, n_actions = why.visits.shape
    flat = np.vstack([why.visits.reshape(horizon, -1), why.remainder.reshape(1, -1)])  # (steps and beyond, pairs)
    steps = 1 + int(np.flatnonzero(flat[:-1].max(axis=1) >= MIN_STEP_VISITS).max(initial=0))
    ahead = flat[:-1]
    visited = np.flatnonzero(ahead.max(axis=0) >= MIN_STEP_VISITS)
    most = visited[np.argsort(-ahead[:, visited].sum(axis=0), kind="stable")[:MAX_ROWS]]
    most = most[np.argsort(ahead[:, most].argmax(axis=0), kind="stable")]  # by when they peak
    rows = [flat[:, pair] for pair in most]
    names = pair_names(why.labels, [divmod(int(pair), n_actions) for pair in most], why.state)
    others = np.count_nonzero(flat.any(axis=0)) - len(most)
    if others or not rows:
        rows.append(np.delete(flat, most, axis=1).sum(axis=1))
        names = (*names, f"{others:,} others")
    return Grid(
        title=title,
        caption=why.labels.words(why.state),
        rows=names,
        columns=tuple(str(step) for step in range(steps)),
        quantity=why._probability(),
        row_axis="",
        column_axis="steps ahead",
        numbers=rows_of(np.array(rows)[:, :steps]),
        beside=Series("later", tuple(float(row[-1]) for row in rows)),  # many steps in one number
    )


@question(
    "timeline",
    "when it expects what",
    answer=Timeline,
    layout=layout,
    needs=["depths"],
    parameters=(Parameter("horizon", "the number of steps ahead", "number"),),
    place=40,
)
def ask(
    run: Run, state: State, action: Action | None = None, *, horizon: int = 20, discount: float | None = None
) -> Timeline:
    """When the agent expects what; by default, after its best action, discounted as in training (``discount=1``: undiscounted)."""
    at, chosen = run.resolve(state, action)
    return Timeline.of(source_of(run, "depths"), run.labels, at, chosen, horizon=horizon, discount=discount)
