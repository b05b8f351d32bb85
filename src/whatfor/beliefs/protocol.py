"""What beliefs are: for a state and an action, what is expected to follow."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Beliefs(Protocol):
    """Five sources, one noun. ``whatfor.testing.check_beliefs`` says whether a class keeps the contract."""

    def visits(self, state: int, action: int) -> NDArray[np.float64]:
        """(S, A) Expected visits of every pair from here on, discounted as learned, this one included."""

    def earnings(self, state: int, action: int) -> NDArray[np.float64]:
        """(S, A) What is expected to be earned at every pair, discounted as learned."""

    def value(self, state: int, action: int) -> float:
        """What this state and action are worth."""
