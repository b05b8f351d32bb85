"""MountainCar: names of its actions, and how to put it into a state."""

from __future__ import annotations

from whatfor.worlds.adapter import Adapter
from whatfor.worlds.entering import enter_bins, enter_observation

ADAPTER = Adapter(
    "MountainCarEnv",
    ("push left", "do not push", "push right"),
    enter=enter_bins,
    enter_observation=enter_observation,
    dimensions=("position", "velocity"),
)
