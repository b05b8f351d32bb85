"""Returns of whole episodes: lambda-returns, and Monte Carlo as their limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from whatfor.kernels.compiler import inlined
from whatfor.kernels.recursion import NOT_ENDED, NO_BOOTSTRAP
from whatfor.learners.rule import EXPERIENCES, LAMBDA_RETURNS, STORED, Log, Memory, Rule, apply, greedy_cell
from whatfor.learners.tabular import Tabular


@inlined
def learn_episode(rule: Rule, memory: Memory, log: Log) -> None:
    """Walk the stored episode from its end to its start; each target is built on the one before."""
    steps = memory.counters[STORED]
    newest = memory.counters[EXPERIENCES]
    aim = 0.0
    for i in range(steps - 1, -1, -1):
        lambda_ = rule.lambda_
        source = memory.ending[i]
        if source == NOT_ENDED:
            if i == steps - 1:  # cut by a time limit: there is no target yet to build on
                lambda_ = 0.0
            source = NO_BOOTSTRAP
            if lambda_ < 1.0:
                source = greedy_cell(rule, memory, memory.next_state[i], 0, 0)
        aim = apply(rule, memory, log, memory.pair[i], source, memory.reward[i], lambda_, aim, newest - (steps - 1 - i))
    memory.counters[STORED] = 0


@dataclass(frozen=True, kw_only=True)
class LambdaReturns(Tabular):
    """Lambda-returns with a greedy bootstrap, learned at the end of each episode.

    The episode is walked from its end to its start, and cells that later steps have changed are
    read as they are by then, so with repeated visits this is not the textbook return; without
    a cut at exploratory actions it is Peng's variant. At a truncation that is bootstrapped
    through, the last step's target is built on the greedy action of the state reached.

    >>> LambdaReturns(lambda_=0.9).lambda_
    0.9
    """

    lambda_: float = 0.9

    method = LAMBDA_RETURNS
    order: ClassVar[str] = "backwards"
