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
        """What the outputs say; ``rewards``: (2, K) what every pair has brought above and below zero so far, on average."""

    def losses(self, out: Expected, step: Step, later: Expected, loss: str) -> dict[str, Tensor]:
        """How far the outputs are from one step and what the target network expects to follow it; ``loss``: of amounts."""


class Faithful:
    """Amounts times distributions: visits to come are an expected length times a softmax over pairs.

    The step itself is known and is not learned. The distribution is taught by cross-entropy, the length by its squared error relative to
    its size. What is to be earned and to be paid are amounts of their own, spread over the expected visits by what each pair brings:
    they cannot rescale visits. They are taught by the loss that Q is taught by, so that they lean as it does: Huber's leans to medians where
    the world is random.
    """

    def maps(self, out: Expected, pair: Tensor, rewards: Tensor) -> Maps:
        """What the outputs say."""
        shares = F.softmax(out.visits, dim=1)
        maps = [out.amounts[:, :1] * shares]
        for amount, brought in zip(out.amounts[:, 1:3].unbind(1), rewards, strict=True):
            spread = shares * brought
            total = spread.sum(dim=1, keepdim=True)
            spread = torch.where(total > 0.0, spread / total.clamp(min=1e-30), shares)  # nobody has been paid so yet
            maps.append(amount[:, None] * spread)
        now = _now(out).unbind(1)
        return Maps(*(map_.scatter_add_(1, pair[:, None], at[:, None]) for map_, at in zip(maps, now, strict=True)))

    def losses(self, out: Expected, step: Step, later: Expected, loss: str) -> dict[str, Tensor]:
        """Cross-entropy of the distribution, and the loss of amounts."""
        shares, onward = F.softmax(later.visits, dim=1), step.onward[:, None]
        amounts, now = onward * later.amounts[:, :3], onward * _now(later)
        visits = _Spread.apply(out.visits, shares, amounts[:, 0], now[:, 0], step.next_pair)  # type: ignore[no-untyped-call]
        brought = torch.stack([step.reward.clamp(min=0.0), -step.reward.clamp(max=0.0)], dim=1)
        taught = torch.cat([amounts + now, brought], dim=1)
        means = 1 if loss == "huber" else taught.shape[1]  # lengths are means whatever Q is taught by
        apart = (out.amounts[:, :means] - taught[:, :means]).square().mean(dim=0)
        amounts = (apart / (1.0 + taught[:, :means].mean(dim=0))).sum()
        if loss == "huber":
            amounts = amounts + F.smooth_l1_loss(out.amounts[:, 1:], taught[:, 1:], reduction="sum") / len(taught)
        return {"visits": visits, "amounts": amounts}


class Regression:
    """The paper's head: plain outputs, one for each pair, taught by Huber's loss; the step itself is learned too.

    Earnings are its visits times the mean reward of each pair. Outputs below zero are no visits and count as none.
    """

    def maps(self, out: Expected, pair: Tensor, rewards: Tensor) -> Maps:
        """What the outputs say."""
        visits = out.visits.clamp(min=0.0)
        return Maps(visits, visits * rewards[0], visits * rewards[1])

    def losses(self, out: Expected, step: Step, later: Expected, loss: str) -> dict[str, Tensor]:
        """Huber's loss, summed over outputs: their mean would starve it."""
        target = step.onward[:, None] * later.visits
        target.scatter_add_(1, step.pair[:, None], torch.ones_like(step.reward)[:, None])
        return {"visits": F.smooth_l1_loss(out.visits, target, reduction="sum") / len(target)}


#: Heads by name.
HEADS: dict[str, Head] = {"faithful": Faithful(), "regression": Regression()}


def _now(out: Expected) -> Tensor:
    """(B, 3) What the step itself adds to the three maps."""
    return torch.cat([torch.ones_like(out.amounts[:, :1]), out.amounts[:, 3:]], dim=1)


class _Spread(torch.autograd.Function):
    """Cross-entropy of a distribution towards what is to be spread: an ``amount`` over ``shares``, and ``now`` at a pair.

    Rows count by what they hold: only then is the mean of several futures learned where the world is random. The gradient
    is known as soon as the loss is, and costs a fraction of what its parts would cost one by one.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, *taught: Tensor) -> Tensor:
        shares, amount, now, pair = taught  # (B, K), (B,), (B,), (B,)
        at, total = pair[:, None], (amount + now).sum().clamp(min=1e-6)
        amount, now = amount / total, now / total
        logs = F.log_softmax(logits, dim=1)
        loss = -(amount * (shares * logs).sum(dim=1) + now * logs.gather(1, at)[:, 0]).sum()
        slope = logs.exp_().mul_((amount + now)[:, None])
        slope.addcmul_(shares, amount[:, None], value=-1.0).scatter_add_(1, at, -now[:, None])
        ctx.save_for_backward(slope)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (slope,) = ctx.saved_tensors
        return slope * grads[0], None, None, None, None
