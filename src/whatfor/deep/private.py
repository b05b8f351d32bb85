"""The private names of dependencies that belief networks use. ``tests/deep/test_private_names.py`` checks each against the installed version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
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
