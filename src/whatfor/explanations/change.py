"""How an intention changed, between two times of one training or between two runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whatfor.checks import whole
from whatfor.explanation import MIN_SHOWN
from whatfor.explanations.difference import Difference, Show, layout_of_both
from whatfor.explanations.findings.differences import compared, flips
from whatfor.explanations.findings.ground import Ground
from whatfor.explanations.intention import Intention
from whatfor.explanations.phrases import MIN_KNOWN, MOSTLY_UNKNOWN, tied_actions
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Layout
from whatfor.maps import Facets, map_of
from whatfor.question import Action, Parameter, State, question
from whatfor.text import amount, capital, count

if TYPE_CHECKING:
    from whatfor.runs import Run

MAX_CHANGES = 5
#: A time is suggested if the agent had met this share of its states.
MIN_MET = 0.9

#: The discounts of two runs: one each, or several if one was resumed with another.
Discounts = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Change(Difference):
    """What an agent expects in a state now and what it expected before; the parts sum to the change of the value."""

    another_run: bool = False  # compared with another run, not with an earlier time
    since: int | None = None  # the number of episodes before the earlier time; None: another run
    discounts: Discounts | None = None  # now and before, if they differ
    #: States that both sides have learned about and whose best action differs, as ``run.findings`` ranks them: state, before, after.
    flips: tuple[tuple[int, int, int], ...] = ()

    @property
    def after(self) -> Intention:
        """What it expects now."""
        return self.one

    @property
    def before(self) -> Intention:
        """What it expected before."""
        return self.other

    def sentences(self) -> list[str]:
        """The answer in words."""
        here = self.labels.words(self.state)
        now, then = ("now", self._then())
        if self.another_run:
            now, then = self.after.short_premise or "here", self.before.short_premise or "in the other run"
        not_tried = f"was never tried {then}" if self.another_run else f"had not been tried {then}"
        for which, untried in ((self.after, "was never tried"), (self.before, not_tried)):
            if which.never_acted:
                has = (
                    "has no experience"
                    if which is self.after
                    else f"{'has' if self.another_run else 'had'} no experience {then}"
                )
                return [f"In {here!r}, the agent {has}, so there is nothing to compare."]
            if which.is_blank:
                name = self.labels.actions[which.action]
                return [f"In {here!r}, {name!r} {untried}, so there is nothing to compare."]
        lines = [f"In {here!r}, {self._choices(now, then)}."]
        texts = self.before.expectation().text, self.after.expectation().text
        if all(texts) and texts[0] != texts[1]:
            before, after = ("it expects" if self.another_run else "it expected"), "it expects"
            if not self.learned:
                before = after = "playing its policy leads it"
            was, is_now = self.before.learned_from, self.after.learned_from
            lines += [f"{capital(then)}, {was}{before} {texts[0]}.", f"{capital(now)}, {is_now}{after} {texts[1]}."]
        lines += [self._values(now, then), *self.after.without_end()]
        if self.different:
            discounted = " (discounted)" if self.one.discounted else ""
            for lead, numbers in (
                (
                    f"{capital(now)}, {'it expects' if self.learned else 'there are'} more visits{discounted} to",
                    self.gained,
                ),
                ("and fewer to", self.lost),
            ):
                most = [part for part in self._map(numbers)[:MAX_CHANGES] if part["number"] >= MIN_SHOWN]
                lines += [f"{lead}:"] * bool(most)
                lines += [f"  {part['number']:6.3f}  {self._pair(part['state'], part['action'])}" for part in most]
        lines += [*self._discounts_text(), *self._flips_text(), *self.after.faults]
        return [*lines, *self.one.trust.about(self.one.residual)]

    def _discounts_text(self) -> list[str]:
        """Says that values under different discounts cannot be compared."""
        if self.discounts is None:
            return []
        one, other = (", ".join(amount(discount) for discount in several) for several in self.discounts)
        return [f"The discounts differ ({one} and {other}), so the estimated returns cannot be compared."]

    def _flips_text(self) -> list[str]:
        """The states in which another run prefers another action."""
        if not self.another_run:
            return []
        if not self.flips:
            which = "" if self.after.tries is None else " that both agents have updated"
            return [f"The best action is the same in every state{which}."]
        names, left_out = self.labels.actions, len(self.flips) - MAX_CHANGES
        lines = [f"The best action differs between the two runs in {count(len(self.flips), 'state')}:"]
        for state, before, after in self.flips[:MAX_CHANGES]:
            lines.append(f"  {self.labels.words(state)}: {names[after]!r} instead of {names[before]!r}")
        return lines + [f"  and in {count(left_out, 'more state')}"] * (left_out > 0)

    def _then(self) -> str:
        """The earlier time in words."""
        return "before" if self.since is None else f"after {count(self.since, 'episode')}"

    def _choices(self, now: str, then: str) -> str:
        """What it chooses now and chose before; an action that it would not take is not called its choice."""
        actions, doing = self.labels.actions, self.labels.action_phrase(self.after.action)
        if not self.after.is_choice:
            expects = "it expects" if self.learned else "playing its policy leads to"
            return f"if it {doing}, {expects} {self._futures(then)}"
        ties = [tied_actions(self.labels, which.values) for which in (self.before, self.after)]
        if any(ties):
            if ties[0] == ties[1] and self.before.action == self.after.action:
                return f"{ties[1]} are tied {self._both(now, then, 'they were')} (this answer takes {actions[self.after.action]!r})"
            return f"{self._tied_text(ties[1], self.after, now)}; {then}, {self._tied_text(ties[0], self.before)}"
        before = self.before.action if self.before.is_best else int(self.before.values.argmax())
        if before != self.after.action:
            was = "" if self.another_run else "was "
            return f"the best action is {actions[self.after.action]!r} {now} and {was}{actions[before]!r} {then}"
        future = self._reasons(then) if self.learned else f"playing its policy leads to {self._futures(then)}"
        return f"the best action is {actions[before]!r} {self._both(now, then, 'it was')}; {future}"

    def _tied_text(self, tied: str, which: Intention, when: str = "") -> str:
        """The actions that are tied on one side, and the one that this answer takes; or its choice."""
        past, taken = which is self.before and not self.another_run, repr(self.labels.actions[which.action])
        when = f" {when}" if when else ""
        if not tied:
            return f"its choice {'was' if past else 'is'} {taken}{when}"
        return f"{tied} {'were' if past else 'are'} tied{when} (this answer takes {taken})"

    def _both(self, now: str, then: str, was: str) -> str:
        """Both sides of a choice that is the same: "now, as it was after 10 episodes", "with and without episode 3"."""
        if not self.another_run:
            return f"{now}, as {was} {then}"
        changed, original = (then, self.after) if self.before.short_premise else (now, self.before)
        if changed.startswith("without ") and not original.short_premise:
            return f"with and {changed}"
        return f"{now} and {then}"

    def _values(self, now: str, then: str) -> str:
        """The estimated returns now and before."""
        before, after = amount(self.before.value), amount(self.after.value)
        value = "The estimated return" if self.learned else "The return of its policy"
        if self.tied:
            return f"{value} is {after} {now}, the same as {then}{' (discounted)' if self.one.discounted else ''}."
        was = "" if self.another_run else "was "
        if self.discounts is not None:  # no difference between numbers that cannot be compared
            return f"{value} is {after} {now} and {was}{before} {then} (discounted)."
        return f"{value} is {after} {now} and {was}{before} {then} ({amount(self.gap, signed=True)}{', discounted' if self.one.discounted else ''})."

    def _futures(self, then: str) -> str:
        """How much the two futures have in common, for an action that is not its choice."""
        if not self.different:
            return f"{self.same_text} as {then}"
        return f"partly the same as {then}" if (self.in_common or 0.0) >= 0.5 else f"a different future than {then}"

    def _reasons(self, then: str) -> str:
        """How much the two futures have in common, beside a choice that is the same."""
        if self.one.now < MIN_KNOWN:
            return "it has learned too little to expect much"
        if self.other.now < MIN_KNOWN:
            return f"{f'{then}, it has' if self.another_run else 'at that time, the agent had'} learned too little to expect much"
        if self.one.endings_unknown > MOSTLY_UNKNOWN:
            return "how the episode ends is mostly unknown"
        if self.other.endings_unknown > MOSTLY_UNKNOWN:
            return f"{f'{then}, how the episode ends is' if self.another_run else 'at that time, how the episode ends was'} mostly unknown"
        if not self.different:
            return f"the expected future is {self.same_text}"
        partly = (self.in_common or 0.0) >= 0.5
        return f"the expected future is {'partly ' * partly}different"

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
            "discounts": self.discounts,
            "flips": [{"state": state, "before": before, "after": after} for state, before, after in self.flips],
            **self._numbers(),
        }


def layout(why: Change, *, show: Show = "visits", facets: Facets = "all") -> Layout:
    """Maps of what it expects now and what it expected before; one map where one of the two has no experience."""
    if why.before.is_blank or why.after.is_blank:
        known = why.before if why.after.is_blank else why.after
        shown = f"{why.labels.actions[known.action]} {'before' if known is why.before else 'now'}"
        caption = f"{known.caption()}\nnothing to compare: no experience {'now' if known is why.before else 'before'}"
        unknown = known.no_experience
        return map_of(Map(why.labels, known.visits, shown, caption, unknown=unknown, state=why.state), facets=facets)
    was, now = (
        f"{why.labels.actions[which.action]} {when}" for which, when in ((why.before, "before"), (why.after, "now"))
    )
    return layout_of_both(why, f"{now}, {was}: {amount(why.gap, signed=True)}", (now, was), show, facets)


def _times(run: Run) -> list[str]:
    """Some earlier times in training with experience in most states, as numbers of episodes."""
    if run.ledger is None or run.beliefs.evidence is None:
        return []
    episodes, met = run.ledger.n_episodes, int(run.ledger.tries().any(axis=1).sum())
    times = [time for time in sorted({episodes // 100, episodes // 10, episodes // 2}) if time > 0]
    return [
        str(time)
        for time in times
        if time == times[-1] or int(run.ledger.until(time).tries().any(axis=1).sum()) >= MIN_MET * met
    ]


@question(
    "change",
    "how it changed since an earlier time",
    answer=Change,
    layout=layout,
    needs=["beliefs"],
    parameters=(
        Parameter(
            "since",
            "compare with the agent after this many episodes",
            "number",
            selects=True,
            or_run=True,
            needed=True,
            example="1000",
            suggestions=_times,
        ),
    ),
    clickable=("parts",),
    place=80,
)
def ask(run: Run, state: State, action: Action | None = None, *, since: int | Run) -> Change:
    """How the intention changed since an earlier episode, or compared with another run in the same environment.

    By default, each side answers for its own best action.
    """
    at = run.situation(state)
    run, before = compared(run, since)
    if before.beliefs.learned != run.beliefs.learned:
        raise ValueError(
            "one run answers from what it learned, the other from playing its policy: the difference would not be a change"
        )
    now, then = run.expects(*run.resolve(at, action)), before.expects(*before.resolve(at, action))
    time = None if hasattr(since, "as_of") else whole("since", since)
    differing = tuple((one.state, one.before, one.after) for one in flips(Ground.of(run), before))
    more: dict[str, Any] = {"another_run": time is None, "since": time, "flips": differing}
    return Change.of(now, then, **more, discounts=_discounts(run, before))


def _discounts(run: Run, other: Run) -> Discounts | None:
    """The discounts of two runs, if they are known and differ."""
    both = run.playing.discounts, other.playing.discounts
    return both if both[0] != both[1] and all(both) else None
