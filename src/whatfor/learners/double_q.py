"""Double Q-learning: one table selects the best action, the other evaluates it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whatfor.kernels.compiler import inlined
from whatfor.learners.rule import ACTIVE_TABLE, DOUBLE_Q, Memory, Rule, draw, greedy_cell
from whatfor.learners.tabular import Tabular


@inlined
def draw_table(memory: Memory) -> None:
    """Draw which of the two tables learns."""
    memory.counters[ACTIVE_TABLE] = 1 if draw(memory) >= 0.5 else 0


@inlined
def double_q_source(rule: Rule, memory: Memory, next_state: int) -> int:
    """The cell to bootstrap from: the greedy action of the learning table, in the other table."""
    table = memory.counters[ACTIVE_TABLE]
    return greedy_cell(rule, memory, next_state, table, 1 - table)


@dataclass(frozen=True, kw_only=True)
class DoubleQLearning(Tabular):
    """Van Hasselt's double Q-learning.

    It acts on the sum of its two tables, and its value is their mean. ``draw``: which table learns is drawn once per
    "episode" (as in the paper) or at every "step"; under replay, at every update. Time limits are handled as in
    ``QLearning``.

    >>> DoubleQLearning(draw="step").draw
    'step'
    """

    draw: Literal["episode", "step"] = "episode"

    method = DOUBLE_Q
    n_tables = 2
    supports_replay = True
