"""Experience: what a belief network keeps of the batches it was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whatfor.deep.cells import Partition
from whatfor.deep.inputs import as_numpy

#: The updates between two collections of examples of cells: they cost a sorted batch.
EXAMPLE_INTERVAL = 10


class Experience:
    """How often each pair of a cell and an action was in a batch, its rewards, and an observation of each cell."""

    def __init__(self, partition: Partition, device: torch.device) -> None:
        self.partition = partition
        self._keeps_examples = partition.representative(0) is None
        self.updates = 0
        self.count = torch.zeros(partition.n_pairs, dtype=torch.float64, device=device)
        #: (2, K) The sums of rewards above zero, and of those below zero as amounts.
        self.rewards = torch.zeros(2, partition.n_pairs, dtype=torch.float64, device=device)
        self.examples: dict[int, NDArray[Any]] = {}

    def add(self, pair: Tensor, rewards: Tensor, cell: Any, observations: Any) -> None:
        """Add a batch; ``rewards``: (B, 2) those above zero, and below as amounts."""
        self.count.index_add_(0, pair, torch.ones_like(pair, dtype=torch.float64))
        self.rewards.index_add_(1, pair, rewards.double().T)
        if self._keeps_examples and self.updates % EXAMPLE_INTERVAL == 0:
            for at, i in zip(*(part.tolist() for part in np.unique(as_numpy(cell), return_index=True)), strict=True):
                if at not in self.examples:
                    self.examples[at] = as_numpy(observations[i]).copy()

    def mean_rewards(self) -> Tensor:
        """(2, K) The mean reward of each pair, above zero and below."""
        return self.rewards / self.count.clamp(min=1.0)

    def example(self, cell: int) -> Any:
        """An observation of a cell: its representative, or one from a batch; None: there is none."""
        observation = self.partition.representative(cell)
        return self.examples.get(cell) if observation is None else observation

    def copy(self) -> Experience:
        """A copy, which later batches do not change."""
        copied = Experience.__new__(Experience)
        copied.partition, copied.updates, copied._keeps_examples = self.partition, self.updates, self._keeps_examples
        copied.count, copied.rewards = self.count.clone(), self.rewards.clone()
        copied.examples = dict(self.examples)
        return copied
