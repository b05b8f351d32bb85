"""Sources of one noun: what is expected to follow a state and an action."""

from whatfor.beliefs.audit import Audit, Row
from whatfor.beliefs.beside import BeliefMap
from whatfor.beliefs.exact import ExactBeliefs, value_iteration
from whatfor.beliefs.protocol import Beliefs, Seeing, Situation
from whatfor.beliefs.simulated import SimulatedBeliefs

__all__ = [
    "Audit",
    "BeliefMap",
    "Beliefs",
    "ExactBeliefs",
    "Row",
    "Seeing",
    "SimulatedBeliefs",
    "Situation",
    "value_iteration",
]
