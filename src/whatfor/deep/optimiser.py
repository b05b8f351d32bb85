"""The paper's optimiser."""

from __future__ import annotations

from typing import Any

import torch


class ClippedAdam(torch.optim.Adam):
    """Adam on gradients clipped to ±1, number by number, as the paper has it.

    For the agent: ``DQN(..., policy_kwargs={"optimizer_class": ClippedAdam})``; for its beliefs:
    ``BeliefCallback(..., optimiser=ClippedAdam)``.
    """

    def __init__(self, params: Any, **settings: Any) -> None:
        super().__init__(params, **{"fused": True, **settings})

    def step(self, closure: Any = None) -> Any:
        """As Adam's, on clipped gradients."""
        for group in self.param_groups:
            torch.nn.utils.clip_grad_value_(group["params"], 1.0)
        return super().step(closure)
