"""MountainCar: its actions, and how it is put into a state."""

from __future__ import annotations

from whatfor.worlds.adapter import Adapter
from whatfor.worlds.entering import as_drawn, as_shown

ADAPTER = Adapter(
    "MountainCarEnv", ("push left", "do not push", "push right"), enter=as_drawn, enter_observation=as_shown
)
