"""Episodes, the history of training, and evaluations of the greedy policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.limits import MAX_EPISODE_STEPS
from whatfor.text import amount, count

#: The ending of an episode that was not played to its end.
CUT = "cut"


@dataclass(frozen=True)
class History:
    """Returns and lengths of all episodes of training, with an unfinished last one."""

    returns: NDArray[np.float64]  # (episodes,) sums of rewards, not discounted
    lengths: NDArray[np.int64]  # (episodes,) steps

    def __len__(self) -> int:
        return len(self.returns)

    def __repr__(self) -> str:
        if not len(self):
            return "History(0 episodes)"
        last = self.returns[-100:]
        mean = f"mean undiscounted return of the last {count(len(last), 'episode').removeprefix('1 ')}: {amount(float(last.mean()))}"
        return f"History({count(len(self), 'episode')}; {mean})"

    def followed_by(self, later: History) -> History:
        """This history with ``later`` appended."""
        return History(np.concatenate([self.returns, later.returns]), np.concatenate([self.lengths, later.lengths]))


@dataclass(frozen=True)
class Episode:
    """One episode of the greedy policy."""

    steps: list[tuple[Any, int]]  # observation and action
    rewards: list[float]
    ending: str  # name of the ending; "timed out": time limit, "cut": not played to its end

    def __repr__(self) -> str:
        return f"Episode({count(len(self), 'step')}, undiscounted return {amount(sum(self.rewards))}, ending {self.ending!r})"

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, step: int) -> tuple[Any, int]:
        return self.steps[step]


@dataclass(frozen=True)
class Evaluation:
    """Returns of the greedy policy."""

    returns: NDArray[np.float64]  # (episodes,)
    lengths: NDArray[np.int64]  # (episodes,)
    low: float  # 95 % interval for the mean return (Student's t)
    high: float
    going: int = 0  # episodes that were still going when play stopped, after 10,000 steps without a time limit

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(self.returns.mean())

    @classmethod
    def of(cls, returns: NDArray[np.float64], lengths: NDArray[np.int64], going: int = 0) -> Evaluation:
        """The evaluation of some episodes, with the interval for their mean; ``going``: those that were still going."""
        mean, n = float(returns.mean()), len(returns)
        if n < 2 or returns.max() == returns.min():
            return cls(returns, lengths, mean if n > 1 else -np.inf, mean if n > 1 else np.inf, going)
        from scipy.special import stdtrit  # scipy.stats takes half a second to import

        half = float(stdtrit(n - 1, 0.975) * returns.std(ddof=1) / np.sqrt(n))
        return cls(returns, lengths, mean - half, mean + half, going)

    def __repr__(self) -> str:
        return f"Evaluation({self})"

    def __str__(self) -> str:
        n = len(self.returns)
        if n == 1:  # one episode has no spread
            interval = ""
        elif self.low == self.high:
            interval = " (identical in all episodes)"
        else:
            interval = f" (95 % interval {amount(self.low)} to {amount(self.high)})"
        going = f"; still going after {MAX_EPISODE_STEPS:,} steps: {self.going:,}" if self.going else ""
        return f"mean undiscounted return {amount(self.mean)}{interval} over {count(n, 'episode')}{going}"
