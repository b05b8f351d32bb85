"""How an intention changed, between two times of one training or between two runs."""

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
from whatfor.text import amount, count

if TYPE_CHECKING:
    from whatfor.runs import Run

MAX_CHANGES = 5


@dataclass(frozen=True)
class Change(Difference):
    """What an agent expects in a state now and what it expected before; the parts sum to the change of the value."""

    another_run: bool = False  # compared with another run, not with an earlier time
    since: int | None = None  # the number of episodes before the earlier time; None: another run

    @property
    def after(self) -> Intention:
        """What it expects now."""
        return self.one

    @property
    def before(self) -> Intention:
        """What it expected before."""
        return self.other

    @property
    def same_action(self) -> bool:
        """Whether both are about the same action."""
        return self.one.action == self.other.action

    def sentences(self) -> list[str]:
        """The answer in words."""
        here = self.labels.words(self.state)
        now, then = ("here", "in the other run") if self.another_run else ("now", self._then())
        not_tried = "was never tried in the other run" if self.another_run else "had not been tried then"
        for which, untried in ((self.after, "was never tried"), (self.before, not_tried)):
            if which.tries == 0 and which.trust is None:
                name = self.labels.actions[which.action]
                return [f"In {here!r}, {name!r} {untried}, so there is nothing to compare."]
        lines = [f"In {here!r}, {self._choices(now, then)}."]
        texts = self.before.expectation().text, self.after.expectation().text
        if all(texts) and texts[0] != texts[1]:
            expected = "expects" if self.another_run else "expected"
            lines += [f"{then.capitalize()}, it {expected} {texts[0]}.", f"{now.capitalize()}, it expects {texts[1]}."]
        lines += [self._values(now, then), *self.after.without_end()]
        if self.different:
            for lead, numbers in (
                (f"{now.capitalize()} it expects more visits of", self.gained),
                ("and fewer of", self.lost),
            ):
                most = [part for part in self._map(numbers)[:MAX_CHANGES] if part["number"] >= MIN_SHOWN]
                lines += [f"{lead}:"] * bool(most)
                lines += [f"  {part['number']:6.3f}  {self._pair(part['state'], part['action'])}" for part in most]
        return lines if self.one.trust is None else [*lines, *self.one.trust.about(self.one.residual)]

    def _then(self) -> str:
        """The earlier time in words."""
        return "before" if self.since is None else f"after {count(self.since, 'episode')}"

    def _choices(self, now: str, then: str) -> str:
        """What it chooses now and chose before; an action that it would not take is not called its choice."""
        actions, doing = self.labels.actions, self.labels.action_phrase(self.after.action)
        if not self.after.is_best:
            return f"if it {doing}, it expects {self._futures(then)}"
        before = self.before.action if self.before.is_best else int(self.before.values.argmax())
        if before != self.after.action:
            return f"it {doing} {now}; {then}, its choice {'is' if self.another_run else 'was'} {actions[before]!r}"
        return f"it {doing} {now} as {then}, {self._reasons()}"

    def _values(self, now: str, then: str) -> str:
        """The estimated returns now and before."""
        before, after = amount(self.before.value), amount(self.after.value)
        if self.tied:
            return f"The estimated return is {after} {now}, the same as {then}{' (discounted as learned)' if self.one.discounted else ''}."
        was = "" if self.another_run else "was "
        return f"The estimated return is {after} {now} and {was}{before} {then} ({amount(self.gap, signed=True)}{', discounted as learned' if self.one.discounted else ''})."

    def _futures(self, then: str) -> str:
        """How much the two futures have in common, for an action that is not its choice."""
        if not self.different:
            return f"the same as {then}"
        return f"partly the same as {then}" if (self.in_common or 0.0) >= 0.5 else f"a different future than {then}"

    def _reasons(self) -> str:
        """How much the two futures have in common, as reasons for a choice."""
        if min(self.one.now, self.other.now) < 0.5:
            return "having learned too little to have reasons"
        if not self.different:
            return "for the same reasons"
        return "for partly different reasons" if (self.in_common or 0.0) >= 0.5 else "for different reasons"

    @property
    def in_common(self) -> float | None:
        """The share of the longer future's visits that both expect; None: no visits."""
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
    """Maps of what it expects now and what it expected before."""
    was, now = (
        f"{why.labels.actions[which.action]} {when}" for which, when in ((why.before, "before"), (why.after, "now"))
    )
    return layout_of_both(why, f"{now}, {was}: {amount(why.gap, signed=True)}", (now, was), show, facets)


def _times(run: Run) -> list[str]:
    """Some earlier times in training, as numbers of episodes."""
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
            "compare with the agent after this many episodes",
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
    """How the intention changed since an earlier episode, or compared with another run in the same environment.

    By default, each side answers for its own best action.
    """
    before = run.as_of(since) if isinstance(since, int | np.integer) else since
    if before.labels != run.labels:
        raise ValueError("the two runs are not of the same environment: their states or actions have other names")
    now, then = run.expects(*run.resolve(state, action)), before.expects(*before.resolve(state, action))
    time = int(since) if isinstance(since, int | np.integer) else None
    return Change.of(now, then, another_run=time is None, since=time)
