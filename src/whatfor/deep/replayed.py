"""The batches that a DQN is trained on, found again in its replay buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.dqn import DQN

from whatfor.deep.agent import vec_normalize
from whatfor.deep.inputs import InputReader, as_numpy
from whatfor.deep.private import CopiedNumbers, sampled_rows


class Replayed(NamedTuple):
    """Steps of the replay buffer that the agent was trained on, as arrays of the CPU."""

    observations: NDArray[Any]  # (n, ...) as the agent reads them
    actions: NDArray[Any]
    rewards: NDArray[Any]
    next_observations: NDArray[Any]
    dones: NDArray[Any]
    next_actions: torch.Tensor  # (n,) the best ones by the agent's target network
    raw: tuple[NDArray[Any], NDArray[Any]]  # (n, ...) both observations as the environment returned them
    cells: tuple[NDArray[np.int64], NDArray[np.int64]]  # (n,) their cells


class _Batch(NamedTuple):
    """Where the steps of one batch are."""

    rows: NDArray[np.int64]
    envs: NDArray[np.int64]


class ReplayedBatches:
    """Draws the numbers of a DQN's batches before it draws them itself, and listens to its target network while it is trained.

    Cells are kept with the rows of the replay buffer: conditions that users write cost more than all else if every batch evaluates them.
    """

    def __init__(self, model: DQN, reader: InputReader) -> None:
        self.model, self.reader, self._numbers = model, reader, CopiedNumbers()
        self._drawn: list[_Batch] = []
        self._values: list[torch.Tensor] = []  # (B, A) what the target network says of each batch
        self._first: torch.Tensor | None = None  # what it was asked about first, until that is compared
        self._compared = False
        shape = (2, self.buffer.buffer_size, self.buffer.n_envs)
        self._cells = np.zeros(shape, np.int16)  # of both observations, plus one; 0: not known
        self._hook = model.q_net_target.register_forward_hook(self._listen)

    @property
    def buffer(self) -> ReplayBuffer:
        """The agent's replay buffer."""
        assert self.model.replay_buffer is not None
        return self.model.replay_buffer

    def close(self) -> None:
        """Listen no longer."""
        self._hook.remove()

    def forget(self, steps: int) -> None:
        """Forget the cells of the rows that the last steps were written to."""
        size = self.buffer.buffer_size
        self._cells[:, (self.buffer.pos - 1 - np.arange(min(steps, size))) % size] = 0

    def draw(self, batches: int) -> None:
        """Draw the numbers of the batches that the agent draws next."""
        numbers, size = self._numbers.copied(), self.model.batch_size
        self._drawn = [_Batch(*sampled_rows(self.buffer, size, numbers)) for _ in range(batches)]
        self._values, self._first = [], None

    def _listen(self, module: Any, inputs: tuple[torch.Tensor, ...], values: torch.Tensor) -> None:
        if len(self._values) < len(self._drawn):
            self._values.append(values.detach())
            if not self._compared and self._first is None:
                self._first = inputs[0]

    def take(self, most: int) -> Iterator[tuple[Replayed, int]]:
        """Those batches that the agent was trained on, up to ``most`` at once, and how many they are."""
        drawn, values = self._drawn[: len(self._values)], self._values
        self._drawn, self._values = [], []
        while drawn:
            part = self._replay(_Batch(*map(np.concatenate, zip(*drawn[:most], strict=True))), torch.cat(values[:most]))
            if self._first is not None:
                self._compare(part.next_observations)
            yield part, len(drawn[:most])
            drawn, values = drawn[most:], values[most:]

    def _replay(self, at: _Batch, values: torch.Tensor) -> Replayed:
        """The steps in these rows."""
        buffer, layer = self.buffer, vec_normalize(self.model)
        if buffer.optimize_memory_usage:
            raw = buffer.observations[at], buffer.observations[(at.rows + 1) % buffer.buffer_size, at.envs]
        else:
            raw = buffer.observations[at], buffer.next_observations[at]
        rewards, (observations, next_observations) = buffer.rewards[at], raw
        if layer is not None:
            observations, next_observations = (np.asarray(layer.normalize_obs(part)) for part in raw)
            rewards = np.asarray(layer.normalize_reward(rewards), np.float32)
        dones = buffer.dones[at] * (1 - buffer.timeouts[at])
        cells = self._cells_of(0, at, raw[0]), self._cells_of(1, at, raw[1])
        chosen = values.argmax(dim=1)
        return Replayed(observations, buffer.actions[at], rewards, next_observations, dones, chosen, raw, cells)

    def _cells_of(self, which: int, at: _Batch, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(n,) The cells of the first or of the second observations in these rows."""
        known = self._cells[which]
        cells: NDArray[np.int64] = known[at].astype(np.int64) - 1
        new = np.flatnonzero(cells < 0)
        if len(new):
            shaped = self.reader.reshape(observations[new], len(new))
            cells[new] = self.reader.partition.index(shaped)
            known[at.rows[new], at.envs[new]] = cells[new] + 1
        return cells

    def _compare(self, next_observations: NDArray[Any]) -> None:
        """Check once that the agent was asked about the batch that was drawn."""
        assert self._first is not None
        asked, self._first, self._compared = as_numpy(self._first), None, True
        ours = next_observations[: len(asked)].reshape(asked.shape)
        if not np.array_equal(asked, ours.astype(asked.dtype), equal_nan=True):
            raise RuntimeError(
                "the agent was trained on other batches than its replay buffer was asked for: this version of Stable-Baselines3 samples "
                "in another way, or another callback draws random numbers from NumPy"
            )


def joined(parts: list[Replayed]) -> Replayed:
    """Steps of several batches as one."""
    if len(parts) == 1:
        return parts[0]

    def both(pairs: list[tuple[NDArray[Any], NDArray[Any]]]) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.concatenate([first for first, _ in pairs]), np.concatenate([second for _, second in pairs])

    return Replayed(
        observations=np.concatenate([part.observations for part in parts]),
        actions=np.concatenate([part.actions for part in parts]),
        rewards=np.concatenate([part.rewards for part in parts]),
        next_observations=np.concatenate([part.next_observations for part in parts]),
        dones=np.concatenate([part.dones for part in parts]),
        next_actions=torch.cat([part.next_actions for part in parts]),
        raw=both([part.raw for part in parts]),
        cells=both([part.cells for part in parts]),
    )
