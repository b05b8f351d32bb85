"""How an intention changed: between two times of one training, or between two runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whatfor.explanation import MIN_SHOWN
from whatfor.explanations.difference import Difference, Show, layout_of_both
from whatfor.explanations.intention import Intention
from whatfor.layouts.shapes import Layout
from whatfor.maps import Facets
from whatfor.question import Action, Parameter, State, question
from whatfor.text import amount

if TYPE_CHECKING:
    from whatfor.runs import Run

MAX_PAIRS = 5


@dataclass(frozen=True)
class Change(Difference):
    """What an agent intends in a state, and what it intended before; the parts sum to the change of the value.

    The actions may differ; where they are the same, the reasons may not be.
    """

    another_run: bool = False  # not earlier in training, but another run

    @property
    def after(self) -> Intention:
        """What it intends now."""
        return self.one

    @property
    def before(self) -> Intention:
        """What it intended then."""
        return self.other

    @property
    def same_action(self) -> bool:
        """Whether it would do the same."""
        return self.one.action == self.other.action

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, labels = self.labels.words(self.state), self.labels
        now, then = ("here", "in the other run") if self.another_run else ("now", "before")
        for which, when in ((self.before, then), (self.after, now)):
            if which.tries == 0 and which.trust is None:
                return [
                    f"In {here!r}, {labels.actions[which.action]!r} was never tried {when}: there is nothing to compare."
                ]
        doing, other = labels.action_phrase(self.after.action), labels.actions[self.before.action]
        if self.same_action:
            lines = [f"In {here!r}, it {doing} {now} as {then}, {self._reasons()}."]
        else:
            lines = [f"In {here!r}, it {doing} {now}; {then}, its choice was {other!r}."]
        expected = [
            (when.capitalize(), which.expectation().text) for when, which in ((then, self.before), (now, self.after))
        ]
        if all(text for _, text in expected) and expected[0][1] != expected[1][1]:
            lines += [f"{when}, it expects {text}." for when, text in expected]
        lines.append(
            f"The estimated return is {amount(self.after.value)} {now} and was {amount(self.before.value)} {then} ({amount(self.gap, signed=True)}, discounted)."
        )
        if self.different:
            for lead, numbers in (
                (f"{now.capitalize()} it expects more visits of", self.gained),
                ("and fewer of", self.lost),
            ):
                most = [part for part in self._map(numbers)[:MAX_PAIRS] if part["number"] >= MIN_SHOWN]
                lines += [f"{lead}:"] * bool(most)
                lines += [f"  {part['number']:6.3f}  {self._pair(part['state'], part['action'])}" for part in most]
        return lines if self.one.trust is None else [*lines, *self.one.trust.about(self.one.residual)]

    def _reasons(self) -> str:
        """How much of the one future is in the other."""
        if min(self.one.now, self.other.now) < 0.5:
            return "having learned too little to have reasons"
        if not self.different:
            return "for the same reasons"
        return "for partly other reasons" if (self.in_common or 0.0) >= 0.5 else "for other reasons"

    @property
    def in_common(self) -> float | None:
        """The share of the longer future's visits that both expect; None: there is none."""
        longer = max(self.one.visits.sum(), self.other.visits.sum())
        return float(self.shared.sum() / longer) if longer else None

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {
            "question": "change",
            "before": {"action": self.before.action, "value": self.before.value},
            "after": {"action": self.after.action, "value": self.after.value},
            "in_common": self.in_common,
            **self._numbers(),
        }


def layout(why: Change, *, show: Show = "visits", facets: Facets = "all") -> Layout:
    """What it expects now, and what it expected then."""
    was, now = (
        f"{why.labels.actions[which.action]} {when}" for which, when in ((why.before, "before"), (why.after, "now"))
    )
    return layout_of_both(why, f"{now}, {was}: {amount(why.gap, signed=True)}", (now, was), show, facets)


def _times(run: Run) -> list[str]:
    """Some earlier times of training."""
    episodes = 0 if run.ledger is None else run.ledger.n_episodes
    return [str(time) for time in sorted({episodes // 100, episodes // 10, episodes // 2}) if time > 0]


@question(
    "change",
    "how it changed since an earlier time",
    answer=Change,
    layout=layout,
    parameters=(
        Parameter(
            "since",
            "after how many episodes to look",
            "number",
            selects=True,
            needed=True,
            example="1000",
            suggestions=_times,
        ),
    ),
    shows=("parts",),
    place=80,
)
def ask(run: Run, state: State, action: Action | None = None, *, since: int | Run) -> Change:
    """How the intention changed since so many episodes, or since another run of the same world.

    By default each is asked for its own best action.
    """
    before = run.as_of(since) if isinstance(since, int | np.integer) else since
    if before.labels != run.labels:
        raise ValueError("the two runs are not of the same world: their states or actions have other names")
    now, then = run.expects(*run.resolve(state, action)), before.expects(*before.resolve(state, action))
    return Change.of(now, then, another_run=before is since)
