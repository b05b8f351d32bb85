"""How the agent expects the episode to end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whatfor.beliefs.loop import NO_LOOP, Loop
from whatfor.beliefs.protocol import Beliefs
from whatfor.beliefs.situation import Situation
from whatfor.beliefs.trust import COMPUTED, Quality
from whatfor.explanation import MIN_SHOWN, Explanation
from whatfor.explanations.phrases import MIN_CERTAIN, all_unknown, learned_from, without_end
from whatfor.labels import NO_RECORDED_END, Labels
from whatfor.layouts.shapes import Bars, Series
from whatfor.question import Action, State, question
from whatfor.text import percent

if TYPE_CHECKING:
    from whatfor.runs import Run

#: The number of bars in a picture.
MAX_BARS = 10


@dataclass(frozen=True)
class Outcomes(Explanation):
    """The chance of every ending, as the agent or another source believes it, and the share that is unknown."""

    labels: Labels
    state: int
    action: int
    chances: dict[
        str, float
    ]  # by name, the likeliest first, with "no recorded end"; an unnamed one by what it pays or its last step
    unknown: float  # probability that still rests on initial values; of rollouts, of those that were still going
    tries: int | None  # None: not counted
    unaccounted: float  # |sum of chances + unknown - 1|
    loop: Loop = NO_LOOP  # whether it goes on without a recorded end
    explores: bool = False  # whether what it learned includes exploration
    trust: Quality = COMPUTED  # how far it can be trusted
    faults: tuple[str, ...] = ()  # what seems to be wrong with the ledger
    learned: bool = True  # False: what playing its policy leads to
    residual = None  # it is about chances, not about a value

    @classmethod
    def of(cls, beliefs: Beliefs, labels: Labels, at: Situation, action: int) -> Outcomes:
        """Read the endings from a source."""
        chances, unknown = beliefs.named_endings(at, action, labels)
        tries = None if beliefs.tries is None else int(beliefs.tries[at.index, action])
        unaccounted = abs(sum(chances.values()) + unknown - 1.0)
        loop = beliefs.loop(at, action)
        more: dict[str, Any] = {
            "loop": loop,
            "explores": loop.exploiting > 0.0 and beliefs.explores,
            "trust": beliefs.trust,
            "faults": beliefs.faults,
            "learned": beliefs.learned,
        }
        return cls(labels, at.index, action, chances, unknown, tries, unaccounted, **more)

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        if self.trust.is_blank(self.tries):
            return [f"In {here!r}, {doing!r} was never tried: how it ends is unknown."]
        if not self.learned:
            return self._played(here, doing)
        if all_unknown(max(self.chances.values(), default=0.0), self.unknown):
            lines = [
                f"In {here!r}, how the episode ends after {doing!r} is unknown{self._experience()}: {self.trust.rest}."
            ]
            return [*lines, *self._notes()]
        if self.chances.get(NO_RECORDED_END, 0.0) >= MIN_CERTAIN:
            stays = "go on" if self.loop.is_the_task else "stay in a loop"
            return [
                f"In {here!r}, after {doing!r}, it expects the episode to {stays}{self._experience()}.",
                *self._notes(),
            ]
        lines = [
            f"In {here!r}, after {doing!r}, {learned_from(self.explores, self.loop.exploiting)}it expects the episode to end like this{self._experience()}:"
        ]
        lines += [f"  {percent(chance):>7}  {name}" for name, chance in self.chances.items() if chance >= MIN_SHOWN]
        if self.unknown >= MIN_SHOWN:
            lines.append(f"  {percent(self.unknown):>7}  unknown: {self.trust.rest}")
        return [*lines, *self._notes()]

    def _played(self, here: str, doing: str) -> list[str]:
        """How its policy ends, by a source that did not learn with it."""
        lines = [f"In {here!r}, playing its policy after {doing!r} ends like this:"]
        lines += [f"  {percent(chance):>7}  {name}" for name, chance in self.chances.items() if chance >= MIN_SHOWN]
        if self.unknown >= MIN_SHOWN:
            lines.append(f"  {percent(self.unknown):>7}  still going when play stopped")
        return lines

    def _notes(self) -> list[str]:
        """Whether it goes on without end, what seems to be wrong with the ledger, and the quality of an estimate."""
        return [*without_end(self.loop), *self.faults, *self.trust.sentences()]

    def _experience(self) -> str:
        """The number of updates, in brackets."""
        return "" if self.tries is None else f" ({self.trust.experience(self.tries)})"

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {
            "question": "outcomes",
            "state": self.state,
            "action": self.action,
            "chances": self.chances,
            "unknown": self.unknown,
            "tries": self.tries,
            "trust": self.trust.to_json(),
            "unaccounted": self.unaccounted,
            "loop": self.loop.to_json(),
            "residual": self.residual,
            "sentences": self.sentences(),
        }


def layout(why: Outcomes) -> Bars:
    """A bar for each ending, and one for the unknown share."""
    chances = list(why.chances.items())
    if len(chances) > MAX_BARS:
        others = sum(chance for _, chance in chances[MAX_BARS:])
        chances = [*chances[:MAX_BARS], (f"{len(chances) - MAX_BARS:,} other endings", others)]
    names = (*(name for name, _ in chances), "unknown")
    ends = "how it expects the episode to end" if why.learned else "how playing its policy ends the episode"
    return Bars(
        title=f"{why.labels.actions[why.action]}: {ends}",
        caption=why.labels.words(why.state),
        names=names,
        series=(Series("chance", (*(chance for _, chance in chances), why.unknown)),),
        axis="chance",
        unknown=tuple(name == "unknown" for name in names),
    )


@question("outcomes", "how it expects the episode to end", answer=Outcomes, layout=layout, needs=["endings"], place=30)
def ask(run: Run, state: State, action: Action | None = None) -> Outcomes:
    """How the agent expects the episode to end; by default, after its best action."""
    at, chosen = run.resolve(state, action)
    return Outcomes.of(run.beliefs, run.labels, at, chosen)
