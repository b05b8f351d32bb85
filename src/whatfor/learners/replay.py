"""Experience replay: learn from stored experience instead of the newest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whatfor.checks import whole
from whatfor.limits import check_limit

#: So many experiences can be replayed after one step; room for all of their random numbers is made ahead.
MAX_BATCH = 10_000


@dataclass(frozen=True, kw_only=True)
class Replay:
    """How experience is stored and learned from again.

    After every step, ``batch`` stored experiences are drawn at random and learned from.
    ``capacity=None`` keeps all; ``keep="latest"`` forgets the oldest when full; ``keep="first"``
    is a small fixed buffer: it is collected first, and nothing else is ever learned from (the
    paper's badly trained agent). ``warmup``: experiences stored before learning begins; by
    default 1, or the whole of a fixed buffer.

    >>> Replay(capacity=200, keep="first").capacity
    200
    """

    capacity: int | None = None
    batch: int = 1
    keep: Literal["latest", "first"] = "latest"
    warmup: int | None = None

    def check(self) -> None:
        """Raise ``ValueError`` for settings that make no sense."""
        if self.capacity is not None:
            check_limit("steps", whole("capacity", self.capacity, 1), "a replay buffer of this capacity")
        whole("batch", self.batch, 1, MAX_BATCH)
        if self.warmup is not None:
            whole("warmup", self.warmup, 0)
        if self.keep not in ("latest", "first"):
            raise ValueError(f"keep is 'latest' or 'first', not {self.keep!r}")
        if self.keep == "first" and self.capacity is None:
            raise ValueError("keep='first' needs a capacity: how many experiences to collect")
        if self.capacity is not None and self.warmup_size > self.capacity:
            raise ValueError(f"warmup {self.warmup} is more than the capacity {self.capacity}: it would never learn")

    @property
    def warmup_size(self) -> int:
        """Experiences stored before learning begins."""
        if self.warmup is not None:
            return max(1, self.warmup)
        return self.capacity if self.keep == "first" and self.capacity else 1
