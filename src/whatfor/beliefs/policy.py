"""Beliefs of a table without a ledger: what playing its greedy policy leads to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar

from whatfor.beliefs.protocol import Beliefs, Capability
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation


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
