"""Measures of a belief: its sampling error, and what else explains a difference from reality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.account import Weighed
from whatfor.beliefs.audit import Audit
from whatfor.beliefs.exact import ExactBeliefs, ExpectedAmount
from whatfor.beliefs.implied import ImpliedFuture
from whatfor.beliefs.maximisation import Overestimate, overestimate
from whatfor.beliefs.noise import OneStepErrors, ahead, effective_episodes, led_to, sampling_error
from whatfor.explanations.intention import Intention
from whatfor.explanations.measures import Measure
from whatfor.explanations.phrases import MIN_STATED_SHARE
from whatfor.explanations.simulation import Simulation
from whatfor.kernels.forwards import fold
from whatfor.kernels.recursion import TERMINATED, ending_place
from whatfor.labels import ENDINGS, NO_RECORDED_END

#: A difference below this share of the scale is ignored.
NEGLIGIBLE_SHARE = 2e-3
#: Visits may fall short by up to this much because of initial values; the answer reports that share by itself.
NEGLIGIBLE_INITIAL_VISITS = 0.01
#: An effect below this share of the range of a number is not named as a cause of a difference.
NOTABLE_SHARE = 0.1
#: With fewer degrees of freedom, an estimated standard error is not used: no difference counts as real.
MIN_DEGREES_OF_FREEDOM = 2.0


#: What some updates add to a quantity.
AmountOf = Callable[[Any], NDArray[np.float64]]


class BeliefError(NamedTuple):
    """How far a believed number may be off."""

    true: float | None  # the exact number; None: the world is not known
    error: float  # standard error
    width: float  # the number of standard errors that count as noise
    unit: float  # half of what one experience may change
    noise: float | None  # the part that is chance in what happened; None: only as the rest
    off_policy: float  # the part that bootstraps from actions the policy does not take
    initial: float  # the part that still rests on initial values
    variance: NDArray[np.float64] | None = None  # (S, A) of one step, where it is known


class MeasureBuilder:
    """Builds the measures of what a ledger believes of one action, against a simulation and the exact future where the transition probabilities are known."""

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
        self._one_step: dict[float | None, OneStepErrors] = {}
        self.implied = ImpliedFuture(audit.experienced, policy, self.state, self.action, simulated.discount)

    def value(self, rate: float) -> Measure:
        """Measure the value."""
        rewards = self.audit.ledger.lines.reward
        entries = None if self.exact is None else self.exact.table.reward
        belief_error = self._belief_error(
            lambda at: rewards[at],
            entries,
            None,
            rate,
            (self.believed.initial_share, self.audit.ledger.initial_tables()),
        )
        largest = float(np.abs(self.audit.recomputed).max(initial=0.0))
        negligible = NEGLIGIBLE_SHARE * self.believed.magnitude + self.simulated.beyond * largest * (self.exact is None)
        negligible += (self.believed.unknown or 0.0) * largest * (belief_error.true is None)
        numbers = self.believed.value, self.simulated.value, self.simulated.value_error
        measure = self._measure("value", *numbers, belief_error, negligible, self.scale)
        return self._with_data(measure, self.audit.experienced.table.reward, None, belief_error.variance)

    def endings(self, rate: float) -> list[Measure]:
        """Measure the chance of every ending that was believed, simulated or is possible."""
        ledger, n = self.audit.ledger, self.simulated.rollouts
        if (self.believed.chances or {}).get(
            NO_RECORDED_END, 0.0
        ) >= MIN_STATED_SHARE:  # weight that goes round is no ending
            return []
        unknown = float(self._initial_weights(1.0).sum())
        used, weights = self._weighed(1.0).used, self._weighed(1.0).weights
        measures = []
        for place, name in enumerate(ledger.endings):
            code = ending_place(place)
            amount = _equal_to(code, ledger.lines.source)
            entries = None if self.exact is None else self._entries_ending(self.exact, name)
            belief_error = self._belief_error(amount, entries, 1.0, rate)
            simulated, believed = self._simulated_chance(name, code), float(weights @ amount(used))
            if max(believed, simulated, belief_error.true or 0.0) > 0.0:
                error = float(np.sqrt(max(simulated * (1.0 - simulated), 1.0 / n) / n))  # never zero
                negligible = NEGLIGIBLE_SHARE + unknown * (belief_error.true is None)
                measure = self._measure(name, believed, simulated, error, belief_error, negligible, 1.0)
                seen = self.audit.experienced
                implied = ((seen.table.ending == code) & seen.tried).astype(np.float64)
                measures.append(self._with_data(measure, implied, 1.0, belief_error.variance))
        return measures

    def place(self, state: int, action: int, rate: float) -> Measure:
        """Measure the visits to one state-action pair."""
        ledger, n_pairs = self.audit.ledger, self.policy.size
        pair = state * self.policy.shape[1] + action
        counted = np.tile((np.arange(n_pairs) == pair).astype(np.float64), ledger.n_tables)

        def amount(at: Any) -> NDArray[np.float64]:
            of_update: NDArray[np.float64] = counted[ledger.lines.cell[at]]
            return of_update

        entries = None if self.exact is None else (self.exact.entry_pairs == pair).astype(np.float64)
        belief_error = self._belief_error(amount, entries, None, rate)
        error = max(float(self.simulated.visits_error[state, action]), 1.0 / self.simulated.rollouts)
        labels = self.believed.labels
        negligible = NEGLIGIBLE_SHARE * max(1.0, float(self.believed.visits[state, action]))
        if belief_error.true is None:
            unknown = (self.believed.unknown or 0.0) + self.simulated.beyond
            negligible += unknown * max(1.0, float(self.simulated.visits[state, action]), self.implied.returns_to(pair))
        else:
            negligible += min(self.believed.unknown or 0.0, NEGLIGIBLE_INITIAL_VISITS)
        numbers = float(self.believed.visits[state, action]), float(self.simulated.visits[state, action])
        name = f"visits to '{labels.words(state)}: {labels.actions[action]}'"
        return self._measure(name, *numbers, error, belief_error, negligible, max(1.0, *numbers))

    @cached_property
    def scale(self) -> float:
        """The range that values may have: of the absolute rewards behind the belief, and of the steps that follow."""
        rewards = self.audit.experienced.experiences.reward
        both = bool(rewards.min(initial=0.0) < 0.0 < rewards.max(initial=0.0))
        rewarded = max(self._learned.account.scale, float(np.abs(self.simulated.earnings).sum()))
        return max((1.0 + both) * rewarded, 2.0 * self.implied.deviation)

    @cached_property
    def episodes(self) -> float:
        """The effective number of episodes that the belief rests on."""
        return effective_episodes(self.audit.ledger, self._weighed(None).used, self._weighed(None).weights)

    def _measure(
        self,
        name: str,
        believed: float,
        simulated: float,
        simulated_error: float,
        belief_error: BeliefError,
        negligible: float,
        scale: float,
    ) -> Measure:
        chance = float(np.hypot(belief_error.error, simulated_error if belief_error.true is None else 0.0))
        rest = believed - simulated - belief_error.off_policy - belief_error.initial
        return Measure(
            name=name,
            believed=believed,
            simulated=simulated,
            simulated_error=simulated_error,
            exact=belief_error.true,
            error=belief_error.error,
            noise=rest if belief_error.noise is None else belief_error.noise,
            off_policy=belief_error.off_policy,
            initial=belief_error.initial,
            tolerance=belief_error.width * chance + belief_error.unit + negligible,
            notable=NOTABLE_SHARE * scale,
        )

    def _with_data(
        self, measure: Measure, amount: NDArray[np.float64], discount: float | None, variance: NDArray[np.float64] | None
    ) -> Measure:  # fmt: skip
        """The measure, with what the distinct experiences imply; each entry of the experienced world adds ``amount``."""
        implied = self.implied.number(amount, discount, variance)
        if implied is None:
            return measure
        reach = implied.untried * measure.notable / NOTABLE_SHARE  # nothing is known beyond untried pairs
        return replace(measure, data=implied.number - measure.actual, data_error=implied.error + reach)

    def overestimate(self) -> tuple[Overestimate, float] | None:
        """How far the values that it bootstrapped from were too high over all updates, and the part of that in the belief.

        By the exact values, or by what the experiences imply where the world is not known.
        """
        if self.exact is not None and self._is_finite(self.exact, self._weighed(None).used, None):
            known, centred = self.exact.expected(self.exact.table.reward), False
        elif self.implied.visits() is not None:
            known, centred = self.implied.values, True
        else:
            return None
        ledger, (n_states, n_actions) = self.audit.ledger, self.policy.shape
        cells = (np.arange(ledger.n_tables) * n_states + self.state) * n_actions + self.action
        found = overestimate(ledger, cells, self.policy, known.mean, known.variance, centred=centred)
        return None if found is None else (found, self._bootstrapped_error(known.mean))

    def _bootstrapped_error(self, values: NDArray[np.float64]) -> float:
        """The part of the belief that its updates got from values that they bootstrapped from and that were off."""
        ledger, lines = self.audit.ledger, self.audit.ledger.lines
        account, direct = self.audit.weighed(self.state, self.action, discount=0.0)
        used = np.flatnonzero(direct)
        g, found = ahead(ledger, used, np.tile(values.ravel(), ledger.n_tables), None)
        return self.believed.value - account.initial_share - float(direct[used] @ (lines.reward[used] + g * found))

    # -- the errors of a belief --------------------------------------------------------------

    def _belief_error(
        self, amount: AmountOf, entries: NDArray[np.float64] | None, discount: float | None, rate: float,
        initial: tuple[float, NDArray[np.float64] | None] = (0.0, None),
    ) -> BeliefError:  # fmt: skip
        """The error of a quantity to which each update adds ``amount``, and each entry of the known table ``entries``.

        ``initial``: the part of the quantity that still rests on initial values, and those values; visits and chances have none.
        """
        _, used, weights = self._weighed(discount)
        if entries is not None and self.exact is not None and self._is_finite(self.exact, used, discount):
            expected = self.exact.expected(entries, discount)
            return self._exact_error(amount(used), expected, discount, rate, initial[0])
        table = np.zeros((self.audit.ledger.n_cells, 1)) if initial[1] is None else initial[1].reshape(-1, 1)
        fold(self.audit.lines_at(discount), amount(slice(None)), table, np.zeros(1), np.empty(0))
        return self._estimated_error(amount(used), table[:, 0], used, weights, discount, rate)

    def _exact_error(
        self, amount: NDArray[np.float64], expected: ExpectedAmount, discount: float | None, rate: float, initial: float
    ) -> BeliefError:
        """The error from the known variance of every step."""
        from scipy.special import ndtri

        errors, table = self._errors(discount), np.tile(expected.mean.ravel(), self.audit.ledger.n_tables)
        squares, largest = errors.by_pair
        return BeliefError(
            true=float(expected.mean[self.state, self.action]),
            error=float(np.sqrt(squares @ expected.variance.ravel())),
            width=float(ndtri(1.0 - rate / 2.0)),
            unit=0.5 * float((largest * expected.span.ravel()).max(initial=0.0)),
            noise=errors.noise(amount, table),
            off_policy=errors.off_policy(table),
            initial=initial - float(self._initial_weights(discount) @ table),
            variance=expected.variance,
        )

    def _estimated_error(
        self, amount: NDArray[np.float64], table: NDArray[np.float64], used: NDArray[np.int64], weights: NDArray[np.float64],
        discount: float | None, rate: float,
    ) -> BeliefError:  # fmt: skip
        """The error estimated from the spread of the experiences."""
        from scipy.special import stdtrit

        ledger = self.audit.ledger
        error, freedom = sampling_error(ledger, used, weights, amount, table, discount)
        width = float(stdtrit(freedom - 1.0, 1.0 - rate / 2.0)) if freedom - 1.0 >= MIN_DEGREES_OF_FREEDOM else np.inf
        if error <= 1e-9 * float(np.abs(table).max(initial=0.0)):  # all experiences agree
            width = 0.0
        return BeliefError(
            true=None,
            error=max(error, np.finfo(float).tiny),
            width=width,
            unit=float(np.ptp(amount) if len(used) else 0.0) / max(self.episodes, 1.0),
            noise=None,
            off_policy=self._errors(discount).off_policy(table),
            initial=0.0,
        )

    def _is_finite(self, exact: ExactBeliefs, used: NDArray[np.int64], discount: float | None) -> bool:
        """Whether the exact numbers behind these updates are finite: without a discount, not where the policy may never end."""
        if discount is not None or exact.discount < 1.0 or not exact.may_not_end.any():  # chances are always finite
            return True
        ledger = self.audit.ledger
        cells = np.concatenate([ledger.lines.cell[used], led_to(ledger, used)])
        return not exact.may_not_end[cells // self.policy.shape[1] % self.policy.shape[0]].any()

    def _entries_ending(self, exact: ExactBeliefs, name: str) -> NDArray[np.float64]:
        """Entries of the table that end the episode by this name; endings that the ledger does not name count as terminated."""
        names = [*ENDINGS, *exact.labels.ending_names]
        known = {*self.audit.ledger.endings}
        matches = [other == name or (name == ENDINGS[1] and other not in known) for other in names]
        codes = [ending_place(place) for place, match in enumerate(matches) if match]
        return np.isin(exact.table.ending, codes).astype(np.float64)

    def _simulated_chance(self, name: str, code: int) -> float:
        """The share of rollouts that ended by this name."""
        if code != TERMINATED:
            return self.simulated.chances.get(name, 0.0)
        named = {*self.audit.ledger.endings}
        return sum(chance for ending, chance in self.simulated.chances.items() if ending not in named)

    def _weighed(self, discount: float | None) -> Weighed:
        return self._undiscounted if discount is not None else self._learned

    def _errors(self, discount: float | None) -> OneStepErrors:
        if discount not in self._one_step:
            _, used, weights = self._weighed(discount)
            self._one_step[discount] = OneStepErrors(self.audit.ledger, used, weights, self.policy, discount)
        return self._one_step[discount]

    def _initial_weights(self, discount: float | None) -> NDArray[np.float64]:
        """(cells,) The weight still on each initial value."""
        return self._weighed(discount).account.initial_weights.ravel()

    @cached_property
    def _learned(self) -> Weighed:
        """As learned."""
        return _weigh(self.audit, self.state, self.action, None)

    @cached_property
    def _undiscounted(self) -> Weighed:
        """The same without a discount."""
        return _weigh(self.audit, self.state, self.action, 1.0)


def _weigh(audit: Audit, state: int, action: int, discount: float | None) -> Weighed:
    account, weights = audit.weighed(state, action, discount=discount)
    used = np.flatnonzero(weights)
    return Weighed(account, used, weights[used])


def _equal_to(code: int, column: NDArray[np.int32]) -> AmountOf:
    """1 where a column has this code."""
    return lambda at: (column[at] == code).astype(np.float64)
