"""How far beliefs can be trusted, and the words for it: what is computed needs none, a network's estimates do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.checked import FAR, FAR_ENDING, NEAR, NEAR_ENDING, Checked
from whatfor.explanation import Explanation
from whatfor.labels import Labels
from whatfor.text import amount, count, either, percent

#: Limits of close and of poor estimates: correlation with Q, gap relative to the range of Q, distance of visits.
CLOSE = (0.95, 0.05, 0.25)
POOR = (0.8, 0.2, 0.75)
#: If a larger share of Q-values is out of reach of the rewards, the grade is poor.
MAX_IMPOSSIBLE = 0.05
#: Values of a network are tied if they differ by less than this share of their range.
TIE_SHARE = 0.0025


class Quality:
    """How far beliefs can be trusted, and the words for it. These are of beliefs that are computed, not estimated."""

    tie: float = 0.0  # values that differ by at most this are tied
    least_chance: float = 0.005  # smaller chances of an ending are not stated
    caption: str = ""  # after the state, in pictures
    untried: str = "was never tried"
    updated: str = "It has updated this value"
    rest: str = "it still rests on initial values"  # why something is unknown

    def __repr__(self) -> str:
        return "computed, not estimated"

    def is_blank(self, tries: int | None) -> bool:
        """Whether nothing is expected of an action with so many updates; None: not counted."""
        return tries == 0

    def experience(self, tries: int) -> str:
        """The number of updates of an action, in words."""
        return f"tried {count(tries, 'time')}"

    def off_text(self, residual: float, what: str) -> str:
        """What follows a sum that is off ``what`` by more than rounding."""
        return f". The explanation is off by {residual:.3g}: these beliefs do not match the agent's values"

    def hedge(self) -> str:
        """The words before an expectation that is only an estimate."""
        return ""

    def ledger_advice(self) -> str:
        """What to do where there is no ledger."""
        return either("train with record=True, or pass ledger= to Run", "train with `whatfor train`, which records it")

    def about(self, residual: float | None) -> list[str]:
        """The quality of one answer, and of all answers."""
        return []

    def sentences(self) -> list[str]:
        """The quality of all answers."""
        return []

    def to_json(self) -> Any:
        """The measured quality; None: nothing is estimated."""
        return None


#: The quality of everything that is computed.
COMPUTED = Quality()


@dataclass(frozen=True)
class Trust(Explanation, Quality):
    """How well a network's beliefs explain its agent: earnings compared with Q-values, and visits with exact ones where the transition probabilities are known.

    Earnings that sum to Q do not imply correct visits: only the distance to exact visits checks these.
    """

    labels: Labels
    pairs: int  # the number of visited situations and actions that were checked
    correlation: float  # between the sums of earnings and Q
    mean_residual: float  # mean |sum of earnings - Q|
    value_range: float  # the largest Q minus the smallest, over those pairs
    #: Mean relative L1 distance of greedy actions' visits from the exact ones, weighted by the policy's visits; None: the world is not known.
    distance: float | None
    states: int  # the number of states behind that mean
    updates: int  # of the network
    discount: float
    by_visits: float | None = None  # mean |visits times mean rewards - Q|; None: not checked
    impossible: float = 0.0  # share of those Q-values that no sequence of rewards seen in training could reach
    excess: float = 0.0  # how far the worst of them is beyond
    endings_distance: float | None = None  # the same of how episodes end: mean total variation distance
    source: str = "trained alongside"  # or "evaluated": from play of its policy, after training
    checked: Checked | None = None  # against held-out play; None: there was no environment to play in
    here: float | None = field(
        default=None, compare=False
    )  # the error of visits in held-out situations like one that is asked about
    residual = None  # it is about many values, not about one
    least_chance = 0.02  # smaller ones are noise
    updated = "It has trained on this pair"
    rest = "not learned yet; knowledge of endings moves back one step with every sync of the target network"

    @classmethod
    def of(cls, labels: Labels, sums: NDArray[np.float64], values: NDArray[np.float64], **more: Any) -> Self:
        """Compare sums of earnings with the agent's own values of the same pairs."""
        spread = min(float(np.std(sums)), float(np.std(values))) if len(sums) > 1 else 0.0
        correlation = float(np.corrcoef(sums, values)[0, 1]) if spread > 0.0 else 0.0
        mean_residual = float(np.abs(sums - values).mean()) if len(sums) else np.inf
        value_range = float(np.ptp(values)) if len(values) else 0.0
        return cls(labels, len(sums), correlation, mean_residual, value_range, **more)

    @property
    def relative_gap(self) -> float:
        """The mean gap to Q, relative to the range of Q."""
        return self.mean_residual / self.value_range if self.value_range > 0.0 else np.inf

    @property
    def _relative_by_visits(self) -> float | None:
        """``by_visits`` relative to the range of Q."""
        if self.by_visits is None:
            return None
        return self.by_visits / self.value_range if self.value_range > 0.0 else np.inf

    @property
    def grade(self) -> str:
        """ "close", "rough" or "poor", by what was checked: exact visits and endings, else held-out play, else Q-values (then never "close")."""
        if self.checked is None:
            return self._grade_by_values()
        if self.distance is None:
            return self.checked.grade
        endings = self.endings_distance or 0.0
        if self.distance <= NEAR and endings <= NEAR_ENDING:
            return "close"
        return "poor" if self.distance > FAR or endings > FAR_ENDING else "rough"

    def _grade_by_values(self) -> str:
        """The grade by Q-values, and by exact visits where the world is known."""

        def within(limits: tuple[float, float, float]) -> bool:
            correlation, gap, distance = limits
            apart = max(self.distance or 0.0, self.endings_distance or 0.0, self._relative_by_visits or 0.0)
            return self.correlation >= correlation and self.relative_gap <= gap and apart <= distance

        if self.impossible > MAX_IMPOSSIBLE or not within(POOR):
            return "poor"
        return "close" if self.distance is not None and within(CLOSE) else "rough"

    @property
    def untried(self) -> str:  # type: ignore[override]
        """What is said of an action without a sample."""
        return "was never played there" if self.source == "evaluated" else "was in no training batch"

    @property
    def off_play(self) -> str:
        """How far its visits are from play, in words."""
        return "not checked against" if self.checked is None else f"{percent(self.checked.visits)} off"

    @property
    def tie(self) -> float:  # type: ignore[override]
        """Values that differ by at most this are tied."""
        return TIE_SHARE * self.value_range

    @property
    def caption(self) -> str:  # type: ignore[override]
        """The grade of an estimate that is not close."""
        return {"close": "", "rough": " (a rough estimate)", "poor": " (an unreliable estimate)"}[self.grade]

    def is_blank(self, tries: int | None) -> bool:
        """A network has an estimate of everything."""
        return False

    def experience(self, tries: int) -> str:
        """The number of samples of an action, in words."""
        return f"learned in {count(tries, 'sampled step')}"

    def off_text(self, residual: float, what: str) -> str:
        """What follows a sum that is off ``what``."""
        return f", {residual:.3g} off {what}"

    def hedge(self) -> str:
        """The words before an expectation that is only an estimate."""
        return {"close": "", "rough": "roughly, ", "poor": "by an unreliable estimate, "}[self.grade]

    def ledger_advice(self) -> str:
        """No deep agent has a ledger."""
        return "only tabular agents record one"

    def about(self, residual: float | None) -> list[str]:
        """The quality of one answer, and of all answers."""
        here = (
            []
            if residual is None
            else [f"Here the sum of its expected rewards differs from the agent's Q-value by {residual:.2g}."]
        )
        return [*here, *self.sentences()]

    def sentences(self) -> list[str]:
        """The answer in words."""
        if self.source == "evaluated":
            lines = [
                f"Estimated after training, by playing its policy ({count(self.updates, 'update')}): not what it believed while it learned."
            ]
        else:
            lines = [f"Estimated by a belief network trained alongside the agent ({count(self.updates, 'update')})."]
        if self.impossible:
            lines.append(
                f"The Q-values are wrong: {percent(self.impossible)} of them cannot be reached by any sequence of the rewards seen in training; "
                f"they are up to {amount(self.excess)} too large or too small."
            )
        grade = {"close": "Close", "rough": "Rough", "poor": "Unreliable"}[self.grade]
        found = [*(self.checked.sentences() if self.checked is not None else ()), *self._compared()]
        found[0] = f"{grade}: {found[0][:1].lower()}{found[0][1:]}"
        near = (
            []
            if self.here is None
            else [f"In held-out situations like this one, its visits are {percent(self.here)} off."]
        )
        return [*lines, *found, *near, *self._advice()]

    def _compared(self) -> list[str]:
        """How far sums of rewards are from Q-values, and visits from exact ones, if that was not checked better."""
        if self.checked is not None and self.source == "evaluated" and self.distance is None:
            return []
        over = (
            f"over {count(self.pairs, 'visited state-action pair')}, sums of expected rewards differ from Q-values by "
            f"{self.mean_residual:.3g} on average ({self._share_of_range(self.relative_gap)}correlation {self.correlation:.3f})"
        )
        if self.by_visits is not None:
            share = self._relative_by_visits or 0.0
            over += f", expected visits times mean rewards by {self.by_visits:.3g}"
            over += f" ({percent(share)})" if np.isfinite(share) else ""
        if self.distance is not None:
            visits = f"; relative L1 distance between its visits and the exact ones: {percent(self.distance)}"
            if self.endings_distance is not None:
                visits += f" and total variation distance of how episodes end: {percent(self.endings_distance)}"
            visits += f" (means over {count(self.states, 'state')}, weighted by how often its policy is there)"
        elif self.checked is None:
            visits = f"; visit error not checked; {either('run.comparison(state)', '--question comparison')} checks it"
        else:
            visits = ""
        return [f"{over[:1].upper()}{over[1:]}{visits}."]

    def _advice(self) -> list[str]:
        """What to do for a better estimate, where play showed that it is not close."""
        if self.checked is None or self.grade == "close" or self.source != "evaluated":
            return []
        return [self.checked.advice()]

    @staticmethod
    def _share_of_range(share: float) -> str:
        return f"{percent(share)} of their range, " if np.isfinite(share) else ""

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        names = (
            "pairs",
            "correlation",
            "mean_residual",
            "value_range",
            "relative_gap",
            "by_visits",
            "distance",
            "endings_distance",
            "states",
            "updates",
            "impossible",
            "excess",
        )
        numbers = {name: getattr(self, name) for name in (*names, "here")}
        checked = None if self.checked is None else self.checked.numbers()
        more = {
            "discount": self.discount,
            "source": self.source,
            "grade": self.grade,
            "checked": checked,
            "sentences": self.sentences(),
        }
        return {"question": "trust", **numbers, **more}
