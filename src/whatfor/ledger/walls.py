"""Warn where training was in a cell that its names call a wall."""

from __future__ import annotations

import warnings

import numpy as np

from whatfor.labels import Labels
from whatfor.ledger.ledger import Ledger


def warn_of_visited_walls(ledger: Ledger | None, labels: Labels, *, stacklevel: int = 3) -> None:
    """Warn if the agent acted in a wall: its cells may have been given in another order than that of the axes."""
    at = labels.board_axes
    walls = [wall for wall in labels.walls if len(wall) == 2]
    if ledger is None or at is None or not walls:
        return
    tried = np.flatnonzero(ledger.tries().any(axis=1))
    met = set(map(tuple, labels.positions[tried][:, at].tolist()))
    row, column = next((wall for wall in walls if wall in met), (None, None))
    if row is None or column is None:
        return
    axes = [
        (place, labels.axes[place].name, labels.axes[place].word(i)) for place, i in zip(at, (row, column), strict=True)
    ]
    where, order = zip(*((f"{name} {word}", name) for _, name, word in sorted(axes)), strict=True)
    warnings.warn(
        f"walls= has a wall at {', '.join(where)}, and the agent acted there during training: give cells in the order "
        f"of the axes, ({', '.join(order)})",
        stacklevel=stacklevel,
    )
