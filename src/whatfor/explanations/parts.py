"""Which parts of the reward a value consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.loop import NO_LOOP, Loop
from whatfor.beliefs.trust import COMPUTED
from whatfor.explanation import ROUNDING, Explanation
from whatfor.explanations.contrast import other_action
from whatfor.explanations.phrases import signed_lines, without_end
from whatfor.kernels.recursion import LedgerLines
from whatfor.labels import Labels
from whatfor.layouts.shapes import Bars, Series
from whatfor.ledger import Ledger
from whatfor.ledger.parts import REST, reward_parts
from whatfor.question import Action, Parameter, State, question
from whatfor.text import amount, either, shortened

if TYPE_CHECKING:
    from whatfor.runs import Run

#: With more distinct rewards than this, the caller has to pass the parts.
MAX_REWARDS = 12
_BY_FUNCTION = 'name the parts: parts={"name": lambda state, action, reward: ..., ...}'
_BY_TERMS = "or train with reward_parts=, the terms of the reward in info"
PARTS_IN_PYTHON = f"{_BY_FUNCTION}, or an array with a number for each update; {_BY_TERMS}"
#: Where the parts have to be functions.
FUNCTIONS_IN_PYTHON = f"{_BY_FUNCTION}; {_BY_TERMS}"
PARTS_IN_SHELL = "train with --reward-part name=key, for each term of the reward that the environment reports in info"
#: A rest below this, relative to the parts, is the rounding of numbers in single precision.
SINGLE = 1e-6
UNCOVERED, INITIAL = "covered by no part", "remaining from initial values"

#: A number for each update, or a function of (state, action, reward).
Part = ArrayLike | Callable[[int, int, float], float]


@dataclass(frozen=True)
class Parts(Explanation):
    """A value split over named parts of the reward; with the rest and the initial share, they sum to the value.

    >>> from whatfor.ledger import Ledger
    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(1, 0, 20.0, None, step_size=1.0, discount=0.5)
    >>> ledger.record(0, 0, -1.0, 1, 0, step_size=1.0, discount=0.5)
    >>> Parts.of(Audit(ledger), Labels.plain(2, 1), 0, 0, value=9.0).totals
    {'reward -1': -1.0, 'reward +20': 10.0}
    """

    labels: Labels
    state: int
    action: int
    value: float  # from the agent's own table
    earnings: dict[str, NDArray[np.float64]]  # by part: (S, A) expected earnings
    totals: dict[str, float]  # by part: its share of the value
    rest: float  # the part of the value from rewards that no part covers
    initial_share: float  # the part of the value that still rests on initial values
    scale: float  # the sum of |weight * part| over all parts, and of |weight * reward|
    tries: int
    residual: float | None  # |totals + rest + initial_share - value|; None: the value is not the agent's own
    discounted: bool = True  # whether any discount is below 1
    loop: Loop = NO_LOOP  # whether it goes on without a recorded end
    faults: tuple[str, ...] = ()  # what seems to be wrong with the ledger
    foil: Parts | None = None  # of another action in the same state, to compare with

    @classmethod
    def of(
        cls,
        audit: Audit,
        labels: Labels,
        state: int,
        action: int,
        *,
        value: float,
        own: bool = True,
        parts: Mapping[str, Part] | None = None,
    ) -> Parts:
        """Compute it from the ledger: the weight of every update times what each part contributed to its reward."""
        if parts is not None and not isinstance(parts, Mapping):
            raise ValueError(
                f"parts must be a dictionary of names and functions (or arrays), e.g. "
                f'parts={{"fuel": lambda state, action, reward: min(reward, 0)}}, not {shortened(repr(parts))}'
            )
        (row, weights), lines = audit.weighed(state, action), audit.ledger.lines
        used = np.flatnonzero(weights)
        weights, rewards = weights[used], lines.reward[used]
        shape = (labels.n_states, labels.n_actions)
        pairs = lines.cell[used] % (labels.n_states * labels.n_actions)
        covered, earnings, scale = np.zeros(len(used)), {}, 0.0
        by_name = (
            _default_parts(audit.ledger, used)
            if parts is None
            else {
                name: _amounts(name, part, len(lines.cell), used, pairs, rewards, labels)
                for name, part in parts.items()
            }
        )
        for name, amounts in by_name.items():
            covered += amounts
            scale += float(weights @ np.abs(amounts))
            earned = np.bincount(pairs, weights=weights * amounts, minlength=labels.n_states * labels.n_actions)
            earnings[name] = earned.astype(np.float64).reshape(shape)
        totals = {name: float(earned.sum()) for name, earned in earnings.items()}
        rest = float(weights @ (rewards - covered))
        residual = abs(sum(totals.values()) + rest + row.initial_share - value) if own else None
        more: dict[str, Any] = {
            "discounted": audit.discounted,
            "loop": audit.loop(state, action),
            "faults": audit.faults,
        }
        return cls(
            labels,
            state,
            action,
            value,
            earnings,
            totals,
            rest,
            row.initial_share,
            max(row.scale, scale + float(weights @ np.abs(rewards - covered))),
            row.tries,
            residual,
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
        return replace(self, foil=foil, residual=residual, scale=self.scale + foil.scale)

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
        rows = [(share, name) for name, share in self._rows(self._shares()).items()]
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
        lines = [
            f"In {here!r}, the value {amount(self.value)} of {one!r}{note} is {how} that of {other!r}. The difference consists of:"
        ]
        rows = [(share, name) for name, share in self._rows(self.gaps).items()]
        total = sum(self.gaps.values())
        total = 0.0 if abs(total) <= ROUNDING * self.scale else total
        adds_up = self._sum_text(
            amount(total, signed=True), self.scale, COMPUTED.off_text, "the difference between the agent's Q-values"
        )
        listed = signed_lines(rows) or ["  no rewards"]
        return [*lines, *listed, f"{adds_up}.", *self._notes(foil)]

    def _notes(self, foil: Parts | None = None) -> list[str]:
        """Loops, and what seems to be wrong with the ledger."""
        loop = self.loop if foil is None or self.loop.stated else foil.loop
        return [*without_end(loop), *self.faults]

    @property
    def magnitude(self) -> float:
        """The sum of |weight * part|."""
        return self.scale

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        names = ("value", "totals", "rest", "initial_share", "tries", "residual")
        return {
            "question": "parts",
            "state": self.state,
            "action": self.action,
            **{name: getattr(self, name) for name in names},
            "earnings": {name: self._map(earned) for name, earned in self.earnings.items()},
            "instead": None if self.foil is None else {"action": self.foil.action, "value": self.foil.value},
            "gaps": self.gaps,
            "sentences": self.sentences(),
        }


def _default_parts(ledger: Ledger, used: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Of some updates: the recorded parts of the reward and the rest, or one part for each distinct reward."""
    if ledger.parts:
        return {name: amounts[used] for name, amounts in reward_parts(ledger).items()}
    rewards = ledger.lines.reward[used]
    return {name: np.where(rewards == paid, paid, 0.0) for name, paid in by_reward(ledger.lines).items()}


