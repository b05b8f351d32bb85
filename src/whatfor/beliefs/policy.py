"""The greedy policy of a table, and beliefs of a table without a ledger: what playing that policy leads to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.protocol import Beliefs, Capability
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation


def greedy_policy(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S, A) Action probabilities of the greedy policy; ties are shared equally.

    >>> greedy_policy(np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    values = np.where(np.isnan(values), -np.inf, values)  # a network may have diverged
    best = values == values.max(axis=1, keepdims=True)
    chances: NDArray[np.float64] = best / best.sum(axis=1, keepdims=True)
    return chances


class PolicyBeliefs(Beliefs):
    """What a policy leads to: exactly where its world is known, by simulation elsewhere.

    ``played``: the source of an action in a situation. ``missing``: why it cannot be played; None: it can.
    """

    can: ClassVar[frozenset[Capability]] = frozenset({"endings"})
    learned: ClassVar[bool] = False

    def __init__(self, played: Callable[[Situation, int], Beliefs], missing: Callable[[], str | None]) -> None:
        self._played, self._missing = played, missing

    def row(self, at: Situation, action: int) -> Row:
        """The row of the exact future, or of the rollouts."""
        return self._played(at, action).row(at, action)

    def gap_error(self, at: Situation, one: int, other: int) -> float | None:
        """The standard error of rollouts; None: the gap is exact."""
        return self._played(at, one).gap_error(at, one, other)

    def why_not(self, needs: Collection[str]) -> str | None:
        """Without a world nothing can be played."""
        if {"beliefs", "play"} <= {*needs}:
            return "compares what an agent learned to expect with play, and a table without a ledger tells play alone: ask for intention or simulation"
        return self._missing() if {"beliefs", "endings", "play"} & {*needs} else None

    def saved(self, run: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Nothing: the table and its world are saved with every run."""
        return {}, {}
