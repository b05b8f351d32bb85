"""The environments with an adapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whatfor.labels import Labels
from whatfor.worlds.acrobot import ADAPTER as ACROBOT
from whatfor.worlds.adapter import Adapter, Look
from whatfor.worlds.blackjack import ADAPTER as BLACKJACK
from whatfor.worlds.blackjack import blackjack
from whatfor.worlds.cartpole import ADAPTER as CARTPOLE
from whatfor.worlds.cartpole import cartpole
from whatfor.worlds.chain import chain
from whatfor.worlds.cliff_walking import ADAPTER as CLIFF_WALKING
from whatfor.worlds.frozen_lake import ADAPTER as FROZEN_LAKE
from whatfor.worlds.lunar_lander import ADAPTER as LUNAR_LANDER
from whatfor.worlds.minigrid import ADAPTER as MINIGRID
from whatfor.worlds.mountain_car import ADAPTER as MOUNTAIN_CAR
from whatfor.worlds.taxi import ADAPTER as TAXI
from whatfor.worlds.world import World

#: To add an environment, write its module and list its adapter here.
ADAPTERS: dict[str, Adapter] = {
    one.name: one
    for one in (TAXI, FROZEN_LAKE, CLIFF_WALKING, BLACKJACK, CARTPOLE, MOUNTAIN_CAR, ACROBOT, LUNAR_LANDER, MINIGRID)
}
#: The packages whose classes these are.
PACKAGES = ("gymnasium.envs.", "minigrid.")
#: whatfor's own worlds, by the kind in their recipe; the rest of the recipe is their arguments.
OWN_WORLDS: dict[str, Callable[..., World]] = {"blackjack": blackjack, "cartpole": cartpole, "chain": chain}
#: By ``Labels.kind``: a loaded run has labels but no environment.
LOOKS: dict[str, Look] = {one.kind: one.look for one in ADAPTERS.values() if one.look is not None}


def look_of(labels: Labels) -> Look | None:
    """The custom layout for maps of a world; None: its axes determine it."""
    look = LOOKS.get(labels.kind)
    return look if look is not None and look.fits(labels) else None


def adapter_of(core: Any) -> Adapter | None:
    """The adapter of an environment, or of the Gymnasium class it derives from; None: unknown.

    >>> import gymnasium as gym
    >>> adapter_of(gym.make("Taxi-v4").unwrapped).actions[:2]
    ('south', 'north')
    """
    return next((ADAPTERS[one.__name__] for one in type(core).__mro__ if _known(one)), None)


def has_twin(core: Any) -> bool:
    """Whether an environment may have a compiled twin; a derived class has none, since it may behave differently."""
    return _known(type(core)) and ADAPTERS[type(core).__name__].twin is not None


def _known(kind: type) -> bool:
    return kind.__module__.startswith(PACKAGES) and kind.__name__ in ADAPTERS
