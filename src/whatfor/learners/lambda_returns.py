"""Learning from whole episodes: λ-returns, with Monte Carlo as a special case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from whatfor.kernels.compiler import inlined
from whatfor.kernels.recursion import NO_BOOTSTRAP, NOT_ENDED
from whatfor.learners.rule import EXPERIENCES, LAMBDA_RETURNS, STORED, Log, Memory, Rule, apply, greedy_cell
from whatfor.learners.tabular import Tabular


@inlined
def learn_episode(rule: Rule, memory: Memory, log: Log) -> None:
    """Learn from the stored episode, from its end to its start; each target uses the one before."""
    steps = memory.counters[STORED]
    newest = memory.counters[EXPERIENCES]
    aim = 0.0
    for i in range(steps - 1, -1, -1):
        lambda_ = rule.lambda_
        source = memory.ending[i]
        if source == NOT_ENDED:
            if i == steps - 1:  # truncated: there is no earlier target
                lambda_ = 0.0
            source = NO_BOOTSTRAP
            if lambda_ < 1.0:
                source = greedy_cell(rule, memory, memory.next_state[i], 0, 0)
        aim = apply(rule, memory, log, memory.pair[i], source, memory.reward[i], lambda_, aim, newest - (steps - 1 - i))
    memory.counters[STORED] = 0


@dataclass(frozen=True, kw_only=True)
class LambdaReturns(Tabular):
    """λ-returns with a greedy bootstrap, learned at the end of each episode.

    Updates run from the end of the episode to its start and bootstrap from values that later steps have already
    changed, so with repeated visits this is not the textbook return. λ is not cut at exploratory actions: this is
    Peng's variant. At a truncation with ``time_limit="bootstrap"``, the last target bootstraps from the greedy action
    of the last state.

    >>> LambdaReturns(lambda_=0.9).lambda_
    0.9
    """

    lambda_: float = 0.9

    method = LAMBDA_RETURNS
    order: ClassVar[str] = "backwards"
