"""Ends of episodes in a ledger: the updates that ended them, their final states, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Ending, LastStep
from whatfor.kernels.following import kinds_of_ends
from whatfor.kernels.recursion import TERMINATED, TIMED_OUT, ending_place
from whatfor.labels import Labels

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
    last, kinds, which = ends_by_kind(ledger, labels.endings)
    recorded = [ledger.endings[place] for place, _ in kinds]
    names = [_name(labels, before, step) for before, (_, step) in zip(recorded, kinds, strict=True)]
    if names == recorded:
        return ledger
    endings = list(dict.fromkeys([*ledger.endings, *labels.ending_names]))  # recorded codes stay as they are
    codes = np.array([ending_place(endings.index(name)) for name in names], np.int32)
    source = ledger.lines.source.copy()
    source[last] = codes[which]
    return ledger.with_sources(source, endings)


def _fits(ledger: Ledger, labels: Labels) -> bool:
    """Whether few kinds of last steps have the names of these labels already; checked without sorting them."""
    kinds = few_kinds(ledger)
    if kinds is None or any(ending.reads_final or ending.reads_step for ending in labels.endings):
        return False
    return all(before == _name(labels, before, step) for before, step in kinds)


def few_kinds(ledger: Ledger) -> list[tuple[str, LastStep]] | None:
    """The kinds of last steps, by recorded name, action and reward, without sorting them; None: there are more than ``MAX_KINDS``."""
    action, code, reward = np.empty(MAX_KINDS, np.int64), np.empty(MAX_KINDS, np.int64), np.empty(MAX_KINDS)
    found = kinds_of_ends(ledger.lines, ledger.n_actions, action, code, reward)
    if found > MAX_KINDS:
        return None
    recorded = [ledger.endings[ending_place(int(one))] for one in code[:found]]
    steps = zip(recorded, action.tolist(), reward.tolist(), strict=False)
    return [(name, LastStep(None, a, r, None)) for name, a, r in steps]


def ends_by_kind(
    ledger: Ledger, endings: Sequence[Ending]
) -> tuple[NDArray[np.int64], list[tuple[int, LastStep]], NDArray[np.int64]]:
    """The updates that ended an episode, its distinct kinds (place of the ending, last step), and the kind of each update.

    Last steps contain what the given endings depend on: the state and the final state are None where none does.
    """
    lines = ledger.lines
    last, finals = last_updates(ledger)
    terminated = lines.source[last] <= TERMINATED
    last, finals = last[terminated], finals[terminated]
    pairs = lines.cell[last] % (ledger.n_states * ledger.n_actions)
    reads_step = any(ending.reads_step for ending in endings)
    if not reads_step:
        pairs = pairs % ledger.n_actions
    if not any(ending.reads_final for ending in endings):
        finals = np.full(len(last), -1)
    columns = pairs, finals, TIMED_OUT - lines.source[last], lines.reward[last]
    values, places = zip(*(np.unique(column, return_inverse=True) for column in columns), strict=True)
    sizes = [max(1, len(one)) for one in values]
    found, which = np.unique(np.ravel_multi_index(places, sizes), return_inverse=True)
    kinds = []
    for kind in found.tolist():
        pair, final, place, paid = (
            one[at].item() for one, at in zip(values, np.unravel_index(kind, sizes), strict=True)
        )
        state, action = divmod(pair, ledger.n_actions)
        step = LastStep(state if reads_step else None, action, paid, final if final >= 0 else None)
        kinds.append((place, step))
    return last, kinds, which


def _name(labels: Labels, recorded: str, step: LastStep) -> str:
    """The name of an ending: the recorded one if it fits, else the first one that fits, else the recorded one."""
    fitting = labels.endings_of(step)
    if any(ending.name == recorded for ending in fitting):
        return recorded
    return next((ending.name for ending in fitting if ending.conditional), recorded)


def recorded_labels(ledger: Ledger | None, labels: Labels) -> Labels:
    """The labels as data: endings that are recognised by functions know the recorded ends that these are true of."""
    return labels.recorded([] if ledger is None else [step for _, step in ends_by_kind(ledger, labels.endings)[1]])
