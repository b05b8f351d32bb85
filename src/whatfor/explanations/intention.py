"""What the agent expects to follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.course import Course
from whatfor.beliefs.row import Row
from whatfor.beliefs.trust import Trust
from whatfor.explanation import FAINT, ROUNDING, Explanation
from whatfor.explanations.phrases import Expectation, as_way, expecting, experience, plan
from whatfor.labels import Labels
from whatfor.layouts.shapes import Layout
from whatfor.maps import Facets, map_of
from whatfor.question import Action, State, question
from whatfor.text import count

if TYPE_CHECKING:
    from whatfor.runs import Run

#: A gap between two values below this share of what is at stake is called a tie.
TIE = 1e-6


@dataclass(frozen=True)
class Intention(Explanation):
    """The future that an agent expects of one action, adding up to its value."""

    labels: Labels
    state: int
    action: int
    visits: NDArray[np.float64]  # (S, A) discounted as learned: the paper's belief map
    earnings: NDArray[np.float64]  # (S, A) where the value comes from
    values: NDArray[np.float64]  # (A,) of all actions here, from the learner's own table
    from_start: float  # the part of the value that is left of what the tables started with
    residual: float | None  # |earnings + from_start - value|; None: the values are those of the source itself
    dropped: float = 0.0  # weight an indexed walk left out; 0: exact
    visits_error: float = 0.0  # a bound on what that can have changed in the sum of visits
    unknown: float = 0.0  # visits of pairs it expects to come to and has not learned about, discounted as learned
    now: float = (
        1.0  # the part of its own visits that is the asked step itself: 1 less the share that is still its start
    )
    tried: NDArray[np.int64] | None = None  # (S, A) how often each pair was learned from; None: nobody counted
    chances: dict[str, float] | None = None  # of every way to end, without a discount; None: the source cannot tell
    never_known: float = 0.0  # chance that still rests on values the tables started with
    course: Course | None = None  # the likeliest way on; None: the source cannot tell
    error: float | None = None  # standard error of the value, from the spread of its experiences; None: nobody knows
    trust: Trust | None = None  # how far a network's estimate can be trusted; None: it is no estimate

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
    ) -> Intention:
        """What a row says; ``values``: what its actions are worth to the agent, ``own``: by its own table, which the source is checked against."""
        return cls(
            labels=labels,
            state=state,
            action=action,
            visits=row.visits,
            earnings=row.earnings,
            values=values,
            from_start=row.initial,
            residual=abs(float(row.earnings.sum()) + row.initial - float(values[action])) if own else None,
            dropped=row.dropped,
            visits_error=row.visits_error,
            unknown=row.unknown,
            now=row.now,
            tried=row.tried,
            chances=None if row.endings is None else dict(row.endings),
            never_known=row.endings_unknown,
            course=row.course,
            error=row.error,
            trust=row.trust,
        )

    @property
    def value(self) -> float:
        """What the action is worth to the agent, from its own table."""
        return float(self.values[self.action])

    @property
    def tries(self) -> int | None:
        """How often this action was learned from here; None: nobody counted."""
        return None if self.tried is None else int(self.tried[self.state, self.action])

    @property
    def no_experience(self) -> NDArray[np.bool_] | None:
        """(S, A) Pairs of which it says nothing: never learned from; all of them, if that is so of the asked one. None: nobody counted."""
        if self.tried is None:
            return None
        return np.ones_like(self.tried, np.bool_) if self.tries == 0 and self.trust is None else self.tried == 0

    @property
    def at_stake(self) -> float:
        """The sum of |earnings|: what a difference between values is measured against."""
        return max(float(np.abs(self.earnings).sum()), ROUNDING)

    @property
    def is_best(self) -> bool:
        """Whether no other action is worth more, to what can be told apart."""
        return bool(self.value >= self.values.max() - self.tie)

    @property
    def tie(self) -> float:
        """Values that differ by less than this are called equal."""
        return TIE * self.at_stake if self.trust is None else max(TIE * self.at_stake, self.trust.tie)

    def expected(self, most: int = 8) -> list[tuple[int, int, float]]:
        """The most expected pairs after this one: state, action, visits; the most expected first."""
        later = self.visits.copy()
        later[self.state, self.action] = max(0.0, later[self.state, self.action] - self.now)
        order = np.argsort(-later, axis=None, kind="stable")[:most]
        pairs = [(int(at) // later.shape[1], int(at) % later.shape[1]) for at in order]
        return [
            (state, action, float(later[state, action])) for state, action in pairs if later[state, action] >= FAINT
        ]

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.doing(self.action)
        if self.trust is not None:
            return self._estimated(here, doing, self.trust)
        if self.tried is not None and not self.tried[self.state].any():
            return [
                f"In {here!r} the agent has never acted: it never came there, or its episodes ended there. "
                f"It has no expectation; the value {self.value:.4f} is what it started with."
            ]
        if self.tries == 0:
            return [
                f"In {here!r}, it has never tried {self.labels.actions[self.action]!r}: it has no expectation, "
                f"and the value {self.value:.4f} is what it started with."
            ]
        why = self.plan()
        if self.is_best:
            lines = [f"In {here!r}, it {doing}{expecting(why)}."]
        else:
            lines = [f"In {here!r}, if it {doing}, it expects {why.said or 'no single way on'}."]
        lines.append(self._worth())
        lines += experience(self.tries, 1.0 - self.now, self.unknown)
        lines += [f"The way it expects: {self.way()}."] if self.way() else self._most_expected()
        return lines + self._earned()

    def _earned(self) -> list[str]:
        """What it expects to earn, and how far that is from its value."""
        paid = [f"  {amount:+7.3f}  {words}" for words, amount in self._paid()]
        lines = ["It expects to earn:", *paid] if paid else ["It expects to earn nothing."]
        judged = self._judged(float(np.abs(self.earnings).sum()))
        if self.dropped:
            judged += f"; weights of {self.dropped:.1e} in all were too small to follow"
        return [*lines, f"Together {self.earnings.sum() + self.from_start:.4f}: {judged}."]

    def _estimated(self, here: str, doing: str, trust: Trust) -> list[str]:
        """What a network says, with how far it can be trusted."""
        steps = float(self.visits.sum())
        ahead = f"{steps:.3g} steps in all" + ("" if trust.discount == 1.0 else ", discounted")
        ends = self.plan().said
        expects = f"{trust.hedged()}it expects {ends}{', after ' if ends else ''}{ahead}"
        lines = [f"In {here!r}, it {doing}; {expects}." if self.is_best else f"In {here!r}, if it {doing}: {expects}."]
        lines.append(self._worth())
        if self.tries == 0:
            lines.append("That was in no batch it learned from: what follows is a guess.")
        return [*lines, *self._most_expected(), *self._earned(), *trust.sentences()]

    def plan(self) -> Expectation:
        """What it means to come to, as far as it is likely: "to pick up the passenger at Y in 8 steps and ..."."""
        least = 0.005 if self.trust is None else 0.02  # below that, a network has not decided
        chances = {name: chance for name, chance in (self.chances or {}).items() if chance >= least}
        return plan(self.labels, self.course, chances, self.never_known, self.state)

    def way(self) -> str:
        """The way on, action by action, if one is likely: "south, west × 2, pick up"."""
        return as_way(self.labels, self.course)

    def caption(self) -> str:
        """The state, and how far an estimate of it can be trusted: what a picture says below its title."""
        grade = None if self.trust is None else self.trust.grade
        told = {"rough": " (a rough estimate)", "poor": " (an estimate that is not to be relied on)"}.get(
            grade or "", ""
        )
        return self.labels.words(self.state) + told

    def _worth(self) -> str:
        """The value, beside the best or the next best."""
        others = [a for a in range(len(self.values)) if a != self.action]
        said = f"That is worth {self.value:.4f} to it"
        if not others:
            return said + "."
        rival = max(others, key=lambda a: float(self.values[a]))
        gap = self.value - float(self.values[rival])
        name = self.labels.actions[rival]
        if self.tried is not None and self.tried[self.state, rival] == 0:
            return f"{said}; {name!r}, next by value, it never tried."
        if abs(gap) <= self.tie:
            return f"{said}; {name!r} is worth as much."
        return f"{said}; {name!r} is worth {abs(gap):.4f} {'less' if gap > 0 else 'more'}."

    def _most_expected(self) -> list[str]:
        following = self.expected()
        if not following:
            ends = self.course is not None and self.course.ending is not None
            return [] if ends or self.course is None else ["It has not learned what follows."]
        lines = ["Then it expects, most of all (visits, discounted as learned):"]
        return lines + [f"  {visits:6.3f}  {self._pair(state, action)}" for state, action, visits in following]

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        course = None
        if self.course is not None:
            steps = zip(self.course.pairs, self.course.chances, self.course.rewards, strict=True)
            course = {
                "steps": [{"state": s, "action": a, "chance": p, "reward": r} for (s, a), p, r in steps],
                "ending": self.course.ending,
                "chance": self.course.ending_chance,
                "comes_back_to": self.course.comes_back_to,
            }
        return {
            "question": "intention",
            "state": self.state,
            "action": self.action,
            "value": self.value,
            "values": self.values.tolist(),
            "residual": self.residual,
            "from_start": self.from_start,
            "dropped": self.dropped,
            "visits_error": self.visits_error,
            "unknown": self.unknown,
            "error": self.error,
            "trust": None if self.trust is None else self.trust.to_json(),
            "tries": self.tries,
            "chances": self.chances,
            "course": course,
            "visits": self._map(self.visits),
            "earnings": self._map(self.earnings),
            "sentences": self.sentences(),
        }

    def _paid(self, most: int = 5) -> list[tuple[str, float]]:
        """The largest earnings by pair, and the rest in one line."""
        order = np.argsort(-np.abs(self.earnings), axis=None, kind="stable")[:most]
        pairs = [divmod(int(at), self.earnings.shape[1]) for at in order]
        paid = [(self._pair(s, a), float(self.earnings[s, a])) for s, a in pairs if abs(self.earnings[s, a]) >= FAINT]
        rest = float(self.earnings.sum()) - sum(amount for _, amount in paid)
        others = int((np.abs(self.earnings) >= FAINT).sum()) - len(paid)
        if others > 0 or abs(rest) >= FAINT:
            paid.append(
                (f"at {count(others, 'other place')} it expects to pass" if others > 0 else "here and there", rest)
            )
        if self.from_start:
            paid.append(("left of the values it started with", self.from_start))
        return paid


def layout(why: Intention, *, facets: Facets = "all") -> Layout:
    """Where it expects to come."""
    return map_of(
        why.labels,
        why.visits,
        title=f"{why.labels.actions[why.action]}: worth {why.value:.3f}",
        caption=why.caption(),
        unknown=why.no_experience,
        state=why.state,
        facets=facets,
    )


@question("intention", "what it expects", answer=Intention, layout=layout, every_action=True, place=10)
def ask(run: Run, state: State, action: Action | None = None) -> Intention:
    """What the agent expects to follow; by default, its best action."""
    return run.expects(*run.asked(state, action))
