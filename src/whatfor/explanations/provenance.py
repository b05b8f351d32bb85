"""Which experience a value is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.noise import ahead, effective, sampling_error
from whatfor.explanation import MIN_SHOWN, Explanation
from whatfor.labels import Labels
from whatfor.layouts.shapes import Bars, Layout, Lines, Panels, Series
from whatfor.question import Action, State, question
from whatfor.text import amount, count, percent

if TYPE_CHECKING:
    from whatfor.runs import Run

MAX_EPISODES = 5
#: Of a picture: bars, and points of a line.
MAX_BARS, MAX_POINTS = 10, 300
#: Of a page: updates that are listed, and episodes that can be replayed.
MAX_UPDATES, MAX_REPLAYED = 200, 60
#: An influence below this share of what is at stake is none.
NOISE = 1e-9


@dataclass(frozen=True)
class Provenance(Explanation):
    """The account of a value: weights of updates, which times their rewards sum to it.

    The account is not the influence: what deleting an update would change is its weight times its TD error, and by
    that episodes are ranked.
    """

    labels: Labels
    state: int
    action: int
    value: float
    weights: NDArray[np.float64]  # (n,) weight of every update
    rewards: NDArray[np.float64]  # (n,)
    influence: NDArray[np.float64]  # (n,) weight times TD error at that moment: what deleting the update takes away
    episodes: NDArray[np.int64]  # (n,) in which the experience was made
    steps: NDArray[np.int64]  # (n,)
    initial_share: float  # the part of the value that is left of initial values
    effective: float  # the effective number of updates: (sum of weights)^2 / sum of squares
    standard_error: float  # sampling error that the spread of the updates implies; too small for rarely tried actions
    stale: float  # share of the weight that flowed through actions the agent would no longer take
    luck: float  # the part of the value that is rewards above or below their mean
    residual: float | None  # |weights times rewards + from_start - value|; None: the value is the ledger's own

    @classmethod
    def of(cls, audit: Audit, labels: Labels, state: int, action: int, *, value: float, own: bool = True) -> Provenance:
        """Ask the ledger."""
        lines, weights = audit.ledger.lines, audit.weights(state, action)
        episodes, steps = audit.ledger.episodes_and_steps()
        used = np.flatnonzero(weights)
        initial_share = audit.account(state, action, method="scan").initial_share
        account = float(weights @ lines.reward) + initial_share
        pairs = lines.cell % (labels.n_states * labels.n_actions)
        counts = np.maximum(np.bincount(pairs, minlength=labels.n_states * labels.n_actions), 1)
        mean = np.bincount(pairs, weights=lines.reward, minlength=len(counts)) / counts
        return cls(
            labels=labels,
            state=state,
            action=action,
            value=value,
            weights=weights,
            rewards=lines.reward,
            influence=weights * audit.errors,
            episodes=episodes,
            steps=steps,
            initial_share=initial_share,
            effective=effective(audit.ledger, used, weights[used]),
            standard_error=sampling_error(audit.ledger, used, weights[used], lines.reward, audit.recomputed.ravel())[0],
            stale=_stale(audit, weights),
            luck=float(weights @ (lines.reward - mean[pairs])),
            residual=abs(account - value) if own else None,
        )

    def most_influential(self, most: int = MAX_EPISODES) -> list[tuple[int, float]]:
        """The episodes with the largest influence, and that influence; the largest first."""
        if len(self.episodes) == 0:
            return []
        by_episode = np.bincount(self.episodes, weights=self.influence)
        order = np.argsort(-np.abs(by_episode), kind="stable")[:most]
        return [
            (int(episode), float(by_episode[episode])) for episode in order if abs(by_episode[episode]) > self._noise
        ]

    @property
    def _noise(self) -> float:
        """Influences smaller than this are noise."""
        return NOISE * max(1.0, self.magnitude)

    def by_episode(self, most: int) -> list[dict[str, float]]:
        """The episodes that weigh most, in their order: weight and influence of each."""
        if len(self.episodes) == 0:
            return []
        weights, influence = (np.bincount(self.episodes, weights=what) for what in (self.weights, self.influence))
        influence[np.abs(influence) <= self._noise] = 0.0
        heaviest = np.sort(np.argsort(-weights, kind="stable")[: min(most, int(np.count_nonzero(weights)))])
        return [{"episode": int(n), "weight": float(weights[n]), "influence": float(influence[n])} for n in heaviest]

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        used = np.unique(self.episodes[self.weights > 0.0])
        if len(used) == 0:
            return [f"In {here!r}, {doing!r} was never learned from: its value is the initial value."]
        scale = max(1.0, self.magnitude)
        sure = self.standard_error <= 1e-9 * scale
        spread = "All of them agree" if sure else f"Their spread implies a standard error of {self.standard_error:.2g}"
        lines = [
            f"In {here!r}, the value {amount(self.value)} of {doing!r} was learned in {count(len(used), 'episode')}, "
            f"from {used[0]:,} to {used[-1]:,}; its updates weigh as much as {count(round(self.effective), 'equally weighted update')}.",
            f"{spread}; {self._shares()}.",
        ]
        telling = self.most_influential()
        if not telling:
            return [*lines, "No single episode stands out: deleting any one would change nothing."]
        if abs(telling[0][1]) < MIN_SHOWN * scale:
            return [
                *lines,
                f"No single episode stands out: deleting any one would change it by at most {abs(telling[0][1]):.1g}.",
            ]
        lines.append("The most influential episodes (what deleting each would take away):")
        return lines + [f"  {amount(change, signed=True):>8}  episode {episode:,}" for episode, change in telling]

    def _shares(self) -> str:
        stale = f"{percent(self.stale)} of the weight" if self.stale >= 5e-4 else "hardly any weight"
        noise = float(np.abs(self.luck)) > 1e-9 * max(1.0, self.magnitude)
        luck = f"luck made {self.luck:+.3g} of it" if noise else "luck had no part in it"
        return f"{stale} went through actions it would no longer take; {luck}"

    @property
    def magnitude(self) -> float:
        """The sum of |weights times rewards|."""
        return float(self.weights @ np.abs(self.rewards))

    def page(self) -> dict[str, Any]:
        """The heaviest updates, and the heaviest episodes, each of which can be replayed."""
        answer = self.to_json()
        left_out = max(0, len(answer["updates"]) - MAX_UPDATES)
        answer["updates"] = answer["updates"][:MAX_UPDATES]
        return {"answer": answer, "left_out": left_out, "strip": self.by_episode(MAX_REPLAYED)}

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        order = np.argsort(-self.weights, kind="stable")[: np.count_nonzero(self.weights)]
        names = ("effective", "standard_error", "stale", "luck", "initial_share", "value", "residual")
        return {
            "question": "provenance",
            "state": self.state,
            "action": self.action,
            **{name: getattr(self, name) for name in names},
            "updates": [
                {
                    "episode": int(self.episodes[i]),
                    "step": int(self.steps[i]),
                    "weight": float(self.weights[i]),
                    "reward": float(self.rewards[i]),
                    "influence": float(self.influence[i]),
                }
                for i in order
            ],
            "sentences": self.sentences(),
        }


def _stale(audit: Audit, weights: NDArray[np.float64]) -> float:
    """The share of the weight that looked ahead along actions which are no longer the best."""
    ledger = audit.ledger
    used = np.flatnonzero(weights)
    values = audit.recomputed.sum(axis=0)
    old = np.tile((values < values.max(axis=1, keepdims=True)).ravel().astype(np.float64), ledger.n_tables)
    discount, found, _ = ahead(ledger, used, old, None)
    passed = weights[used] * discount
    total = float(passed.sum())
    return float(passed @ found) / total if total else 0.0


def layout(why: Provenance) -> Layout:
    """The most telling episodes, and when the weight was gathered."""
    title = f"{why.labels.actions[why.action]}: which experience its value {amount(why.value)} is made of"
    if not why.weights.any():
        return Bars(title, why.labels.words(why.state), (), (Series("influence", ()),), "no experience")
    telling = why.most_influential(MAX_BARS)
    bars = Bars(
        title="the most influential episodes",
        caption="",
        names=tuple(f"episode {episode:,}" for episode, _ in telling),
        series=(Series("influence", tuple(amount for _, amount in telling)),),
        axis="what deleting it would take away",
    )
    x, gathered = _gathered(why)
    lines = Lines("when it was learned", "", x, (Series("weight", gathered),), "episode", "weight gathered so far")
    if not telling:  # none stands out
        return replace(lines, title=title, caption=why.labels.words(why.state))
    return Panels(
        title=title,
        caption=why.labels.words(why.state),
        panels=(bars, lines),
        columns=2,
        shared=False,
    )


def _gathered(why: Provenance) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Weight summed up over training, at so many episodes as a picture can tell apart."""
    gathered = np.cumsum(np.bincount(why.episodes, weights=why.weights))
    at = np.unique(np.linspace(0, len(gathered) - 1, min(MAX_POINTS, len(gathered))).astype(int))
    return tuple(float(x) for x in at), tuple(float(y) for y in gathered[at])


@question(
    "provenance",
    "which experience that comes from",
    answer=Provenance,
    layout=layout,
    needs=["updates"],
    place=50,
)
def ask(run: Run, state: State, action: Action | None = None) -> Provenance:
    """Which experience a value is made of; by default, that of the best action."""
    at, chosen = run.resolve(state, action)
    value = float(run.values[at.index, chosen])
    return Provenance.of(run.audit, run.labels, at.index, chosen, value=value, own=run.origin.own_values)
