"""How the network's outputs are interpreted and trained: the faithful head, and the paper's."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from whatfor.deep.network import Predictions


class Maps(NamedTuple):
    """What is expected from a step on, this step included; K = cells x actions."""

    visits: Tensor  # (B, K)
    earned: Tensor  # (B, K) rewards above zero
    paid: Tensor  # (B, K) rewards below zero, as amounts

    @property
    def earnings(self) -> Tensor:
        """(B, K) Expected earnings of every pair."""
        return self.earned - self.paid


class Step(NamedTuple):
    """B steps that the network is trained on."""

    pair: Tensor  # (B,) the step's own cell and action, as one number
    reward: Tensor  # (B,)
    onward: Tensor  # (B,) the discount; 0 where the episode terminated
    next_pair: Tensor  # (B,) the next cell and action


class Targets(NamedTuple):
    """What the outputs for B steps are to become. Visits to come are ``length`` times ``shares``, and ``now`` at the next pair."""

    pair: Tensor  # (B,) the step's own cell and action
    shares: Tensor  # (B, K) a distribution
    length: Tensor  # (B,)
    now: Tensor  # (B,) the weight of the next step
    next_pair: Tensor  # (B,)
    amounts: Tensor  # (B, 4) rewards to come above zero and below, then the step's own
    endings: Tensor  # (B, E + 1) chances of endings


class Head(Protocol):
    """A way to interpret the network's outputs, and to train them."""

    def maps(self, out: Predictions, pair: Tensor, rewards: Tensor) -> Maps:
        """The maps that the outputs represent; ``rewards``: (2, K) the mean reward of every pair, above zero and below."""

    def ahead(self, out: Predictions) -> tuple[Tensor, Tensor]:
        """(B, K) How the visits to come are distributed, and (B,) how many they are, from what the target network predicts."""

    def losses(self, out: Predictions, targets: Targets, loss: str) -> dict[str, Tensor]:
        """The losses of the outputs; ``loss``: of amounts."""


def one_step(head: Head, step: Step, later: Predictions, endings: Tensor) -> Targets:
    """The targets of one step and what the target network predicts after it."""
    shares, length = head.ahead(later)
    onward, now = step.onward[:, None], later.amounts[:, 3:]
    amounts = torch.cat([onward * (later.amounts[:, 1:3] + now), signed(step.reward)], dim=1)
    return Targets(step.pair, shares, step.onward * length, step.onward, step.next_pair, amounts, endings)


def signed(rewards: Tensor) -> Tensor:
    """(B, 2) Rewards above zero, and those below as amounts.

    >>> signed(torch.tensor([2.0, -3.0])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    return torch.stack([rewards.clamp(min=0.0), (-rewards).clamp(min=0.0)], dim=1)


class Faithful:
    """Amounts times distributions: visits to come are an expected length times a softmax over pairs.

    The step itself is known and is not learned. The distribution is trained by cross-entropy, the length by its squared error relative to
    its size. Rewards to come, above zero and below, are amounts of their own, distributed over the expected visits by the mean reward of
    each pair: they cannot rescale visits, and rewards of a sign that was never seen are not expected. They are trained with Q's own loss, so that they have the bias of Q: the Huber loss is biased
    towards medians where the environment is random.
    """

    def maps(self, out: Predictions, pair: Tensor, rewards: Tensor) -> Maps:
        """The maps that the outputs represent."""
        shares = F.softmax(out.visits, dim=1)
        maps = [out.amounts[:, :1] * shares]
        for amount, reward in zip(out.amounts[:, 1:3].unbind(1), rewards, strict=True):
            spread = shares * reward
            maps.append(amount[:, None] * spread / spread.sum(dim=1, keepdim=True).clamp(min=1e-30))
        seen = torch.cat([torch.ones_like(rewards[:1, 0]), (rewards > 0.0).any(dim=1).to(rewards.dtype)])
        now = (_now(out) * seen).unbind(1)
        return Maps(*(map_.scatter_add_(1, pair[:, None], at[:, None]) for map_, at in zip(maps, now, strict=True)))

    def ahead(self, out: Predictions) -> tuple[Tensor, Tensor]:
        """The softmax and the expected length."""
        return F.softmax(out.visits, dim=1), out.amounts[:, 0]

    def losses(self, out: Predictions, targets: Targets, loss: str) -> dict[str, Tensor]:
        """Cross-entropy of the distribution, and the loss of amounts."""
        visits = _SpreadLoss.apply(out.visits, targets.shares, targets.length, targets.now, targets.next_pair)  # type: ignore[no-untyped-call]
        amounts = torch.cat([(targets.length + targets.now)[:, None], targets.amounts], dim=1)
        means = 1 if loss == "huber" else amounts.shape[1]  # lengths are means, whatever the loss of Q
        errors = (out.amounts[:, :means] - amounts[:, :means]).square().mean(dim=0)
        off = (errors / (1.0 + amounts[:, :means].mean(dim=0))).sum()
        if loss == "huber":
            off = off + F.smooth_l1_loss(out.amounts[:, 1:], amounts[:, 1:], reduction="sum") / len(amounts)
        return {"visits": visits, "amounts": off}


class Regression:
    """The paper's head: plain outputs, one for each pair, trained with the Huber loss; the step itself is learned too.

    Earnings are visits times the mean reward of each pair. Outputs below zero count as zero visits.
    """

    def maps(self, out: Predictions, pair: Tensor, rewards: Tensor) -> Maps:
        """The maps that the outputs represent."""
        visits = out.visits.clamp(min=0.0)
        return Maps(visits, visits * rewards[0], visits * rewards[1])

    def ahead(self, out: Predictions) -> tuple[Tensor, Tensor]:
        """The outputs: the next step is among them, so that ``now`` is not added."""
        return out.visits, torch.ones_like(out.amounts[:, 0])

    def losses(self, out: Predictions, targets: Targets, loss: str) -> dict[str, Tensor]:
        """The Huber loss, summed over outputs: their mean would be too small a gradient."""
        target = targets.length[:, None] * targets.shares
        target.scatter_add_(1, targets.pair[:, None], torch.ones_like(targets.length)[:, None])
        return {"visits": F.smooth_l1_loss(out.visits, target, reduction="sum") / len(target)}


#: Heads by name.
HEADS: dict[str, Head] = {"faithful": Faithful(), "regression": Regression()}


def _now(out: Predictions) -> Tensor:
    """(B, 3) The step's own part of the three maps."""
    return torch.cat([torch.ones_like(out.amounts[:, :1]), out.amounts[:, 3:]], dim=1)


class _SpreadLoss(torch.autograd.Function):
    """Cross-entropy of a distribution against its target: an ``amount`` distributed as ``shares``, and ``now`` at one pair.

    Rows are weighted by their amounts: only then is the mean of several futures learned where the environment is random. The gradient
    is computed with the loss, at a fraction of what autograd would cost.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, *targets: Tensor) -> Tensor:
        shares, amount, now, pair = targets  # (B, K), (B,), (B,), (B,)
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
