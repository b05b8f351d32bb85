"""Why the agent prefers one action to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whatfor.explanation import ROUNDING
from whatfor.explanations.difference import Difference, Show, layout_of_both
from whatfor.explanations.intention import Intention
from whatfor.explanations.phrases import (
    FEW_UPDATES,
    LIKELY,
    MIN_KNOWN,
    expectation_clause,
    not_significant,
    signed_lines,
)
from whatfor.layouts.shapes import Layout
from whatfor.maps import Facets
from whatfor.question import Action, Parameter, State, question
from whatfor.text import amount, count, percent

if TYPE_CHECKING:
    from whatfor.runs import Run

MAX_REASONS = 5


@dataclass(frozen=True)
class Contrast(Difference):
    """Two actions in one state: what the agent expects of each, and the parts that sum to the gap between their values."""

    @property
    def chosen(self) -> Intention:
        """What the agent expects of the first action."""
        return self.one

    @property
    def instead(self) -> Intention:
        """What the agent expects of the other action."""
        return self.other

    def back_after(self, which: Intention) -> int | None:
        """The number of steps after which it expects to be back in this state; 1: the action does not move it; None: not expected."""
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
        """The answer in words: the better action, compared with the worse one."""
        if self.gap < 0.0 and not self.tied:
            return Contrast.of(self.other, self.one, noise=self.noise).sentences()
        here = self.labels.words(self.state)
        names = [self.labels.actions[which.action] for which in (self.one, self.other)]
        for name, which in zip(names, (self.one, self.other), strict=True):
            if which.is_blank:
                return [f"In {here!r}, {name!r} was never tried, so there is nothing to compare."]
            if which.tries is not None and which.now < MIN_KNOWN:
                return [
                    f"In {here!r}, it has learned too little about {name!r} to compare the two: "
                    f"its initial value still has a weight of {percent(1.0 - which.now)}."
                ]
        expects = "what it expects of it" if self.learned else "what follows it"
        guesses = [f"{name!r} {which.trust.untried}: {expects} is a guess." for name, which in zip(names, (self.one, self.other), strict=True) if which.tries == 0]  # fmt: skip
        if not self.learned:
            return [*self._played(here, names), *([] if self.tied else self._reasons()), *guesses, self._adds_up()]
        if self.tied:
            equal = " and ".join(dict.fromkeys(amount(which.value) for which in (self.one, self.other)))
            equal += ", discounted" if self.one.discounted else ""
            lines = [f"In {here!r}, {names[0]!r} and {names[1]!r} have the same estimated return ({equal})."]
            lines += self._two_futures(names) if self.different else [f"It expects {self.same_text} future after both."]
        else:
            lines = self._decided(here)
        for which in (self.one, self.other):
            lines += self._leads_nowhere(which)
        lines += [] if self.tied else self._reasons()
        return [*lines, *guesses, self._adds_up(), *self.one.faults, *self.one.trust.sentences()]

    def _played(self, here: str, names: list[str]) -> list[str]:
        """What playing its policy leads to after both actions, by a source that did not learn with it."""
        more = "the same as" if self.tied else f"{amount(self.gap)} more than"
        note = " (discounted)" if self.one.discounted else ""
        returned = f"{self.one.trust.hedge()}playing its policy after {names[0]!r} gives a return of {amount(self.one.value)}{note}"
        lines = [f"In {here!r}, {returned}, {more} after {names[1]!r}."]
        if self.unsettled and not self.tied:
            lines.append(f"This difference is {not_significant(self.gap, self.noise)}.")
        futures = zip(names, (self.one.expectation().text, self.other.expectation().text), strict=True)
        return lines + [f"After {name!r}, that leads it {text}." for name, text in futures if text]

    def _adds_up(self) -> str:
        """Whether the parts sum to the gap between the agent's own values."""
        total = float(self.parts.sum()) + self.initial_part
        total = 0.0 if abs(total) <= ROUNDING * self.magnitude else total
        difference = "the difference between the agent's Q-values"
        if not self.tied and (self.residual or 0.0) >= abs(self.gap):
            difference += ", more than that difference itself"
        text = self._sum_text(amount(total, signed=True), self.magnitude, self.one.trust.off_text, difference)
        return f"{text}."

    def _two_futures(self, names: list[str]) -> list[str]:
        """Two futures with the same value."""
        texts = [self.one.expectation().text, self.other.expectation().text]
        if texts[0] == texts[1]:
            texts = [self.one.action_sequence(), self.other.action_sequence()]
        if not any(texts):
            return ["It expects different futures after them."]
        lines = [f"  {name}: {text or 'unknown'}." for name, text in zip(names, texts, strict=True)]
        return ["It expects different futures after them:", *lines]

    def _decided(self, here: str) -> list[str]:
        """Which action is better, and what the agent expects of each."""
        better, worse = self.one, self.other
        why = better.expectation()
        name = self.labels.actions[worse.action]
        hedge = self.one.learned_from + self.one.trust.hedge()
        best = int(better.values.argmax())
        if better.value < better.values[best] - better.tie:  # it takes neither
            then = f": {hedge or 'then '}it expects {why.text}" if why.text else ""
            lines = [
                f"In {here!r}, it would take {self.labels.actions[best]!r}; of these two, "
                f"{self.labels.actions[better.action]!r} is better than {name!r}{then}."
            ]
            return lines + self._worse_action(better, worse)
        decides = "" if hedge or self.unsettled else self._single_cost()
        both = "after both, " * (why.text == worse.expectation().text)  # what follows both is no reason for one
        expected = expectation_clause(why._replace(reason=why.reason and not decides), both + hedge)
        chosen = self.labels.actions[better.action]
        lines = [f"In {here!r}, it chooses {chosen!r} over {name!r}{decides}{expected}."]
        return lines + self._worse_action(better, worse)

    def _worse_action(self, better: Intention, worse: Intention) -> list[str]:
        """The value and the expectation of the worse action, and how certain the comparison is."""
        why, instead = better.expectation(), worse.expectation()
        value = f"The estimated return of {self.labels.actions[worse.action]!r} is {amount(abs(self.gap))} lower{better.note}"
        lines = [value + (f": then it expects {instead.text}." if instead.text and instead.text != why.text else ".")]
        if self.unsettled:
            lines.append(f"This difference is {not_significant(self.gap, self.noise)}.")
        for which in (better, worse):
            lines += which.little_known(f" after {self.labels.actions[which.action]!r}")
            if which.tries is not None and 1.0 - which.now >= 0.05:
                only = "only " if which.tries < FEW_UPDATES else ""
                lines.append(
                    f"It has updated the value of {self.labels.actions[which.action]!r} {only}{count(which.tries, 'time')}: "
                    f"its initial value still has a weight of {percent(1.0 - which.now)}."
                )
        return lines

    def _single_cost(self) -> str:
        """A single cost that the better action avoids, about as large as the gap; empty: there is none."""
        state, action, saved = next(iter(self.reasons), (0, 0, 0.0))
        if saved <= self.one.magnitude or self.one.earnings[state, action] > 0.0:
            return ""
        if not 0.5 * self.gap <= saved <= 1.5 * self.gap:  # others decide as well
            return ""
        return f" because this avoids a cost of {amount(saved)}{self.one.note} at {self._pair(state, action)!r}"

    def _leads_nowhere(self, which: Intention) -> list[str]:
        """Whether an action does not move it, leads back, or leads in circles."""
        name, back = self.labels.actions[which.action], self.back_after(which)
        loops = [f"After {name!r}, {text[0].lower()}{text[1:]}" for text in which.without_end()]
        if which.loop.is_the_task:  # whatever it does
            loops = which.without_end() if which is self.one else []
        if back == 1:
            return [f"After {name!r}, it expects to stay where it is at first.", *loops]
        if back is not None:
            return [f"After {name!r}, it expects to be back here in {back} steps.", *loops]
        return loops

    def _reasons(self) -> list[str]:
        """The largest parts in favour of the first action, and the sum of the rest."""
        parts = self.reasons or [(p["state"], p["action"], p["number"]) for p in self._map(np.maximum(self.parts, 0.0))]
        rows = [(part, self._reason(state, action)) for state, action, part in parts[:MAX_REASONS]]
        rest = float(self.parts.sum()) - sum(part for part, _ in rows)
        if abs(rest) > ROUNDING * self.magnitude:
            rows.append((rest, "remaining contributions (net)"))
        if abs(self.initial_part) > ROUNDING * self.magnitude:
            rows.append((self.initial_part, "remaining from initial values"))
        return [f"Largest contributions in favour of {self.labels.actions[self.one.action]!r}:", *signed_lines(rows)]

    def _reason(self, state: int, action: int) -> str:
        """A pair in favour of the first action: an earning there, or a cost of the other action that it avoids."""
        avoided = "" if self.one.earnings[state, action] > 0.0 else " (avoided cost)"
        return self._pair(state, action) + avoided

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {"question": "contrast", "chosen": self.one.action, "instead": self.other.action, **self._numbers()}


