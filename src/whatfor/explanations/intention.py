"""What the agent expects after an action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.course import Course
from whatfor.beliefs.loop import NO_LOOP, Loop
from whatfor.beliefs.row import Row
from whatfor.beliefs.trust import COMPUTED, Quality
from whatfor.explanation import MIN_SHOWN, ROUNDING, Explanation
from whatfor.explanations.phrases import (
    Expectation,
    action_sequence,
    counted,
    expectation,
    expectation_clause,
    experience,
    largest_earnings,
    learned_from,
    little_known,
    signed_lines,
    tied_actions,
    without_end,
)
from whatfor.explanations.spread import range_lines
from whatfor.labels import Labels
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Layout
from whatfor.maps import Facets, map_of
from whatfor.question import Action, State, question
from whatfor.text import amount

if TYPE_CHECKING:
    from whatfor.runs import Run

#: Two values are tied if their gap is below this share of the earnings.
TIE = 1e-6


@dataclass(frozen=True)
class Intention(Explanation):
    """The future that an agent expects of one action; its earnings sum to the action's value."""

    labels: Labels
    state: int
    action: int
    visits: NDArray[np.float64]  # (S, A) discounted as learned: the paper's belief map
    earnings: NDArray[np.float64]  # (S, A) where the value comes from
    values: NDArray[np.float64]  # (A,) of all actions here, from the agent's own table
    initial_share: float  # the part of the value that still rests on initial values
    residual: float | None  # |earnings + initial_share - value|; None: the values are not the agent's own
    dropped: float = 0.0  # the total weight that was too small to follow
    visits_error: float = 0.0  # a bound on the error of the sum of visits because of that
    unknown: float | None = None  # expected visits to pairs it has not learned about, discounted as learned
    now: float = 1.0  # visits of this very step: 1 minus the weight on the initial value
    tries_by_pair: NDArray[np.int64] | None = None  # (S, A) how often each pair was updated; None: not counted
    chances: dict[str, float] | None = None  # of every ending and of "no recorded end", undiscounted; None: unknown
    endings_unknown: float = 0.0  # probability that still rests on initial values
    loop: Loop = NO_LOOP  # whether it goes on without a recorded end
    explores: bool = False  # whether what was learned includes exploration
    faults: tuple[str, ...] = ()  # what seems to be wrong with the ledger
    course: Course | None = None  # the likeliest course; None: unknown to this source
    discounted: bool = True  # whether any discount is below 1
    error: float | None = None  # standard error of the value, from the spread of its experiences; None: unknown
    trust: Quality = COMPUTED  # how far it can be trusted
    choice: int | None = None  # the action that it takes here; None: any with the highest value
    played_value: float | None = None  # the return of playing its policy; None: the row is what it learned

    @classmethod
    def of(
        cls,
        row: Row,
        labels: Labels,
        state: int,
        action: int,
        *,
        values: NDArray[np.float64],
        own: bool = True,
        learned: bool = True,
    ) -> Intention:
        """Build it from a row; ``values``: of all actions here; ``own``: whether they are the agent's own, so that there is a residual; ``learned``: whether the row is what it learned."""
        return cls(
            labels=labels,
            state=state,
            action=action,
            visits=row.visits,
            earnings=row.earnings,
            values=values,
            initial_share=row.initial,
            residual=abs(float(row.earnings.sum()) + row.initial - float(values[action])) if own and learned else None,
            dropped=row.dropped,
            visits_error=row.visits_error,
            unknown=row.unknown,
            now=row.now,
            tries_by_pair=row.tries,
            chances=None if row.endings is None else dict(row.endings),
            endings_unknown=row.endings_unknown or 0.0,
            loop=row.loop,
            explores=row.explores,
            faults=row.faults,
            course=row.course,
            discounted=row.discounted,
            error=row.error,
            trust=row.trust,
            played_value=None if learned else row.value,
        )

    @property
    def learned(self) -> bool:  # type: ignore[override]
        """False: what playing its policy leads to, not what it learned."""
        return self.played_value is None

    @property
    def value(self) -> float:
        """The agent's own value of the action, or the return of playing its policy."""
        return float(self.values[self.action]) if self.played_value is None else self.played_value

    @property
    def tries(self) -> int | None:
        """How often this action was updated here; None: not counted."""
        return None if self.tries_by_pair is None else int(self.tries_by_pair[self.state, self.action])

    @property
    def no_experience(self) -> NDArray[np.bool_] | None:
        """(S, A) Pairs without any update; all pairs if this one has none. None: not counted."""
        if self.tries_by_pair is None:
            return None
        untried: NDArray[np.bool_] = self.tries_by_pair == 0
        return np.ones_like(untried) if self.is_blank else untried

    @property
    def is_blank(self) -> bool:
        """Whether it expects nothing, since this action was never updated."""
        return self.trust.is_blank(self.tries)

    @property
    def never_acted(self) -> bool:
        """Whether it expects nothing of any action here."""
        return self.is_blank and self.tries_by_pair is not None and not self.tries_by_pair[self.state].any()

    @property
    def magnitude(self) -> float:
        """The sum of |earnings|: the scale for differences between values."""
        return max(float(np.abs(self.earnings).sum()), ROUNDING)

    @property
    def is_best(self) -> bool:
        """Whether no other action has a higher value, up to a tie."""
        return bool(self.values[self.action] >= self.values.max() - self.tie)

    @property
    def is_choice(self) -> bool:
        """Whether this is the action that it takes."""
        return self.is_best if self.choice is None else self.action == self.choice

    @property
    def tie(self) -> float:
        """Values that differ by at most this are tied."""
        return max(TIE * self.magnitude, self.trust.tie)

    def expected(self, most: int = 8) -> list[tuple[int, int, float]]:
        """The pairs with the most expected visits after this step: state, action, visits."""
        later = self.visits.copy()
        later[self.state, self.action] = max(0.0, later[self.state, self.action] - self.now)
        order = np.argsort(-later, axis=None, kind="stable")[:most]
        pairs = [(int(at) // later.shape[1], int(at) % later.shape[1]) for at in order]
        return [
            (state, action, float(later[state, action])) for state, action in pairs if later[state, action] >= MIN_SHOWN
        ]

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.action_phrase(self.action)
        if not self.learned:
            return self._played(here)
        if self.never_acted:
            return [
                f"In {here!r}, the agent has never acted: it never got there, or its episodes ended there. "
                f"It has no expectation; its estimated return is the initial value, {amount(self.value)}."
            ]
        if self.is_blank:
            untried = f"it has never tried {self.labels.actions[self.action]!r}: it has no expectation"
            return [f"In {here!r}, {untried}, and its estimated return is the initial value, {amount(self.value)}."]
        why = self.expectation()
        future = why._replace(text=self._with_length(why.text))
        tied = self.is_choice and tied_actions(self.labels, self.values)
        if self.is_choice and not tied:
            lines = [f"In {here!r}, it {doing}{expectation_clause(future, self.learned_from + self.trust.hedge())}."]
        else:
            expects = (
                f"{self.learned_from}{self.trust.hedge()}it expects {future.text}"
                if future.text
                else "no single future is likely"
            )
            lines = [f"In {here!r}, {f'{tied} are tied; ' if tied else ''}if it {doing}, {expects}."]
        lines.append(self._compared())
        lines += self.without_end()
        lines += [] if why.text else self.little_known()
        rest = 1.0 - self.now, self.unknown or 0.0
        lines += experience(self.trust.updated, self.tries, *rest, discounted=self.discounted)
        sequence = self.action_sequence()
        lines += [f"Its expected actions: {sequence}."] if sequence else self._most_expected()
        return [*lines, *self._earnings_lines(), *self.faults, *self.trust.sentences()]

    def _with_length(self, ends: str) -> str:
        """How it expects to end, with the expected number of steps where no likely course tells them."""
        if self.course is not None:
            return ends
        steps = counted(f"{float(self.visits.sum()):.3g}", "step") + f" in total{self.note}"
        return f"{ends}{'; after ' if '; ' in ends else ', after '}{steps}" if ends else steps

    def little_known(self, after: str = "") -> list[str]:
        """A sentence if most of how the episode ends is unknown; empty if not."""
        return [] if self.loop.is_the_task else little_known(self.chances or {}, self.endings_unknown, after)

    def without_end(self) -> list[str]:
        """A sentence if the episode stays in a loop by what it has learned; empty if not."""
        return without_end(self.loop)

    @property
    def learned_from(self) -> str:
        """The words before what it expects with exploration, if its best actions alone go on without end."""
        return learned_from(self.explores, self.loop.exploiting)

    def _played(self, here: str) -> list[str]:
        """What its policy leads to, by a source that did not learn with it."""
        leads, doing = self.expectation().text, self.labels.actions[self.action]
        played = f"{self.trust.hedge()}playing its policy after {doing!r}"
        lines = [f"In {here!r}, {played} leads it {leads or 'on without a likely end'}."]
        lines += [f"{doing!r} {self.trust.untried}: what follows it is a guess."] * (self.tries == 0)
        earned = signed_lines(largest_earnings(self.earnings, self.initial_share, self.magnitude, self._pair))
        lines += [*self._most_expected(), *[f"The rewards on the way{self.note}:"] * bool(earned), *earned]
        spread = f"with a standard error of {amount(self.error)} over its rollouts" if self.error else "the same in all rollouts"  # fmt: skip
        error = "" if self.error is None else f", {spread}"
        own = f"; its Q-value is {amount(float(self.values[self.action]))}."
        return [*lines, f"Playing its policy gives a return of {amount(self.value)}{self.note}{error}{own}"]

    def _earnings_lines(self) -> list[str]:
        """The rewards it expects, and whether they sum to its value."""
        earned = signed_lines(largest_earnings(self.earnings, self.initial_share, self.magnitude, self._pair))
        lines = [f"It expects these rewards{self.note}:", *earned] if earned else ["It expects no rewards."]
        total, scale = amount(self.earnings.sum() + self.initial_share), float(np.abs(self.earnings).sum())
        text = self._sum_text(total, scale, self.trust.off_text)
        if self.dropped:
            text += f"; terms with a total weight of {self.dropped:.1e} were left out"
        return [*lines, f"{text}."]

    @property
    def note(self) -> str:
        """The note beside a discounted number."""
        return " (discounted)" if self.discounted else ""

    @property
    def visits_quantity(self) -> str:
        """What the numbers of its maps are."""
        return "expected visits, discounted" if self.discounted else "expected visits"

    def expectation(self) -> Expectation:
        """What it expects to reach, if that is likely: "to pick up the passenger at Y in 8 steps and ..."."""
        chances = {name: chance for name, chance in (self.chances or {}).items() if chance >= self.trust.least_chance}
        return expectation(self.labels, self.course, chances, self.endings_unknown, self.state)

    def action_sequence(self) -> str:
        """The actions of its likely course: "south, west × 2, pick up"; empty if none is likely."""
        return action_sequence(self.labels, self.course)

    def caption(self) -> str:
        """The caption of a picture: the state, and the quality of an estimate."""
        return self.labels.words(self.state) + self.trust.caption

    def _compared(self) -> str:
        """The value, compared with that of the best other action."""
        own, rival = f"Its estimated return is {amount(self.value)}{self.note}", self.rival
        if rival is None:
            return own + "."
        gap, name = self.value - float(self.values[rival]), self.labels.actions[rival]
        if self.tries_by_pair is not None and self.tries_by_pair[self.state, rival] == 0:
            rank = "the second best by value" if gap > 0.0 else "the best by value"
            return f"{own}; {name!r}, {'with the same value' if abs(gap) <= self.tie else rank}, {self.trust.untried}."
        if abs(gap) <= self.tie:
            return f"{own}; that of {name!r} is the same."
        return f"{own}; that of {name!r} is {amount(abs(gap))} {'lower' if gap > 0 else 'higher'}."

    @property
    def rival(self) -> int | None:
        """The best other action; None: there is no other."""
        others = [a for a in range(len(self.values)) if a != self.action]
        return max(others, key=lambda a: float(self.values[a]), default=None)

    def _most_expected(self) -> list[str]:
        """The pairs it expects to visit most."""
        following = self.expected()
        if not following:
            return [] if self.course is None or self.course.ending is not None else ["It has not learned what follows."]
        heading = f"{'Most expected' if self.learned else 'Most visited'} afterwards (visits{', discounted' if self.discounted else ''})"
        if self.labels.points is not None:
            return range_lines(self.labels.points, self.visits, heading)
        return [f"{heading}:", *(f"  {visits:6.3f}  {self._pair(s, a)}" for s, a, visits in following)]

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {
            "question": "intention",
            "state": self.state,
            "action": self.action,
            "value": self.value,
            "values": self.values.tolist(),
            "residual": self.residual,
            "initial_share": self.initial_share,
            "dropped": self.dropped,
            "visits_error": self.visits_error,
            "unknown": self.unknown,
            "error": self.error,
            "trust": self.trust.to_json(),
            "tries": self.tries,
            "chances": self.chances,
            "course": None if self.course is None else self.course.to_json(),
            "visits": self._map(self.visits),
            "earnings": self._map(self.earnings),
            "sentences": self.sentences(),
        }


def layout(why: Intention, *, facets: Facets = "all") -> Layout:
    """A map of the expected visits."""
    title = f"{why.labels.actions[why.action]}: {'estimated return' if why.learned else 'return'} {amount(why.value)}"
    more: dict[str, Any] = {"unknown": why.no_experience, "quantity": why.visits_quantity, "state": why.state}
    return map_of(Map(why.labels, why.visits, title, why.caption(), **more), facets=facets)


@question(
    "intention",
    "what it expects",
    answer=Intention,
    layout=layout,
    needs=["beliefs"],
    clickable=("",),
    every_action=True,
    place=10,
)
def ask(run: Run, state: State, action: Action | None = None) -> Intention:
    """What the agent expects after an action; by default, after its best."""
    return run.expects(*run.resolve(state, action))
