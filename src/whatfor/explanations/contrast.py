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
from whatfor.text import amount, count, percent

if TYPE_CHECKING:
    from whatfor.runs import Run

MAX_REASONS = 5


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
                    f"In {here!r}, it has learned too little about {name!r} to compare the two: "
                    f"{percent(1.0 - which.now)} of the weight is still on the initial value."
                ]
        if self.tied:
            equal = (
                f"{amount(self.one.value)}"
                if self.gap == 0.0 or self.one.trust is None
                else f"{amount(self.one.value)} and {amount(self.other.value)}"
            )
            lines = [f"In {here!r}, {names[0]!r} and {names[1]!r} have the same estimated return ({equal})."]
            lines += self._two_ways(names) if self.different else ["They expect the same future."]
        else:
            lines = self._decided(here)
        for which in (self.one, self.other):
            lines += self._leads_nowhere(which)
        lines += [] if self.tied else self._reasons()
        return [*lines, self._adds_up()] if self.one.trust is None else lines + self._hedges(self.one.trust)

    def _adds_up(self) -> str:
        """How far the parts are from the gap between the agent's own values."""
        total = float(self.parts.sum()) + self.initial_part
        return f"The parts sum to {amount(total, signed=True)}: {self._quality(self.magnitude, 'difference between the values')}."

    def _hedges(self, trust: Trust) -> list[str]:
        """How far both sides of a network's estimate are from the agent's own values."""
        untrained = [self.labels.actions[which.action] for which in (self.one, self.other) if which.tries == 0]
        guesses = [
            f"{name.capitalize()} was in none of its training batches here: what it expects of it is a guess."
            for name in untrained
        ]
        apart = f"The parts sum to {amount(float(self.parts.sum()), signed=True)}, the difference is {amount(self.gap, signed=True)}: {self.residual or 0.0:.2g} off."
        return [*guesses, apart, *trust.sentences()]

    def _two_ways(self, names: list[str]) -> list[str]:
        """Two futures of one value."""
        ways = [self.one.expectation().text, self.other.expectation().text]
        if ways[0] == ways[1]:
            ways = [self.one.way(), self.other.way()]
        shown = [f"  {name}: {way}." for name, way in zip(names, ways, strict=True) if way]
        return ["They still expect different futures" + (":" if shown else "."), *shown]

    def _decided(self, here: str) -> list[str]:
        """Which is better, and what each is for."""
        better, worse = (self.one, self.other) if self.gap > 0 else (self.other, self.one)
        why = better.expectation()
        name = self.labels.actions[worse.action]
        hedged = "" if self.one.trust is None else self.one.trust.hedged()
        best = int(better.values.argmax())
        if better.value < better.values[best] - better.tie:  # it takes neither
            then = f": {hedged or 'then '}it expects {why.text}" if why.text else ""
            lines = [
                f"In {here!r}, it would take {self.labels.actions[best]!r}; of these two, "
                f"{self.labels.actions[better.action]!r} is better than {name!r}{then}."
            ]
            return lines + self._less(better, worse)
        decides = self._one_cost() if better is self.one and not hedged else ""
        expected = expecting(why._replace(reason=why.reason and not decides), hedged)
        lines = [f"In {here!r}, it {self.labels.action_phrase(better.action)} rather than {name!r}{decides}{expected}."]
        return lines + self._less(better, worse)

    def _less(self, better: Intention, worse: Intention) -> list[str]:
        """What the worse one expects, and how sure all that is."""
        why, instead = better.expectation(), worse.expectation()
        less = f"The estimated return of {self.labels.actions[worse.action]!r} is {amount(abs(self.gap))} lower"
        lines = [less + (f": then it expects {instead.text}." if instead.text and instead.text != why.text else ".")]
        if self.unsettled:
            lines.append(
                f"That is not settled: two standard errors of the difference are {2.0 * (self.noise or 0.0):.2g}."
            )
        for which in (better, worse):
            if which.endings_unknown >= 0.5:
                lines.append(
                    f"It has learned little about how {self.labels.actions[which.action]!r} ends ({percent(which.endings_unknown)} unknown)."
                )
            if which.tries is not None and 1.0 - which.now >= 0.05:
                lines.append(
                    f"It has tried {self.labels.actions[which.action]!r} only {count(which.tries, 'time')}: "
                    f"{percent(1.0 - which.now)} of the weight is still on the initial value."
                )
        return lines

    def _one_cost(self) -> str:
        """A single cost that the better action avoids, larger than all it expects to earn and pay; empty: there is none."""
        state, action, saved = next(iter(self.reasons), (0, 0, 0.0))
        if saved <= self.one.magnitude or self.one.earnings[state, action] > 0.0:
            return ""
        return f" because that saves it {amount(saved)} at {self._pair(state, action)!r}"

    def _leads_nowhere(self, which: Intention) -> list[str]:
        """Stuck, a bounce back, or circles without an end."""
        name, back, course = self.labels.actions[which.action].capitalize(), self.back_after(which), which.course
        if back == 1:
            return [f"{name} leaves it where it is."]
        if course is not None and course.comes_back_to is not None and course.ending_chance >= LIKELY:
            return [f"{name} leads nowhere: it expects to go in circles."]
        if back is not None:
            return [f"{name} expects to be back here after {back} steps."]
        return []

    def _reasons(self) -> list[str]:
        """The parts that decide."""
        reasons = self.reasons
        if not reasons:
            return []
        lead = "What speaks for" if self.unsettled else "What decides for"
        lines = [f"{lead} {self.labels.actions[self.one.action]!r}, outweighing all that speaks against it:"]
        shown = reasons[:MAX_REASONS]
        lines += [f"  {amount(part, signed=True):>8}  {self._reason(s, a)}" for s, a, part in shown]
        rest = self.gap - sum(part for *_, part in shown)
        return [*lines, f"  {amount(rest, signed=True):>8}  all other parts, for and against"]

    def _reason(self, state: int, action: int) -> str:
        """A pair in favour of the chosen action: something earned there, or a cost that only the other expects."""
        avoided = "" if self.one.earnings[state, action] > 0.0 else "avoided: "
        return avoided + self._pair(state, action)

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {"question": "contrast", "chosen": self.one.action, "instead": self.other.action, **self._numbers()}


def layout(why: Contrast, *, show: Show = "visits", facets: Facets = "all") -> Layout:
    """What each expects, and what only one of them does."""
    one, two = (why.labels.actions[which.action] for which in (why.chosen, why.instead))
    title = (
        f"{one} or {two}: the same estimated return"
        if why.tied
        else f"{one} and not {two}: {amount(why.gap, signed=True)}"
    )
    if why.chosen.tries == 0 or why.instead.tries == 0:
        title = f"{one} or {two}: never tried, nothing to compare"
    return layout_of_both(why, title, (one, two), show, facets)


@question(
    "contrast",
    "why not another action",
    answer=Contrast,
    layout=layout,
    needs=["two actions"],
    parameters=(Parameter("instead", "another action to compare it with", "action", selects=True),),
    shows=("parts",),
    place=20,
)
def ask(run: Run, state: State, chosen: Action | None = None, instead: Action | None = None) -> Contrast:
    """Why one action and not another; by default, the best against the second best."""
    at, first = run.resolve(state, chosen)
    others = run.values_at(at).copy()
    others[first] = -np.inf
    second = int(others.argmax()) if instead is None else run.labels.action(instead)
    if first == second:
        raise ValueError(f"{run.labels.actions[first]!r} cannot be compared with itself; name another action")
    return Contrast.of(run.expects(at, first), run.expects(at, second), noise=run.beliefs.gap_error(at, first, second))
