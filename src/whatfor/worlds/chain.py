"""The paper's ambiguity chain: two futures, one value."""

from __future__ import annotations

from whatfor.axes import Axis
from whatfor.labels import Labels
from whatfor.worlds.table import table
from whatfor.worlds.world import World


def chain() -> World:
    """From the start, ``up`` and ``down`` lead to two nodes; there, the same action again earns 2, the other one 1.

    Both first actions have value 2 (Theorem 1), so values do not show which way the agent intends to go.

    >>> world = chain()
    >>> [world.labels.words(state) for state in range(3)]
    ['the start', 'the upper node', 'the lower node']
    """
    world = table(
        next_state=[[1, 2], [1, 1], [2, 2]],
        reward=[[0, 0], [2, 1], [1, 2]],
        terminated=[[False, False], [True, True], [True, True]],
        labels=Labels(
            (Axis("node", 3, ("the start", "the upper node", "the lower node")),), ("up", "down"), template="{node}"
        ),
    )
    return World(world.labels, world.arrays, recipe={"kind": "chain"})
