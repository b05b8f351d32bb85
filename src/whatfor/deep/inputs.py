"""Observations as a network reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor


def flat_size(space: spaces.Space[Any]) -> int:
    """How many numbers ``read`` makes of an observation."""
    return int(spaces.flatdim(space))


def one_hot(numbers: Tensor, n: int) -> Tensor:
    """(B, n) Of numbers (B,); PyTorch's own looks at every number first, and makes integers of them.

    >>> one_hot(torch.tensor([1]), 3).tolist()
    [[0.0, 1.0, 0.0]]
    """
    return torch.zeros(len(numbers), n, device=numbers.device).scatter_(1, numbers[:, None], 1.0)


def read(observations: Tensor, space: spaces.Space[Any]) -> Tensor:
    """Countable observations one-hot, bytes scaled to 0 to 1, all else as it is.

    >>> read(torch.tensor([[1, 0]]), spaces.MultiDiscrete([2, 3])).tolist()
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
    if space.dtype == np.uint8:  # also where numbers between those of pixels stand for them
        return observations.float() / 255.0
    return observations.float()
