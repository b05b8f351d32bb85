"""Experience replay: learn from stored experiences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whatfor.checks import whole
from whatfor.limits import check_limit

#: The most experiences that can be replayed after one step; their random numbers are drawn ahead.
MAX_BATCH = 10_000


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The settings of a replay buffer.

    After every step, the agent learns from ``batch`` stored experiences drawn at random. ``capacity=None`` keeps all
    experiences. A full buffer drops the oldest one with ``keep="latest"``; with ``keep="first"`` it never changes again
    (the paper's badly trained agent). ``warmup``: experiences stored before learning begins; by default 1, or
    ``capacity`` with ``keep="first"``.

    >>> Replay(capacity=200, keep="first").capacity
    200
    """

    capacity: int | None = None
    batch: int = 1
    keep: Literal["latest", "first"] = "latest"
    warmup: int | None = None

    def check(self) -> None:
        """Raise ``ValueError`` for invalid settings."""
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
