"""How far the beliefs of a network can be trusted, over the situations that its agent came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from whatfor.explanation import Explanation
from whatfor.labels import Labels
from whatfor.text import count, percent

#: Limits for close and for poor estimates: correlation with Q, gap relative to the range of Q, distance of visits.
CLOSE = (0.95, 0.05, 0.25)
POOR = (0.8, 0.2, 0.75)
#: More of Q beyond what rewards allow than this makes every explanation of it poor.
MAX_IMPOSSIBLE = 0.05
#: Values of a network that differ by less than this share of their range are called a tie.
TIE_SHARE = 0.0025


@dataclass(frozen=True)
class Trust(Explanation):
    """How well a network's beliefs explain its agent: earnings beside Q-values, and visits beside exact ones where the world is known.

    Earnings that sum to Q do not make visits right: only the distance to exact visits tells that.
    """

    labels: Labels
    pairs: int  # visited situations and actions that were checked
    correlation: float  # between the sums of earnings and Q
    residual: float  # mean |sum of earnings - Q|
    value_range: float  # the largest Q less the smallest, over those pairs
    distance: (
        float | None
    )  # mean relative L1 distance of greedy actions' visits from the exact ones; None: the world is not known
    states: int  # over so many states
    updates: int  # of the network
    discount: float
    by_visits: float | None = (
        None  # mean |visits times mean rewards - Q|: whether visits agree with Q too; None: not checked
    )
    impossible: float = 0.0  # share of those Q-values that no sequence of rewards seen in training could reach
    source: str = "trained alongside"  # or "evaluated": from rollouts of the agent as it is, after training

    @classmethod
    def of(cls, labels: Labels, sums: NDArray[np.float64], values: NDArray[np.float64], **more: Any) -> Self:
        """Judge sums of earnings by the agent's own values of the same pairs."""
        spread = min(float(np.std(sums)), float(np.std(values))) if len(sums) > 1 else 0.0
        correlation = float(np.corrcoef(sums, values)[0, 1]) if spread > 0.0 else 0.0
        residual = float(np.abs(sums - values).mean()) if len(sums) else np.inf
        value_range = float(np.ptp(values)) if len(values) else 0.0
        return cls(labels, len(sums), correlation, residual, value_range, **more)

    @property
    def relative_gap(self) -> float:
        """The mean gap to Q, relative to the range of Q."""
        return self.residual / self.value_range if self.value_range > 0.0 else np.inf

    @property
    def _by_visits(self) -> float | None:
        """The same relative to the range of Q."""
        if self.by_visits is None:
            return None
        return self.by_visits / self.value_range if self.value_range > 0.0 else np.inf

    @property
    def grade(self) -> str:
        """ "close", "rough" or "poor"; unchecked visits are never close."""

        def within(limits: tuple[float, float, float]) -> bool:
            correlation, gap, distance = limits
            apart = max(0.0 if self.distance is None else self.distance, self._by_visits or 0.0)
            return self.correlation >= correlation and self.relative_gap <= gap and apart <= distance

        if self.impossible > MAX_IMPOSSIBLE or not within(POOR):
            return "poor"
        return "close" if self.distance is not None and within(CLOSE) else "rough"

    @property
    def tie(self) -> float:
        """Values closer than this are called a tie."""
        return TIE_SHARE * self.value_range

    def hedged(self) -> str:
        """What a sentence says before what it expects."""
        return {"close": "", "rough": "roughly, ", "poor": "by an unreliable estimate, "}[self.grade]

    def about(self, residual: float | None) -> list[str]:
        """How far one answer's earnings are from Q, and how far all answers are."""
        here = [] if residual is None else [f"Here its earnings are {residual:.2g} off the agent's own value."]
        return [*here, *self.sentences()]

    def sentences(self) -> list[str]:
        """The answer in words."""
        if self.source == "evaluated":
            lines = ["Estimated after training, by playing its policy: not what it believed while it learned."]
        else:
            lines = [f"Estimated by a belief network trained alongside the agent ({count(self.updates, 'update')})."]
        over = (
            f"over {count(self.pairs, 'visited pair')}, earnings are {self.residual:.3g} off Q on average "
            f"({percent(self.relative_gap)} of its range, correlation {self.correlation:.3f})"
        )
        if self.by_visits is not None:
            over += f", visits times mean rewards {self.by_visits:.3g} ({percent(self._by_visits or 0.0)})"
        if self.distance is None:
            visits = "visit error not checked; run.comparison() checks it"
        else:
            visits = f"visits are {percent(self.distance)} off the exact ones (over {count(self.states, 'state')})"
        if self.impossible:
            lines.append(
                f"Q itself is off: {percent(self.impossible)} of its values are beyond what the rewards seen in training could add up to."
            )
        grade = {"close": "Close", "rough": "Rough", "poor": "Unreliable"}[self.grade]
        return [*lines, f"{grade}: {over}; {visits}."]

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        names = (
            "pairs",
            "correlation",
            "residual",
            "value_range",
            "relative_gap",
            "by_visits",
            "distance",
            "states",
            "updates",
            "impossible",
        )
        found = {name: getattr(self, name) for name in names}
        more = {"discount": self.discount, "source": self.source, "grade": self.grade, "sentences": self.sentences()}
        return {"question": "trust", **found, **more}
