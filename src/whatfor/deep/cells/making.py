"""From what ``cells=`` names to the cells of an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.axes import Ending
from whatfor.deep.cells.common import UNNAMED_ENDING, CellKind, Partition, Predicate, names_of_actions
from whatfor.deep.cells.concepts import Concepts
from whatfor.deep.cells.states import States
from whatfor.label_parts import NO_ACTION


def make_partition(
    cells: Any,
    space: spaces.Space[Any],
    env: gym.Env[Any, Any] | None,
    visited: NDArray[Any],
    *,
    n_actions: int,
    actions: Sequence[str] | None = None,
    endings: Mapping[str, Predicate] | None = None,
) -> Partition:
    """The cells of an environment's observations, with the names of actions and endings.

    ``cells``: None (finite observations), a dictionary of concepts, or a kind of cells.

    >>> import numpy as np
    >>> make_partition({"low": lambda obs: obs[0] < 0}, spaces.Box(-1, 1, (1,)), None, np.zeros(0), n_actions=2).n_pairs
    4
    """
    kind = _kind(cells)
    partition = kind.partition(space, env, visited)
    if isinstance(partition.labels.actions, tuple) and len(partition.labels.actions) != n_actions:
        partition = _with_actions(partition, names_of_actions(env, n_actions))
    if actions is not None:
        if len(actions) != n_actions:
            raise ValueError(f"actions names {len(actions)} actions; the agent has {n_actions}")
        partition = _with_actions(partition, tuple(actions))
    if endings:
        _check_endings(endings, cells)
        partition = _with_endings(partition, endings)
    return partition


def _kind(cells: Any) -> CellKind:
    kind = States() if cells is None else Concepts(cells) if isinstance(cells, Mapping) else cells
    if isinstance(cells, type) or not hasattr(kind, "partition"):
        raise ValueError(
            f"cells={cells!r} is not understood: give a dictionary of concepts, Bins(...), Clusters(n), Anchors(n), or nothing where "
            "observations are countable"
        )
    chosen: CellKind = kind
    return chosen


def _with_actions(partition: Partition, actions: tuple[str, ...]) -> Partition:
    return replace(partition, labels=replace(partition.labels, actions=actions, verbs=()))


def _check_endings(endings: Any, cells: Any) -> None:
    if not isinstance(endings, Mapping):
        raise ValueError(f'endings={endings!r}; give a dictionary, e.g. {{"fell": lambda obs: obs[2] > 0.2}}')
    if UNNAMED_ENDING in endings:
        raise ValueError(f"an ending without a name is called {UNNAMED_ENDING!r}; choose another name for this ending")
    shared = [name for name in endings if isinstance(cells, Mapping) and name in cells]
    if shared:
        raise ValueError(f"{shared[0]!r} is the name of a concept and of an ending; choose two names")


def _with_endings(partition: Partition, endings: Mapping[str, Predicate]) -> Partition:
    labels = partition.labels
    added = tuple(Ending(name, NO_ACTION) for name in endings if name not in labels.ending_names)
    return replace(partition, endings=dict(endings), labels=replace(labels, endings=(*labels.endings, *added)))
