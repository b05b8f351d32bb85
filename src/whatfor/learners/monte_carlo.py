"""Monte Carlo control: the target is the return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from whatfor.learners.rule import LAMBDA_RETURNS
from whatfor.learners.tabular import Tabular


@dataclass(frozen=True, kw_only=True)
class MonteCarlo(Tabular):
    """Every-visit Monte Carlo control: ``LambdaReturns`` with λ = 1.

    Updates run from the end of the episode to its start; if a state-action pair occurs several times, this differs a
    little from the forward order. At a truncation with ``time_limit="bootstrap"``, the return is completed with the
    greedy value of the last state.

    >>> MonteCarlo(discount=1.0).lambda_
    1.0
    """

    method = LAMBDA_RETURNS
    lambda_: ClassVar[float] = 1.0
    order: ClassVar[str] = "backwards"
    bootstraps_greedily: ClassVar[bool] = False  # but at a truncation
