"""A change of rewards as data: the new reward of every state-action pair and reward that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.ledger import Ledger
from whatfor.worlds.stepping import TABLE
from whatfor.worlds.world import Reprice, World


@dataclass(frozen=True)
class RewardTable:
    """New rewards by state-action pair and paid reward, in ascending order; it can be saved, unlike a function.

    >>> table = RewardTable.of(lambda pairs, rewards: 2.0 * rewards, np.array([3, 3, 0]), np.array([1.0, 1.0, 5.0]), 2)
    >>> table.pair.tolist(), table.paid.tolist(), table.instead.tolist()
    ([0, 3], [5.0, 1.0], [10.0, 2.0])
    >>> table(np.array([3, 0]), np.array([1.0, 5.0])).tolist()
    [2.0, 10.0]
    """

    pair: NDArray[np.int64]  # (entries,) state * A + action
    paid: NDArray[np.float64]  # (entries,)
    instead: NDArray[np.float64]  # (entries,)
    n_actions: int

    @classmethod
    def of(
        cls, reprice: Reprice, pairs: NDArray[np.integer[Any]], rewards: NDArray[np.float64], n_actions: int
    ) -> RewardTable:
        """Tabulate a change for some pairs and rewards, which may repeat."""
        order = np.lexsort((rewards, pairs))
        pair, paid = pairs[order].astype(np.int64), rewards[order]
        first = np.append(True, (np.diff(pair) != 0) | (np.diff(paid) != 0))[: len(pair)]
        return cls(pair[first], paid[first], reprice(pair[first], paid[first]), n_actions)

    def __call__(self, pairs: NDArray[np.integer[Any]], rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """The new rewards; ``ValueError`` for a pair and a reward that are not in the table."""
        known = np.unique(self.paid)
        rank = np.minimum(np.searchsorted(known, rewards), max(len(known) - 1, 0))
        keys = self.pair * len(known) + np.searchsorted(known, self.paid)
        asked = pairs.astype(np.int64) * len(known) + rank
        at = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
        found = (self.pair[at] == pairs) & (self.paid[at] == rewards) if len(keys) else np.zeros(len(asked), bool)
        if not found.all():
            (state, action), reward = divmod(int(pairs[~found][0]), self.n_actions), float(rewards[~found][0])
            raise ValueError(
                f"the function that changed the rewards of this run was not saved with it, and its new reward for {reward:g} in "
                f"state {state} after action {action} is unknown: load the original run, and call repriced() again"
            )
        return self.instead[at]

    def then(self, reprice: Reprice) -> RewardTable:
        """This change, and another one after it."""
        return RewardTable(self.pair, self.paid, reprice(self.pair, self.instead), self.n_actions)


def tabulated(reprice: Reprice, paid: Ledger, world: World | None) -> RewardTable:
    """A change of rewards as a table: of every reward that was paid, and of every transition of the world if it is a table."""
    if isinstance(reprice, RewardTable):
        return reprice
    n_pairs = paid.n_states * paid.n_actions
    pairs, rewards = [paid.lines.cell % n_pairs], [paid.lines.reward]
    if world is not None and world.arrays.kind == TABLE:
        pairs.append(np.repeat(np.arange(n_pairs), np.diff(world.table.first)))
        rewards.append(world.table.reward)
    return RewardTable.of(reprice, np.concatenate(pairs), np.concatenate(rewards), paid.n_actions)
