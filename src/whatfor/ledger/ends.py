"""Ends of episodes in a ledger: the updates that ended them, their final states, and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.following import kinds_of_ends
from whatfor.kernels.recursion import TERMINATED, TIMED_OUT, ending_place
from whatfor.labels import ENDINGS, Labels

if TYPE_CHECKING:
    from whatfor.ledger.ledger import Ledger

#: With more kinds of last steps than this, they are sorted.
MAX_KINDS = 32


def last_updates(ledger: Ledger) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The updates that ended an episode, and its final state; -1: not recorded.

    >>> from whatfor.ledger import Ledger
    >>> ledger = Ledger(n_states=3, n_actions=1)
    >>> ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
    >>> ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9, final_state=2)
    >>> [numbers.tolist() for numbers in last_updates(ledger)]
    [[1], [2]]
    """
    last = np.flatnonzero(ledger.lines.source <= TIMED_OUT)
    finals = ledger.finals[np.argsort(ledger.finals[:, 0], kind="stable")]
    if len(finals) == 0 or len(last) == 0:
        return last, np.full(len(last), -1)
    keys = ledger.origins_of(last) if ledger.order == "replayed" else last
    at = np.minimum(np.searchsorted(finals[:, 0], keys), len(finals) - 1)
    return last, np.where(finals[at, 0] == keys, finals[at, 1], -1)


def states_only_final(ledger: Ledger) -> frozenset[int]:
    """States in which episodes terminated and that were never updated.

    >>> from whatfor.ledger import Ledger
    >>> ledger = Ledger(n_states=3, n_actions=1)
    >>> ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9, final_state=2)
    >>> states_only_final(ledger)
    frozenset({2})
    """
    last, finals = last_updates(ledger)
    ended = finals[(ledger.lines.source[last] <= TERMINATED) & (finals >= 0)]
    return frozenset(np.setdiff1d(ended, np.flatnonzero(ledger.tries().any(axis=1))).tolist())


def with_names(ledger: Ledger, labels: Labels) -> Ledger:
    """The ledger with the names of its endings as these labels give them; itself if they are the recorded ones.

    An ending that fits its recorded name, or no condition of the labels, keeps that name.

    >>> from whatfor.axes import Axis, Ending
    >>> from whatfor.ledger import Ledger
    >>> ledger = Ledger(n_states=1, n_actions=1)
    >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9, ending="won")
    >>> with_names(ledger, Labels((Axis("state", 1),), ("go",), endings=(Ending("reached the top", reward=1.0),)))[0].ending
    'reached the top'
    """
    if not labels.endings or _fits(ledger, labels):
        return ledger
    lines = ledger.lines
    last, finals = last_updates(ledger)
    terminated = lines.source[last] <= TERMINATED
    last, finals = last[terminated], finals[terminated]
    if not any(ending.state is not None for ending in labels.endings):
        finals = np.full(len(last), -1)
    paid, reward = np.unique(lines.reward[last], return_inverse=True)
    # every kind of last step is named once: by action, final state, recorded ending and reward
    sizes = (ledger.n_actions, ledger.n_states + 1, len(ledger.endings), len(paid))
    step = lines.cell[last] % ledger.n_actions, finals + 1, TIMED_OUT - lines.source[last], reward
    kinds, which = np.unique(np.ravel_multi_index(step, sizes) if len(last) else last, return_inverse=True)
    named = [(*(int(x) for x in np.unravel_index(kind, sizes)),) for kind in kinds]
    recorded = [ledger.endings[place] for _, _, place, _ in named]
    names = [
        _name(labels, before, action, float(paid[r]), final - 1)
        for (action, final, _, r), before in zip(named, recorded, strict=True)
    ]
    if names == recorded:
        return ledger
    endings = list(dict.fromkeys([*ENDINGS, *labels.ending_names, *names]))
    codes = np.array([ending_place(endings.index(name)) for name in names], np.int32)
    source = lines.source.copy()
    source[last] = codes[which]
    return ledger.with_sources(source, endings)


def _fits(ledger: Ledger, labels: Labels) -> bool:
    """Whether few kinds of last steps have the names of these labels already, which is told without sorting them."""
    if any(ending.state is not None for ending in labels.endings):
        return False
    action, code, reward = np.empty(MAX_KINDS, np.int64), np.empty(MAX_KINDS, np.int64), np.empty(MAX_KINDS)
    found = kinds_of_ends(ledger.lines, ledger.n_actions, action, code, reward)
    recorded = [ledger.endings[ending_place(int(one))] for one in code[: min(found, MAX_KINDS)]]
    steps = zip(recorded, action.tolist(), reward.tolist(), strict=False)
    return found <= MAX_KINDS and all(before == _name(labels, before, a, r, -1) for before, a, r in steps)


def _name(labels: Labels, recorded: str, action: int, reward: float, final_state: int) -> str:
    """The name of an ending: the recorded one if it fits, else the first one that fits, else the recorded one."""
    step = action, reward, final_state
    fitting = [ending for ending in labels.endings if ending.fits(*step)]
    if any(ending.name == recorded for ending in fitting):
        return recorded
    return next((ending.name for ending in fitting if ending.conditional), recorded)
