"""One number as believed and as it is, with the sampling error of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from whatfor.text import amount, percent, rough

#: A part of a difference below this share of the largest part is left out of sentences.
MIN_TERM_SHARE = 0.02


def signed(number: float, form: Callable[[float], str] = amount) -> str:
    """A difference with its sign; that of two chances in percentage points.

    >>> signed(0.25), signed(-0.996, percent)
    ('+0.25', '-100 points')
    >>> signed(-0.0002, percent)
    '0 points'
    """
    if form is not percent:
        return amount(number, signed=True)
    if abs(number) < 0.0005:
        return "0 points"
    return f"{100.0 * number:+.0f} points" if abs(number) >= 0.0995 else f"{100.0 * number:+.1f} points"


@dataclass(frozen=True)
class Measure:
    """A number that the agent believes, the actual number, and how far apart sampling error may put them."""

    name: str
    believed: float
    simulated: float
    simulated_error: float  # standard error
    exact: float | None  # None: unknown
    error: float | None  # the belief's own standard error; None: unknown
    noise: float  # the part of the difference that is chance in what happened; with off_policy and initial, the whole
    off_policy: float  # the part that bootstraps from actions the policy does not take
    initial: float  # the part that still rests on initial values; 0 where only a bound on it is known
    tolerance: float  # a difference up to this is sampling error or negligible
    notable: float = np.inf  # an effect below this is not named as a cause
    data: float | None = None  # what the distinct experiences imply, less the actual number; None: unknown
    data_error: float | None = None  # how far off they may be because there are no more of them

    @property
    def actual(self) -> float:
        """The exact number, or the simulated one where that is unknown."""
        return self.simulated if self.exact is None else self.exact

    @property
    def difference(self) -> float:
        """Believed minus actual."""
        return self.believed - self.actual

    @property
    def differs(self) -> bool:
        """Whether the two differ by more than sampling error."""
        return abs(self.difference) > self.tolerance

    @property
    def unexplained(self) -> bool:
        """Whether they differ by more than sampling error, off-policy targets and initial values explain.

        Without an exact number, these two are estimates, and their sign is not used.
        """
        explained = self.off_policy + self.initial
        if self.exact is None:
            return abs(self.difference) > self.tolerance + abs(explained)
        return self.differs and abs(self.difference - explained) > self.tolerance

    @property
    def terms(self) -> dict[str, float]:
        """The parts of the difference, which sum to it."""
        return {"noise": self.noise, "off-policy targets": self.off_policy, "initial value": self.initial}

    @property
    def excess(self) -> float:
        """The difference relative to the tolerance."""
        return abs(self.difference) / max(self.tolerance, np.finfo(float).tiny)

    def __str__(self) -> str:
        return self.text()

    def text(self, form: Callable[[float], str] = amount) -> str:
        """Both numbers in words; ``form`` writes a number."""
        return f"{self.name}: estimated {form(self.believed)}, {self.actual_text(form)}"

    def actual_text(self, form: Callable[[float], str] = amount) -> str:
        """The actual number in words: true if it is exact, else simulated."""
        return f"{'simulated' if self.exact is None else 'true'} {form(self.actual)}"

    def with_verdict(self, form: Callable[[float], str] = amount) -> str:
        """Both numbers in words, and whether they differ."""
        if not np.isfinite(self.tolerance):
            return f"{self.text(form)} (too few experiences to judge)"
        if form is percent and self.tolerance >= 1.0:
            return f"{self.text(form)} (not judged: the margin of the test is over 100 points)"
        tolerance = rough(self.tolerance) if form is amount else form(self.tolerance).replace(" %", " points")
        if self.differs:
            return f"{self.text(form)} ({self.terms_text(form)}; margin of the test: ± {tolerance})"
        return f"{self.text(form)} (within the margin of the test: ± {tolerance})"

    def has_terms(self, *, judged: bool) -> bool:
        """Whether the answer splits the difference into terms; ``judged``: whether sampling error can be told from it."""
        return self.differs if judged else self.exact is not None and abs(self.difference) > self.notable

    def terms_text(self, form: Callable[[float], str] = amount) -> str:
        """The parts of the difference in words, without tiny ones; estimates where there is no exact number."""
        names = {"noise": "noise" if self.exact is not None else "rest", "initial value": "initial values"}
        largest = max(map(abs, self.terms.values()))
        shown = {name: term for name, term in self.terms.items() if abs(term) >= MIN_TERM_SHARE * largest > 0.0}
        parts = [f"{names.get(name, name)} {signed(term, form)}" for name, term in shown.items()]
        return ", ".join(parts) if self.exact is not None else f"estimated: {', '.join(reversed(parts))}"

    def direction(self, *, taken: bool) -> str:
        """Which way the value of a rarely tried action is off and why, as far as it is known; ``taken``: by the agent."""
        if abs(self.difference) <= self.notable:
            return ""
        low = self.difference < 0.0
        off = f" Its value is too {'low' if low else 'high'}"
        largest = max(self.terms, key=lambda name: self.terms[name] * self.difference)
        if self.exact is None:
            return f"{off}."
        if largest == "off-policy targets":
            return f"{off}: its targets follow actions that its greedy policy does not take."
        if largest == "initial value":
            return f"{off}: it still rests on initial values, which were {'pessimistic' if low else 'optimistic'}."
        stays = ": an action that looks bad is rarely tried again, so an unlucky estimate stays"
        return f"{off}{stays if low and not taken else ''}."

    def to_json(self) -> dict[str, Any]:
        """All its numbers, and whether they differ."""
        return {**asdict(self), "difference": self.difference, "differs": self.differs, "unexplained": self.unexplained}
