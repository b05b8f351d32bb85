"""Worlds for the compiled engine."""

from whatfor.worlds.blackjack import blackjack
from whatfor.worlds.cartpole import cartpole
from whatfor.worlds.chain import chain
from whatfor.worlds.table import table
from whatfor.worlds.world import World

__all__ = ["World", "blackjack", "cartpole", "chain", "table"]
