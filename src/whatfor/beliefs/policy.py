"""The greedy policy of a table, and beliefs of a table without a ledger: what playing that policy leads to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.futures import Arrivals, Depths, Payments
from whatfor.beliefs.loop import Loop
from whatfor.beliefs.protocol import CAPABILITIES, Beliefs, Capability
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.concepts import Concept

if TYPE_CHECKING:
    from whatfor.beliefs.simulated import SimulatedBeliefs


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

    ``played``: the source of an action in a situation. ``missing``: why it cannot be played; None: it can. ``start_text``: where
    rollouts start, if not in the situation.
    """

    can: ClassVar[frozenset[Capability]] = frozenset(CAPABILITIES)
    learned: ClassVar[bool] = False

    def __init__(
        self,
        played: Callable[[Situation, int], Beliefs],
        missing: Callable[[], str | None],
        start_text: Callable[[], tuple[str, ...]],
    ) -> None:
        self._played, self._missing, self._start_text = played, missing, start_text

    @property
    def start_text(self) -> tuple[str, ...]:
        """As the rollouts tell it."""
        return self._start_text()

    def row(self, at: Situation, action: int) -> Row:
        """The row of the exact future, or of the rollouts."""
        return self._played(at, action).row(at, action)

    def depths(self, at: Situation, action: int, horizon: int, discount: float | None = None) -> Depths:
        """As the exact future, or the rollouts, tell it."""
        return self._played(at, action).depths(at, action, horizon, discount)

    def arrivals(self, at: Situation, action: int, concepts: Sequence[Concept]) -> Arrivals:
        """As the exact future, or the rollouts, tell it."""
        return self._played(at, action).arrivals(at, action, concepts)

    def payments(self, at: Situation, action: int) -> Payments:
        """As the exact future, or the rollouts, tell it."""
        return self._played(at, action).payments(at, action)

    def loop(self, at: Situation, action: int) -> Loop:
        """As the exact future, or the rollouts, tell it."""
        return self._played(at, action).loop(at, action)

    def samples(self, at: Situation, action: int) -> int | None:
        """The number of rollouts; None: the future is exact."""
        return self._played(at, action).samples(at, action)

    def within_limit(self, at: Situation, action: int) -> SimulatedBeliefs | None:
        """The rollouts, cut at the time limit; None: it makes no difference, or the future is exact."""
        return self._played(at, action).within_limit(at, action)

    def gap_error(self, at: Situation, one: int, other: int) -> float | None:
        """The standard error of rollouts; None: the gap is exact."""
        return self._played(at, one).gap_error(at, one, other)

    def why_not(self, needs: Collection[str]) -> str | None:
        """Without a world nothing can be played."""
        if {"beliefs", "play"} <= {*needs}:
            return "compares what an agent learned to expect with play, and a table without a ledger has no such belief besides its values: ask for intention, which compares these with what playing the policy gives"
        return self._missing() if {"beliefs", "play", *CAPABILITIES} & {*needs} else None

    def saved(self, run: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Nothing: the table and its world are saved with every run."""
        return {}, {}
