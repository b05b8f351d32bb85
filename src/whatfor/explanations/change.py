"""How an intention changed: between two times of one training, or between two runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whatfor.explanations.difference import Difference
from whatfor.explanations.intention import Intention

MOST = 5
#: Two futures that share this much of their visits are the same.
SAME = 0.95


@dataclass(frozen=True)
class Change(Difference):
    """What an agent intends in a state, and what it intended before; the parts sum to the change of the value.

    The actions may differ; where they are the same, the reasons may not be.
    """

    @property
    def after(self) -> Intention:
        """What it intends now."""
        return self.one

    @property
    def before(self) -> Intention:
        """What it intended then."""
        return self.other

    @property
    def same_action(self) -> bool:
        """Whether it would do the same."""
        return self.one.action == self.other.action

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, labels = self.labels.words(self.state), self.labels
        if self.before.tries == 0 or self.after.tries == 0:
            when = "before" if self.before.tries == 0 else "now"
            which = self.before if self.before.tries == 0 else self.after
            return [
                f"In {here!r}, {labels.actions[which.action]!r} was not yet tried {when}: there is nothing to compare."
            ]
        was, now = self.before.plan(), self.after.plan()
        if self.same_action:
            lines = [f"In {here!r}, it still {labels.doing(self.after.action)}, {self._reasons()}."]
        else:
            was_doing = labels.actions[self.before.action]
            lines = [f"In {here!r}, it now {labels.doing(self.after.action)}; before, it was {was_doing!r}."]
        if was and now and was != now:
            lines += [f"Before, it expected {was}.", f"Now, it expects {now}."]
        lines.append(f"The value went from {self.before.value:.4f} to {self.after.value:.4f} ({self.gap:+.4f}).")
        if self.different:
            for said, numbers in (("It expects more of", self.gained), ("and less of", self.lost)):
                lines.append(f"{said}:")
                most = sorted(self._map(numbers)[:MOST], key=lambda part: -float(part["number"]))
                lines += [f"  {part['number']:6.3f}  {self._pair(part['state'], part['action'])}" for part in most]
        return lines

    def _reasons(self) -> str:
        """How much of the one future is in the other."""
        if self.in_common >= SAME:
            return "for the same reasons"
        return "for partly other reasons" if self.in_common >= 0.5 else "for other reasons"

    @property
    def in_common(self) -> float:
        """The share of the shorter future's visits that both expect."""
        return float(self.shared.sum() / min(self.one.visits.sum(), self.other.visits.sum()))

    def to_json(self) -> dict[str, Any]:
        """Both intentions' actions and values, and the parts of the change."""
        return {
            "question": "change",
            "before": {"action": self.before.action, "value": self.before.value},
            "after": {"action": self.after.action, "value": self.after.value},
            "in_common": self.in_common,
            **self._numbers(),
        }
