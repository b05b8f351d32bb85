"""LunarLander: names of its actions."""

from __future__ import annotations

from whatfor.worlds.adapter import Adapter

ADAPTER = Adapter("LunarLander", ("do nothing", "fire left engine", "fire main engine", "fire right engine"))
