"""Measures of a belief whose sampling error is unknown: it was not read off a ledger."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.exact import ExactBeliefs
from whatfor.explanation import MIN_SHOWN
from whatfor.explanations.intention import Intention
from whatfor.explanations.measures import Measure
from whatfor.explanations.simulation import Simulation
from whatfor.labels import ENDINGS


def measures_without_error(believed: Intention, simulated: Simulation, exact: ExactBeliefs | None) -> list[Measure]:
    """Measures of the value and the endings, for a belief whose sampling error is unknown."""
    true = None if exact is None else exact.value(believed.state, believed.action)
    known = None if exact is None else exact.outcomes(believed.state, believed.action)
    measures = [_measure_without_error("value", believed.value, simulated.value, simulated.value_error, true)]
    named = (*believed.labels.ending_names, ENDINGS[0])
    for name, chance in (believed.chances or {}).items():
        share = simulated.chances.get(name, 0.0)
        if name == ENDINGS[1]:  # unnamed endings are described by what they pay or their last step in a simulation
            share = sum(other for end, other in simulated.chances.items() if end not in named)
        if max(chance, share) >= MIN_SHOWN:
            error = float(np.sqrt(share * (1.0 - share) / simulated.rollouts))
            true = None if known is None else known.get(name, 0.0)
            measures.append(_measure_without_error(name, chance, share, error, true))
    return measures


def _measure_without_error(name: str, believed: float, simulated: float, error: float, true: float | None) -> Measure:
    """A measure whose difference is not split into parts: all of it may be noise."""
    noise = believed - (simulated if true is None else true)
    return Measure(
        name, believed, simulated, error, true, None, noise=noise, off_policy=0.0, initial=0.0, tolerance=np.inf
    )


def place_without_error(
    believed: Intention, simulated: Simulation, known: NDArray[np.float64] | None, s: int, a: int
) -> tuple[int, int, Measure]:
    """Measure the visits to a pair, for a belief whose sampling error is unknown."""
    true, name = None if known is None else float(known[s, a]), f"visits to {believed._pair(s, a)!r}"
    mean, error = float(simulated.visits[s, a]), float(simulated.visits_error[s, a])
    return s, a, _measure_without_error(name, float(believed.visits[s, a]), mean, error, true)
