"""Putting a world into a state that somebody asks about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.labels import Labels
from whatfor.worlds.adapter import Enter

#: An observation that was rounded into another bin is drawn again, so many times.
MAX_REDRAWS = 1_000


def observations_in(labels: Labels, state: int, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """(count, axes) Continuous observations that look like a state, drawn evenly from its bins."""
    sides = [(axis.edges[at], axis.edges[at + 1]) for axis, at in zip(labels.axes, labels.values(state), strict=True)]
    low, high = np.array(sides).T
    drawn = generator.uniform(low, high, size=(count, len(sides)))
    for _ in range(MAX_REDRAWS):
        wrong = ~_inside(labels, state, drawn)  # rounded across an edge
        if not wrong.any():
            return drawn
        drawn[wrong] = generator.uniform(low, high, size=(int(wrong.sum()), len(sides)))
    raise ValueError(
        f"no observation was found in {labels.words(state)!r}: its bins are narrower than float32 numbers lie apart"
    )


def _inside(labels: Labels, state: int, drawn: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(labels.indices(drawn.astype(np.float32)) == state)  # as the environment shows them


def enter_bins(_: Any, labels: Labels) -> Enter | None:
    """Of an environment whose ``state`` is what it shows: any observation in a state's bins."""
    if labels.observed != "bins":
        return None
    return lambda env, state, generator: setattr(
        env.unwrapped, "state", observations_in(labels, state, 1, generator)[0]
    )


def enter_shown_state(env: Any, state: Any, _: np.random.Generator) -> None:
    """Of an environment whose ``state`` is what it shows: this observation."""
    env.unwrapped.state = np.array(state.observation, np.float64)
