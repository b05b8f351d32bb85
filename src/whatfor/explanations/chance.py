"""Whether the agent expects an event, or expects it before another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whatfor.beliefs.protocol import Beliefs
from whatfor.beliefs.situation import Situation
from whatfor.concepts import Concept
from whatfor.explanation import MIN_SHOWN, Explanation
from whatfor.explanations.intervals import interval_text
from whatfor.explanations.phrases import all_unknown, without_end
from whatfor.labels import Labels
from whatfor.layouts.shapes import Bars, Series
from whatfor.question import Action, Parameter, State, question, source_of
from whatfor.text import amount, capital, count, percent

if TYPE_CHECKING:
    from whatfor.runs import Run

#: Where more than this is unknown, the range that a probability lies in is stated.
MAX_UNKNOWN = 0.1
#: What is listed of the answer within a time limit.
WITHIN = ("probability", "otherwise")


@dataclass(frozen=True)
class Chance(Explanation):
    """Whether the agent expects an event after an action, or playing its policy leads to it; the first step itself does not count.

    >>> from whatfor.beliefs.audit import Audit
    >>> from whatfor.beliefs.situation import Situation
    >>> from whatfor.ledger import Ledger
    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(1, 0, 3.0, None, step_size=1.0, discount=0.5)
    >>> ledger.record(0, 0, 0.0, 1, 0, step_size=0.75, discount=0.5)
    >>> labels = Labels.plain(2, 1)
    >>> chance = Chance.after(Audit(ledger), labels, Situation(0), 0, event=labels.where("state 1"))
    >>> chance.probability, chance.unknown, chance.visits, chance.earnings
    (0.75, 0.25, 0.375, 1.125)
    """

    labels: Labels
    state: int
    action: int
    event: Concept
    before: Concept | None
    visits: float  # expected visits to the concept's states, discounted as learned
    earnings: float  # expected to be earned in them, discounted as learned
    probability: float  # the chance of the event; with ``before``: the chance that it comes first
    otherwise: dict[str, float]  # the other chances, the likeliest first: how the episode ends, or what comes first
    unknown: float  # probability that still rests on initial values; of rollouts, of those that were still going
    tries: int | None  # None: not counted
    unaccounted: float  # |probability + otherwise + unknown - 1|
    discounted: bool = True  # whether any discount is below 1
    notes: tuple[str, ...] = ()  # loops, and what seems to be wrong with the ledger
    learned: bool = True  # False: what playing its policy leads to
    rollouts: int | None = None  # that the chances are shares of; None: they are not sampled
    limit: int | None = None  # the time limit of episodes, where it does not end rollouts that reach it
    within: Chance | None = None  # the same answer about what happens within it
    residual: None = None  # no value is explained

    @classmethod
    def after(
        cls,
        beliefs: Beliefs,
        labels: Labels,
        at: Situation,
        action: int,
        *,
        event: Concept,
        before: Concept | None = None,
    ) -> Chance:
        """Read it from a source."""
        first = [] if before is None else [(event & before, "both at once"), (before, before.name)]
        arrivals = beliefs.arrivals(at, action, [*(concept for concept, _ in first), event])
        otherwise: dict[str, float] = {}
        others = zip((name for _, name in first), arrivals.concepts[:-1].tolist(), strict=True)
        loop = beliefs.loop(at, action)
        for name, chance in (*others, *arrivals.endings.items(), (loop.name, arrivals.never)):
            if chance > 0.0:
                otherwise[name] = otherwise.get(name, 0.0) + chance
        probability, tries = float(arrivals.concepts[-1]), beliefs.tries
        inner = beliefs.within_limit(at, action)
        return cls(
            labels=labels,
            state=at.index,
            action=action,
            event=event,
            before=before,
            visits=float(arrivals.visits[-1]),
            earnings=float(arrivals.earnings[-1]),
            probability=probability,
            otherwise=dict(sorted(otherwise.items(), key=lambda item: -item[1])),
            unknown=arrivals.unknown,
            tries=None if tries is None else int(tries[at.index, action]),
            unaccounted=abs(probability + sum(otherwise.values()) + arrivals.unknown - 1.0),
            discounted=arrivals.discounted,
            notes=(*without_end(loop), *beliefs.faults),
            learned=beliefs.learned,
            rollouts=beliefs.samples(at, action),
            limit=None if inner is None else inner.limit,
            within=None if inner is None else cls.after(inner, labels, at, action, event=event, before=before),
        )

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        event = repr(self.event.name) + ("" if self.before is None else f" before {self.before.name!r}")
        if self.tries == 0:
            return [f"In {here!r}, {doing!r} was never tried: whether {event} follows is unknown."]
        tried = "" if self.tries is None else f" (tried {count(self.tries, 'time')})"
        if self.learned and all_unknown(max(self.probability, *self.otherwise.values(), 0.0), self.unknown):
            unknown = (
                f"In {here!r}, whether {event} follows {doing!r} is unknown{tried}: it still rests on initial values."
            )
            return [unknown, *self.notes]
        lines = [f"{self._answer_text(here, doing, event)}{tried}."]
        for concept in (self.event, self.before):
            if concept is not None and concept.states[self.state]:
                lines.append(f"{concept.name!r} already holds here; the answer is about what follows this step.")
        if self.visits >= MIN_SHOWN:
            when = "" if self.before is None else f"before or after {self.before.name!r}, "
            expects = f"{when}{'it expects' if self.learned else 'that gives'}"
            lines.append(
                f"{capital(expects)} {self.visits:.3f} visits to {self.event.name!r}, and rewards of {amount(self.earnings, signed=True)} there"
                f"{' (discounted)' if self.discounted else ''}."
            )
        others = [f"  {percent(chance):>7}  {name}" for name, chance in self.otherwise.items() if chance >= MIN_SHOWN]
        if self.unknown >= MIN_SHOWN:
            rest = "unknown: it still rests on initial values" if self.learned else "still going when play stopped"
            others.append(f"  {percent(self.unknown):>7}  {rest}")
        return [*lines, *(["Otherwise:", *others] if others else []), *self._within_text(), *self.notes]

    def _within_text(self) -> list[str]:
        """A sentence about what happens within the time limit, where that does not end rollouts."""
        if self.within is None:
            return []
        inner = self.within
        others = [f"{percent(chance)} {name}" for name, chance in inner.otherwise.items() if chance >= MIN_SHOWN]
        rest = f"; otherwise {', '.join(others)}" if others else ""
        chance = f"{inner._probability_text()}{inner._interval()}"
        limit = count(self.limit or 0, "step")
        return [f"Within the time limit of {limit}, through which its values bootstrap: {chance}{rest}."]

    def _answer_text(self, here: str, doing: str, event: str) -> str:
        """The probability, as what it expects or what playing its policy gives."""
        chance = f"with a probability of {self._probability_text()}"
        if self.learned:
            return f"In {here!r}, after {doing!r}, it expects {event} {chance}"
        over = "" if self.rollouts is None else f" over {count(self.rollouts, 'rollout')}"
        return f"In {here!r}, playing its policy after {doing!r} leads to {event} {chance}{self._interval()}{over}"

    def _interval(self) -> str:
        return interval_text(self.probability, self.rollouts, self.unknown)

    def _probability_text(self) -> str:
        """The probability; where much is unknown, or more than is known, the range that it lies in."""
        text = percent(self.probability)
        if self.unknown > min(MAX_UNKNOWN, max(self.probability, MIN_SHOWN)):
            text += f" to {percent(min(1.0, self.probability + self.unknown))}"
        return text.replace("> ", "more than ").replace("< ", "less than ")

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        names = ("visits", "earnings", "probability", "otherwise", "unknown", "tries", "unaccounted", "rollouts")
        return {
            "question": "chance",
            "state": self.state,
            "action": self.action,
            "event": self.event.name,
            "before": None if self.before is None else self.before.name,
            **{name: getattr(self, name) for name in names},
            "limit": self.limit,
            "within": None if self.within is None else {name: getattr(self.within, name) for name in WITHIN},
            "sentences": self.sentences(),
        }


def layout(why: Chance) -> Bars:
    """A bar for the event, and one for everything else."""
    first = why.event.name if why.before is None else f"{why.event.name} first"
    names = (first, *why.otherwise, "unknown")
    asks = "does it expect" if why.learned else "does playing its policy lead to"
    title = f"{why.labels.actions[why.action]}: {asks} {why.event.name!r}?"
    numbers = (why.probability, *why.otherwise.values(), why.unknown)
    unknown = tuple(name == "unknown" for name in names)
    return Bars(title, why.labels.words(why.state), names, (Series("chance", numbers),), "chance", unknown)


@question(
    "chance",
    "whether it expects something",
    answer=Chance,
    layout=layout,
    needs=["arrivals"],
    parameters=(
        Parameter(
            "event",
            'the event, in words ("passenger aboard"), or an ending ("delivered")',
            selects=True,
            needed=True,
            example="passenger aboard",
            suggestions=lambda run: run.labels.ending_names,
        ),
        Parameter("before", "another event, before which it should happen"),
    ),
    place=70,
)
def ask(run: Run, state: State, action: Action | None = None, *, event: Any, before: Any = None) -> Chance:
    """Whether the agent expects an event after an action (by default, its best), optionally before another event.

    ``event`` and ``before``: anything that ``labels.where`` accepts: words, an ending, a condition, states.
    """
    beliefs = source_of(run, "arrivals")
    endings = beliefs.ending_names(run.labels)
    first, second = (None if what is None else run.labels.where(what, endings=endings) for what in (event, before))
    if first is None:
        raise ValueError('chance needs an event, e.g. event="row 1"')
    for concept in (first, second):
        if concept is not None and concept.endings and not {*concept.endings} & {*endings}:
            recorded = ", ".join(map(repr, endings))
            raise ValueError(
                f"{concept.name!r} is not recorded as an ending; recorded are {recorded}. Name one of these, or say how it is recognised: "
                f"Ending({concept.name!r}, action=..., reward=..., state=...)"
            )
    if second is not None and second.same_as(first):
        raise ValueError(f"{first.name!r} cannot come before itself; pass another event as before=")
    at, chosen = run.resolve(state, action)
    return Chance.after(beliefs, run.labels, at, chosen, event=first, before=second)
