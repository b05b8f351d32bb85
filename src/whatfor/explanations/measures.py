"""One number as believed and as it is, with the noise of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.noise import effective_episodes, lag, sampling_error
from whatfor.explanations.intention import Intention
from whatfor.explanations.simulation import Simulation
from whatfor.kernels.forwards import fold
from whatfor.kernels.recursion import TERMINATED, ending_place

#: Differences below this share of the scale are of no interest, however certain they are.
SMALL = 2e-3
#: Fewer degrees of freedom than this make intervals that say nothing; such beliefs are not judged.
LEAST_FREEDOM = 4.0


@dataclass(frozen=True)
class Measure:
    """A number the agent believes, what it is, and how far apart the two may be by chance."""

    name: str
    believed: float
    simulated: float
    simulated_error: float  # standard error
    exact: float | None  # None: not known
    error: float  # the belief's own standard error, from the spread of its experiences
    freedom: float  # the degrees of freedom it was estimated with
    lag: float  # the part of the belief that looks ahead along actions the policy does not take
    allowance: float  # what does not count as a difference: tiny, or resting on values the tables started with
    reach: float = 0.0  # |difference| up to here is explained by noise and allowance

    @property
    def actual(self) -> float:
        """The exact number where it is known, else the simulated one."""
        return self.simulated if self.exact is None else self.exact

    @property
    def noise(self) -> float:
        """The standard error of the difference: both sides."""
        return float(np.hypot(self.error, self.simulated_error if self.exact is None else 0.0))

    @property
    def difference(self) -> float:
        """Believed less actual."""
        return self.believed - self.actual

    @property
    def differs(self) -> bool:
        """Whether the two differ by more than noise explains."""
        return abs(self.difference) > self.reach

    @property
    def unexplained(self) -> bool:
        """Whether they differ by more than noise and lag explain."""
        return self.differs and abs(self.difference - self.lag) > self.reach

    @property
    def excess(self) -> float:
        """The difference, measured in what noise explains."""
        return abs(self.difference) / max(self.reach, np.finfo(float).tiny)

    def __str__(self) -> str:
        mark = ": more than chance explains" if self.unexplained else ", from old ways" if self.differs else ""
        return (
            f"{self.name}: {self.believed:.3f} believed, {self.actual:.3f} actual (± {self.reach:.2g} by chance{mark})"
        )

    def to_json(self) -> dict[str, Any]:
        """All its numbers, and the judgement."""
        return {**asdict(self), "difference": self.difference, "differs": self.differs, "unexplained": self.unexplained}


class Spread(NamedTuple):
    """How far a belief may be off."""

    error: float
    freedom: float
    lag: float


#: Of a belief whose noise nobody knows.
CERTAIN = Spread(0.0, np.inf, 0.0)


class Ruler:
    """Measures what a ledger believes of one action."""

    def __init__(self, audit: Audit | None, state: int, action: int, policy: NDArray[np.float64]) -> None:
        self.audit, self.state, self.action, self.policy = audit, state, action, policy

    def value(self, believed: Intention, simulated: Simulation, exact: float | None) -> Measure:
        """The value: what it expects to earn."""
        scale = float(np.abs(believed.earnings).sum())
        spread = CERTAIN
        if self.audit is not None:
            reward, table = self.audit.ledger.lines.reward, self.audit.folded.ravel()
            spread = self._spread(self._weights, reward, table, None)
            scale = max(scale, believed.unknown * float(np.abs(table).max()) / SMALL)
        numbers = believed.value, simulated.value, simulated.value_error
        return Measure("value", *numbers, exact, *spread, SMALL * scale)

    def endings(self, simulated: Simulation, exact: dict[str, float] | None) -> list[Measure]:
        """The chance of every way to end that the world names; without names, that it ends at all."""
        assert self.audit is not None
        ledger, n = self.audit.ledger, simulated.rollouts
        left = 1.0 - float((self._chances * ledger.ended).sum())
        measures = []
        for place, name in enumerate(ledger.endings):
            amount = (ledger.lines.source == ending_place(place)).astype(np.float64)
            seen = simulated.chances.get(name, 0.0)
            if name == ledger.endings[ending_place(TERMINATED)]:
                named = {*ledger.endings}
                seen = sum(chance for ending, chance in simulated.chances.items() if ending not in named)
            true = None if exact is None else exact.get(name, 0.0)
            believed = float(self._chances @ amount)
            if max(believed, seen, true or 0.0) == 0.0:
                continue
            spread = self._spread(self._chances, amount, self._table(amount, 1.0), 1.0)
            played = float(np.sqrt(max(seen * (1.0 - seen), 1.0 / n) / n))  # never certain
            measures.append(Measure(name, believed, seen, played, true, *spread, SMALL + max(left, 0.0)))
        return measures

    def place(
        self, state: int, action: int, believed: Intention, simulated: Simulation, exact: NDArray[np.float64] | None
    ) -> Measure:
        """The visits of one pair."""
        spread = CERTAIN
        if self.audit is not None:
            ledger = self.audit.ledger
            pair = state * ledger.n_actions + action
            amount = (ledger.lines.cell % (ledger.n_states * ledger.n_actions) == pair).astype(np.float64)
            spread = self._spread(self._weights, amount, self._table(amount, None), None)
        played = max(float(simulated.visits_error[state, action]), 1.0 / simulated.rollouts)
        name = f"visits of '{believed.labels.words(state)}: {believed.labels.actions[action]}'"
        true = None if exact is None else float(exact[state, action])
        numbers = float(believed.visits[state, action]), float(simulated.visits[state, action])
        return Measure(name, *numbers, played, true, *spread, SMALL + believed.unknown)

    def judged(self, measures: Sequence[Measure], rate: float) -> tuple[Measure, ...]:
        """Each with what noise explains of it, at a rate of false alarms; few experiences tell their spread badly."""
        from scipy.stats import t

        widths = [float(t.ppf(1.0 - rate / 2.0, measure.freedom)) for measure in measures]
        return tuple(
            replace(measure, reach=width * measure.noise + measure.allowance)
            for measure, width in zip(measures, widths, strict=True)
        )

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        assert self.audit is not None
        return self.audit.weights(self.state, self.action)

    @cached_property
    def _chances(self) -> NDArray[np.float64]:
        assert self.audit is not None
        return self.audit.weights(self.state, self.action, discount=1.0)

    @cached_property
    def episodes(self) -> float:
        """So many equally weighted episodes a belief rests on."""
        assert self.audit is not None
        used = np.flatnonzero(self._weights)
        return max(1.0, effective_episodes(self.audit.ledger, used, self._weights[used]))

    def _table(self, amount: NDArray[np.float64], discount: float | None) -> NDArray[np.float64]:
        """(cells,) What the ledger's updates add up to, for another cumulant."""
        assert self.audit is not None
        table = np.zeros((self.audit.ledger.n_cells, 1))
        fold(self.audit.lines_at(discount), amount, table, np.zeros(1), np.empty(0))
        return table[:, 0]

    def _spread(
        self,
        weights: NDArray[np.float64],
        amount: NDArray[np.float64],
        table: NDArray[np.float64],
        discount: float | None,
    ) -> Spread:
        """One experience more might have been of a kind it never had: that counts as noise."""
        assert self.audit is not None
        ledger = self.audit.ledger
        unseen = float(np.ptp(amount)) / self.episodes if len(amount) else 0.0
        used = np.flatnonzero(weights)
        error, freedom = sampling_error(ledger, used, weights[used], amount, table, discount)
        late = lag(ledger, used, weights[used], table, self.policy, discount)
        return Spread(float(np.hypot(error, unseen)), max(freedom - 1.0, LEAST_FREEDOM), late)
