"""When the agent expects what: its visits, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.explanation import Explanation
from whatfor.labels import Labels
from whatfor.layouts.map import rows_of
from whatfor.layouts.shapes import Grid, Series
from whatfor.layouts.words import pair_names
from whatfor.question import Action, Parameter, State, question

if TYPE_CHECKING:
    from whatfor.runs import Run

#: Steps with fewer expected visits get no line.
MIN_SHOWN = 5e-3
#: A picture has so many rows.
MAX_PAIRS = 14


@dataclass(frozen=True)
class Timeline(Explanation):
    """Expected visits by the number of steps ahead; with the remainder, exactly the visits."""

    labels: Labels
    state: int
    action: int
    visits: NDArray[np.float64]  # (horizon, S, A) slice d: expected d steps ahead, discounted as asked
    remainder: NDArray[np.float64]  # (S, A) all that lies beyond the horizon
    unaccounted: float  # the largest difference between the slices with the remainder, and the visits
    residual: None = None  # no value is explained

    @classmethod
    def of(
        cls, audit: Audit, labels: Labels, state: int, action: int, *, horizon: int, discount: float | None = None
    ) -> Timeline:
        """Compute it from the ledger, with weights kept apart by depth."""
        if not isinstance(horizon, (int, np.integer)):
            raise ValueError(f"horizon is {horizon!r}; it is a whole number of steps")
        if horizon < 1:
            raise ValueError(f"horizon is {horizon}; ask for at least one step")
        slices = audit.visits_by_depth(state, action, horizon, discount=discount)
        whole = audit.account(state, action, discount=discount, method="scan").visits
        unaccounted = float(np.abs(slices.sum(axis=0) - whole).max())
        return cls(labels, state, action, slices[:-1], slices[-1], unaccounted)

    def sentences(self) -> list[str]:
        """The answer in words: what is most expected at each step."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        lines = [
            f"From {here!r} with {doing!r}, it expects, step by step (the likeliest pair; visits discounted as asked):"
        ]
        for step, expected in enumerate(self.visits):
            state, action = divmod(int(expected.argmax()), expected.shape[1])
            if expected[state, action] < MIN_SHOWN:
                break
            lines.append(f"  {step:3d}  {expected[state, action]:.3f}  {self._pair(state, action)}")
        if len(lines) == 1:
            return [f"From {here!r} with {doing!r}, it has no expectation: this was never tried."]
        beyond = float(self.remainder.sum())
        if beyond >= MIN_SHOWN:
            lines.append(f"  Beyond step {len(self.visits) - 1}: {beyond:.3f} visits in total.")
        return lines

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {
            "question": "timeline",
            "state": self.state,
            "action": self.action,
            "steps": [self._map(expected) for expected in self.visits],
            "remainder": self._map(self.remainder),
            "unaccounted": self.unaccounted,
            "sentences": self.sentences(),
        }


def layout(why: Timeline) -> Grid:
    """A row for each pair, by when it is most expected; a column for each step."""
    horizon, _, n_actions = why.visits.shape
    flat = np.vstack([why.visits.reshape(horizon, -1), why.remainder.reshape(1, -1)])  # (steps and beyond, pairs)
    steps = 1 + int(
        np.flatnonzero(flat[:-1].max(axis=1) >= MIN_SHOWN).max(initial=0)
    )  # after those, it expects to be done
    ahead = flat[:-1]
    shown = np.flatnonzero(ahead.max(axis=0) >= MIN_SHOWN)
    most = shown[np.argsort(-ahead[:, shown].sum(axis=0), kind="stable")[:MAX_PAIRS]]
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
    parameters=(Parameter("horizon", "how many steps ahead", "number"),),
    place=40,
)
def ask(
    run: Run, state: State, action: Action | None = None, *, horizon: int = 20, discount: float | None = None
) -> Timeline:
    """When the agent expects what; by default, after its best action, discounted as learned (1: plain chances)."""
    at, chosen = run.resolve(state, action)
    return Timeline.of(run.audit, run.labels, at.index, chosen, horizon=horizon, discount=discount)
