"""Explain a reinforcement-learning agent's actions by the future it expects, with answers that add up to its Q-values."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from whatfor import deep, explanations, testing, worlds
    from whatfor.beliefs import Audit, BeliefMap, ExactBeliefs, SimulatedBeliefs
    from whatfor.concepts import Concept
    from whatfor.folder import FolderError
    from whatfor.labels import Labels
    from whatfor.learners import (
        DoubleQLearning,
        LambdaReturns,
        MonteCarlo,
        QLearning,
        Replay,
        Sarsa,
        exponential,
        linear,
        visit_count,
    )
    from whatfor.ledger import Ledger
    from whatfor.naming import Names
    from whatfor.pictures import animate, draw
    from whatfor.runs import Run
    from whatfor.saving import load
    from whatfor.trainer import TrainingStopped, train

_MODULES = {
    "Audit": "whatfor.beliefs",
    "BeliefMap": "whatfor.beliefs",
    "Concept": "whatfor.concepts",
    "DoubleQLearning": "whatfor.learners",
    "ExactBeliefs": "whatfor.beliefs",
    "FolderError": "whatfor.folder",
    "Labels": "whatfor.labels",
    "LambdaReturns": "whatfor.learners",
    "Ledger": "whatfor.ledger",
    "MonteCarlo": "whatfor.learners",
    "Names": "whatfor.naming",
    "QLearning": "whatfor.learners",
    "Replay": "whatfor.learners",
    "Run": "whatfor.runs",
    "Sarsa": "whatfor.learners",
    "SimulatedBeliefs": "whatfor.beliefs",
    "TrainingStopped": "whatfor.trainer",
    "animate": "whatfor.pictures",
    "draw": "whatfor.pictures",
    "exponential": "whatfor.learners",
    "linear": "whatfor.learners",
    "load": "whatfor.saving",
    "train": "whatfor.trainer",
    "visit_count": "whatfor.learners",
}

__all__ = [  # the names above, and modules of names that are needed less often
    "Audit",
    "BeliefMap",
    "Concept",
    "DoubleQLearning",
    "ExactBeliefs",
    "FolderError",
    "Labels",
    "LambdaReturns",
    "Ledger",
    "MonteCarlo",
    "Names",
    "QLearning",
    "Replay",
    "Run",
    "Sarsa",
    "SimulatedBeliefs",
    "TrainingStopped",
    "animate",
    "deep",
    "draw",
    "explanations",
    "exponential",
    "linear",
    "load",
    "testing",
    "train",
    "visit_count",
    "worlds",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that importing whatfor stays cheap."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name in __all__:
        return import_module(f"whatfor.{name}")
    raise AttributeError(f"module 'whatfor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
