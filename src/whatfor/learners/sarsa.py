"""SARSA: bootstrap from the next action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from whatfor.kernels.compiler import inlined
from whatfor.learners.rule import SARSA, Rule
from whatfor.learners.tabular import Tabular


@inlined
def sarsa_source(rule: Rule, next_state: int, next_action: int) -> int:
    """The cell to bootstrap from: the next action."""
    return next_state * rule.n_actions + next_action


@dataclass(frozen=True, kw_only=True)
class Sarsa(Tabular):
    """On-policy SARSA.

    At a truncation with ``time_limit="bootstrap"``, it draws the action that would have come next.

    >>> Sarsa(exploration=0.1).exploration
    0.1
    """

    method = SARSA
    bootstraps_greedily: ClassVar[bool] = False
    no_replay_reason: ClassVar[str] = "is on-policy"
