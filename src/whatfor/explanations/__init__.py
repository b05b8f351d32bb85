"""Answers, one file a question."""

from whatfor.explanations.change import Change
from whatfor.explanations.comparison import Comparison
from whatfor.explanations.contrast import Contrast
from whatfor.explanations.explanation import Explanation
from whatfor.explanations.intention import Intention
from whatfor.explanations.outcomes import Outcomes
from whatfor.explanations.provenance import Provenance
from whatfor.explanations.simulation import Simulation
from whatfor.explanations.timeline import Timeline

__all__ = [
    "Change",
    "Comparison",
    "Contrast",
    "Explanation",
    "Intention",
    "Outcomes",
    "Provenance",
    "Simulation",
    "Timeline",
]
