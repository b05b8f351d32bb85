"""How a network's outputs are read, and what they are taught: the faithful head, and the paper's."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from whatfor.deep.network import Expected


class Maps(NamedTuple):
    """What is expected from a step on, the step itself included; K = cells x actions."""

    visits: Tensor  # (B, K)
    earned: Tensor  # (B, K) rewards above zero
    paid: Tensor  # (B, K) rewards below zero, as amounts

    @property
    def earnings(self) -> Tensor:
        """(B, K) What is expected to be earned at every pair."""
        return self.earned - self.paid


class Step(NamedTuple):
    """What is known of B steps when they are learned from."""

    pair: Tensor  # (B,) the step's own cell and action, as one number
    reward: Tensor  # (B,)
    onward: Tensor  # (B,) the discount; 0 where the episode ended


class Head(Protocol):
    """A way to read a network's outputs, and to teach them."""

    def maps(self, out: Expected, pair: Tensor, rates: Tensor, rewards: Tensor) -> Maps:
        """What the outputs say; ``rewards``: (K,) the mean reward of every pair so far."""

    def losses(self, out: Expected, step: Step, following: Maps, rates: Tensor) -> dict[str, Tensor]:
        """How far the outputs are from one step and what is expected to follow it."""


class Faithful:
    """Amounts times distributions: visits to come are an expected length times a softmax over pairs.

    The step itself is known and is not learned. Distributions are taught by cross-entropy, amounts by Huber's
    loss. Earnings are amounts of their own, spread over the same pairs by a rate each: they cannot rescale visits.
    """

    def maps(self, out: Expected, pair: Tensor, rates: Tensor, rewards: Tensor) -> Maps:
        """What the outputs say."""
        maps = (
            out.length[:, None] * F.softmax(out.visits, dim=1),
            out.earned[:, None] * F.softmax(out.visits + rates[0], dim=1),
            out.paid[:, None] * F.softmax(out.visits + rates[1], dim=1),
        )
        now = (torch.ones_like(out.now), out.now.clamp(min=0.0), (-out.now).clamp(min=0.0))
        return Maps(*(map_.scatter_add(1, pair[:, None], at[:, None]) for map_, at in zip(maps, now, strict=True)))

    def losses(self, out: Expected, step: Step, following: Maps, rates: Tensor) -> dict[str, Tensor]:
        """Cross-entropy of distributions, and Huber's loss of amounts."""
        visits, earned, paid = (step.onward[:, None] * map_ for map_ in following)
        known = out.visits.detach()  # rates learn where earnings are; they must not move visits
        amounts = torch.stack([visits.sum(1), earned.sum(1), paid.sum(1), step.reward], dim=1)
        said = torch.stack([out.length, out.earned, out.paid, out.now], dim=1)
        return {
            "visits": _cross_entropy(out.visits, visits),
            "rates": _cross_entropy(known + rates[0], earned) + _cross_entropy(known + rates[1], paid),
            "amounts": F.smooth_l1_loss(said, amounts, reduction="sum") / len(said),
        }


class Regression:
    """The paper's head: plain outputs, one for each pair, taught by Huber's loss; the step itself is learned too.

    Earnings are its visits times the mean reward of each pair. Outputs below zero are no visits and count as none.
    """

    def maps(self, out: Expected, pair: Tensor, rates: Tensor, rewards: Tensor) -> Maps:
        """What the outputs say."""
        earnings = out.visits * rewards
        return Maps(out.visits, earnings.clamp(min=0.0), (-earnings).clamp(min=0.0))

    def losses(self, out: Expected, step: Step, following: Maps, rates: Tensor) -> dict[str, Tensor]:
        """Huber's loss, summed over outputs: their mean would starve it."""
        target = step.onward[:, None] * following.visits
        target.scatter_add_(1, step.pair[:, None], torch.ones_like(step.reward)[:, None])
        return {"visits": F.smooth_l1_loss(out.visits, target, reduction="sum") / len(target)}


#: Heads by name.
HEADS: dict[str, Head] = {"faithful": Faithful(), "regression": Regression()}


def _cross_entropy(logits: Tensor, amounts: Tensor) -> Tensor:
    """Of a distribution towards amounts; rows that hold next to nothing teach next to nothing."""
    total = amounts.sum(dim=1)
    weight = total.clamp(max=1.0) / total.clamp(min=1e-6)
    return -(weight[:, None] * amounts * F.log_softmax(logits, dim=1)).sum() / len(logits)
