"""SARSA: bootstrap from the action that is taken next."""

from __future__ import annotations

from dataclasses import dataclass

from whatfor.kernels.compiler import inlined
from whatfor.learners.rule import SARSA, Rule
from whatfor.learners.tabular import Tabular


@inlined
def sarsa_source(rule: Rule, next_state: int, next_action: int) -> int:
    """The cell whose value the target is built on."""
    return next_state * rule.n_actions + next_action


@dataclass(frozen=True, kw_only=True)
class Sarsa(Tabular):
    """On-policy SARSA.

    At a truncation that is bootstrapped through, it draws the action it would have taken next.

    >>> Sarsa(exploration=0.1).exploration
    0.1
    """

    method = SARSA
