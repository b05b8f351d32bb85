"""Why this action and not that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whatfor.beliefs.trust import Trust
from whatfor.explanations.difference import Difference, Show, layout_of_both
from whatfor.explanations.intention import Intention
from whatfor.explanations.phrases import LIKELY, expecting
from whatfor.layouts.shapes import Layout
from whatfor.maps import Facets
from whatfor.question import Action, Parameter, State, question
from whatfor.text import count

if TYPE_CHECKING:
    from whatfor.runs import Run

MOST_REASONS = 5


@dataclass(frozen=True)
class Contrast(Difference):
    """Two actions in one state: what each expects, and the parts that sum to the gap between their values."""

    @property
    def chosen(self) -> Intention:
        """What the first action expects."""
        return self.one

    @property
    def instead(self) -> Intention:
        """What the other expects."""
        return self.other

    def back_after(self, which: Intention) -> int | None:
        """After how many steps it expects to be in this very state again; None: it does not, as far as it knows.

        1: the action leaves it where it is; more: a bounce.
        """
        course = which.course
        if course is None:
            return None
        if course.stays >= LIKELY:
            return 1
        back = [step for step, (state, _) in enumerate(course.pairs) if step > 0 and state == self.state]
        if course.comes_back_to is not None and course.pairs[course.comes_back_to][0] == self.state:
            back.append(len(course.pairs))
        likely = [step for step in back if (*course.chances, course.ending_chance)[step] >= LIKELY]
        return min(likely, default=None)

    def sentences(self) -> list[str]:
        """The answer in words."""
        here = self.labels.words(self.state)
        names = [self.labels.actions[which.action] for which in (self.one, self.other)]
        for name, which in zip(names, (self.one, self.other), strict=True):
            if which.tries == 0 and which.trust is None:
                return [f"In {here!r}, {name!r} was never tried, so there is nothing to compare."]
            if which.tries is not None and which.trust is None and which.now < 0.5:
                return [
                    f"In {here!r}, it has learned too little of {name!r} to compare the two: "
                    f"{1.0 - which.now:.0%} of its weight is still on the value it started with."
                ]
        if self.tied:
            equal = (
                f"{self.one.value:.4f}"
                if self.gap == 0.0 or self.one.trust is None
                else f"{self.one.value:.4f} and {self.other.value:.4f}"
            )
            lines = [f"In {here!r}, {names[0]!r} and {names[1]!r} are equally good ({equal})."]
            lines += self._two_ways(names) if self.different else ["They expect the same future."]
        else:
            lines = self._decided(here)
        for which in (self.one, self.other):
            lines += self._leads_nowhere(which)
        lines += [] if self.tied else self._reasons()
        return [*lines, self._adds_up()] if self.one.trust is None else lines + self._hedges(self.one.trust)

    def _adds_up(self) -> str:
        """How far the parts are from the gap between the agent's own values."""
        total = float(self.parts.sum()) + self.start_part
        return f"The parts sum to {total:+.4f}: {self._judged(self.at_stake, 'gap between the values')}."

    def _hedges(self, trust: Trust) -> list[str]:
        """How far both sides of a network's estimate are from the agent's own values."""
        unseen = [self.labels.actions[which.action] for which in (self.one, self.other) if which.tries == 0]
        guesses = [
            f"{name.capitalize()} was in no batch it learned from here: what it expects of it is a guess."
            for name in unseen
        ]
        apart = f"The parts sum to {float(self.parts.sum()):+.3f}, the gap is {self.gap:+.3f}: off by {self.residual or 0.0:.2g}."
        return [*guesses, apart, *trust.sentences()]

    def _two_ways(self, names: list[str]) -> list[str]:
        """Two futures of one value."""
        ways = [self.one.plan().said, self.other.plan().said]
        if ways[0] == ways[1]:
            ways = [self.one.way(), self.other.way()]
        told = [f"  {name}: {way}." for name, way in zip(names, ways, strict=True) if way]
        return ["They expect different futures all the same" + (":" if told else "."), *told]

    def _decided(self, here: str) -> list[str]:
        """Which is better, and what each is for."""
        better, worse = (self.one, self.other) if self.gap > 0 else (self.other, self.one)
        why = better.plan()
        name = self.labels.actions[worse.action]
        hedged = "" if self.one.trust is None else self.one.trust.hedged()
        best = int(better.values.argmax())
        if better.value < better.values[best] - better.tie:  # it takes neither
            then = f": {hedged or 'then '}it expects {why.said}" if why.said else ""
            lines = [
                f"In {here!r}, it would take {self.labels.actions[best]!r}; of these two, "
                f"{self.labels.actions[better.action]!r} is better than {name!r}{then}."
            ]
            return lines + self._less(better, worse)
        decides = self._one_cost() if better is self.one and not hedged else ""
        expected = expecting(why._replace(reason=why.reason and not decides), hedged)
        lines = [f"In {here!r}, it {self.labels.doing(better.action)} rather than {name!r}{decides}{expected}."]
        return lines + self._less(better, worse)

    def _less(self, better: Intention, worse: Intention) -> list[str]:
        """What the worse one expects, and how sure all that is."""
        why, instead = better.plan(), worse.plan()
        less = f"{self.labels.actions[worse.action].capitalize()} is worth {abs(self.gap):.4f} less"
        lines = [less + (f": then it expects {instead.said}." if instead.said and instead.said != why.said else ".")]
        if self.unsettled:
            lines.append(
                f"That is not settled: two standard errors of the difference are {2.0 * (self.noise or 0.0):.2g}."
            )
        for which in (better, worse):
            if which.never_known >= 0.5:
                lines.append(
                    f"How it ends after {self.labels.actions[which.action]!r}, it hardly knows ({which.never_known:.0%} unknown)."
                )
            if which.tries is not None and 1.0 - which.now >= 0.05:
                lines.append(
                    f"It has tried {self.labels.actions[which.action]!r} only {count(which.tries, 'time')}: "
                    f"{1.0 - which.now:.0%} of its weight is still on the value it started with."
                )
        return lines

    def _one_cost(self) -> str:
        """A single cost that the better action spares, larger than all it expects to earn and pay; nothing: there is none."""
        state, action, amount = next(iter(self.reasons), (0, 0, 0.0))
        if amount <= self.one.at_stake or self.one.earnings[state, action] > 0.0:
            return ""
        return f" because that spares it {amount:.3g} at {self._pair(state, action)!r}"

    def _leads_nowhere(self, which: Intention) -> list[str]:
        """Stuck, a bounce back, or circles without an end."""
        name, back, course = self.labels.actions[which.action].capitalize(), self.back_after(which), which.course
        if back == 1:
            return [f"{name} leaves it where it is."]
        if course is not None and course.comes_back_to is not None and course.ending_chance >= LIKELY:
            return [f"{name} leads nowhere: it expects to go in circles."]
        if back is not None:
            return [f"{name} is a bounce: it expects to be back here after {back} steps."]
        return []

    def _reasons(self) -> list[str]:
        """The parts that decide."""
        reasons = self.reasons
        if not reasons:
            return []
        said = "What speaks for" if self.unsettled else "What decides for"
        lines = [f"{said} {self.labels.actions[self.one.action]!r}, outweighing all that speaks against it:"]
        shown = reasons[:MOST_REASONS]
        lines += [f"  {amount:+7.3f}  {self._reason(s, a)}" for s, a, amount in shown]
        rest = self.gap - sum(amount for *_, amount in shown)
        return [*lines, f"  {rest:+7.3f}  all the rest, for and against"]

    def _reason(self, state: int, action: int) -> str:
        """A pair in favour of the chosen action: something earned there, or a cost that only the other expects."""
        spared = "" if self.one.earnings[state, action] > 0.0 else "spared: "
        return spared + self._pair(state, action)

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {"question": "contrast", "chosen": self.one.action, "instead": self.other.action, **self._numbers()}


