"""Checked: how far an estimated belief is from held-out play of its policy, and the agent's values, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from whatfor.text import amount, count, percent

#: A belief is close if the upper end of the interval of its visit error is at most this, and poor from ``FAR`` on.
NEAR, FAR = 0.15, 0.5
#: Chances of endings of a close belief are off by at most this, those of a poor one by more than ``FAR_ENDING``.
NEAR_ENDING, FAR_ENDING = 0.05, 0.25
#: Values are off if they differ from returns by more than this share of the range of returns, at least of their size.
OFF = 0.05


@dataclass(frozen=True)
class Checked:
    """How far a belief, and the agent's Q, are from what followed in held-out play of the agent's policy.

    Visit errors are relative L1 distances. In random environments, a single future differs from the expected one: ``noise`` is what that adds, and is taken out.
    """

    situations: int  # along episodes of the policy
    episodes: int
    visits: float  # the mean error of the visits after the policy's own action
    visits_low: float  # its 90 % interval
    visits_high: float
    averaged: float  # the error of the mean visits of all situations
    length: float  # the mean relative error of the expected number of steps (discounted)
    endings: (
        float | None
    )  # the largest difference between a mean chance and the share that ended so; None: no episode ended
    other: float | None  # the mean visit error after other actions; None: none was checked
    noise: float | None  # None: not known whether the environment is random
    cut: float  # the share of episodes that reached the time limit
    q: float  # means over the situations: what Q says,
    total: float  # what the belief adds up to,
    played: float  # and what play gave
    q_off: float  # the mean difference of Q from the return that followed
    total_off: float  # that of the belief's sum
    spread: float  # the range of those returns, or their size if that is larger

    @property
    def grade(self) -> str:
        """ "close", "rough" or "poor", by what was checked."""
        endings = self.endings or 0.0
        if self.visits_high <= NEAR and endings <= NEAR_ENDING and self.total_off <= OFF * self.spread:
            return "close"
        return "poor" if self.visits > FAR or endings > FAR_ENDING else "rough"

    @property
    def verdict(self) -> str:
        """Whether the agent's Q, the belief, both or neither are off."""
        q, belief = self.q_off > OFF * self.spread, self.total_off > OFF * self.spread
        if q and belief:
            return "both the agent's Q-values and this belief differ from what its policy earns"
        if q:
            return "the agent's Q-values differ from what its policy earns; this belief does not"
        return (
            "this belief differs from what the policy earns; the agent's Q-values do not"
            if belief
            else "neither is off"
        )

    def advice(self) -> str:
        """What to do for a better estimate."""
        if self.averaged <= NEAR < self.visits:
            return (
                "Averages over situations are close, single futures are not: where small differences of an observation decide what follows, they cannot be. "
                "Elsewhere, more play and updates help: settling=Settling(steps=..., updates=...)."
            )
        return "More play and updates may help: settling=Settling(steps=..., updates=...), or wider layers, settings=BeliefSettings(sizes=...)."

    def numbers(self) -> dict[str, Any]:
        """The numbers, by name."""
        return {**asdict(self), "grade": self.grade, "verdict": self.verdict}

    def sentences(self) -> Sequence[str]:
        """What was checked, in words."""
        where = f"{count(self.situations, 'situation')} of {count(self.episodes, 'held-out episode')}"
        interval = f"90 % interval {percent(self.visits_low)} to {percent(self.visits_high)}"
        parts = [
            f"its visits are {percent(self.visits)} off what followed ({interval}), {percent(self.averaged)} averaged over all of them"
        ]
        if self.other is not None:
            parts.append(f"{percent(self.other)} off after other actions")
        parts.append(f"the number of steps is {percent(self.length)} off")
        if self.endings is not None:
            parts.append(f"the chances of endings at most {percent(self.endings)}")
        if self.noise is None:
            parts.append("if the environment is random, part of that is chance")
        limit = f" {percent(self.cut)} of these episodes reached the time limit." if self.cut else ""
        values = (
            f"There Q says {amount(self.q)} on average, this belief adds up to {amount(self.total)}, and play gave {amount(self.played)} "
            f"(discounted; Q is {amount(self.q_off)} off, the belief {amount(self.total_off)}): {self.verdict}."
        )
        return [f"Checked in {where}: {'; '.join(parts)}.{limit}", values]
