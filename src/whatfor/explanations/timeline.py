"""When the agent expects what: its visits, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.explanation import Explanation
from whatfor.labels import Labels

#: Steps that are expected less than this are not worth a line.
FAINT = 5e-3


@dataclass(frozen=True)
class Timeline(Explanation):
    """Expected visits by the number of steps ahead; with the remainder, exactly the visits."""

    labels: Labels
    state: int
    action: int
    visits: NDArray[np.float64]  # (horizon, S, A) slice d: expected d steps ahead, discounted as asked
    remainder: NDArray[np.float64]  # (S, A) all that lies beyond the horizon
    unaccounted: float  # the largest difference between the slices with the remainder, and the visits
    residual: None = None  # no value is explained

    @classmethod
    def of(
        cls, audit: Audit, labels: Labels, state: int, action: int, *, horizon: int, discount: float | None = None
    ) -> Timeline:
        """Ask the ledger, telling weights apart by their depth."""
        if not isinstance(horizon, (int, np.integer)):
            raise ValueError(f"horizon is {horizon!r}; it is a whole number of steps")
        if horizon < 1:
            raise ValueError(f"horizon is {horizon}; ask for at least one step")
        slices = audit.visits_by_depth(state, action, horizon, discount=discount)
        whole = audit.account(state, action, discount=discount, method="scan").visits
        unaccounted = float(np.abs(slices.sum(axis=0) - whole).max())
        return cls(labels, state, action, slices[:-1], slices[-1], unaccounted)

    def sentences(self) -> list[str]:
        """The answer in words: what is most expected at each step."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        lines = [f"From {here!r} with {doing!r}, it expects, step by step (the likeliest; visits as asked):"]
        for step, expected in enumerate(self.visits):
            state, action = divmod(int(expected.argmax()), expected.shape[1])
            if expected[state, action] < FAINT:
                break
            lines.append(f"  {step:3d}  {expected[state, action]:.3f}  {self._pair(state, action)}")
        if len(lines) == 1:
            return [f"From {here!r} with {doing!r}, it has no expectation: that was never tried."]
        beyond = float(self.remainder.sum())
        if beyond >= FAINT:
            lines.append(f"  Beyond step {len(self.visits) - 1}: {beyond:.3f} visits in all.")
        return lines

    def to_json(self) -> dict[str, Any]:
        """The slices, each as its pairs that are not zero, and the remainder."""
        return {
            "question": "timeline",
            "state": self.state,
            "action": self.action,
            "steps": [self._map(expected) for expected in self.visits],
            "remainder": self._map(self.remainder),
            "unaccounted": self.unaccounted,
            "sentences": self.sentences(),
        }
