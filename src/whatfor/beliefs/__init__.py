"""Sources of beliefs: what is expected to follow a state and an action."""

from whatfor.beliefs.account import Account
from whatfor.beliefs.audit import Audit
from whatfor.beliefs.belief_map import BeliefMap
from whatfor.beliefs.exact import ExactBeliefs, value_iteration
from whatfor.beliefs.protocol import Beliefs
from whatfor.beliefs.row import Row
from whatfor.beliefs.simulated import SimulatedBeliefs
from whatfor.beliefs.situation import Situation
from whatfor.beliefs.trust import Trust

__all__ = [
    "Account",
    "Audit",
    "BeliefMap",
    "Beliefs",
    "ExactBeliefs",
    "Row",
    "SimulatedBeliefs",
    "Situation",
    "Trust",
    "value_iteration",
]
