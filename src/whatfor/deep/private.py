"""The private names and ways of dependencies that belief networks use. ``tests/deep/test_private_names.py`` checks each against the installed version."""

from __future__ import annotations

import copy
import ctypes
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    from stable_baselines3.common.buffers import ReplayBuffer
    from stable_baselines3.dqn import DQN


def gradient_norm(gradients: list[Tensor]) -> Tensor:
    """The norm of all gradients; the public ``get_total_norm`` takes 1.5 times as long.

    >>> gradient_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    norm: Tensor = torch.stack(torch._foreach_norm(gradients)).norm()
    return norm


def scale_gradients(gradients: list[Tensor], factor: Tensor) -> None:
    """Multiply all gradients by a number, in place."""
    torch._foreach_mul_(gradients, factor)


def vector_steps(model: DQN) -> int:
    """The number of steps of a DQN's vector of environments, by which it syncs its target network."""
    return model._n_calls


def progress_remaining(model: DQN) -> float:
    """The share of training that remains, from 1 to 0, by which Stable-Baselines3 sets learning rates."""
    return model._current_progress_remaining


#: The bytes of the state of a Mersenne Twister: 624 numbers and a place among them.
TWISTER_BYTES = 625 * 4


class CopiedNumbers:
    """NumPy's global random numbers, drawn without using them up; NumPy's own functions for its state take 50 times as long.

    >>> numbers = CopiedNumbers()
    >>> drawn = numbers.copied().randint(100, size=3)
    >>> bool((drawn == np.random.randint(100, size=3)).all())
    True
    """

    def __init__(self) -> None:
        self._twister = np.random.MT19937()
        self._numbers = np.random.RandomState(self._twister)

    def copied(self) -> np.random.RandomState:
        """A generator in the state of the global one."""
        current = np.random.mtrand.get_bit_generator()
        if type(current) is not np.random.MT19937:
            return np.random.RandomState(copy.deepcopy(current))
        ctypes.memmove(self._twister.ctypes.state_address, current.ctypes.state_address, TWISTER_BYTES)
        return self._numbers


def sampled_rows(
    buffer: ReplayBuffer, size: int, numbers: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(B,) The rows and the environments that ``buffer.sample(size)`` returns the steps of, where NumPy's random numbers are these."""
    if buffer.optimize_memory_usage and buffer.full:  # the newest row has no next observation
        rows = (numbers.randint(1, buffer.buffer_size, size=size) + buffer.pos) % buffer.buffer_size
    else:
        rows = numbers.randint(0, buffer.buffer_size if buffer.full else buffer.pos, size=size)
    return rows, numbers.randint(0, buffer.n_envs, size=size)
