"""The environments that whatfor knows."""

from __future__ import annotations

from typing import Any

from whatfor.labels import Labels
from whatfor.worlds.acrobot import ADAPTER as ACROBOT
from whatfor.worlds.adapter import Adapter, Look
from whatfor.worlds.blackjack import ADAPTER as BLACKJACK
from whatfor.worlds.cartpole import ADAPTER as CARTPOLE
from whatfor.worlds.cliff_walking import ADAPTER as CLIFF_WALKING
from whatfor.worlds.frozen_lake import ADAPTER as FROZEN_LAKE
from whatfor.worlds.lunar_lander import ADAPTER as LUNAR_LANDER
from whatfor.worlds.mountain_car import ADAPTER as MOUNTAIN_CAR
from whatfor.worlds.taxi import ADAPTER as TAXI

#: To know one more environment: write its file, name it here.
ADAPTERS: dict[str, Adapter] = {
    one.name: one
    for one in (TAXI, FROZEN_LAKE, CLIFF_WALKING, BLACKJACK, CARTPOLE, MOUNTAIN_CAR, ACROBOT, LUNAR_LANDER)
}
#: By ``Labels.kind``; a run that was loaded has no environment, but its labels.
LOOKS: dict[str, Look] = {one.kind: one.look for one in ADAPTERS.values() if one.look is not None}


def look_of(labels: Labels) -> Look | None:
    """How maps of a world are laid out; None: by its axes."""
    look = LOOKS.get(labels.kind)
    return look if look is not None and look.fits(labels) else None


def adapter_of(core: Any) -> Adapter | None:
    """What is known of an environment, or of the class of Gymnasium's that it derives from; None: nothing.

    >>> import gymnasium as gym
    >>> adapter_of(gym.make("Taxi-v4").unwrapped).actions[:2]
    ('south', 'north')
    """
    return next((ADAPTERS[one.__name__] for one in type(core).__mro__ if _known(one)), None)


def has_twin(core: Any) -> bool:
    """Whether it is an environment that may have a compiled twin, and not one derived from it, which may do anything else."""
    return _known(type(core)) and ADAPTERS[type(core).__name__].twin is not None


def _known(kind: type) -> bool:
    return kind.__module__.startswith("gymnasium.envs.") and kind.__name__ in ADAPTERS
