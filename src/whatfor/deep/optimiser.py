"""The paper's optimiser."""

from __future__ import annotations

from typing import Any

import torch


class ClippedAdam(torch.optim.Adam):
    """Adam on gradients clipped to ±1, number by number, as the paper has it.

    For the agent: ``DQN(..., policy_kwargs={"optimizer_class": ClippedAdam})``; for its beliefs:
    ``BeliefCallback(..., optimiser=ClippedAdam)``.
    """

    def step(self, closure: Any = None) -> Any:
        """As Adam's, on clipped gradients."""
        grads = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        with torch.no_grad():
            torch._foreach_clamp_min_(grads, -1.0)
            torch._foreach_clamp_max_(grads, 1.0)
        return super().step(closure)
