"""Ask a reinforcement-learning agent what its action was for, and get an answer that adds up to its Q-value."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from whatfor import deep, testing, worlds
    from whatfor.axes import Axis, Ending, Mark, Milestone
    from whatfor.beliefs import Audit, BeliefMap, Beliefs, ExactBeliefs, SimulatedBeliefs, value_iteration
    from whatfor.concepts import Concept
    from whatfor.explanations import (
        Chance,
        Change,
        Comparison,
        Contrast,
        Intention,
        Outcomes,
        Parts,
        Provenance,
        Simulation,
        Timeline,
        Trust,
    )
    from whatfor.folder import FolderError
    from whatfor.labels import Labels
    from whatfor.learners import (
        DoubleQLearning,
        LambdaReturns,
        MonteCarlo,
        QLearning,
        Replay,
        Sarsa,
        Transition,
        constant,
        exponential,
        linear,
        visit_count,
    )
    from whatfor.learning import TrainingStopped, train
    from whatfor.ledger import Ledger, Update
    from whatfor.pictures import animate, draw
    from whatfor.runs import Run
    from whatfor.saving import load

_PLACES = {
    "whatfor.beliefs": ("Audit", "BeliefMap", "Beliefs", "ExactBeliefs", "SimulatedBeliefs", "value_iteration"),
    "whatfor.concepts": ("Concept",),
    "whatfor.explanations": (
        "Chance",
        "Change",
        "Comparison",
        "Contrast",
        "Intention",
        "Outcomes",
        "Parts",
        "Provenance",
        "Simulation",
        "Timeline",
        "Trust",
    ),
    "whatfor.folder": ("FolderError",),
    "whatfor.axes": ("Axis", "Ending", "Mark", "Milestone"),
    "whatfor.labels": ("Labels",),
    "whatfor.learners": (
        "DoubleQLearning",
        "LambdaReturns",
        "MonteCarlo",
        "QLearning",
        "Replay",
        "Sarsa",
        "Transition",
        "constant",
        "exponential",
        "linear",
        "visit_count",
    ),
    "whatfor.ledger": ("Ledger", "Update"),
    "whatfor.pictures": ("animate", "draw"),
    "whatfor.learning": ("TrainingStopped", "train"),
    "whatfor.runs": ("Run",),
    "whatfor.saving": ("load",),
}
_MODULES = ("deep", "testing", "worlds")
_NAMES = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [
    "Audit",
    "Axis",
    "BeliefMap",
    "Beliefs",
    "Chance",
    "Change",
    "Comparison",
    "Concept",
    "Contrast",
    "DoubleQLearning",
    "Ending",
    "ExactBeliefs",
    "FolderError",
    "Intention",
    "Labels",
    "LambdaReturns",
    "Ledger",
    "Mark",
    "Milestone",
    "MonteCarlo",
    "Outcomes",
    "Parts",
    "Provenance",
    "QLearning",
    "Replay",
    "Run",
    "Sarsa",
    "SimulatedBeliefs",
    "Simulation",
    "Timeline",
    "TrainingStopped",
    "Transition",
    "Trust",
    "Update",
    "animate",
    "constant",
    "deep",
    "draw",
    "exponential",
    "linear",
    "load",
    "testing",
    "train",
    "value_iteration",
    "visit_count",
    "worlds",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: nobody pays for what they do not ask for."""
    if name in _MODULES:
        return import_module(f"whatfor.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'whatfor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