def layout(why: Contrast, *, show: Show = "visits", facets: Facets = "all") -> Layout:
    """Maps of what the agent expects of each action, of only one, and of both."""
    one, two = (why.labels.actions[which.action] for which in (why.chosen, why.instead))
    title = (
        f"{one} or {two}: the same {'estimated return' if why.learned else 'return'}"
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
    needs=["beliefs", "two actions"],
    parameters=(Parameter("instead", "another action to compare it with", "action", selects=True),),
    clickable=("parts",),
    place=20,
)
def ask(run: Run, state: State, chosen: Action | None = None, instead: Action | None = None) -> Contrast:
    """Why the agent prefers one action to another; by default, the best to the second best."""
    at, first = run.resolve(state, chosen)
    values = run.values_at(at).copy()
    values[first] = -np.inf
    second = int(values.argmax()) if instead is None else other_action(run, first, instead, given=chosen is not None)
    return Contrast.of(run.expects(at, first), run.expects(at, second), noise=run.beliefs.gap_error(at, first, second))


def other_action(run: Run, first: int, instead: Action, *, given: bool) -> int:
    """The action to compare the first one with, which the reader may have ``given``; ``ValueError`` if it is the same."""
    second = run.labels.action(instead)
    if first == second:
        name = run.labels.actions[first]
        others = ", ".join(one for one in run.labels.actions if one != name)
        what = f"{name!r} cannot be compared with itself" if given else f"{name!r} is its best action here"
        raise ValueError(f"{what}; choose another action to compare it with: {others}")
    return second
