"""How a network's outputs are read, and what they are taught: the faithful head, and the paper's."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

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
    next_pair: Tensor  # (B,) the cell and action that came next


class Head(Protocol):
    """A way to read a network's outputs, and to teach them."""

    def maps(self, out: Expected, pair: Tensor, rewards: Tensor) -> Maps:
        """What the outputs say; ``rewards``: (K,) the mean reward of every pair so far."""

    def losses(self, out: Expected, step: Step, later: Expected) -> dict[str, Tensor]:
        """How far the outputs are from one step and what the target network expects to follow it."""


class Faithful:
    """Amounts times distributions: visits to come are an expected length times a softmax over pairs.

    The step itself is known and is not learned. Distributions are taught by cross-entropy, amounts by Huber's
    loss. Earnings are amounts of their own, spread over the same pairs by a rate each: they cannot rescale visits.
    """

    def maps(self, out: Expected, pair: Tensor, rewards: Tensor) -> Maps:
        """What the outputs say."""
        shares = F.softmax(_logits(out.visits, out.rates), dim=2)
        spread = shares * out.amounts[:, :3, None]
        return Maps(*spread.scatter_add_(2, _everywhere(pair), _now(out)[:, :, None]).unbind(1))

    def losses(self, out: Expected, step: Step, later: Expected) -> dict[str, Tensor]:
        """Cross-entropy of distributions, and Huber's loss of amounts."""
        shares = F.softmax(_logits(later.visits, later.rates), dim=2)
        onward = step.onward[:, None]
        amounts, now = onward * later.amounts[:, :3], onward * _now(later)
        visits, rates = _Spread.apply(  # type: ignore[no-untyped-call]
            out.visits, out.rates, shares, amounts, now, step.next_pair
        )
        taught = torch.cat([amounts + now, step.reward[:, None]], dim=1)
        said = F.smooth_l1_loss(out.amounts, taught, reduction="sum") / len(taught)
        return {"visits": visits, "rates": rates, "amounts": said}


class Regression:
    """The paper's head: plain outputs, one for each pair, taught by Huber's loss; the step itself is learned too.

    Earnings are its visits times the mean reward of each pair. Outputs below zero are no visits and count as none.
    """

    def maps(self, out: Expected, pair: Tensor, rewards: Tensor) -> Maps:
        """What the outputs say."""
        earnings = out.visits * rewards
        return Maps(out.visits, earnings.clamp(min=0.0), (-earnings).clamp(min=0.0))

    def losses(self, out: Expected, step: Step, later: Expected) -> dict[str, Tensor]:
        """Huber's loss, summed over outputs: their mean would starve it."""
        target = step.onward[:, None] * later.visits
        target.scatter_add_(1, step.pair[:, None], torch.ones_like(step.reward)[:, None])
        return {"visits": F.smooth_l1_loss(out.visits, target, reduction="sum") / len(target)}


#: Heads by name.
HEADS: dict[str, Head] = {"faithful": Faithful(), "regression": Regression()}


def _logits(visits: Tensor, rates: Tensor) -> Tensor:
    """(B, 3, K) Of where visits, earned and paid rewards are."""
    return visits[:, None] + torch.cat([torch.zeros_like(rates[:1]), rates])


def _now(out: Expected) -> Tensor:
    """(B, 3) What the step itself adds to the three maps."""
    now = out.amounts[:, 3]
    return torch.stack([torch.ones_like(now), now.clamp(min=0.0), -now.clamp(max=0.0)], dim=1)


def _everywhere(pair: Tensor) -> Tensor:
    """(B, 3, 1) The same pair in the three maps."""
    return pair[:, None, None].expand(-1, 3, -1)


class _Spread(torch.autograd.Function):
    """Cross-entropies of three distributions towards what is to be spread: ``amounts`` over ``shares``, and ``now`` at a pair.

    Rows that hold next to nothing teach next to nothing. Rates learn where earnings are; they do not move visits. The
    gradient is known as soon as the loss is, and costs a fraction of what its parts would cost one by one.
    """

    @staticmethod
    def forward(ctx: Any, visits: Tensor, rates: Tensor, *taught: Tensor) -> tuple[Tensor, Tensor]:
        shares, amounts, now, pair = taught  # (B, 3, K), (B, 3), (B, 3), (B,)
        total, at = amounts + now, _everywhere(pair)
        weight = total.clamp(max=1.0) / (total.clamp(min=1e-6) * len(pair))
        amounts, now = weight * amounts, weight * now
        logs = F.log_softmax(_logits(visits, rates), dim=2)
        losses = -(amounts * (shares * logs).sum(dim=2) + now * logs.gather(2, at)[:, :, 0]).sum(dim=0)
        slope = logs.exp_().mul_((amounts + now)[:, :, None])
        slope.addcmul_(shares, amounts[:, :, None], value=-1.0).scatter_add_(2, at, -now[:, :, None])
        ctx.save_for_backward(slope[:, 0], slope[:, 1:].sum(dim=0))
        return losses[0], losses[1:].sum()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        visits, rates = ctx.saved_tensors
        return visits * grads[0], rates * grads[1], None, None, None, None
