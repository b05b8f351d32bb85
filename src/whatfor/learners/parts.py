"""The parts of the rewards that a built-in learner learns from, written beside the updates that its rule records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from whatfor.learners.rule import EXPERIENCES, LAMBDA_RETURNS, LINES, STORED, Memory, Rule
from whatfor.ledger import Ledger
from whatfor.ledger.parts import part_row


class PartsWriter:
    """Keeps the parts of stored experiences, and writes those of every new update into the ledger.

    The rules, which are compiled, know nothing of parts.
    """

    def __init__(self, rule: Rule, ledger: Ledger, stored: NDArray[np.float64] | None = None) -> None:
        self.rule, self.ledger = rule, ledger
        self.delayed = rule.method == LAMBDA_RETURNS or rule.batch > 0  # whether experiences wait to be learned from
        self.stored = np.empty((0, len(ledger.parts))) if stored is None else stored.copy()  # by slot, as in Memory

    @classmethod
    def of(cls, rule: Rule, ledger: Ledger | None, stored: NDArray[np.float64] | None = None) -> Self | None:
        """A writer for a ledger that records parts; None: it records none."""
        return cls(rule, ledger, stored) if ledger is not None and ledger.parts else None

    def row(self, reward: float, parts: Mapping[str, float] | None) -> list[float]:
        """The parts of a step, checked."""
        return part_row(self.ledger.parts, reward, parts)

    def store(self, memory: Memory, row: list[float]) -> int:
        """Before a step is learned from: store its parts, in the slot that the experience gets. Returns the next line."""
        first = int(memory.counters[LINES])
        if not self.delayed:
            return first
        slot = self._slot(int(memory.counters[EXPERIENCES if self.rule.batch else STORED]))
        if self.rule.keep_first and memory.counters[EXPERIENCES] >= self.rule.capacity:
            return first  # the buffer is full, and never changes
        if slot >= len(self.stored):
            fresh = np.empty((max(16, 2 * slot), self.stored.shape[1]))
            fresh[: len(self.stored)] = self.stored
            self.stored = fresh
        self.stored[slot] = row
        return first

    def write(self, memory: Memory, origin: NDArray[np.int32], first: int, row: list[float]) -> None:
        """After a step was learned from: the parts of the updates from ``first`` on."""
        last = int(memory.counters[LINES])
        if last == first:
            return
        column = self.ledger.writable().parts
        if not self.delayed:
            column[first:last] = row
        elif self.rule.batch:
            column[first:last] = self.stored[self._slot(origin[first:last])]
        else:  # an episode, from its end to its start
            column[first:last] = self.stored[: last - first][::-1]

    def _slot(self, experience: Any) -> Any:
        """The slot of an experience, or of many, in a replay buffer."""
        return experience % self.rule.capacity if self.rule.capacity else experience
