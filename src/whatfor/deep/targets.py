"""The targets of beliefs along sequences, by the recursion that tables are learned with (``whatfor.kernels.recursion``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from whatfor.deep.belief import BeliefNetwork
from whatfor.deep.heads import HEADS, Targets, signed
from whatfor.deep.sequences import Sequences
from whatfor.kernels import recursion

#: The recursion as plain Python, for tensors: Numba compiles it for numbers.
target: Callable[..., Any] = getattr(recursion.target, "py_func", recursion.target)
#: The most numbers of targets in memory at once: of longer play, some episodes are learned from at a time.
MAX_NUMBERS = 2**26
#: The number of steps whose bootstraps are predicted at once.
CHUNK = 1_024


class LambdaTargets:
    """The targets of all steps: along the sequence while it follows the policy (λ = 1), bootstrapped where it does not (λ = 0).

    What is added up: a visit to the next pair and its rewards, discounted; the ending, without a discount.
    """

    def __init__(self, belief: BeliefNetwork, played: Sequences) -> None:
        self.belief, self.played, reader = belief, played, belief.reader
        partition, device = belief.partition, reader.device
        n_actions = partition.labels.n_actions
        self.cell, self.next_cell = reader.cells(played.observations), reader.cells(played.next_observations)
        self.actions, self.next_actions = reader.flat(played.actions), reader.flat(played.next_actions)
        self.pair = self.cell * n_actions + self.actions
        self.next_pair = self.next_cell * n_actions + self.next_actions
        self.rewards = signed(reader.flat(played.rewards.astype(np.float32)))  # (n, 2)
        self.goes_on = reader.flat(~played.ended).float()  # (n,)
        self.lambda_ = reader.flat(played.followed).float()  # (n,)
        self.ended_by = torch.zeros(len(played), len(partition.ending_names) + 1, device=device)
        for at in np.flatnonzero(played.ended).tolist():
            action, reward = int(played.actions[at]), float(played.rewards[at])
            self.ended_by[at, partition.ending_index(played.next_observations[at], action, reward)] = 1.0
        self.steps, self.maps, self.endings = self.pair[:0], torch.zeros(0), self.ended_by[:0]

    def __len__(self) -> int:
        return len(self.steps)

    def refresh(self, rng: np.random.Generator) -> None:
        """Compute the targets with the target network as it is now; of long play, of episodes drawn anew."""
        episodes = np.arange(len(self.played.lengths))
        most = max(1, MAX_NUMBERS // self.belief.partition.n_pairs)
        if len(self.played) > most:
            episodes = rng.permutation(episodes)
            episodes = episodes[: max(1, int(np.searchsorted(self.played.lengths[episodes].cumsum(), most)))]
        longest = episodes[np.argsort(-self.played.lengths[episodes], kind="stable")]
        last, lengths = self.played.first[longest + 1] - 1, self.played.lengths[longest]
        # Rows are ordered by the number of steps to the end of their episodes, so that each step of the recursion reads and writes neighbours.
        running = np.searchsorted(
            -lengths, -np.arange(1, int(lengths.max()) + 1), side="right"
        )  # episodes of at least so many steps
        rows = np.append(0, np.cumsum(running))
        steps = np.concatenate([last[:n] - back for back, n in enumerate(running.tolist())])
        self.steps = self.belief.reader.tensor(steps)
        self._bootstrap(steps)
        for back, n in enumerate(running.tolist()):
            here, after = slice(rows[back], rows[back] + n), slice(rows[max(back - 1, 0)], rows[max(back - 1, 0)] + n)
            self._step_back(here, after)

    def _bootstrap(self, steps: NDArray[np.int64]) -> None:
        """What the target network predicts after each step that does not follow the policy; other rows are not read."""
        belief, trainer, head = self.belief, self.belief.training, HEADS[self.belief.settings.head]
        n_pairs, device = belief.partition.n_pairs, belief.reader.device
        if len(self.maps) < len(steps):
            self.maps = torch.zeros(len(steps), n_pairs + 2, device=device)  # visits, then rewards above zero and below
            self.endings = torch.zeros(len(steps), self.ended_by.shape[1], device=device)
        nothing = torch.zeros(2, n_pairs, device=device)
        boot = np.flatnonzero(~(self.played.followed | self.played.ended)[steps])
        for some in np.array_split(boot, -(-len(boot) // CHUNK)) if len(boot) else []:
            at, here = self.steps[some], belief.reader.tensor(some)
            raw = belief.normalised(self.played.next_observations[steps[some]])
            with torch.no_grad():
                out = trainer.target(belief.reader.inputs(raw, self.next_cell[at]), self.next_actions[at])
                self.maps[here, :n_pairs] = head.maps(out, self.next_pair[at], nothing).visits
                self.maps[here, n_pairs:] = out.amounts[:, 1:3] + out.amounts[:, 3:]
                self.endings[here] = F.softmax(out.endings, dim=1)

    def _step_back(self, here: slice, after: slice) -> None:
        """The recursion for one step of each episode, whose next steps are done; for last steps, λ is 0 and nothing follows."""
        at, following = self.steps[here], self.steps[after]
        lambda_, goes_on = self.lambda_[at][:, None], self.goes_on[at][:, None]
        maps = self.maps[after].clone()
        maps.scatter_add_(1, self.pair[following][:, None], torch.ones_like(lambda_))
        maps[:, -2:] += self.rewards[following]
        self.maps[here] = target(0.0, self.belief.discount * goes_on, lambda_, self.maps[here], maps)
        self.endings[here] = target(self.ended_by[at], goes_on, lambda_, self.endings[here], self.endings[after])

    def batch(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor, Targets]:
        """Inputs, actions and targets of some of the steps at hand."""
        here = self.belief.reader.tensor(rows)
        at, maps = self.steps[here], self.maps[here]
        visits = maps[:, :-2]
        length = visits.sum(dim=1)
        targets = Targets(
            pair=self.pair[at],
            shares=visits / length.clamp(min=1e-9)[:, None],
            length=length,
            now=torch.zeros_like(length),
            next_pair=torch.zeros_like(at),
            amounts=torch.cat([maps[:, -2:], self.rewards[at]], dim=1),
            endings=self.endings[here],
        )
        raw = self.belief.normalised(self.played.observations[at.cpu().numpy()])
        return self.belief.reader.inputs(raw, self.cell[at]), self.actions[at], targets
