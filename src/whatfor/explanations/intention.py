"""What the agent expects to follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.beside import BeliefMap
from whatfor.beliefs.protocol import Beliefs
from whatfor.explanations.explanation import Explanation
from whatfor.labels import Labels

#: Visits below this are not worth a line.
FAINT = 5e-4


@dataclass(frozen=True)
class Intention(Explanation):
    """The future that an agent expects of one action, adding up to its value."""

    labels: Labels
    state: int
    action: int
    visits: NDArray[np.float64]  # (S, A) discounted as learned: the paper's belief map
    earnings: NDArray[np.float64]  # (S, A) where the value comes from
    value: float  # from the learner's own table
    from_start: float  # the part of the value that is left of what the tables started with
    residual: float  # |earnings + from_start - value|
    dropped: float  # weight an indexed walk left out; 0: exact
    visits_error: float  # a bound on what that can have changed in the sum of visits
    tries: int | None  # how often this action was learned from here; None: nobody counted
    now: float  # the part of its own visits that is the asked step itself
    endings: dict[str, float]  # expected ends by name, discounted as learned; empty where the source cannot tell

    @classmethod
    def of(cls, beliefs: Beliefs, labels: Labels, state: int, action: int, *, value: float) -> Intention:
        """Ask beliefs about one action."""
        told: tuple[float, float, int | None, float, dict[str, float]]
        if isinstance(beliefs, Audit):
            row = beliefs.row(state, action)
            ends = {
                name: float(weight) for name, weight in zip(beliefs.ledger.endings, row.endings, strict=True) if weight
            }
            made = (row.visits, row.earnings, row.from_start)
            told = (row.dropped, row.visits_error, row.tries, row.now, ends)
        else:
            visits = beliefs.visits(state, action)
            start = beliefs.from_start(state, action) if isinstance(beliefs, BeliefMap) else 0.0
            made = (visits, beliefs.earnings(state, action), start)
            told = (0.0, 0.0, None, min(1.0, float(visits[state, action])), {})
        visits, earnings, from_start = made
        residual = abs(float(earnings.sum()) + from_start - value)
        return cls(labels, state, action, visits, earnings, value, from_start, residual, *told)

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
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        lines = [f"In {here!r}, {doing!r} is worth {self.value:.4f} to the agent."]
        if self.tries == 0:
            return [*lines, "It has never tried that, so it has no expectation: the value is what it started with."]
        if self.tries is not None:
            lines.append(f"It has learned from that {self.tries:,} times.")
        following = self.expected()
        if following:
            lines.append("It then expects, most of all (visits, discounted as learned):")
            lines += [f"  {visits:6.3f}  {self._pair(state, action)}" for state, action, visits in following]
        elif self.endings:
            ends = ", ".join(f"{name} ({weight:.2f})" for name, weight in self.endings.items())
            lines.append(f"It expects the episode to end there: {ends}.")
        else:
            lines.append("It has not learned what follows.")
        paid = [f"  {amount:+7.3f}  {words}" for words, amount in self._paid()]
        lines += ["It expects to earn:", *paid] if paid else ["It expects to earn nothing."]
        judged = self._judged(float(np.abs(self.earnings).sum()))
        if self.dropped:
            judged += f"; weights of {self.dropped:.1e} in all were too small to follow"
        lines.append(f"Together {self.earnings.sum() + self.from_start:.4f}: {judged}.")
        return lines

    def to_json(self) -> dict[str, Any]:
        """State, action, value and what it is made of; maps as their pairs that are not zero, the largest first."""
        return {
            "question": "intention",
            "state": self.state,
            "action": self.action,
            "value": self.value,
            "residual": self.residual,
            "from_start": self.from_start,
            "dropped": self.dropped,
            "tries": self.tries,
            "endings": self.endings,
            "visits": self._map(self.visits),
            "earnings": self._map(self.earnings),
            "sentences": self.sentences(),
        }

    def _paid(self, most: int = 5) -> list[tuple[str, float]]:
        """The largest earnings by pair, and the rest in one line."""
        order = np.argsort(-np.abs(self.earnings), axis=None, kind="stable")[:most]
        pairs = [divmod(int(at), self.earnings.shape[1]) for at in order]
        paid = [(self._pair(s, a), float(self.earnings[s, a])) for s, a in pairs if self.earnings[s, a]]
        rest = float(self.earnings.sum()) - sum(amount for _, amount in paid)
        others = int((self.earnings != 0).sum()) - len(paid)
        if others > 0:
            paid.append((f"at the {others} other places it expects to pass", rest))
        if self.from_start:
            paid.append(("left of the values it started with", self.from_start))
        return paid
