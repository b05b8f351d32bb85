"""CliffWalking: names and compiled twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whatfor.axes import Ending, Mark
from whatfor.labels import Labels
from whatfor.worlds.adapter import Adapter
from whatfor.worlds.grid import grid
from whatfor.worlds.private import cliff_cells
from whatfor.worlds.table import enter_by_index, enter_by_observation, table_twin

if TYPE_CHECKING:
    from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv

MOVES = ("up", "right", "down", "left")
GOAL = (Ending("reached the goal", phrase="reach the goal"),)


def labels(core: CliffWalkingEnv) -> Labels:
    """Rows and columns, with start, goal and cliff."""
    rows, columns = core.shape
    return grid(rows, columns, MOVES, GOAL, _marks(core))


def _marks(core: CliffWalkingEnv) -> tuple[Mark, ...]:
    """Start, goal and cliff; the cliff leads back to the start."""
    cliff = (Mark(int(at), "C", "cliff", closed=True) for at in cliff_cells(core))
    goal = np.prod(core.shape) - 1
    return Mark(int(core.start_state_index), "S", "start"), *cliff, Mark(int(goal), "G", "goal", closed=True)


ADAPTER = Adapter(
    "CliffWalkingEnv",
    MOVES,
    labels=labels,
    twin=table_twin,
    enter=enter_by_index,
    enter_observation=enter_by_observation,
)
