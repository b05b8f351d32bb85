"""Q-learning: bootstrap from the greedy action."""

from __future__ import annotations

from dataclasses import dataclass

from whatfor.kernels.compiler import inlined
from whatfor.learners.rule import Q_LEARNING, Memory, Rule, greedy_cell
from whatfor.learners.tabular import Tabular


@inlined
def q_learning_source(rule: Rule, memory: Memory, next_state: int) -> int:
    """The cell to bootstrap from: the greedy action."""
    return greedy_cell(rule, memory, next_state, 0, 0)


@dataclass(frozen=True, kw_only=True)
class QLearning(Tabular):
    """Watkins' Q-learning.

    At a truncation, the target bootstraps from the last state as at any other step (``time_limit="bootstrap"``), or
    treats it as terminal (``time_limit="terminal"``).

    >>> QLearning(step_size=0.4, discount=0.9).discount
    0.9
    """

    method = Q_LEARNING
    supports_replay = True
