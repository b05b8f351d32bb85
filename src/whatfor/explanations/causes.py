"""Why belief and reality differ: three parts that sum to the difference, and three tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from whatfor.beliefs.altered import evidence_against_play, evidence_against_table
from whatfor.beliefs.audit import Audit
from whatfor.beliefs.experience import StepCounts
from whatfor.explanations.measure_builder import MeasureBuilder
from whatfor.explanations.measures import Measure, signed
from whatfor.text import amount, count, percent

#: The chance that a test names a cause that is none is at most this, for each test.
RATE = 0.05
#: The experiences explain a difference if they imply it, except for at most this share.
MAX_DATA_REST = 0.5
#: A bias is named from this share of a notable effect on: it adds up over steps.
MIN_BIAS = 0.25
#: More standard errors than this are not for want of data: something else is wrong with the experiences.
MAX_DATA_ERRORS = 4.0

#: An action tried less often than this is rarely tried.
MIN_TRIES = 30
#: So is an action tried less often than this share of the tries of the most tried action in its state.
MIN_TRIES_SHARE = 0.1

CauseName = Literal[
    "off-policy targets", "initial value", "maximisation bias", "too little data", "different environment"
]


@dataclass(frozen=True)
class Cause:
    """One cause of a difference between belief and reality, and how much of it this cause makes."""

    name: CauseName
    holds: bool
    measures: tuple[str, ...]  # the numbers that it holds for
    measure: str  # the value if it is among them, else the one that it changes most
    effect: float  # by how much it changes that one
    size: float  # the effect relative to the smallest one that is named
    rate: float | None  # the stated rate of false alarms; None: a part of the difference, and no test
    evidence: (
        float | None
    )  # z (maximisation bias), standard errors (too little data), log e-value (different environment)
    text: str  # what was found, in words
    may_be_hidden: bool = False  # whether states that hide something would look the same

    def order(self) -> tuple[bool, bool, bool, float]:
        """Sorts causes: those that hold, a different environment (the others presuppose the same one), those of the value, the largest."""
        return not self.holds, self.name != "different environment", self.measure != "value", -self.size

    @property
    def is_evident(self) -> bool:
        """Whether its e-value is beyond what the rate of false alarms allows by chance."""
        return self.evidence is not None and self.evidence > math.log(1.0 / RATE)

    @property
    def called(self) -> str:
        """Its name in a sentence."""
        names = {
            "initial value": "initial values",
            "different environment": f"a different environment{', or states that hide something' * self.may_be_hidden}",
        }
        return names.get(self.name, self.name)

    @property
    def in_title(self) -> str:
        """Its name in the title of a picture."""
        return f"{self.name}{' or hidden state' * self.may_be_hidden}"

    def effect_text(self) -> str:
        """The effect in words: of a value or visits as a number, of a chance as a percentage."""
        form = amount if self.measure == "value" or self.measure.startswith("visits to") else percent
        return f"{signed(self.effect, form)} in {quoted(self.measure)}"

    def because(self, measure: Measure | None, *, with_terms: bool) -> str:
        """It as the reason of a difference: a part of ``measure``, the difference that it changes most, or a finding beside its parts.

        ``with_terms``: whether the lines below split a difference into its parts.
        """
        if self.rate is not None:
            beside = "; the terms below split the difference differently" if with_terms else ""
            return f"and a test detects {self.called} ({self.effect_text()}{beside})"
        largest = measure is None or abs(self.effect) >= max(abs(term) for term in measure.terms.values())
        return f"{'most of all' if largest else 'in part'} because of {self.called} ({self.effect_text()})"

    def to_json(self) -> dict[str, Any]:
        """All its numbers."""
        return asdict(self)


def quoted(name: str) -> str:
    """The name of a measure in a sentence."""
    return name if name.startswith("visits to") else f"{name!r}"


def rarely_tried(audit: Audit | None, state: int, action: int, greedy: bool) -> bool:
    """Whether an action was tried too rarely to be judged."""
    if audit is None:
        return False
    tries = audit.tries[state]
    return bool(tries[action] < MIN_TRIES or (not greedy and tries[action] < MIN_TRIES_SHARE * tries.max()))


def parts_of(measures: Sequence[Measure]) -> list[Cause]:
    """Off-policy targets and initial value: of the value, or of what differs most if the value agrees within sampling error."""
    differing = [measure for measure in measures if measure.differs]
    worst = _first(differing or measures, lambda measure: measure.excess)
    causes = []
    terms: tuple[tuple[CauseName, float, str], ...] = (
        ("off-policy targets", worst.off_policy, "they follow actions that its greedy policy does not take"),
        ("initial value", worst.initial, "its updates have not outweighed them yet"),
    )
    for name, effect, text in terms:
        holds = bool(differing and effect * worst.difference > 0.0)
        size = abs(effect) / _notable(worst)
        causes.append(Cause(name, holds, (worst.name,) * holds, worst.name, effect, size, None, None, text))
    return causes


def tests_of(
    builder: MeasureBuilder, measures: Sequence[Measure], played: StepCounts | None, *, observed: str, differing: bool
) -> list[Cause]:
    """Maximisation bias, too little data and a different environment, each tested; what cannot be tested is left out.

    The first two compare experiences with the environment of now, so they are not tested where a different one has a notable
    effect. One with a smaller effect is named if belief and reality are ``differing`` and neither of the two holds.
    """
    if observed == "bins":  # a bin merges observations: what follows depends on how it was entered
        return []
    with_data = [measure for measure in measures if measure.data is not None]
    altered = different_environment(builder, with_data or measures, played)
    if altered is not None and altered.holds:
        return [altered]
    bias = maximisation_bias(builder, measures[0])
    few = too_little_data(with_data, builder.implied.experiences) if with_data else None
    others = [cause for cause in (bias, few) if cause is not None]
    if altered is None:
        return others
    small = differing and altered.is_evident and not any(cause.holds for cause in others)
    return [*others, replace(altered, holds=True, measures=(altered.measure,)) if small else altered]


def maximisation_bias(builder: MeasureBuilder, value: Measure) -> Cause | None:
    """Test whether the values that it bootstrapped from were too high because they were selected."""
    from scipy.special import ndtri

    tested = builder.overestimate()
    if tested is None:
        return None
    found, effect = tested
    z = found.mean / found.error if found.error > 0.0 else 0.0
    width = float(ndtri(1.0 - RATE))
    least, played = MIN_BIAS * value.notable, 0.0 if value.exact is not None else width * value.simulated_error
    holds = bool(min(found.mean, effect) > least and value.difference > least + played and z > width)
    text = (
        f"over {count(found.updates, 'update')}, the values that it bootstrapped from were too high by {amount(found.mean)} on average, "
        "because it prefers actions whose noisy estimates are high"
    )
    size = abs(effect) / _notable(value)
    return Cause("maximisation bias", holds, (value.name,) * holds, value.name, effect, size, RATE, z, text)


def too_little_data(measures: Sequence[Measure], experiences: float | None) -> Cause:
    """Test whether the distinct experiences imply what it believes, and could be off by that because they are few."""
    from scipy.special import ndtri

    width = float(ndtri(1.0 - RATE / 2.0 / len(measures)))

    def holds(measure: Measure) -> bool:
        assert measure.data is not None
        assert measure.data_error is not None
        margin = measure.notable + (0.0 if measure.exact is not None else width * measure.simulated_error)
        return (
            min(abs(measure.difference), abs(measure.data)) > margin
            and abs(measure.difference - measure.data) <= MAX_DATA_REST * abs(measure.difference)
            and abs(measure.data) <= MAX_DATA_ERRORS * measure.data_error
        )

    held = [measure for measure in measures if holds(measure)]
    worst = _first(held or measures, lambda measure: abs(measure.data or 0.0) / _notable(measure))
    data, error = worst.data or 0.0, worst.data_error or 0.0
    few = (
        f"about {experiences:.2g}"
        if experiences is not None and experiences < 10.0
        else f"about {experiences or 0.0:,.0f}"
    )
    form = amount if worst.name == "value" else percent
    text = (
        f"it has {few} distinct experiences of each later state-action pair, "
        f"and the empirical model of these transitions gives {form(worst.actual + data)}"
    )
    evidence, names = data / error if error > 0.0 else None, tuple(measure.name for measure in held)
    size = abs(data) / _notable(worst)
    return Cause("too little data", bool(held), names, worst.name, data, size, RATE, evidence, text)


def different_environment(
    builder: MeasureBuilder, measures: Sequence[Measure], played: StepCounts | None
) -> Cause | None:
    """Test whether the recorded steps come from the environment that it is compared with."""
    recorded = builder.audit.experienced.experiences
    if builder.exact is not None:
        evidence = evidence_against_table(recorded, builder.exact.table)
    elif played is not None:
        evidence = evidence_against_play(recorded, played)
    else:
        return None

    def effect(measure: Measure) -> float:
        return measure.difference if measure.data is None else measure.data

    notable = [measure for measure in measures if abs(effect(measure)) > measure.notable]
    worst = _first(notable or measures, lambda measure: abs(effect(measure)) / _notable(measure))
    size = abs(effect(worst)) / _notable(worst)
    by_play = builder.exact is None  # what follows a state that hides something depends on the policy that met it
    text = f"its recorded transitions do not match {'those of the rollouts' if by_play else 'this one'}"
    cause = Cause("different environment", False, (), worst.name, effect(worst), size, RATE, evidence, text, by_play)
    if notable and cause.is_evident:
        return replace(cause, holds=True, measures=tuple(measure.name for measure in notable))
    return cause


def _first(measures: Sequence[Measure], size: Callable[[Measure], float]) -> Measure:
    """The value if it is among the measures, else the largest of them."""
    return measures[0] if measures[0].name == "value" else max(measures, key=size)


def _notable(measure: Measure) -> float:
    return max(measure.notable, float(np.finfo(float).tiny))
