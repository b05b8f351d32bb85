"""How far a belief may be off by chance, and what else explains a difference from reality."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.exact import ExactBeliefs, Expected
from whatfor.beliefs.noise import ahead, by_experience, effective_episodes, lag, sampling_error
from whatfor.explanations.intention import Intention
from whatfor.explanations.measures import Measure
from whatfor.explanations.simulation import Simulation
from whatfor.kernels.forwards import fold
from whatfor.kernels.recursion import TERMINATED, ending_place
from whatfor.labels import ENDINGS

#: Differences below this share of the scale are of no interest, however certain they are.
SMALL = 2e-3
#: Nor is it of interest that a belief falls short by what still rests on the start, up to here: that share is told by itself.
SMALL_START = 0.01
#: A spread estimated with fewer degrees of freedom says nothing, and no difference is called one.
LEAST_FREEDOM = 2.0


class Spread(NamedTuple):
    """How far a belief may be off."""

    true: float | None  # the exact number, where the world is known
    error: float
    width: float  # so many standard errors are noise
    unit: float  # half of what one experience may change
    lag: float
    start: float


class Ruler:
    """Measures what a ledger believes of one action, against a simulation and, where the world is known, exactly."""

    def __init__(
        self,
        audit: Audit,
        believed: Intention,
        simulated: Simulation,
        exact: ExactBeliefs | None,
        policy: NDArray[np.float64],
    ) -> None:
        self.audit, self.believed, self.simulated, self.exact, self.policy = audit, believed, simulated, exact, policy
        self.state, self.action = believed.state, believed.action

    def value(self, rate: float) -> Measure:
        """The value: what it expects to earn."""
        amount = self.audit.ledger.lines.reward
        entries = None if self.exact is None else self.exact.table.reward
        spread = self._spread(
            amount, entries, None, rate, (self.believed.initial_share, self.audit.ledger.initial_tables())
        )
        largest = float(np.abs(self.audit.recomputed).max(initial=0.0))
        small = SMALL * self.believed.at_stake + self.simulated.beyond * largest * (self.exact is None)
        small += self.believed.unknown * largest * (spread.true is None)
        return self._measure(
            "value", self.believed.value, self.simulated.value, self.simulated.value_error, spread, small
        )

    def endings(self, rate: float) -> list[Measure]:
        """The chance of every way to end that somebody believes in or met."""
        ledger, n = self.audit.ledger, self.simulated.rollouts
        left = float(self._left(1.0).sum())
        measures = []
        for place, name in enumerate(ledger.endings):
            code = ending_place(place)
            amount = (ledger.lines.source == code).astype(np.float64)
            entries = None if self.exact is None else self._ends_so(self.exact, name)
            spread = self._spread(amount, entries, 1.0, rate)
            seen, believed = self._seen(name, code), float(self._weights(1.0) @ amount)
            if max(believed, seen, spread.true or 0.0) > 0.0:
                played = float(np.sqrt(max(seen * (1.0 - seen), 1.0 / n) / n))  # never certain
                small = SMALL + left * (spread.true is None)
                measures.append(self._measure(name, believed, seen, played, spread, small))
        return measures

    def place(self, state: int, action: int, rate: float) -> Measure:
        """The visits of one pair."""
        ledger, n_pairs = self.audit.ledger, self.policy.size
        pair = state * self.policy.shape[1] + action
        amount = (ledger.lines.cell % n_pairs == pair).astype(np.float64)
        entries = None if self.exact is None else (self.exact.entry_pairs == pair).astype(np.float64)
        spread = self._spread(amount, entries, None, rate)
        played = max(float(self.simulated.visits_error[state, action]), 1.0 / self.simulated.rollouts)
        labels = self.believed.labels
        small = SMALL * max(1.0, float(self.believed.visits[state, action]))
        if spread.true is None:
            small += self.believed.unknown + self.simulated.beyond
        else:
            small += min(self.believed.unknown, SMALL_START)
        numbers = float(self.believed.visits[state, action]), float(self.simulated.visits[state, action])
        return self._measure(
            f"visits of '{labels.words(state)}: {labels.actions[action]}'", *numbers, played, spread, small
        )

    @cached_property
    def episodes(self) -> float:
        """So many equally weighted episodes a belief rests on."""
        weights = self._weights(None)
        used = np.flatnonzero(weights)
        return effective_episodes(self.audit.ledger, used, weights[used])

    def _measure(self, name: str, believed: float, seen: float, played: float, spread: Spread, small: float) -> Measure:
        noise = float(np.hypot(spread.error, played if spread.true is None else 0.0))
        reach = spread.width * noise + spread.unit + small
        return Measure(name, believed, seen, played, spread.true, spread.error, spread.lag, spread.start, reach)

    def _spread(
        self, amount: NDArray[np.float64], entries: NDArray[np.float64] | None, discount: float | None, rate: float,
        start: tuple[float, NDArray[np.float64] | None] = (0.0, None),
    ) -> Spread:  # fmt: skip
        """Of a quantity that a line adds ``amount`` to, and an entry of the known table ``entries``.

        ``start``: the part of it that comes of the tables' start, and what they held then; for visits and chances nothing.
        """
        weights = self._weights(discount)
        used = np.flatnonzero(weights)
        if entries is not None and self.exact is not None and self._known(self.exact, used, discount):
            expected = self.exact.expected(entries, discount)
            return self._exactly(expected, used, weights[used], discount, rate, start[0])
        table = np.zeros((self.audit.ledger.n_cells, 1)) if start[1] is None else start[1].reshape(-1, 1)
        fold(self.audit.lines_at(discount), amount, table, np.zeros(1), np.empty(0))
        return self._estimated(amount, table[:, 0], used, weights[used], discount, rate)

    def _exactly(
        self, expected: Expected, used: NDArray[np.int64], weights: NDArray[np.float64], discount: float | None, rate: float, start: float
    ) -> Spread:  # fmt: skip
        """The variance of every step is known, and so is what the policy leads to."""
        from scipy.special import ndtri

        ledger = self.audit.ledger
        table = np.tile(expected.mean.ravel(), ledger.n_tables)
        together, which = by_experience(ledger, used, weights)
        own = ledger.lines.cell[used[which]] % self.policy.size
        return Spread(
            true=float(expected.mean[self.state, self.action]),
            error=float(np.sqrt(together**2 @ expected.variance.ravel()[own])),
            width=float(ndtri(1.0 - rate / 2.0)),
            unit=0.5 * float((together * expected.span.ravel()[own]).max(initial=0.0)),
            lag=lag(ledger, used, weights, table, self.policy, discount),
            start=start - float(self._left(discount) @ table),
        )

    def _estimated(
        self, amount: NDArray[np.float64], table: NDArray[np.float64], used: NDArray[np.int64], weights: NDArray[np.float64],
        discount: float | None, rate: float,
    ) -> Spread:  # fmt: skip
        """From the spread of the experiences round what they add up to."""
        from scipy.special import stdtrit

        ledger = self.audit.ledger
        error, freedom = sampling_error(ledger, used, weights, amount, table, discount)
        width = float(stdtrit(freedom - 1.0, 1.0 - rate / 2.0)) if freedom - 1.0 >= LEAST_FREEDOM else np.inf
        if error <= 1e-9 * float(np.abs(table).max(initial=0.0)):  # all experiences agree
            width = 0.0
        return Spread(
            true=None,
            error=max(error, np.finfo(float).tiny),
            width=width,
            unit=float(np.ptp(amount[used]) if len(used) else 0.0) / max(self.episodes, 1.0),
            lag=lag(ledger, used, weights, table, self.policy, discount),
            start=0.0,
        )

    def _known(self, exact: ExactBeliefs, used: NDArray[np.int64], discount: float | None) -> bool:
        """Whether what these lines met is finite and known: without a discount, not where the policy may go on for ever."""
        if discount is not None or exact.discount < 1.0 or not exact.endless.any():  # chances are known everywhere
            return True
        ledger = self.audit.ledger
        to = ahead(ledger, used, np.zeros(ledger.n_cells), None)[2]
        cells = np.concatenate([ledger.lines.cell[used], to])
        return not exact.endless[cells // self.policy.shape[1] % self.policy.shape[0]].any()

    def _ends_so(self, exact: ExactBeliefs, name: str) -> NDArray[np.float64]:
        """Entries of the table that end the episode so; what the ledger has no name for, it calls terminated."""
        names = [*ENDINGS, *exact.labels.ending_names]
        known = {*self.audit.ledger.endings}
        alike = [other == name or (name == ENDINGS[1] and other not in known) for other in names]
        codes = [ending_place(place) for place, fits in enumerate(alike) if fits]
        return np.isin(exact.table.ending, codes).astype(np.float64)

    def _seen(self, name: str, code: int) -> float:
        """How often the rollouts ended so."""
        if code != TERMINATED:
            return self.simulated.chances.get(name, 0.0)
        named = {*self.audit.ledger.endings}
        return sum(chance for ending, chance in self.simulated.chances.items() if ending not in named)

    def _weights(self, discount: float | None) -> NDArray[np.float64]:
        return self._chances if discount is not None else self._as_learned

    @cached_property
    def _as_learned(self) -> NDArray[np.float64]:
        return self.audit.weights(self.state, self.action)

    @cached_property
    def _chances(self) -> NDArray[np.float64]:
        return self.audit.weights(self.state, self.action, discount=1.0)

    def _left(self, discount: float | None) -> NDArray[np.float64]:
        """(cells,) Weight still on the start."""
        return self._left_of_chances if discount is not None else self._left_as_learned

    @cached_property
    def _left_as_learned(self) -> NDArray[np.float64]:
        return self.audit.account(self.state, self.action, method="scan").initial_weights.ravel()

    @cached_property
    def _left_of_chances(self) -> NDArray[np.float64]:
        return self.audit.account(self.state, self.action, discount=1.0, method="scan").initial_weights.ravel()
