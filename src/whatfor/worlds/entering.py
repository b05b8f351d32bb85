"""Put an environment into a given state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.labels import Labels
from whatfor.worlds.adapter import Enter

#: How often an observation that rounding moved into another bin is drawn again.
MAX_REDRAWS = 1_000


def observations_in(labels: Labels, state: int, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """(count, axes) Continuous observations of a state, drawn uniformly from its bins."""
    sides = [(axis.edges[at], axis.edges[at + 1]) for axis, at in zip(labels.axes, labels.values(state), strict=True)]
    low, high = np.array(sides).T
    drawn = generator.uniform(low, high, size=(count, len(sides)))
    for _ in range(MAX_REDRAWS):
        wrong = ~_inside(labels, state, drawn)  # rounding moved it across an edge
        if not wrong.any():
            return drawn
        drawn[wrong] = generator.uniform(low, high, size=(int(wrong.sum()), len(sides)))
    raise ValueError(
        f"no observation was found in {labels.words(state)!r}: its bins are narrower than the distance of float32 numbers"
    )


def _inside(labels: Labels, state: int, drawn: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(labels.indices(drawn.astype(np.float32)) == state)  # as in the environment


def enter_bins(_: Any, labels: Labels) -> Enter | None:
    """For environments whose ``state`` attribute is the observation: enter a random observation in the bins of a state."""
    if labels.observed != "bins":
        return None
    return lambda env, state, generator: setattr(
        env.unwrapped, "state", observations_in(labels, state, 1, generator)[0]
    )


def enter_observation(env: Any, state: Any, _: np.random.Generator) -> None:
    """For environments whose ``state`` attribute is the observation: enter this observation."""
    env.unwrapped.state = np.array(state.observation, np.float64)
