"""Which parts of the reward a value consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.loop import NO_LOOP, Loop
from whatfor.beliefs.protocol import Beliefs
from whatfor.beliefs.situation import Situation
from whatfor.beliefs.trust import COMPUTED
from whatfor.explanation import ROUNDING, Explanation
from whatfor.explanations.contrast import other_action
from whatfor.explanations.phrases import beyond_limit, signed_lines, without_end
from whatfor.explanations.splitting import Part, amounts_of, default_parts
from whatfor.labels import Labels
from whatfor.layouts.shapes import Bars, Series
from whatfor.ledger.parts import REST
from whatfor.question import Action, Parameter, State, question, source_of
from whatfor.text import amount, count, shortened

if TYPE_CHECKING:
    from whatfor.runs import Run

#: A rest below this, relative to the parts, is the rounding of numbers in single precision.
SINGLE = 1e-6
UNCOVERED, INITIAL = "covered by no part", "remaining from initial values"


@dataclass(frozen=True)
class Parts(Explanation):
    """A value split over named parts of the reward; with the rest and the initial share, they sum to the value.

    >>> from whatfor.beliefs import Audit, Situation
    >>> from whatfor.ledger import Ledger
    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(1, 0, 20.0, None, step_size=1.0, discount=0.5)
    >>> ledger.record(0, 0, -1.0, 1, 0, step_size=1.0, discount=0.5)
    >>> Parts.of(Audit(ledger), Labels.plain(2, 1), Situation(0), 0, value=9.0).totals
    {'reward -1': -1.0, 'reward +20': 10.0}
    """

    labels: Labels
    state: int
    action: int
    value: float  # from the agent's own table, or the return of playing its policy
    earnings: dict[str, NDArray[np.float64]]  # by part: (S, A) expected earnings
    totals: dict[str, float]  # by part: its share of the value
    rest: float  # the part of the value from rewards that no part covers
    initial_share: float  # the part of the value that still rests on initial values
    scale: float  # the sum of |weight * part| over all parts, and of |weight * reward|
    tries: int | None  # None: not counted
    residual: float | None  # |totals + rest + initial_share - value|; None: the value is not the agent's own
    discounted: bool = True  # whether any discount is below 1
    loop: Loop = NO_LOOP  # whether it goes on without a recorded end
    faults: tuple[str, ...] = ()  # what seems to be wrong with the ledger
    learned: bool = True  # False: what playing its policy gives
    errors: dict[str, float] | None = None  # by part: its standard error over the rollouts; None: they are not sampled
    rollouts: int | None = None  # that the value is a mean over; None: it is not sampled
    limit: int | None = None  # the time limit of episodes, where it does not end rollouts that reach it
    beyond: float = 0.0  # the part of the value that is earned beyond it
    foil: Parts | None = None  # of another action in the same state, to compare with

    @classmethod
    def of(
        cls,
        beliefs: Beliefs,
        labels: Labels,
        at: Situation,
        action: int,
        *,
        value: float,
        own: bool = True,
        parts: Mapping[str, Part] | None = None,
    ) -> Parts:
        """Read it from a source: the weight of every reward times what each part contributed to it."""
        if parts is not None and not isinstance(parts, Mapping):
            raise ValueError(
                f"parts must be a dictionary of names and functions (or arrays), e.g. "
                f'parts={{"fuel": lambda state, action, reward: min(reward, 0)}}, not {shortened(repr(parts))}'
            )
        paid, shape = beliefs.payments(at, action), (labels.n_states, labels.n_actions)
        amounts = (
            default_parts(paid)
            if parts is None
            else {name: amounts_of(name, part, paid, labels) for name, part in parts.items()}
        )
        earnings = {
            name: np.bincount(paid.pair, weights=paid.weight * each, minlength=shape[0] * shape[1])
            .astype(float)
            .reshape(shape)
            for name, each in amounts.items()
        }
        left = paid.reward - sum(amounts.values(), np.zeros(len(paid.reward)))
        totals = {name: float(earned.sum()) for name, earned in earnings.items()}
        rest, samples = float(paid.weight @ left), beliefs.samples(at, action)
        total = sum(totals.values()) + rest + paid.initial
        errors = {name: paid.error(each, samples) for name, each in {**amounts, UNCOVERED: left}.items()}
        scale = sum(float(paid.weight @ np.abs(each)) for each in (*amounts.values(), left))
        tries = beliefs.tries
        more: dict[str, Any] = {
            "discounted": paid.discounted,
            "loop": beliefs.loop(at, action),
            "faults": beliefs.faults,
            "errors": {name: error for name, error in errors.items() if error is not None} or None,
            "rollouts": samples,
        }
        if (within := beliefs.within_limit(at, action)) is not None:
            more |= {"limit": within.limit, "beyond": paid.value - within.payments(at, action).value}
        return cls(
            labels,
            at.index,
            action,
            value if beliefs.learned else total,
            earnings,
            totals,
            rest,
            paid.initial,
            max(paid.scale, scale),
            None if tries is None else int(tries[at.index, action]),
            abs(total - value) if own and beliefs.learned else None,
            learned=beliefs.learned,
            **more,
        )

    @property
    def gaps(self) -> dict[str, float]:
        """By part: what it adds to the gap between this value and that of the other action; they sum to the gap."""
        if self.foil is None:
            return {}
        names = dict.fromkeys([*self.totals, *self.foil.totals])
        gaps = {name: self.totals.get(name, 0.0) - self.foil.totals.get(name, 0.0) for name in names}
        more = {UNCOVERED: self.rest - self.foil.rest, INITIAL: self.initial_share - self.foil.initial_share}
        return gaps | {name: share for name, share in more.items() if share}

    def against(self, foil: Parts) -> Parts:
        """The same parts, compared with those of another action."""
        one, other = sum(self._shares().values()), sum(foil._shares().values())
        residual = None if self.residual is None else abs((one - other) - (self.value - foil.value))
        errors = None if self.errors is None or foil.errors is None else _both(self.errors, foil.errors)
        return replace(self, foil=foil, residual=residual, scale=self.scale + foil.scale, errors=errors)

    def _shares(self) -> dict[str, float]:
        """By part: its share of the value, also of what no part covers; they sum to the value."""
        more = {UNCOVERED: self.rest, INITIAL: self.initial_share}
        return self.totals | {name: share for name, share in more.items() if share}

    def _rows(self, shares: Mapping[str, float]) -> dict[str, float]:
        """The shares that are more than rounding, the largest first, and the initial one last."""
        least = {REST: SINGLE}  # environments often report their terms in single precision
        scale = max(1.0, self.scale)
        listed = {name: share for name, share in shares.items() if abs(share) > least.get(name, ROUNDING) * scale}
        return dict(sorted(listed.items(), key=lambda item: (item[0] == INITIAL, item[0] == UNCOVERED, -abs(item[1]))))

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        if self.tries == 0:
            return [f"In {here!r}, {doing!r} was never tried: its value {amount(self.value)} is the initial value."]
        if self.foil is not None:
            return self._compared(self.foil)
        note = " (discounted)" if self.discounted else ""
        lines = [f"In {here!r}, the value {amount(self.value)} of {doing!r}{note} consists of:"]
        if not self.learned:
            lines = [
                f"In {here!r}, playing its policy after {doing!r} gives {amount(self.value)}{note}{self._over()}, which consists of:"
            ]
        rows = [(share, self._named(name)) for name, share in self._rows(self._shares()).items()]
        total = amount(sum(self._shares().values()))
        added = self._sum_text(total, self.scale, COMPUTED.off_text)
        listed = signed_lines(rows) or ["  no rewards"]
        return [*lines, *listed, f"{added}.", *self._notes()]

    def _compared(self, foil: Parts) -> list[str]:
        """The gap between two actions, by part."""
        here, one, other = (
            self.labels.words(self.state),
            self.labels.actions[self.action],
            self.labels.actions[foil.action],
        )
        if foil.tries == 0:
            return [f"In {here!r}, {other!r} was never tried, so there is nothing to compare."]
        gap, note = self.value - foil.value, " (discounted)" if self.discounted else ""
        how = "the same as" if gap == 0.0 else f"{amount(abs(gap))} {'more' if gap > 0.0 else 'less'} than"
        compared = f"the value {amount(self.value)} of {one!r}{note} is {how} that of {other!r}"
        if not self.learned:
            compared = f"playing its policy after {one!r} gives {amount(self.value)}{note}{self._over()}, {how} after {other!r}"
        lines = [f"In {here!r}, {compared}. The difference consists of:"]
        rows = [(share, self._named(name)) for name, share in self._rows(self.gaps).items()]
        total = sum(self.gaps.values())
        total = 0.0 if abs(total) <= ROUNDING * self.scale else total
        adds_up = self._sum_text(
            amount(total, signed=True), self.scale, COMPUTED.off_text, "the difference between the agent's Q-values"
        )
        listed = signed_lines(rows) or ["  no rewards"]
        return [*lines, *listed, f"{adds_up}.", *self._notes(foil)]

    def _named(self, name: str) -> str:
        """The name of a part, with its standard error over the rollouts."""
        error = (self.errors or {}).get(name, 0.0)
        return f"{name} (standard error {amount(error)})" if error > ROUNDING * self.scale else name

    def _over(self) -> str:
        return "" if self.rollouts is None else f" over {count(self.rollouts, 'rollout')}"

    def _notes(self, foil: Parts | None = None) -> list[str]:
        """What is earned beyond a time limit, loops, and what seems to be wrong with the ledger."""
        loop = self.loop if foil is None or self.loop.stated else foil.loop
        limit = self.limit if foil is None or self.limit is not None else foil.limit
        beyond = self.beyond - (0.0 if foil is None else foil.beyond)
        return [*beyond_limit(beyond, limit, "of the sum"), *without_end(loop), *self.faults]

    @property
    def magnitude(self) -> float:
        """The sum of |weight * part|."""
        return self.scale

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        sums, sampled = ("value", "totals", "rest", "initial_share"), ("errors", "rollouts", "limit", "beyond")
        return {
            "question": "parts",
            "state": self.state,
            "action": self.action,
            **{name: getattr(self, name) for name in (*sums, "tries", "residual", *sampled)},
            "earnings": {name: self._map(earned) for name, earned in self.earnings.items()},
            "instead": None if self.foil is None else {"action": self.foil.action, "value": self.foil.value},
            "gaps": self.gaps,
            "sentences": self.sentences(),
        }


def _both(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """The standard errors of the differences between parts, whose rollouts are independent."""
    return {name: float(np.hypot(one.get(name, 0.0), other.get(name, 0.0))) for name in {**one, **other}}


def layout(why: Parts) -> Bars:
    """A bar for each part of the reward."""
    doing = why.labels.actions[why.action]
    what = "its value" if why.learned else "the return"
    title, shares = f"{doing}: what {what} {amount(why.value)} consists of", why._rows(why._shares())
    if why.foil is not None:
        other = why.labels.actions[why.foil.action]
        title, shares = (
            f"{doing} instead of {other}: {amount(why.value - why.foil.value, signed=True)}",
            why._rows(why.gaps),
        )
    shares = shares or dict.fromkeys(why.totals, 0.0)
    return Bars(title, why.labels.words(why.state), tuple(shares), (Series("part", tuple(shares.values())),), "value")


@question(
    "parts",
    "which rewards it consists of",
    answer=Parts,
    layout=layout,
    needs=["payments"],
    parameters=(
        Parameter("instead", "another action, to split the difference between their values", "action", on_page=False),
    ),
    place=60,
)
def ask(
    run: Run,
    state: State,
    action: Action | None = None,
    *,
    parts: Mapping[str, Part] | None = None,
    instead: Action | None = None,
) -> Parts:
    """Which parts of the reward a value consists of: those that were recorded, or one for each distinct reward.

    ``parts``: by name, what a part contributed to each update's reward: an array with a number for each update
    of the ledger, or a function of (state, action, reward), all three as numbers. ``instead``: another action; the answer splits
    the difference between the two values.
    """
    beliefs, (at, chosen) = source_of(run, "payments"), run.resolve(state, action)

    def split(one: int) -> Parts:
        value = float(run.values_at(at)[one])
        return Parts.of(beliefs, run.labels, at, one, value=value, own=run.origin.own_values, parts=parts)

    if instead is None:
        return split(chosen)
    return split(chosen).against(split(other_action(run, chosen, instead, given=action is not None)))
