"""FrozenLake: names and compiled twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whatfor.axes import Ending, Mark
from whatfor.labels import Labels
from whatfor.worlds.adapter import Adapter
from whatfor.worlds.grid import grid
from whatfor.worlds.table import enter_by_index, enter_by_observation, table_twin

if TYPE_CHECKING:
    from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

MOVES = ("left", "down", "right", "up")


def labels(core: FrozenLakeEnv) -> Labels:
    """Rows and columns of this lake, with start, goal and holes."""
    return grid(core.nrow, core.ncol, MOVES, _endings(core), _marks(core))


def _marks(core: FrozenLakeEnv) -> tuple[Mark, ...]:
    """Start, goal and holes; the last two end an episode."""
    names = {"S": "start", "H": "hole", "G": "goal"}
    tiles = [tile.decode() for tile in np.asarray(core.desc).ravel()]
    return tuple(Mark(at, tile, names[tile], tile != "S") for at, tile in enumerate(tiles) if tile in names)


def _endings(core: FrozenLakeEnv) -> tuple[Ending, ...]:
    """Reaching the goal and falling into a hole, distinguished by their rewards; none if the rewards are equal."""
    tiles = np.asarray(core.desc).ravel()
    paid: dict[bytes, set[float]] = {b"H": set(), b"G": set()}
    for state, actions in core.P.items():
        for _, to, reward, ended in (entry for entries in actions.values() for entry in entries):
            if ended and tiles[to] in paid and tiles[state] not in paid:
                paid[tiles[to]].add(float(reward))
    names = ((b"H", "fell into a hole", "fall into a hole"), (b"G", "reached the goal", "reach the goal"))
    if paid[b"H"] & paid[b"G"]:
        return ()
    return tuple(
        Ending(name, None, reward, phrase, bad=tile == b"H")
        for tile, name, phrase in names
        for reward in sorted(paid[tile])
    )


ADAPTER = Adapter(
    "FrozenLakeEnv", MOVES, labels=labels, twin=table_twin, enter=enter_by_index, enter_observation=enter_by_observation
)
