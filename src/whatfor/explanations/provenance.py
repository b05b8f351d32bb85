"""Which experience a value comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.deletion import MAX_REPLAYED, Deletion
from whatfor.beliefs.noise import ahead, effective, effective_episodes, sampling_error
from whatfor.explanation import MIN_SHOWN, Explanation
from whatfor.explanations.phrases import MIN_STATED_SHARE, signed_lines, without_end
from whatfor.labels import Labels
from whatfor.layouts.shapes import Bars, Layout, Lines, Panels, Series
from whatfor.question import Action, State, question
from whatfor.text import amount, count, percent, rough

if TYPE_CHECKING:
    from whatfor.runs import Run

#: The number of episodes that sentences list.
MAX_EPISODES = 5
#: The number of bars and of points of a line in a picture.
MAX_BARS, MAX_POINTS = 10, 300
#: The number of updates that a page lists, and of episodes that it shows.
MAX_UPDATES, MAX_STRIP = 200, 60
#: With fewer effective episodes, a standard error is not stated.
MIN_SPREAD_EPISODES = 2.0
#: A deletion, a luck or a standard error below this share of the magnitude is rounding.
ROUNDING_SHARE = 1e-9


@dataclass(frozen=True)
class Provenance(Explanation):
    """Which experience a value comes from, in two ways: its account, and what deleting experience takes away.

    The account is weights times rewards, which sums to the value. Deletion is what the value loses if an update, or
    every update of an episode, is left out and the rest is replayed; deletions do not sum to anything. What the agent
    would have learned instead is a third number: ``run.without(episodes, how="relearn")``.
    """

    labels: Labels
    state: int
    action: int
    value: float
    weights: NDArray[np.float64]  # (n,) weight of every update
    rewards: NDArray[np.float64]  # (n,)
    deletion: Deletion  # what deleting each update, and each episode, takes away from the value
    episodes: NDArray[np.int64]  # (n,) the episode of each update
    steps: NDArray[np.int64]  # (n,)
    initial_share: float  # the part of the value that still rests on initial values
    effective: float  # the effective number of experiences: (sum of weights)^2 / sum of squares
    effective_episodes: float  # the same of episodes
    standard_error: float  # from the spread of the updates; too small for rarely tried actions
    stale: float  # the share of the weight that bootstraps from actions the agent would no longer take
    luck: float  # the part of the value from rewards above or below their mean
    scale: float  # the sum of |weight * reward|
    notes: tuple[str, ...]  # loops, and what seems to be wrong with the ledger
    residual: float | None  # |weights times rewards + initial_share - value|; None: the value is not the agent's own

    @classmethod
    def of(cls, audit: Audit, labels: Labels, state: int, action: int, *, value: float, own: bool = True) -> Provenance:
        """Compute it from the ledger."""
        lines, (row, weights) = audit.ledger.lines, audit.weighed(state, action)
        episodes, steps = audit.ledger.episodes_and_steps()
        used = np.flatnonzero(weights)
        carried, rewards = weights[used], lines.reward[used]
        account = float(carried @ rewards) + row.initial_share
        usual = audit.mean_rewards.ravel()[lines.cell[used] % (labels.n_states * labels.n_actions)]
        return cls(
            labels=labels,
            state=state,
            action=action,
            value=value,
            weights=weights,
            rewards=lines.reward,
            deletion=audit.deletion(state, action),
            episodes=episodes,
            steps=steps,
            initial_share=row.initial_share,
            effective=effective(audit.ledger, used, carried),
            effective_episodes=effective_episodes(audit.ledger, used, carried),
            standard_error=sampling_error(audit.ledger, used, carried, rewards, audit.recomputed.ravel())[0],
            stale=_stale(audit, used, carried),
            luck=float(carried @ (rewards - usual)),
            scale=row.scale,
            notes=(*without_end(audit.loop(state, action)), *audit.faults),
            residual=abs(account - value) if own else None,
        )

    def most_influential(self, most: int = MAX_EPISODES) -> list[tuple[int, float]]:
        """The episodes whose deletion takes away most, and what it takes away; under replay, of those replayed exactly."""
        taken = np.where(self.deletion.exact, self.deletion.episodes, 0.0)
        order = np.argsort(-np.abs(taken), kind="stable")[:most]
        return [(int(episode), float(taken[episode])) for episode in order if abs(taken[episode]) > self._rounding]

    @property
    def _rounding(self) -> float:
        """Smaller deletions, lucks and standard errors are rounding."""
        return ROUNDING_SHARE * max(1.0, self.magnitude)

    def by_episode(self, most: int) -> list[dict[str, Any]]:
        """The episodes with the largest weight, in order of time: weight, account and deletion of each."""
        if len(self.episodes) == 0:
            return []
        sums = (self.weights, self.weights * self.rewards)
        weights, accounts = (np.bincount(self.episodes, weights=what) for what in sums)
        taken = np.where(np.abs(self.deletion.episodes) <= self._rounding, 0.0, self.deletion.episodes)
        largest = np.sort(np.argsort(-weights, kind="stable")[: min(most, int(np.count_nonzero(weights)))])
        return [
            {
                "episode": int(n),
                "weight": float(weights[n]),
                "account": float(accounts[n]),
                "deletion": float(taken[n]),
                "exact": bool(self.deletion.exact[n]),
            }
            for n in largest
        ]

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        used = np.unique(self.episodes[self.weights > 0.0])
        if len(used) == 0:
            return [f"In {here!r}, {doing!r} was never updated: its value is the initial value."]
        first, last = f"{used[0]:,}", f"{used[-1]:,}"
        episodes = f"{count(len(used), 'episode')}, from {first} to {last}" if len(used) > 1 else f"episode {first}"
        lines = [
            f"In {here!r}, the value {amount(self.value)} of {doing!r} rests, directly or through bootstrapping, on {episodes} "
            f"(effective number of episodes: {max(1, round(self.effective_episodes)):,}).",
            "; ".join(text for text in (self._spread_text(), self._stale_text(), self._luck_text()) if text) + ".",
        ]
        return [*lines, *self._influence_lines(), *self.notes]

    def _influence_lines(self) -> list[str]:
        """The episodes whose deletion changes the value most."""
        most_influential = self.most_influential()
        if not most_influential:
            return ["No single episode stands out: deleting any one would not change the value."]
        largest = abs(most_influential[0][1])
        if largest < MIN_SHOWN * max(1.0, self.magnitude):
            return [f"No single episode stands out: deleting any one would change the value by at most {largest:.1g}."]
        lead = "Deleting one episode and replaying the rest changes the value most for these (change in value):"
        return [
            lead,
            *signed_lines(
                (-taken, f"episode {episode:,} (without it: {amount(self.value - taken)})")
                for episode, taken in most_influential
            ),
        ]

    def _spread_text(self) -> str:
        if self.effective_episodes < MIN_SPREAD_EPISODES:
            return "It rests on too few episodes to estimate a standard error"
        if self.standard_error <= self._rounding:
            return "All its targets are equal"
        return f"The spread of its targets implies a standard error of {rough(self.standard_error)}"

    def _stale_text(self) -> str:
        if self.stale < MIN_STATED_SHARE:
            return ""
        return f"{percent(self.stale)} of its weight comes from experience with actions that are not greedy now"

    def _luck_text(self) -> str:
        if abs(self.luck) <= self._rounding:
            return ""
        than = "more than" if abs(self.luck) > self.standard_error else "within"
        return (
            f"reward noise (rewards above or below the mean of their state-action pair) contributes {amount(self.luck, signed=True)}, "
            f"{than} the standard error"
        )

    @property
    def magnitude(self) -> float:
        """The sum of |weights times rewards|."""
        return self.scale

    def page(self) -> dict[str, Any]:
        """The updates and the episodes with the largest weight, each of which can be replayed."""
        answer = self.to_json()
        left_out = max(0, len(answer["updates"]) - MAX_UPDATES)
        answer["updates"] = answer["updates"][:MAX_UPDATES]
        return {"answer": answer, "left_out": left_out, "strip": self.by_episode(MAX_STRIP)}

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        order = np.argsort(-self.weights, kind="stable")[: np.count_nonzero(self.weights)]
        names = (
            "effective",
            "effective_episodes",
            "standard_error",
            "stale",
            "luck",
            "initial_share",
            "value",
            "residual",
        )
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
                    "deletion": float(self.deletion.updates[i]),
                }
                for i in order
            ],
            "episodes": [{"episode": n, "deletion": taken} for n, taken in self.most_influential(MAX_REPLAYED)],
            "sentences": self.sentences(),
        }


def _stale(audit: Audit, used: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """The share of the weight that bootstraps from actions which are no longer the best."""
    ledger = audit.ledger
    values = audit.recomputed.sum(axis=0)
    old = np.tile((values < values.max(axis=1, keepdims=True)).ravel().astype(np.float64), ledger.n_tables)
    discount, share = ahead(ledger, used, old, None)
    bootstrapped = weights * discount
    total = float(bootstrapped.sum())
    return float(bootstrapped @ share) / total if total else 0.0


def layout(why: Provenance) -> Layout:
    """The most influential episodes, and when the weight was gathered."""
    title = f"{why.labels.actions[why.action]}: which experience its value {amount(why.value)} comes from"
    if not why.weights.any():
        return Bars(title, why.labels.words(why.state), (), (Series("deletion", ()),), "no experience")
    most_influential = why.most_influential(MAX_BARS)
    bars = Bars(
        title="the most influential episodes",
        caption="",
        names=tuple(f"episode {episode:,}" for episode, _ in most_influential),
        series=(Series("deletion", tuple(-taken for _, taken in most_influential)),),
        axis="change of the value without it",
    )
    x, gathered = _gathered(why)
    lines = Lines("when it was learned", "", x, (Series("weight", gathered),), "episode", "weight of updates so far")
    if not most_influential:
        return replace(lines, title=title, caption=why.labels.words(why.state))
    return Panels(
        title=title,
        caption=why.labels.words(why.state),
        panels=(bars, lines),
        columns=2,
        shared=False,
    )


def _gathered(why: Provenance) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The cumulative weight over training, to its last episode, at no more episodes than a picture can show."""
    gathered = np.cumsum(np.bincount(why.episodes, weights=why.weights, minlength=len(why.deletion.episodes)))
    at = np.unique(np.linspace(0, len(gathered) - 1, min(MAX_POINTS, len(gathered))).astype(int))
    return tuple(float(x) for x in at), tuple(float(y) for y in gathered[at])


@question(
    "provenance",
    "which experience the value comes from",
    answer=Provenance,
    layout=layout,
    needs=["updates"],
    place=50,
)
def ask(run: Run, state: State, action: Action | None = None) -> Provenance:
    """Which experience a value comes from; by default, that of the best action."""
    at, chosen = run.resolve(state, action)
    value = float(run.values[at.index, chosen])
    return Provenance.of(run.audit, run.labels, at.index, chosen, value=value, own=run.origin.own_values)
