"""What the agent expects to follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.protocol import Beliefs
from whatfor.labels import Labels

#: A residual below this, relative to the sum of |earnings|, is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Intention:
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

    @classmethod
    def of(
        cls, beliefs: Beliefs, labels: Labels, state: int, action: int, *, value: float, tries: int | None = None
    ) -> Intention:
        """Ask beliefs about one action."""
        if isinstance(beliefs, Audit):
            row = beliefs.row(state, action)
            visits, earnings, from_start = row.visits, row.earnings, row.from_start
            dropped, visits_error = row.dropped, row.visits_error
        else:
            visits, earnings, from_start = beliefs.visits(state, action), beliefs.earnings(state, action), 0.0
            dropped = visits_error = 0.0
        residual = abs(float(earnings.sum()) + from_start - value)
        return cls(
            labels, state, action, visits, earnings, value, from_start, residual, dropped, visits_error,
            None if tries is None else int(tries),
        )  # fmt: skip

    def expected(self, most: int = 8) -> list[tuple[int, int, float]]:
        """The most expected pairs after this one: state, action, visits; the most expected first."""
        later = self.visits.copy()
        later[self.state, self.action] = max(0.0, later[self.state, self.action] - self._now)
        order = np.argsort(-later, axis=None, kind="stable")[:most]
        pairs = [(int(at) // later.shape[1], int(at) % later.shape[1]) for at in order]
        return [(state, action, float(later[state, action])) for state, action in pairs if later[state, action] > 1e-9]

    @property
    def _now(self) -> float:
        """The weight of the asked step itself in its own visits: 1, less what still rests on the start."""
        return min(1.0, float(self.visits[self.state, self.action]))

    def __str__(self) -> str:
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        lines = [f"In {here!r}, {doing!r} is worth {self.value:.4f} to the agent."]
        if self.tries == 0:
            return "\n".join(
                [*lines, "It has never tried that, so it has no expectation: the value is what it started with."]
            )
        if self.tries is not None:
            lines.append(f"It has learned from that {self.tries:,} times.")
        following = self.expected()
        if following:
            lines.append("It then expects, most of all (visits, discounted as learned):")
            lines += [
                f"  {visits:6.3f}  {self.labels.words(state)}: {self.labels.actions[action]}"
                for state, action, visits in following
            ]
        else:
            lines.append("It expects nothing after that: the episode ends there.")
        lines.append("It expects to earn:")
        lines += [f"  {amount:+7.3f}  {words}" for words, amount in self._paid()]
        lines.append(f"Together {self.earnings.sum() + self.from_start:.4f}: {self._judged()}.")
        return "\n".join(lines)

    def _paid(self, most: int = 5) -> list[tuple[str, float]]:
        """The largest earnings by pair, and the rest in one line."""
        order = np.argsort(-np.abs(self.earnings), axis=None, kind="stable")[:most]
        pairs = [divmod(int(at), self.earnings.shape[1]) for at in order]
        paid = [
            (f"{self.labels.words(s)}: {self.labels.actions[a]}", float(self.earnings[s, a]))
            for s, a in pairs
            if self.earnings[s, a]
        ]
        rest = float(self.earnings.sum()) - sum(amount for _, amount in paid)
        others = int((self.earnings != 0).sum()) - len(paid)
        if others > 0:
            paid.append((f"at {others} other places", rest))
        if self.from_start:
            paid.append(("left of the values it started with", self.from_start))
        return paid

    def _judged(self) -> str:
        """How good the sum is, in words."""
        exact = self.residual <= ROUNDING * max(1.0, float(np.abs(self.earnings).sum()))
        judged = f"off by {self.residual:.1e} from the agent's own value"
        if exact:
            judged = f"the agent's own value, to rounding (residual {self.residual:.1e})"
        return judged + (f"; weights of {self.dropped:.1e} in all were too small to follow" if self.dropped else "")
