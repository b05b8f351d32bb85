"""Claims of the paper, each measured on many agents and compared with a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

Status = Literal["reproduced", "not reproduced", "unclear"]
STATUSES: tuple[Status, ...] = ("reproduced", "not reproduced", "unclear")
#: The least rate of agents for a claim about typical agents, and for a claim about all agents.
MOST, ALL = 0.5, 0.8
#: The largest share of control agents that may pass a check by chance.
MAX_BY_CHANCE = 0.05
#: The level of intervals, and their level for deep agents, of which there are only a few.
LEVEL, DEEP_LEVEL = 0.95, 0.8


class Seen(NamedTuple):
    """What one agent shows."""

    met: bool
    number: float


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and how it is measured on the agents of one seed."""

    figure: str
    says: str  # the claim
    test: str  # what an agent must show to count
    number: str  # what the measured number is
    measure: Callable[[Any], Seen] = field(repr=False)  # of the agents of one seed
    wrong: str  # the name of the wrong mechanism that must fail
    at_least: float = MOST  # the rate of agents that must show it
    form: str = "{:.3g}"  # of the number


class SeedRate(NamedTuple):
    """The rate of seeds that show a claim."""

    met: int
    seeds: int
    level: float = LEVEL

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval.

        >>> [round(x, 3) for x in SeedRate(20, 20).interval]
        [0.839, 1.0]
        """
        z = NormalDist().inv_cdf(0.5 + self.level / 2.0)
        n, share = self.seeds, self.met / self.seeds
        middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        low, high = ((middle + side * half) / (1 + z * z / n) for side in (-1.0, 1.0))
        return max(0.0, low), min(1.0, high)

    def status(self, at_least: float) -> Status:
        """Whether the interval lies above or below a threshold.

        >>> [SeedRate(met, 20).status(0.5) for met in (20, 11, 2)]
        ['reproduced', 'unclear', 'not reproduced']
        """
        low, high = self.interval
        return "reproduced" if low >= at_least else "not reproduced" if high < at_least else "unclear"

    def __str__(self) -> str:
        return f"{self.met} of {self.seeds}"


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its measurements: of the agents, of untrained agents, and of agents with the wrong mechanism."""

    claim: Claim
    seen: tuple[Seen, ...]
    untrained: tuple[Seen, ...] = ()
    wrong: tuple[Seen, ...] = ()
    level: float = LEVEL

    @property
    def rate(self) -> SeedRate:
        """The rate of agents that show it."""
        return self._rate(self.seen)

    @property
    def controls(self) -> tuple[SeedRate, SeedRate]:
        """The same for untrained agents and for those with the wrong mechanism."""
        return self._rate(self.untrained), self._rate(self.wrong)

    @property
    def status(self) -> Status:
        """Reproduced, not reproduced or unclear; a check that its controls pass too says nothing, so its claim is unclear."""
        status = self.rate.status(self.claim.at_least)
        passing = [one for one in self.controls if one.met > MAX_BY_CHANCE * one.seeds]
        return "unclear" if passing and status == "reproduced" else status

    @property
    def median(self) -> str:
        """The median of the measured number, and its range."""
        numbers = sorted(one.number for one in self.seen)
        middle = (numbers[(len(numbers) - 1) // 2] + numbers[len(numbers) // 2]) / 2.0
        shown, low, high = (self.claim.form.format(x) for x in (middle, numbers[0], numbers[-1]))
        return shown if low == high else f"{shown} ({low} to {high})"

    def to_json(self) -> dict[str, Any]:
        """The result as plain data."""
        low, high = self.rate.interval
        untrained, wrong = self.controls
        return {
            "figure": self.claim.figure, "says": self.claim.says, "test": self.claim.test,
            "number": self.claim.number, "median": self.median,
            "met": self.rate.met, "seeds": self.rate.seeds, "interval": [round(low, 4), round(high, 4)], "level": self.level,
            "at_least": self.claim.at_least, "status": self.status,
            "untrained": list(untrained[:2]), "wrong": list(wrong[:2]), "wrong_mechanism": self.claim.wrong,
        }  # fmt: skip

    def _rate(self, seen: Sequence[Seen]) -> SeedRate:
        return SeedRate(sum(one.met for one in seen), len(seen), self.level)


def counts(results: Sequence[ClaimResult]) -> dict[Status, int]:
    """The number of claims with each status."""
    return {status: sum(one.status == status for one in results) for status in STATUSES}


def counts_text(results: Sequence[ClaimResult]) -> str:
    """The same in words, for the top of the page and for the shell."""
    number = counts(results)
    return ", ".join(f"{number[status]} {status}" for status in STATUSES) + f", of {len(results)} claims"
