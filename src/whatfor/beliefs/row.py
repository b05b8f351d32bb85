"""Row: what one source expects of one action in one situation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.course import Course
from whatfor.beliefs.loop import NO_LOOP, Loop
from whatfor.beliefs.trust import COMPUTED, Quality
from whatfor.text import amount


@dataclass(frozen=True, repr=False)
class Row:
    """The future that a source expects after one action; None: the source does not offer this."""

    visits: NDArray[np.float64]  # (S, A) expected visits, discounted as learned; this step counts
    earnings: NDArray[np.float64]  # (S, A) where the value is expected to be earned
    value: float  # the expected return by this source
    initial: float = 0.0  # the part of the value that still comes from initial values
    unknown: float | None = None  # expected visits to pairs that it has not learned about, discounted as learned
    now: float = 1.0  # the weight of the asked step in its own visits: 1 less the weight on its initial value
    endings: Mapping[str, float] | None = None  # the probability of every ending, and of going on; undiscounted
    endings_unknown: float | None = None  # probability that still rests on initial values
    loop: Loop = NO_LOOP  # whether it goes on without a recorded end
    explores: bool = False  # whether what was learned includes exploration
    faults: tuple[str, ...] = ()  # what seems to be wrong with the record that the row was computed from
    tries: NDArray[np.int64] | None = None  # (S, A) how often each pair was updated
    error: float | None = None  # the standard error of the value
    course: Course | None = None  # the likeliest course
    discounted: bool = True  # whether any discount is below 1
    trust: Quality = COMPUTED  # how far it can be trusted
    dropped: float = 0.0  # weight that was too small to follow
    visits_error: float = 0.0  # a bound on the effect of the dropped weight on the sum of visits

    def __repr__(self) -> str:
        return f"Row(value {amount(self.value)}, {amount(float(self.visits.sum()))} visits, initial {amount(self.initial)})"
