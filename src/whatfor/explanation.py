"""The base class of all answers: sentences, JSON and a notebook view."""

from __future__ import annotations

import copy
import html
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from whatfor.jsonable import jsonable
from whatfor.labels import Labels
from whatfor.text import shortened

#: A residual below this, relative to the sum of |earnings|, is rounding.
ROUNDING = 1e-12
#: Visits and chances below this are not listed.
MIN_SHOWN = 5e-4


#: The longest first sentence in the short form of an answer.
MAX_REPR = 300
#: A caveat of beliefs that the agent did not learn.
PLAYED = "These beliefs are what playing its policy leads to, not what it learned."


class Badge(NamedTuple):
    """The quality of an answer, in a word or two."""

    kind: Literal["exact", "off", "unknown"]
    words: str
    about: str


class Caveats(NamedTuple):
    """What to know of an answer because of the beliefs that it rests on."""

    learned: bool = True  # whether they are what the agent learned
    lines: tuple[str, ...] = ()  # seeming faults of the ledger, and the quality of estimates

    def unsaid(self, said: list[str], *, learned: bool) -> list[str]:
        """The lines that an answer does not say itself; ``learned``: whether it is worded as what the agent learned."""
        lines = (PLAYED, *self.lines) if learned and not self.learned else self.lines
        return [line for line in lines if line not in said]


class Explanation(ABC):
    """The answer to one question: numbers, their labels and their quality. Frozen; never draws."""

    labels: Labels
    state: int
    action: int
    #: |sum of the answer's parts - the agent's own value|; None: there is no such value.
    residual: float | None
    #: Whether it is about what the agent learned; False: about what playing its policy leads to.
    learned: bool = True
    #: What is different in the counterfactual run that the answer is about; None: nothing.
    premise: str | None = None
    #: What to know of the beliefs that it rests on, added to the sentences that do not say it.
    caveats: Caveats = Caveats()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__repr__" not in vars(cls):  # else a dataclass prints all its numbers
            cls.__repr__ = Explanation.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        premise = "" if self.premise is None else f"; the run {self.premise}"
        return f"{type(self).__name__}({shortened(_first_sentence(self.sentences()), MAX_REPR)}{premise})"

    def under(self, premise: str | None, caveats: Caveats | None = None) -> Self:
        """The same answer about a counterfactual run, with what to know of the beliefs behind it."""
        other = copy.copy(self)
        object.__setattr__(other, "premise", premise)  # answers are frozen
        object.__setattr__(other, "caveats", caveats or Caveats())
        return other

    def _with_caveats(self, said: list[str]) -> list[str]:
        return [*said, *self.caveats.unsaid(said, learned=self.learned)]

    @property
    def short_premise(self) -> str | None:
        """The premise without how it was computed."""
        return None if self.premise is None else re.sub(r" \((replayed|relearned)[^)]*\)", "", self.premise)

    def _premise_text(self) -> list[str]:
        return [] if self.premise is None else [f"Counterfactual: the run {self.premise}."]

    @property
    def actions(self) -> tuple[int, ...]:
        """The actions that the answer is about."""
        return (self.action,)

    @property
    def magnitude(self) -> float:
        """The sum of the absolute values of all terms: the scale for a residual."""
        return 0.0

    def badge(self) -> Badge | None:
        """The quality of the answer; None: there is nothing to compare it with."""
        if self.residual is None:
            return None
        about = "how far the parts are from the agent's own value"
        if self.residual <= ROUNDING * max(1.0, self.magnitude):
            return Badge("exact", "exact", about)
        return Badge("off", f"off by {self.residual:.2g}", about)

    def page(self) -> dict[str, Any]:
        """The answer as the page receives it, besides the pictures; a subclass may add what the page's script draws."""
        return {"answer": self.to_json()}

    @abstractmethod
    def sentences(self) -> list[str]:
        """The answer in words, as lines."""

    def to_json(self) -> dict[str, Any]:
        """The answer as a JSON object; its key ``question`` names the question."""
        document: dict[str, Any] = jsonable(self.numbers())
        document["sentences"] = self._with_caveats(document.get("sentences") or self.sentences())
        if self.premise is not None:
            document["premise"] = self.premise
        return document

    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""

    def __str__(self) -> str:
        return "\n".join([*self._premise_text(), *self._with_caveats(self.sentences())])

    def _repr_html_(self) -> str:
        return f'<pre style="white-space: pre-wrap">{html.escape(str(self))}</pre>'

    def _sum_text(
        self, total: str, scale: float, off_text: Callable[[float, str], str], what: str = "the agent's Q-value"
    ) -> str:
        """A sum of parts and its quality; ``scale``: the sum of their absolute values; ``off_text``: what to say of one that is off by a residual."""
        if not self.learned:
            return f"Sum: {total}, by playing its policy; not compared with the agent's values"
        if self.premise is not None:
            return f"Sum: {total}, computed from the updates of the counterfactual run"
        if self.residual is None:
            return f"Sum: {total}, computed from the updates; the agent's own table of that time was not saved"
        if self.residual <= ROUNDING * max(1.0, scale):
            return f"Sum: {total}, equal to {what} up to rounding (residual {self.residual:.1g})"
        return f"Sum: {total}{off_text(self.residual, what)}"

    def _pair(self, state: int, action: int) -> str:
        """A state and an action in words."""
        return f"{self.labels.words(state)}: {self.labels.actions[action]}"

    def _map(self, numbers: NDArray[np.float64]) -> list[dict[str, Any]]:
        """The non-zero pairs of an (S, A) map, the largest first."""
        order = np.argsort(-np.abs(numbers), axis=None, kind="stable")[: np.count_nonzero(numbers)]
        pairs = [divmod(int(at), numbers.shape[1]) for at in order]
        return [{"state": s, "action": a, "number": float(numbers[s, a])} for s, a in pairs]


def _first_sentence(lines: list[str]) -> str:
    """The first line of an answer; a heading gets the first line below it."""
    first, *others = lines or [""]
    return f"{first} {' '.join(others[0].split())} ..." if first.endswith(":") and others else first
