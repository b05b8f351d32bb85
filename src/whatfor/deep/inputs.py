"""Observations as a network reads them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor

from whatfor.deep.cells import Partition
from whatfor.deep.document import Reads

#: (B, ...) observations as the environment returns them -> (B, A) the agent's own Q-values.
QValues = Callable[[NDArray[Any]], NDArray[Any]]


def flat_size(space: spaces.Space[Any]) -> int:
    """The number of inputs that ``encode`` makes of an observation."""
    return int(spaces.flatdim(space))


def reads_numbers(space: spaces.Space[Any], reads: Reads) -> bool:
    """Whether the network reads plain numbers, which are scaled; images and one-hot codes are not.

    >>> reads_numbers(spaces.Box(-1, 1, (4,)), "observation"), reads_numbers(spaces.Discrete(4), "observation")
    (True, False)
    """
    return reads == "observation" and isinstance(space, spaces.Box) and space.dtype != np.uint8


def one_hot(numbers: Tensor, n: int) -> Tensor:
    """(B, n) One-hot codes of numbers (B,); PyTorch's own function checks every number first and returns integers.

    >>> one_hot(torch.tensor([1]), 3).tolist()
    [[0.0, 1.0, 0.0]]
    """
    return torch.zeros(len(numbers), n, device=numbers.device).scatter_(1, numbers[:, None], 1.0)


def encode(observations: Tensor, space: spaces.Space[Any]) -> Tensor:
    """Countable observations one-hot, bytes scaled to 0 to 1, all others unchanged.

    >>> encode(torch.tensor([[1, 0]]), spaces.MultiDiscrete([2, 3])).tolist()
    [[0.0, 1.0, 1.0, 0.0, 0.0]]
    """
    if isinstance(space, spaces.Discrete):
        return one_hot(observations.long().reshape(-1) - int(space.start), int(space.n))
    if isinstance(space, spaces.MultiDiscrete):
        numbers = observations.long().reshape(len(observations), -1) - torch.as_tensor(space.start.ravel()).to(
            observations.device
        )
        parts = [one_hot(numbers[:, i], int(n)) for i, n in enumerate(space.nvec.ravel())]
        return torch.cat(parts, dim=1)
    if space.dtype == np.uint8:  # also where normalised numbers replace the bytes
        return observations.float() / 255.0
    return observations.float()


class InputReader:
    """Turns observations into cells and into inputs of the network."""

    def __init__(self, partition: Partition, reads: Reads, device: torch.device) -> None:
        self.partition, self.reads, self.device = partition, reads, device
        strides, centres = partition.strides, partition.centres
        self._strides = None if strides is None else [torch.as_tensor(part, device=device) for part in strides]
        self._centres = None if centres is None else [torch.as_tensor(part, device=device) for part in centres]
        edges = partition.labels.inner_edges if partition.kind == "bins" else ()
        self._edges = [torch.as_tensor(part, dtype=torch.float64, device=device) for part in edges]

    @property
    def n_inputs(self) -> int:
        """The number of inputs of the network."""
        return self.partition.labels.n_states if self.reads == "cell" else flat_size(self.partition.space)

    def inputs(self, observations: Any, cell: Tensor) -> Tensor:
        """(B, ...) What the network reads of observations in these cells."""
        if self.reads == "cell":
            return one_hot(cell, self.partition.labels.n_states)
        return encode(self.tensor(observations), self.partition.space)

    def cells(self, observations: Any) -> Tensor:
        """(B,) The cells of observations, as the environment returns them."""
        if self._strides is not None and isinstance(observations, Tensor):  # avoids a copy from the GPU to NumPy
            start, step = self._strides
            numbers = observations.reshape(len(observations), -1).long() - start
            return (numbers * step).sum(dim=1)
        if self._centres is not None and isinstance(observations, Tensor) and observations.is_cuda:
            return nearest(observations, *self._centres)
        if self._edges and isinstance(observations, Tensor):
            return self._bins(self.reshape(observations, len(observations)).flatten(1).double())
        arrays = self.reshape(as_numpy(observations), len(observations))
        return torch.as_tensor(self.partition.index(arrays), device=self.device)

    def _bins(self, numbers: Tensor) -> Tensor:
        """(B,) The cells of numbers (B, D), as ``Labels.indices`` finds them."""
        cell = torch.zeros(len(numbers), dtype=torch.long, device=self.device)
        for column, edges in zip(numbers.unbind(1), self._edges, strict=True):
            cell = cell * (len(edges) + 1) + torch.bucketize(column.contiguous(), edges, right=True)
        return cell

    def reshape(self, observations: Any, count: int) -> Any:
        """Observations in the environment's shape; a replay buffer stores an integer as a row of one."""
        shape = (count, *(self.partition.space.shape or ()))
        if observations.shape != shape and math.prod(observations.shape) == math.prod(shape):
            observations = observations.reshape(shape)
        if observations.shape != shape:
            raise ValueError(
                f"observations have the shape {tuple(observations.shape)}; {count} steps in {self.partition.space} have {shape}"
            )
        return observations

    def tensor(self, numbers: Any) -> Tensor:
        """Numbers as a tensor on the network's device."""
        return torch.as_tensor(numbers, device=self.device)

    def flat(self, numbers: Any) -> Tensor:
        """The same, as one row."""
        return self.tensor(numbers).reshape(-1)


def nearest(observations: Tensor, scaled: Tensor, spread: Tensor) -> Tensor:
    """(B,) The nearest of some centres to observations on a GPU; ``scaled``: centres divided by the spread.

    >>> nearest(torch.tensor([[0.9], [0.2]]), torch.tensor([[0.0], [1.0]]).double(), torch.ones(1).double()).tolist()
    [1, 0]
    """
    rows = observations.reshape(len(observations), -1).double() / spread
    return torch.cdist(rows, scaled, compute_mode="donot_use_mm_for_euclid_dist").argmin(dim=1)


def as_numpy(numbers: Any) -> NDArray[Any]:
    """Numbers as an array, from any device."""
    return numbers.detach().cpu().numpy() if isinstance(numbers, Tensor) else np.asarray(numbers)


def concatenate(parts: list[Any]) -> Any:
    """Batches of tensors or arrays as one.

    >>> concatenate([np.zeros(2), np.ones(1)]).tolist()
    [0.0, 0.0, 1.0]
    """
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts) if isinstance(parts[0], Tensor) else np.concatenate(parts)
