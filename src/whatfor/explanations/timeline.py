"""When the agent expects what: expected visits, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.loop import NO_LOOP, Loop
from whatfor.explanation import Explanation
from whatfor.explanations.phrases import MIN_STATED_SHARE, without_end
from whatfor.labels import Labels
from whatfor.layouts.map import rows_of
from whatfor.layouts.shapes import Grid, Series
from whatfor.layouts.words import pair_names
from whatfor.question import Action, Parameter, State, question
from whatfor.text import percent

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
    residual: None = None  # there is no value of the agent to compare with

    @classmethod
    def of(
        cls, audit: Audit, labels: Labels, state: int, action: int, *, horizon: int, discount: float | None = None
    ) -> Timeline:
        """Compute it from the ledger, with weights separated by depth."""
        if not isinstance(horizon, (int, np.integer)):
            raise ValueError(f"horizon is {horizon!r}; give a whole number of steps")
        if horizon < 1:
            raise ValueError(f"horizon is {horizon}; ask for at least one step")
        slices = audit.visits_by_depth(state, action, horizon, discount=discount)
        whole = audit.account(state, action, discount=discount, method="scan").visits
        unaccounted = float(np.abs(slices.sum(axis=0) - whole).max())
        discounted = audit.discounted if discount is None else discount < 1.0
        ends: dict[str, Any] = {"loop": audit.loop(state, action), "faults": audit.faults}
        return cls(labels, state, action, slices[:-1], slices[-1], unaccounted, discount, discounted, **ends)

    def sentences(self) -> list[str]:
        """The answer in words: what is most expected at each step."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        lines = [f"In {here!r}, after {doing!r}: the most likely pair at each step, with its {self._probability()}:"]
        for step, expected in enumerate(self.visits):
            state, action = divmod(int(expected.argmax()), expected.shape[1])
            if expected[state, action] < MIN_STEP_VISITS:
                break
            lines.append(f"  {step:3d}  {expected[state, action]:.3f}  {self._pair(state, action)}")
        if len(lines) == 1:
            return [f"In {here!r}, {doing!r} was never tried: it has no expectation."]
        untaught = 1.0 - float(self.visits[0].sum())
        if untaught >= MIN_STATED_SHARE:
            lines.append(f"  The other {percent(untaught)} rest on the initial value of {doing!r}: unknown.")
        beyond = float(self.remainder.sum())
        if beyond >= MIN_STEP_VISITS:
            lines.append(f"  Beyond step {len(self.visits) - 1}: {beyond:.3f} {self._adjective()}visits in total.")
        return [*lines, *without_end(self.loop), *self.faults]

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
            "unaccounted": self.unaccounted,
            "sentences": self.sentences(),
        }


def layout(why: Timeline) -> Grid:
    """A row for each pair, ordered by when it is most expected; a column for each step."""
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
        title=f"{why.labels.actions[why.action]}: what it expects when",
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
    needs=["updates"],
    parameters=(Parameter("horizon", "the number of steps ahead", "number"),),
    place=40,
)
def ask(
    run: Run, state: State, action: Action | None = None, *, horizon: int = 20, discount: float | None = None
) -> Timeline:
    """When the agent expects what; by default, after its best action, discounted as learned (``discount=1``: undiscounted)."""
    at, chosen = run.resolve(state, action)
    return Timeline.of(run.audit, run.labels, at.index, chosen, horizon=horizon, discount=discount)
