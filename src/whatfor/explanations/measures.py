"""One number as believed and as it is, with the noise of both."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Measure:
    """A number the agent believes, what it is, and how far apart the two may be by chance."""

    name: str
    believed: float
    simulated: float
    simulated_error: float  # standard error
    exact: float | None  # None: not known
    error: float | None  # the belief's own standard error; None: nobody knows
    lag: float  # the part of the belief that looks ahead along actions the policy does not take
    start: float  # the part that still rests on values the tables started with; 0 where only a bound on it is known
    reach: float  # a difference up to here is noise, or too small to be of interest

    @property
    def actual(self) -> float:
        """The exact number where it is known, else the simulated one."""
        return self.simulated if self.exact is None else self.exact

    @property
    def difference(self) -> float:
        """Believed less actual."""
        return self.believed - self.actual

    @property
    def differs(self) -> bool:
        """Whether the two differ by more than noise explains."""
        return abs(self.difference) > self.reach

    @property
    def unexplained(self) -> bool:
        """Whether they differ by more than noise, lag and start explain; where these are estimated only, they explain either way."""
        explained = self.lag + self.start
        if self.exact is None:
            return abs(self.difference) > self.reach + abs(explained)
        return self.differs and abs(self.difference - explained) > self.reach

    @property
    def cause(self) -> str:
        """What explains a difference that noise does not."""
        if self.unexplained:
            return "more than chance explains"
        old = abs(self.lag) >= abs(self.start)
        return "explained by actions it would no longer take" if old else "explained by the values it started with"

    @property
    def excess(self) -> float:
        """The difference, measured in what noise explains."""
        return abs(self.difference) / max(self.reach, np.finfo(float).tiny)

    def __str__(self) -> str:
        return f"{self.name}: {self.believed:.3f} believed, {self.actual:.3f} actual"

    def judged(self) -> str:
        """The same, with the judgement."""
        if not np.isfinite(self.reach):
            return f"{self} (too few experiences to judge)"
        return f"{self} ({self.cause if self.differs else 'within chance'}: ± {self.reach:.2g})"

    def to_json(self) -> dict[str, Any]:
        """All its numbers, and the judgement."""
        return {**asdict(self), "difference": self.difference, "differs": self.differs, "unexplained": self.unexplained}
