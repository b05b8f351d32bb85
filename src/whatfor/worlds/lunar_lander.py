"""LunarLander: names of its actions and of what it observes."""

from __future__ import annotations

from whatfor.worlds.adapter import Adapter

ADAPTER = Adapter(
    "LunarLander",
    ("do nothing", "fire left engine", "fire main engine", "fire right engine"),
    dimensions=("x", "y", "x velocity", "y velocity", "angle", "angular velocity", "left leg", "right leg"),
)
