"""Belief networks of deep agents: what a DQN expects, learned from the same batches that it is trained on.

Its names are imported on first use, and need the extra "deep".

>>> sorted(__all__)[:2]
['Anchors', 'BeliefCallback']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whatfor.needed import need_sb3, need_torch

if TYPE_CHECKING:
    from whatfor.deep.after import learn_after
    from whatfor.deep.belief import BeliefNetwork
    from whatfor.deep.callback import BeliefCallback
    from whatfor.deep.cells import Anchors, Bins, Clusters, Concepts, States
    from whatfor.deep.network import PAPER_CARTPOLE, PAPER_TAXI, Sizes
    from whatfor.deep.optimiser import ClippedAdam
    from whatfor.deep.run import TrainingRecord, run_of
    from whatfor.deep.settings import BeliefSettings
    from whatfor.deep.settling import Settling
    from whatfor.density import density_of

_MODULES = {
    "whatfor.deep.after": ("learn_after",),
    "whatfor.deep.belief": ("BeliefNetwork",),
    "whatfor.deep.callback": ("BeliefCallback",),
    "whatfor.deep.cells": ("Anchors", "Bins", "Clusters", "Concepts", "States"),
    "whatfor.deep.network": ("PAPER_CARTPOLE", "PAPER_TAXI", "Sizes"),
    "whatfor.deep.optimiser": ("ClippedAdam",),
    "whatfor.deep.run": ("TrainingRecord", "run_of"),
    "whatfor.deep.settings": ("BeliefSettings",),
    "whatfor.deep.settling": ("Settling",),
    "whatfor.density": ("density_of",),
}
_NEED_SB3 = ("whatfor.deep.after", "whatfor.deep.callback")
_NAMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "PAPER_CARTPOLE",
    "PAPER_TAXI",
    "Anchors",
    "BeliefCallback",
    "BeliefNetwork",
    "BeliefSettings",
    "Bins",
    "ClippedAdam",
    "Clusters",
    "Concepts",
    "Settling",
    "Sizes",
    "States",
    "TrainingRecord",
    "density_of",
    "learn_after",
    "run_of",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: importing torch is slow."""
    if name in _NAMES:
        need_torch()
        if _NAMES[name] in _NEED_SB3:
            need_sb3()
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'whatfor.deep' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
