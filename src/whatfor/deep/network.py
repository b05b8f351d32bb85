"""The belief network: a body that reads a situation and an action, and its outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whatfor.deep.document import Activation
from whatfor.deep.inputs import one_hot

#: The chance of an unknown ending before anything is learned.
INITIAL_UNKNOWN = 0.98
#: Each scaled number x is also read as the sine and the cosine of x, 2 x, 4 x, 8 x and 16 x: where a policy switches its action, beliefs change within
#: a small part of the range of an observation. Observations of more numbers than ``MAX_WAVES`` are only scaled.
FREQUENCIES = (1.0, 2.0, 4.0, 8.0, 16.0)
MAX_WAVES = 64


@dataclass(frozen=True)
class Sizes:
    """Sizes of layers: of the situation alone, of the action alone, and of both joined.

    ``action=None``: the network reads the situation only, and has outputs for every action.

    >>> Sizes(joint=(64,))
    Sizes(state=(), action=(), joint=(64,))
    """

    state: Sequence[int] = ()
    action: Sequence[int] | None = ()
    joint: Sequence[int] = (256, 64)


#: The paper's belief networks. Both read a one-hot cell.
PAPER_CARTPOLE = Sizes(state=(512, 1024, 2048), action=None, joint=())
PAPER_TAXI = Sizes(state=(1024,), action=(128,), joint=(2048,))


class AgentCopy(NamedTuple):
    """A copy of the agent's own network: its architecture and its weights."""

    layers: Sequence[int]
    activation: Activation
    weights: dict[str, Tensor]


class Predictions(NamedTuple):
    """The outputs for B situations and actions; K = cells x actions."""

    visits: Tensor  # (B, K) logits of the faithful head; plain numbers of the regression head
    #: (B, 5) Steps to come; rewards to come above zero, and below; the step's own reward above zero, and below.
    amounts: Tensor
    endings: Tensor  # (B, E + 1) logits of all endings, and of an unknown one


class Scaled(nn.Module):
    """Numbers scaled by their mean and spread, and the sines and cosines of a few of their multiples.

    >>> features = Scaled(1)
    >>> features.fit(torch.tensor([[1.0], [3.0]]))
    >>> features(torch.tensor([[3.0]])).shape, float(features(torch.tensor([[3.0]]))[0, 0])
    (torch.Size([1, 11]), 1.0)
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("spread", torch.ones(size))
        self.waves = size <= MAX_WAVES
        self.width = size * (1 + 2 * len(FREQUENCIES) * self.waves)

    def fit(self, inputs: Tensor) -> None:
        """Take mean and spread from inputs (B, ...)."""
        flat = inputs.flatten(1)
        self.mean.copy_(flat.mean(dim=0))
        spread = flat.std(dim=0, correction=0)
        self.spread.copy_(torch.where(spread > 1e-6 * (1.0 + self.mean.abs()), spread, torch.ones_like(spread)))

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, width) The features of inputs (B, ...)."""
        numbers = (inputs.flatten(1) - self.mean) / self.spread
        if not self.waves:
            return numbers
        turns = torch.cat([numbers * frequency for frequency in FREQUENCIES], dim=1)
        return torch.cat([numbers, turns.sin(), turns.cos()], dim=1)


class Network(nn.Module):
    """A body and its outputs; ``scaled``: it reads numbers, not one-hot codes."""

    def __init__(
        self,
        n_inputs: int,
        n_actions: int,
        n_pairs: int,
        n_endings: int,
        sizes: Sizes,
        encoder: nn.Module | None = None,
        *,
        scaled: bool = False,
    ) -> None:
        super().__init__()
        self.features = Scaled(n_inputs) if scaled else encoder or nn.Identity()
        n_inputs = self.features.width if isinstance(self.features, Scaled) else n_inputs
        self.n_actions = n_actions
        self.reads_action = sizes.action is not None
        self.state, width = _layers(n_inputs, sizes.state)
        self.action, more = _layers(n_actions, sizes.action or ())
        self.joint, width = _layers(width + (more if self.reads_action else 0), sizes.joint)
        blocks = 1 if self.reads_action else n_actions
        self.visits, self.amounts, self.endings = (nn.Linear(width, n * blocks) for n in (n_pairs, 5, n_endings + 1))
        with torch.no_grad():
            bias = self.endings.bias.view(blocks, -1)
            bias.zero_()
            bias[:, -1] = math.log(n_endings * INITIAL_UNKNOWN / (1.0 - INITIAL_UNKNOWN))

    def forward(self, inputs: Tensor, actions: Tensor) -> Predictions:
        """The outputs for actions (B,) in situations (B, ...)."""
        hidden = self.state(self.features(inputs).flatten(1))
        if self.reads_action:
            hidden = torch.cat([hidden, self.action(one_hot(actions, self.n_actions))], dim=1)
        hidden = self.joint(hidden)
        visits, amounts, endings = (
            self._select(layer(hidden), actions) for layer in (self.visits, self.amounts, self.endings)
        )
        return Predictions(visits, F.softplus(amounts), endings)

    def _select(self, out: Tensor, actions: Tensor) -> Tensor:
        """The block of each row's own action."""
        if self.reads_action:
            return out
        blocks = out.view(len(out), self.n_actions, -1)
        return blocks[torch.arange(len(out), device=out.device), actions]


def _layers(width: int, sizes: Sequence[int]) -> tuple[nn.Module, int]:
    layers: list[nn.Module] = []
    for size in sizes:
        layers += [nn.Linear(width, size), nn.ReLU()]
        width = size
    return nn.Sequential(*layers), width
