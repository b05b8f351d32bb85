"""Answers, one file a question."""

from whatfor.explanations.contrast import Contrast
from whatfor.explanations.explanation import Explanation
from whatfor.explanations.intention import Intention
from whatfor.explanations.outcomes import Outcomes
from whatfor.explanations.provenance import Provenance
from whatfor.explanations.timeline import Timeline

__all__ = ["Contrast", "Explanation", "Intention", "Outcomes", "Provenance", "Timeline"]
