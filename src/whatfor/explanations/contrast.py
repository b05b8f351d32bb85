"""Why this action and not that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.explanations.explanation import ROUNDING, Explanation
from whatfor.explanations.intention import Intention
from whatfor.labels import Labels

#: A gap below this share of what is at stake is called a tie.
TIE = 1e-6
#: So much more of the visits, relative to all of them, makes two futures different.
DIFFERENT = 0.05
MOST_REASONS = 5


@dataclass(frozen=True)
class Contrast(Explanation):
    """Two expected futures side by side; the parts of the difference sum to the gap between the values."""

    labels: Labels
    state: int
    chosen: Intention
    instead: Intention
    gap: float  # the chosen action's value less the other's, from the learner's own table
    gained: NDArray[np.float64]  # (S, A) visits that only the chosen action expects
    lost: NDArray[np.float64]  # (S, A) visits that only the other expects
    shared: NDArray[np.float64]  # (S, A) visits that both expect
    parts: NDArray[np.float64]  # (S, A) earnings gained (or lost, negative) at each pair
    start_part: float  # the part of the gap that is left of what the tables started with
    residual: float  # |parts + start_part - gap|

    @classmethod
    def of(cls, chosen: Intention, instead: Intention) -> Contrast:
        """Compare two intentions of one state."""
        gap = chosen.value - instead.value
        parts = chosen.earnings - instead.earnings
        start = chosen.from_start - instead.from_start
        return cls(
            labels=chosen.labels,
            state=chosen.state,
            chosen=chosen,
            instead=instead,
            gap=gap,
            gained=np.maximum(chosen.visits - instead.visits, 0.0),
            lost=np.maximum(instead.visits - chosen.visits, 0.0),
            shared=np.minimum(chosen.visits, instead.visits),
            parts=parts,
            start_part=start,
            residual=abs(float(parts.sum()) + start - gap),
        )

    @property
    def reasons(self) -> list[tuple[int, int, float]]:
        """The fewest parts in favour that outweigh everything against: state, action, amount; the largest first.

        Empty where the chosen action is not the better one.
        """
        against = float(self.parts[self.parts < 0].sum()) + min(self.start_part, 0.0)
        weight, reasons = against, []
        for at in np.argsort(-self.parts, axis=None, kind="stable"):
            state, action = divmod(int(at), self.parts.shape[1])
            if weight > 0.0 or self.parts[state, action] <= 0.0:
                break
            weight += float(self.parts[state, action])
            reasons.append((state, action, float(self.parts[state, action])))
        return reasons if weight > 0.0 else []

    @property
    def at_stake(self) -> float:
        """The sum of |earnings| of both futures: what a gap is measured against."""
        return float(np.abs(self.chosen.earnings).sum() + np.abs(self.instead.earnings).sum())

    @property
    def tied(self) -> bool:
        """Whether the two are equally good, to what can be told apart."""
        return abs(self.gap) <= TIE * max(self.at_stake, ROUNDING)

    @property
    def different(self) -> bool:
        """Whether the two expect different futures, beyond the first step."""
        apart = self.gained.sum() + self.lost.sum() - 2.0 * min(self.chosen.now, self.instead.now)
        return bool(apart > DIFFERENT * (self.chosen.visits.sum() + self.instead.visits.sum()))

    def comes_back(self, which: Intention) -> float:
        """How often it expects to be in this very state again after an action: a bounce, if it is about once."""
        return float(which.visits[self.state].sum() - which.now)

    def sentences(self) -> list[str]:
        """The answer in words."""
        one, two = (self.labels.actions[which.action] for which in (self.chosen, self.instead))
        here = self.labels.words(self.state)
        unknown = [self.labels.actions[w.action] for w in (self.chosen, self.instead) if w.tries == 0]
        if unknown:
            return [f"In {here!r}, {unknown[0]!r} was never tried, so there is nothing to compare."]
        lines = []
        if self.tied:
            lines.append(f"In {here!r}, {one!r} and {two!r} are equally good ({self.chosen.value:.4f}).")
            lines.append(
                "They expect different futures all the same." if self.different else "They expect the same future."
            )
        else:
            better, worse = (one, two) if self.gap > 0 else (two, one)
            lines.append(f"In {here!r}, {better!r} is worth {abs(self.gap):.4f} more than {worse!r}.")
        for name, which in ((one, self.chosen), (two, self.instead)):
            if self.comes_back(which) > 0.5:
                lines.append(
                    f"After {name!r} it expects to be back here ({self.comes_back(which):.2f} visits, discounted as learned)."
                )
        reasons = self.reasons
        if reasons and not self.tied:
            lines.append(f"For {one!r}, outweighing all that speaks against it:")
            lines += [f"  {amount:+7.3f}  {self._reason(s, a)}" for s, a, amount in reasons[:MOST_REASONS]]
            if len(reasons) > MOST_REASONS:
                rest = sum(amount for *_, amount in reasons[MOST_REASONS:])
                lines.append(f"  {rest:+7.3f}  at {len(reasons) - MOST_REASONS} other places")
        return lines

    def _reason(self, state: int, action: int) -> str:
        """A pair in favour of the chosen action: something earned there, or a cost that only the other expects."""
        spared = "" if self.chosen.earnings[state, action] > 0.0 else "spared: "
        return spared + self._pair(state, action)

    def to_json(self) -> dict[str, Any]:
        """Both actions, the gap and its parts, and what is gained, lost and shared."""
        return {
            "question": "contrast",
            "state": self.state,
            "chosen": self.chosen.action,
            "instead": self.instead.action,
            "gap": self.gap,
            "residual": self.residual,
            "start_part": self.start_part,
            "tied": self.tied,
            "gained": self._map(self.gained),
            "lost": self._map(self.lost),
            "shared": self._map(self.shared),
            "parts": self._map(self.parts),
            "reasons": [{"state": s, "action": a, "number": amount} for s, a, amount in self.reasons],
            "sentences": self.sentences(),
        }
