"""Row: what one source expects of one action in one situation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.course import Course
from whatfor.beliefs.trust import Trust


@dataclass(frozen=True)
class Row:
    """What a source expects to follow one action; None: the source cannot tell."""

    visits: NDArray[np.float64]  # (S, A) expected visits, discounted as learned, this step included
    earnings: NDArray[np.float64]  # (S, A) where the value is expected to be earned
    value: float  # what the source says the action is worth
    initial: float = 0.0  # the part of the value that still rests on initial values
    unknown: float = 0.0  # visits of pairs it expects to come to and has not learned about, discounted as learned
    now: float = 1.0  # the part of its own visits that is the asked step itself: 1 less the share of its initial value
    endings: Mapping[str, float] | None = None  # the chance of every way to end, without a discount
    endings_unknown: float = 0.0  # chance that still rests on initial values
    tries: NDArray[np.int64] | None = None  # (S, A) how often each pair was updated
    error: float | None = None  # the standard error of the value, from the spread of its experiences
    course: Course | None = None  # the likeliest way on
    trust: Trust | None = None  # how far an estimate can be trusted; None: it is no estimate
    dropped: float = 0.0  # weight that was too small to follow; 0: none
    visits_error: float = 0.0  # a bound on what that can have changed in the sum of visits
