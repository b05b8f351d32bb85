"""Worlds for the compiled engine: the paper's, and any table of transitions.

>>> chain().labels.actions, cartpole().labels.n_states
(('up', 'down'), 162)
"""

from whatfor.worlds.blackjack import blackjack
from whatfor.worlds.cartpole import cartpole
from whatfor.worlds.chain import chain
from whatfor.worlds.table import table
from whatfor.worlds.world import World

__all__ = ["World", "blackjack", "cartpole", "chain", "table"]
