"""Answers, one file per question; importing this package registers them all.

>>> from whatfor.question import QUESTIONS
>>> list(QUESTIONS)[:3], QUESTIONS["intention"].answer is Intention
(['intention', 'contrast', 'outcomes'], True)
"""

import pkgutil
from importlib import import_module

from whatfor.beliefs.trust import Trust
from whatfor.explanation import Explanation
from whatfor.explanations.chance import Chance
from whatfor.explanations.change import Change
from whatfor.explanations.comparison import Comparison
from whatfor.explanations.contrast import Contrast
from whatfor.explanations.findings import Finding, Findings
from whatfor.explanations.intention import Intention
from whatfor.explanations.outcomes import Outcomes
from whatfor.explanations.parts import Parts
from whatfor.explanations.provenance import Provenance
from whatfor.explanations.simulation import Simulation
from whatfor.explanations.timeline import Timeline

__all__ = [
    "Chance",
    "Change",
    "Comparison",
    "Contrast",
    "Explanation",
    "Finding",
    "Findings",
    "Intention",
    "Outcomes",
    "Parts",
    "Provenance",
    "Simulation",
    "Timeline",
    "Trust",
]

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