def by_reward(lines: LedgerLines, advice: str = PARTS_IN_PYTHON) -> dict[str, float]:
    """The distinct rewards other than 0, by the name of their part; ``advice``: what to pass where there are too many.

    >>> by_reward(LedgerLines(*np.zeros((2, 3)), np.array([-1.0, 0.0, 20.0]), *np.zeros((3, 1))))
    {'reward -1': -1.0, 'reward +20': 20.0}
    """
    rewards = np.unique(lines.reward)
    if len(rewards) > MAX_REWARDS:
        raise ValueError(f"there are {len(rewards):,} different rewards; {either(advice, PARTS_IN_SHELL)}")
    paid = [float(reward) for reward in rewards if reward]
    names = [f"reward {amount(reward, signed=True)}" for reward in paid]
    if len({*names}) < len(names):  # four digits do not tell them apart
        names = [f"reward {reward:+}" for reward in paid]
    return dict(zip(names, paid, strict=True))


def _amounts(
    name: str,
    part: Part,
    n_lines: int,
    used: NDArray[np.int64],
    pairs: NDArray[np.int32],
    rewards: NDArray[np.float64],
    labels: Labels,
) -> NDArray[np.float64]:
    """What a part contributed to the reward of each used update."""
    if callable(part):
        return amounts_by_function(f"part {name!r}", part, pairs, rewards, labels.n_actions)
    try:
        amounts = np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"part {name!r} is {type(part).__name__}: give an array with a number for each update, "
            "or a function of (state, action, reward)"
        ) from None
    if amounts.shape != (n_lines,):
        raise ValueError(f"parts[{name!r}] has shape {amounts.shape}; it must have shape (n_updates,) = ({n_lines},)")
    if not np.isfinite(amounts).all():
        where = int(np.flatnonzero(~np.isfinite(amounts))[0])
        raise ValueError(f"part {name!r} is {amounts[where]} at update {where}; parts are finite numbers")
    return amounts[used]


def amounts_by_function(
    name: str,
    part: Callable[[int, int, float], float],
    pairs: NDArray[np.integer[Any]],
    rewards: NDArray[np.float64],
    n_actions: int,
) -> NDArray[np.float64]:
    """The amounts that a function returns, called once for each distinct (state, action, reward)."""
    paid, which = np.unique(rewards, return_inverse=True)
    keys, back = np.unique(pairs.astype(np.int64) * max(1, len(paid)) + which, return_inverse=True)
    amounts = np.empty(len(keys))
    for i, key in enumerate(keys.tolist()):
        pair, reward = divmod(key, len(paid))
        state, action = divmod(pair, n_actions)
        result = part(state, action, float(paid[reward]))
        if not isinstance(result, (int, float, np.number)) or not np.isfinite(result):
            raise ValueError(
                f"{name} returned {result!r} for {(state, action, float(paid[reward]))}; it must be a finite number"
            )
        amounts[i] = result
    return amounts[back]


def layout(why: Parts) -> Bars:
    """A bar for each part of the reward."""
    doing = why.labels.actions[why.action]
    title, shares = f"{doing}: what its value {amount(why.value)} consists of", why._rows(why._shares())
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
    needs=["updates"],
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
    at, chosen = run.resolve(state, action)

    def split(one: int) -> Parts:
        value = float(run.values[at.index, one])
        return Parts.of(run.audit, run.labels, at.index, one, value=value, own=run.origin.own_values, parts=parts)

    if instead is None:
        return split(chosen)
    return split(chosen).against(split(other_action(run, chosen, instead, given=action is not None)))
