"""Confidence intervals of shares of rollouts."""

from __future__ import annotations

from whatfor.text import percent

Interval = tuple[float, float]
#: The confidence level of intervals.
CONFIDENCE = 0.95


def interval_of(times: int, of: int) -> Interval:
    """The interval of a probability by Clopper and Pearson, from how often something happened."""
    from scipy.stats import binomtest  # takes half a second to import

    interval = binomtest(times, of).proportion_ci(CONFIDENCE)
    return float(interval.low), float(interval.high)


def interval_text(share: float, rollouts: int | None, unknown: float = 0.0) -> str:
    """The interval of a share of rollouts, in brackets; empty without rollouts. ``unknown``: the share that may belong to it.

    >>> interval_text(0.5, 100), interval_text(0.5, 100, 0.5), interval_text(0.5, None)
    (' (95 % interval 40 % to 60 %)', ' (95 % interval 40 % to 100 %)', '')
    """
    if rollouts is None:
        return ""
    low = interval_of(round(share * rollouts), rollouts)[0]
    high = interval_of(round((share + unknown) * rollouts), rollouts)[1]
    return f" (95 % interval {percent(low)} to {percent(high)})"
