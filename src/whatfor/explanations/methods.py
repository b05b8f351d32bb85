"""The questions as methods of a run."""

from whatfor.explanations import (
    chance,
    change,
    comparison,
    contrast,
    findings,
    intention,
    outcomes,
    parts,
    provenance,
    simulation,
    timeline,
)


class QuestionMethods:
    """What can be asked of a run; each method is documented in the file of its answer."""

    findings = findings.findings

    intention = intention.ask
    contrast = contrast.ask
    outcomes = outcomes.ask
    timeline = timeline.ask
    provenance = provenance.ask
    comparison = comparison.ask
    parts = parts.ask
    chance = chance.ask
    change = change.ask
    simulation = simulation.ask
