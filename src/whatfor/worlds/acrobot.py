"""Acrobot: its actions, and how it is put into a state."""

from __future__ import annotations

from typing import Any

import numpy as np

from whatfor.worlds.adapter import Adapter


def enter(env: Any, state: Any, _: np.random.Generator) -> None:
    """Two angles and their speeds, from what it shows of them."""
    seen = state.observation
    angles = np.arctan2(seen[1], seen[0]), np.arctan2(seen[3], seen[2])
    env.unwrapped.state = np.array([*angles, seen[4], seen[5]], np.float64)


ADAPTER = Adapter("AcrobotEnv", ("torque left", "no torque", "torque right"), enter_observation=enter)
