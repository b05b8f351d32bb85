"""BeliefSettings: the belief network and how it is trained, the same for every way to train one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whatfor.deep.document import MAX_INT, HeadName, LossName, Reads
from whatfor.deep.heads import HEADS
from whatfor.deep.network import Sizes

if TYPE_CHECKING:
    import torch

#: The learning rate that training starts with.
START_RATE = 1e-3
#: A decaying learning rate stays above this share of its start.
MIN_RATE_SHARE = 0.05


def decaying_rate(remaining: float) -> float:
    """The default learning rate: 1e-3, decaying linearly to a twentieth of it; ``remaining``: the progress left, from 1 to 0.

    >>> decaying_rate(0.5)
    0.0005
    """
    return START_RATE * max(remaining, MIN_RATE_SHARE)


@dataclass(frozen=True)
class BeliefSettings:
    """The belief network and how it is trained.

    ``head``: "faithful", or the paper's "regression". ``sizes``: of the layers; None: small ones alongside an agent, whose training they slow down, and larger ones afterwards. ``reads``: "observation", or "cell" (one-hot, as in the paper).
    ``loss`` of earnings: "huber", as DQN's own, so that sums have the bias of Q where the environment is random; "squared", which learns
    means; None: "huber" alongside an agent, "squared" in ``learn_after``.
    ``learning_rate``: a number, or a function of the remaining progress, from 1 to 0. ``optimiser``: Adam with clipped gradients by default.
    ``device``: the agent's by default; the CPU in a custom training loop.

    For ``BeliefCallback``: ``batches_per_update``, how many of the agent's batches make one update. All are used, and fewer and larger
    updates cost less. The default is as many as make 512 steps, at most four.

    >>> settings = BeliefSettings(head="regression", sizes=Sizes(joint=(64,)))
    >>> settings.loss_or("huber"), settings.initial_rate
    ('huber', 0.001)
    """

    head: HeadName = "faithful"
    sizes: Sizes | None = None
    reads: Reads = "observation"
    loss: LossName | None = None
    learning_rate: float | Callable[[float], float] = decaying_rate
    optimiser: type[torch.optim.Optimizer] | None = None
    device: torch.device | str | None = None
    seed: int = 0
    batches_per_update: int | None = None

    def __post_init__(self) -> None:
        if self.head not in HEADS:
            raise ValueError(f"head={self.head!r}; choose one of {', '.join(HEADS)}")
        if self.reads not in ("observation", "cell"):
            raise ValueError(f"reads={self.reads!r}; a belief network reads the 'observation' or its 'cell'")
        if self.loss not in (None, "huber", "squared"):
            raise ValueError(f"loss={self.loss!r}; choose the loss that Q is trained with, 'huber' or 'squared'")
        if self.head == "regression" and self.loss == "squared":
            raise ValueError("the paper's regression head is trained with the Huber loss: leave out loss=")
        if not -MAX_INT <= operator.index(self.seed) <= MAX_INT:
            raise ValueError(f"seed is {self.seed}; it must be an integer of at most 64 bits")
        if self.batches_per_update is not None and self.batches_per_update < 1:
            raise ValueError(f"batches_per_update is {self.batches_per_update}; it must be at least 1")
        if not callable(self.learning_rate) and not self.learning_rate > 0.0:
            raise ValueError(f"learning_rate is {self.learning_rate}; it must be positive")

    def loss_or(self, default: LossName) -> LossName:
        """The loss, or the default of the head and of the way it is trained."""
        return self.loss or ("huber" if self.head == "regression" else default)

    @property
    def initial_rate(self) -> float:
        """The learning rate at the start of training."""
        return self.learning_rate(1.0) if callable(self.learning_rate) else self.learning_rate
