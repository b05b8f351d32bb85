"""Acrobot: names of its actions, and how to put it into a state."""

from __future__ import annotations

from typing import Any

import numpy as np

from whatfor.worlds.adapter import Adapter


def enter(env: Any, state: Any, _: np.random.Generator) -> None:
    """Set its two angles and their velocities from an observation."""
    shown = state.observation
    angles = np.arctan2(shown[1], shown[0]), np.arctan2(shown[3], shown[2])
    env.unwrapped.state = np.array([*angles, shown[4], shown[5]], np.float64)


ADAPTER = Adapter(
    "AcrobotEnv",
    ("torque left", "no torque", "torque right"),
    enter_observation=enter,
    dimensions=(
        "cosine of the first angle", "sine of the first angle", "cosine of the second angle", "sine of the second angle",
        "first velocity", "second velocity",
    ),
)  # fmt: skip
