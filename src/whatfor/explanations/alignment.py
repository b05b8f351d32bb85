"""Two runs that discovered their states in different orders, as runs with the same states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.labels import Labels
from whatfor.states import DiscoveredStates
from whatfor.structure import Scalar

if TYPE_CHECKING:
    from whatfor.runs import Run


def aligned(run: Run, other: Run) -> tuple[Run, Run]:
    """Both runs with the states of either: those of the first keep their numbers, and further ones of the second follow.

    Runs whose states were not discovered, or whose keys are built differently, stay as they are.
    """
    first, second = run.labels, other.labels
    same_kind = first.structure == second.structure and [a.name for a in first.axes] == [a.name for a in second.axes]
    if first.states is None or second.states is None or first.states == second.states or not same_kind:
        return run, other
    numbers = {first.states.row(state): state for state in range(len(first.states))}
    where = np.array(
        [numbers.setdefault(second.states.row(state), len(numbers)) for state in range(len(second.states))]
    )
    labels = first
    if len(numbers) > len(first.states):
        labels = _with_all(first, second, list(numbers))
    return _renumbered(run, labels, np.arange(len(first.states))), _renumbered(other, labels, where)


def _with_all(first: Labels, second: Labels, rows: list[tuple[Scalar, ...]]) -> Labels:
    """The first labels with all of these states; values have the words that they have in one of the two."""
    assert first.states is not None
    assert second.states is not None
    states = DiscoveredStates.of([*zip(*rows, strict=True)], first.states.state_of)
    words: list[Callable[[Any], str]] = []
    for at in range(len(first.axes)):
        known = {
            value: labels.axes[at].word(place)
            for labels in (second, first)
            for place, value in enumerate(labels.states.values[at])  # type: ignore[union-attr]
        }
        words.append(lambda value, known=known: known.get(value, str(value)))  # type: ignore[misc]
    axes = states.axes([axis.name for axis in first.axes], words)
    return replace(first, axes=axes, states=states)


def _renumbered(run: Run, labels: Labels, where: NDArray[np.int64]) -> Run:
    """A run with other numbers for its states."""
    if run.labels.states == labels.states:
        return run
    tables = np.zeros((len(run.tables), labels.n_states, labels.n_actions))
    if run.ledger is not None:
        tables[:] = run.ledger.initial_tables().ravel()[0]  # one number for all states that are discovered
    tables[:, where] = run.tables
    ledger = None if run.ledger is None else run.ledger.renumbered(where, labels.n_states)
    return run.derived(labels=labels, values=tables, ledger=ledger)
