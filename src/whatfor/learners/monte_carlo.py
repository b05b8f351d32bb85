"""Monte Carlo control: the return itself is the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from whatfor.learners.rule import LAMBDA_RETURNS
from whatfor.learners.tabular import Tabular


@dataclass(frozen=True, kw_only=True)
class MonteCarlo(Tabular):
    """Every-visit Monte Carlo control: ``LambdaReturns`` with λ = 1.

    The episode is walked from its end to its start; with several visits to a cell this differs a
    little from walking forwards. At a truncation that is bootstrapped through, the return is
    completed by the greedy value of the state reached.

    >>> MonteCarlo(discount=1.0).lambda_
    1.0
    """

    method = LAMBDA_RETURNS
    lambda_: ClassVar[float] = 1.0
    order: ClassVar[str] = "backwards"
