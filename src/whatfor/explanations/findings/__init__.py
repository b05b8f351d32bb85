"""Where to look: ``run.findings()``, the states of a run that are worth asking about."""

from whatfor.explanations.findings.answer import Finding, Findings
from whatfor.explanations.findings.ask import findings

__all__ = ["Finding", "Findings", "findings"]
