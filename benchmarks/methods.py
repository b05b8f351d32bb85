"""Related methods, each in a few lines of NumPy: what benchmarks/related.py compares whatfor with.

What learns alongside the agent reads the agent's own updates, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import whatfor as wf

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Steps that a temporal decomposition tells apart.
HORIZON = 20


@dataclass(frozen=True)
class Updates:
    """The updates of a Q-learning agent: a pair is state * actions + action; -1: the episode ended."""

    pair: Ints  # the pair that was updated
    greedy: Ints  # the pair that its target bootstrapped from
    reward: Floats
    step_size: float
    discount: float
    n_pairs: int

    @classmethod
    def of(cls, run: wf.Run) -> Updates:
        """Read a ledger."""
        lines, n_pairs = run.ledger.lines, run.values.size
        pair, greedy = lines.cell.astype(np.int64), np.maximum(lines.source, -1).astype(np.int64)
        return cls(pair, greedy, lines.reward, float(lines.step_size[0]), float(lines.discount[0]), n_pairs)

    def taken(self, n_actions: int) -> Ints:
        """The pair that the agent took next; after a time limit, the one that it would have taken."""
        following = np.append(self.pair[1:], -1)
        goes_on = (self.greedy >= 0) & (following // n_actions == self.greedy // n_actions)
        return np.where(goes_on, following, self.greedy)

    @cached_property
    def falling(self) -> Floats:
        """Step sizes of its own: 1 / n^0.8, n the visits of the pair so far."""
        counts, steps = np.zeros(self.n_pairs), np.empty(len(self.pair))
        for i, pair in enumerate(self.pair.tolist()):
            counts[pair] += 1.0
            steps[i] = counts[pair] ** -0.8
        return steps

    @cached_property
    def mean_rewards(self) -> Floats:
        """The mean reward of each pair."""
        counts = np.bincount(self.pair, minlength=self.n_pairs)
        return np.bincount(self.pair, weights=self.reward, minlength=self.n_pairs) / np.maximum(counts, 1)


def successor_representation(seen: Updates, following: Ints, step_sizes: Floats) -> Floats:
    """(pairs, pairs) Dayan (1993): expected discounted visits, learned by temporal differences."""
    visits = np.zeros((seen.n_pairs, seen.n_pairs))
    for pair, after, step in zip(seen.pair.tolist(), following.tolist(), step_sizes.tolist(), strict=True):
        target = seen.discount * visits[after] if after >= 0 else np.zeros(seen.n_pairs)
        target[pair] += 1.0
        visits[pair] += step * (target - visits[pair])
    return visits


def reward_decomposition(seen: Updates, parts: Floats) -> Floats:
    """(pairs, parts) Juozapaitis et al. (2019): one Q-table per part of the reward, all with the greedy action of their sum."""
    values = np.zeros((seen.n_pairs, parts.shape[1]))
    for pair, after, part in zip(seen.pair.tolist(), seen.greedy.tolist(), parts, strict=True):
        target = part + seen.discount * values[after] if after >= 0 else part
        values[pair] += seen.step_size * (target - values[pair])
    return values


def minimal_sufficient(differences: Floats) -> int:
    """The size of MSX+: the fewest advantages that outweigh all disadvantages (0: they never do)."""
    gains, against = np.sort(differences[differences > 0])[::-1], -differences[differences < 0].sum()
    return 1 + int(np.argmax(np.cumsum(gains) > against)) if gains.sum() > against else 0


def temporal_decomposition(seen: Updates, amounts: Floats, horizon: int = HORIZON) -> Floats:
    """(pairs, horizon + 1) Near Towers et al. (2024): what is expected in each of the next steps; last, all later ones."""
    steps = np.zeros((seen.n_pairs, horizon + 1))
    target = np.empty(horizon + 1)
    for pair, after, amount in zip(seen.pair.tolist(), seen.greedy.tolist(), amounts.tolist(), strict=True):
        target[:] = 0.0
        if after >= 0:
            target[1:] = seen.discount * steps[after, :-1]
            target[-1] += seen.discount * steps[after, -1]
        target[0] = amount
        steps[pair] += seen.step_size * (target - steps[pair])
    return steps


def rollout(
    exact: wf.ExactBeliefs, pair: int, dice: np.random.Generator, max_steps: int = 1_000
) -> tuple[Floats, float]:
    """(pairs,) One simulated episode of the policy (as van der Waa et al., 2018, simulate one): its visits and its return."""
    table, n_actions, cumulative = exact.table, exact.policy.shape[1], exact.policy.cumsum(axis=1)
    visits, total, weight = np.zeros(exact.policy.size), 0.0, 1.0
    for _ in range(max_steps):
        visits[pair] += weight
        first, last = table.first[pair], table.first[pair + 1]
        entry = min(first + np.searchsorted(table.chance[first:last], dice.random(), side="right"), last - 1)
        total += weight * table.reward[entry]
        if table.ending[entry] != 0:
            break
        state, weight = int(table.next_state[entry]), weight * exact.discount
        pair = state * n_actions + min(
            int(np.searchsorted(cumulative[state], dice.random(), side="right")), n_actions - 1
        )
    return visits, total


def saliency(run: wf.Run, state: int, action: int) -> dict[str, float]:
    """As Greydanus et al. (2018), for tables: half the mean squared change of Q when one feature of the state is changed."""
    features, scores = np.array(run.labels.values(state)), {}
    for at, axis in enumerate(run.labels.axes):
        changed = np.repeat(features[None], axis.size, axis=0)
        changed[:, at] = np.arange(axis.size)
        others = np.delete(np.ravel_multi_index(changed.T, run.labels.shape), features[at])
        scores[axis.name] = float(np.mean((run.values[others, action] - run.values[state, action]) ** 2) / 2)
    return scores
