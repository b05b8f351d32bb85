"""Situation: the state, and for agents that act on observations the observation, that a question is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Situation:
    """The index of a state and, if the agent acts on observations, the observation: one state may contain many.

    >>> Situation(3), Situation(3, [0.1, 0.2]) == Situation(3, [0.1, 0.2])
    (Situation(index=3, observation=None), True)
    """

    index: int
    observation: Any = None

    @property
    def key(self) -> tuple[int, bytes]:
        """Index and bytes of the observation, for comparing situations."""
        return self.index, b"" if self.observation is None else np.asarray(self.observation).tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Situation) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)
