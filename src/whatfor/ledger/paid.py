"""Names for endings that have none: after what their last step pays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whatfor.axes import Ending, LastStep
from whatfor.kernels.recursion import TERMINATED
from whatfor.labels import ENDINGS, Labels
from whatfor.ledger.ends import few_kinds, with_names
from whatfor.ledger.ledger import Ledger
from whatfor.text import amount

#: With more distinct last rewards than this, endings are named after ranges of them.
MAX_REWARDS = 6
#: With more distinct last steps than this, endings are named after what they pay, though all pay the same.
MAX_STEPS = 12
#: The number of ranges, about.
RANGES = 4


def with_paid_endings(ledger: Ledger | None, labels: Labels) -> Labels:
    """The labels with endings named after what they pay, where episodes that ended without a name pay differently.

    >>> ledger = Ledger(n_states=1, n_actions=1)
    >>> for reward in (50.0, -30.0):
    ...     ledger.record(0, 0, reward, None, step_size=0.5, discount=0.9)
    >>> with_paid_endings(ledger, Labels.plain(1, 1)).ending_names
    ('ended with -30', 'ended with +50')
    """
    if ledger is None or any(not ending.conditional for ending in labels.endings):  # the latter: all have names
        return labels
    kinds = None if labels.endings else few_kinds(ledger)  # the quick way, where nothing has a name
    if kinds is not None:
        rewards = sorted({step.reward or 0.0 for name, step in kinds if name == ENDINGS[1]})
    else:
        lines = with_names(ledger, labels).lines
        rewards = np.unique(lines.reward[lines.source == TERMINATED]).tolist()
    if not rewards or (len(rewards) == 1 and not any(ending.by_pay for ending in labels.endings)):
        return labels
    return replace(labels, endings=(*labels.endings, *paid_endings(rewards)))


def without_paid_endings(labels: Labels) -> Labels:
    """The labels without the endings that were named after what they pay."""
    return replace(labels, endings=tuple(ending for ending in labels.endings if not ending.by_pay))


def paid_endings(rewards: Sequence[float], known: Sequence[Ending] = ()) -> tuple[Ending, ...]:
    """An ending for each last reward, lowest first; for each range if there are many.

    Where some of the ``known`` endings are named after what they pay, the ranges are of other rewards.

    >>> [ending.phrase for ending in paid_endings([-1.0, 0.0, 1.0])]
    ['end with -1', 'end with 0', 'end with +1']
    >>> [ending.phrase for ending in paid_endings([x / 10 for x in range(-70, 95)])]
    ['end with less than -5', 'end with -5 to 0', 'end with 0 to +5', 'end with at least +5']
    >>> paid_endings([float(x) for x in range(10)], paid_endings([2.5]))[0].name
    'ended with another reward, less than +5'
    """
    different: list[float] = []
    for reward in sorted(rewards):
        if not different or not math.isclose(different[-1], reward):
            different.append(reward)
    if len(different) > MAX_REWARDS:
        others = any(ending.by_pay for ending in known)
        return _ranges(different[0], different[-1], "another reward, " if others else "")
    words = [amount(reward, signed=True) for reward in different]
    if len(set(words)) < len(words):
        words = [f"{reward:+}" for reward in different]
    return tuple(
        _ending(text, bad=reward < 0.0 and reward < different[-1], reward=reward)
        for text, reward in zip(words, different, strict=True)
    )


def last_steps_named(labels: Labels, pairs: Sequence[int], rewards: Sequence[float]) -> list[str]:
    """A name for each last step whose ending has none: what it pays or a range of that; if all pay the same, a step of a few.

    >>> last_steps_named(Labels.plain(2, 1), [1, 1], [0.0, 5.0])
    ['ended with 0', 'ended with +5']
    >>> last_steps_named(Labels.plain(2, 1), [0, 1], [5.0, 5.0])
    ['ended by action 0 in state 0 (+5)', 'ended by action 0 in state 1 (+5)']
    >>> sorted(set(last_steps_named(Labels.plain(2, 1), [1] * 100, [x / 10 for x in range(100)])))
    ['ended with at least +5', 'ended with less than +5']
    >>> set(last_steps_named(Labels.plain(50, 1), range(50), [-0.5] * 50))
    {'ended with -0.5'}
    """
    steps = [
        labels.last_step(*divmod(pair, labels.n_actions), reward) for pair, reward in zip(pairs, rewards, strict=True)
    ]
    different = sorted(set(rewards))
    if len(different) <= 1 and len(set(steps)) <= MAX_STEPS:
        return steps
    ranges = paid_endings(different, labels.endings)
    return [next(one.name for one in ranges if one.fits(LastStep(None, None, paid, None))) for paid in rewards]


def _ranges(lowest: float, highest: float, of: str) -> tuple[Ending, ...]:
    """Endings by ranges of the last reward, between multiples of a round number; ``of``: what their names begin with."""
    rough = (highest - lowest) / RANGES
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(one * size for one in (1.0, 2.0, 5.0, 10.0) if one * size >= rough)
    first, last = math.floor(lowest / step) + 1, math.ceil(highest / step)
    edges = [number * step for number in range(first, last)]
    words = [amount(edge, signed=True) for edge in edges]
    if not edges or len(set(words)) < len(words):  # nearly equal numbers: one range
        return (
            _ending(f"{of}{amount(lowest, signed=True)} to {amount(highest, signed=True)}", between=(lowest, None)),
        )
    between = [
        _ending(f"{of}{words[i]} to {words[i + 1]}", bad=edges[i + 1] <= 0.0, between=(edges[i], edges[i + 1]))
        for i in range(len(edges) - 1)
    ]
    return (
        _ending(f"{of}less than {words[0]}", bad=edges[0] <= 0.0, between=(None, edges[0])),
        *between,
        _ending(f"{of}at least {words[-1]}", between=(edges[-1], None)),
    )


def _ending(pays: str, *, bad: bool = False, reward: float | None = None, between: tuple[float | None, float | None] | None = None) -> Ending:  # fmt: skip
    return Ending(f"ended with {pays}", None, reward, f"end with {pays}", bad, between=between, by_pay=True)
