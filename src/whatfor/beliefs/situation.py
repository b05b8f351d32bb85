"""What is asked about: a state and, where an agent sees more than its states tell, the observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Situation:
    """The index of a state and, where the agent acts on observations, the observation: many may lie in one state.

    >>> Situation(3), Situation(3, [0.1, 0.2]) == Situation(3, [0.1, 0.2])
    (Situation(index=3, observation=None), True)
    """

    index: int
    observation: Any = None

    @property
    def key(self) -> tuple[int, bytes]:
        """What tells one situation from another."""
        return self.index, b"" if self.observation is None else np.asarray(self.observation).tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Situation) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)
