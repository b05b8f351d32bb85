"""One number as believed and as it is, with the noise of both."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from whatfor.text import amount


@dataclass(frozen=True)
class Measure:
    """A number the agent believes, what it is, and how far apart the two may be by sampling error."""

    name: str
    believed: float
    simulated: float
    simulated_error: float  # standard error
    exact: float | None  # None: not known
    error: float | None  # the belief's own standard error; None: unknown
    lag: float  # the part of the belief that bootstraps from actions the policy does not take
    start: float  # the part that still rests on initial values; 0 where only a bound on it is known
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
            return "more than sampling error explains"
        old = abs(self.lag) >= abs(self.start)
        return "explained by actions it would no longer take" if old else "explained by its initial values"

    @property
    def excess(self) -> float:
        """The difference, measured in what noise explains."""
        return abs(self.difference) / max(self.reach, np.finfo(float).tiny)

    def __str__(self) -> str:
        return f"{self.name}: {amount(self.believed)} believed, {amount(self.actual)} actual"

    def with_verdict(self) -> str:
        """The same, with the verdict."""
        if not np.isfinite(self.reach):
            return f"{self} (too few experiences to judge)"
        return f"{self} ({self.cause if self.differs else 'within sampling error'}: ± {self.reach:.2g})"

    def to_json(self) -> dict[str, Any]:
        """All its numbers, and the verdict."""
        return {**asdict(self), "difference": self.difference, "differs": self.differs, "unexplained": self.unexplained}
