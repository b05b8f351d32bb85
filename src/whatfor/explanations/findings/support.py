"""What supports a loop in an unknown world: updates that never left it, and play."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.loop import RULE_OF_THREE
from whatfor.explanations.findings.ground import MIN_MET, Ground
from whatfor.explanations.findings.played import Played
from whatfor.text import count, percent

#: The steps of a loop were made at least this often.
MIN_TRIES = 5
#: Where chance decides, the probability that an episode leaves a loop is at most this, by the rule of three: a pair that
#: n experiences never left is left with a probability of at most 3/n (at 95 % confidence).
MAX_LEFT = 0.5


class Support(NamedTuple):
    """How many episodes get into a loop, and the words about how that is known."""

    met: float
    where: str


class Stay(NamedTuple):
    """What played episodes did in a loop."""

    entered: int  # episodes that got into it
    steps: int  # the steps they made there
    left: bool


def support(ground: Ground, core: NDArray[np.int64]) -> Support | None:
    """What supports a loop; None: too little, or play leaves it."""
    entered = float(ground.entered[core].max())
    if ground.exact or ground.tries is None:
        return _by_policy(ground, core, entered)
    tries = int(ground.tries[core, ground.best[core]].min())
    if tries < MIN_TRIES:
        return None
    stay = Stay(0, 0, False) if ground.played is None else stay_in(ground.played, core)
    if stay.left:
        return None
    if not _chance_decides(ground):
        return _by_policy(ground, core, entered)
    if not _is_enough(ground, max(tries, stay.steps // len(core))):
        return None
    if ground.played is None:
        by = _by_policy(ground, core, entered)
        return by._replace(where=f"{by.where}, by its experience of {count(tries, 'update')} that never left it")
    if not stay.entered:
        return None
    met = stay.entered / ground.played.episodes
    return Support(
        met, f"({percent(met)} of {count(ground.played.episodes, 'played episode')} get there and never leave)"
    )


def _by_policy(ground: Ground, core: NDArray[np.int64], entered: float) -> Support:
    if entered > MIN_MET:
        return Support(entered, f"({percent(entered)} of its episodes get there)")
    met = float(ground.met[core].max())
    return Support(met, f"({percent(met)} of the last episodes of training got there, by exploration)")


def _chance_decides(ground: Ground) -> bool:
    """Whether any state-action pair led to different states or ends in its experience."""
    assert ground.future is not None
    table, pairs = ground.future.table, ground.future.entry_pairs
    outcomes = np.unique(np.column_stack([pairs, table.next_state, table.ending]), axis=0)
    return bool((np.diff(outcomes[:, 0]) == 0).any())


def _is_enough(ground: Ground, tries: int) -> bool:
    """Whether so many experiences that never left a loop show that an episode does not leave it."""
    steps = ground.episode_length or 0
    return tries > RULE_OF_THREE and bool(1.0 - (1.0 - RULE_OF_THREE / tries) ** steps <= MAX_LEFT)


def stay_in(played: Played, core: NDArray[np.int64]) -> Stay:
    """What played episodes did in a loop.

    >>> stay_in(Played({}, [0, 0], [True, True], [[0, 1, 2, 1], [0, 0]]), np.array([1, 2]))
    Stay(entered=1, steps=3, left=False)
    >>> stay_in(Played({}, [0], [True], [[0, 1, 0]]), np.array([1])).left
    True
    """
    entered, steps, left = 0, 0, False
    for path, timed_out in zip(played.paths, played.timed_out, strict=True):
        inside = np.isin(path, core)
        entered += bool(inside.any())
        steps += int(inside.sum())
        left |= bool((inside[:-1] & ~inside[1:]).any() or (inside[-1:].any() and not timed_out))
    return Stay(entered, steps, left)
