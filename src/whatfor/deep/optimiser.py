"""The paper's optimiser."""

from __future__ import annotations

from typing import Any

import torch


class ClippedAdam(torch.optim.Adam):
    """Adam with every gradient clipped to ±1, as in the paper.

    For the agent: ``DQN(..., policy_kwargs={"optimizer_class": ClippedAdam})``; for its beliefs:
    ``BeliefSettings(optimiser=ClippedAdam)``.

    >>> ClippedAdam([torch.zeros(2, requires_grad=True)], lr=1e-3).param_groups[0]["lr"]
    0.001
    """

    def __init__(self, params: Any, **settings: Any) -> None:
        super().__init__(params, **{"fused": True, **settings})

    def step(self, closure: Any = None) -> Any:
        """A step of Adam with clipped gradients."""
        for group in self.param_groups:
            torch.nn.utils.clip_grad_value_(group["params"], 1.0)
        return super().step(closure)
