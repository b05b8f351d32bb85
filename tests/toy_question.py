"""A custom question, in one file: by how much an action is the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whatfor.explanation import Explanation
from whatfor.labels import Labels
from whatfor.layouts import Bars, Series
from whatfor.question import Action, Parameter, State, question

if TYPE_CHECKING:
    from whatfor.runs import Run


@dataclass(frozen=True)
class Lead(Explanation):
    """By how much an action is better than the best of the others, times a factor."""

    labels: Labels
    state: int
    action: int
    lead: float
    residual: None = None

    def sentences(self) -> list[str]:
        """The answer in words."""
        return [f"In {self.labels.words(self.state)!r}, {self.labels.actions[self.action]!r} leads by {self.lead:.3f}."]

    def numbers(self) -> dict[str, Any]:
        """The lead."""
        return {"question": "lead", "state": self.state, "action": self.action, "lead": self.lead, "sentences": self.sentences()}  # fmt: skip


def layout(why: Lead) -> Bars:
    """One bar."""
    return Bars("how far it leads", why.labels.words(why.state), ("lead",), (Series("lead", (why.lead,)),), "value")


@question(
    "lead",
    "how far it leads",
    answer=Lead,
    layout=layout,
    needs=["two actions", "play"],  # play, though it takes none of the parameters of playing
    parameters=(Parameter("times", "what the lead is multiplied by", "number", needed=True, example="2", suggestions=lambda _: ["1", "2"]),),
    place=1_000,
)  # fmt: skip
def ask(run: Run, state: State, action: Action | None = None, *, times: int) -> Lead:
    """By how much an action is better than the best of the others."""
    at, chosen = run.resolve(state, action)
    values = run.values_at(at).tolist()
    others = max(value for other, value in enumerate(values) if other != chosen)
    return Lead(run.labels, at.index, chosen, times * (values[chosen] - others))