def layout(why: Contrast, *, show: Show = "visits", facets: Facets = "all") -> Layout:
    """What each expects, and what only one of them does."""
    one, two = (why.labels.actions[which.action] for which in (why.chosen, why.instead))
    title = f"{one} or {two}: equally good" if why.tied else f"{one} and not {two}: worth {why.gap:+.3f}"
    if why.chosen.tries == 0 or why.instead.tries == 0:
        title = f"{one} or {two}: never tried, nothing to compare"
    return layout_of_both(why, title, (one, two), show, facets)


@question(
    "contrast",
    "why not another action",
    answer=Contrast,
    layout=layout,
    needs=["two actions"],
    parameters=(Parameter("instead", "another action to compare it with", "action", asks=True),),
    shows=("parts",),
    place=20,
)
def ask(run: Run, state: State, chosen: Action | None = None, instead: Action | None = None) -> Contrast:
    """Why one action and not another; by default, the best against the second best."""
    at, first = run.asked(state, chosen)
    others = run.values_at(at).copy()
    others[first] = -np.inf
    second = int(others.argmax()) if instead is None else run.labels.action(instead)
    if first == second:
        raise ValueError(f"{run.labels.actions[first]!r} cannot be compared with itself; name another action")
    return Contrast.of(run.expects(at, first), run.expects(at, second), noise=run.beliefs.gap_error(at, first, second))
