"""Futures of a policy in a known world, exactly: by the number of steps ahead, what is reached first, and single rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whatfor.beliefs.futures import Arrivals, Depths, Payments
from whatfor.beliefs.transitions import entries_of
from whatfor.concepts import Concept
from whatfor.kernels.recursion import NOT_ENDED, TIMED_OUT, ending_place
from whatfor.kernels.tables import Table
from whatfor.labels import ENDINGS, Labels
from whatfor.limits import check_limit

if TYPE_CHECKING:
    from whatfor.beliefs.exact import ExactBeliefs


@dataclass(frozen=True)
class NamedTable:
    """A table of transitions, with names."""

    labels: Labels
    table: Table


def endings_of(labels: Labels) -> tuple[str, ...]:
    """The names of endings by the place of their code, in worlds."""
    return (*ENDINGS, *labels.ending_names)


def exact_depths(beliefs: ExactBeliefs, state: int, action: int, horizon: int) -> Depths:
    """The distribution over states, moved on step by step; beyond the horizon, solved."""
    policy, discount = beliefs.policy, beliefs.discount
    check_limit("bytes", 8 * policy.size * (horizon + 1), f"a horizon of {horizon:,} steps")
    whole = beliefs.visits(state, action)  # infinite visits are an error
    visits, onward = np.zeros((horizon, *policy.shape)), beliefs.moving.T.tocsr()
    visits[0, state, action] = 1.0
    at = beliefs.arriving(state, action)
    for step in range(1, horizon):
        visits[step] = discount**step * at[:, None] * policy
        at = onward @ at
    remainder = discount**horizon * beliefs.solve(at)[:, None] * policy
    unaccounted = float(np.abs(visits.sum(axis=0) + remainder - whole).max())
    return Depths(visits, remainder, unaccounted, discount < 1.0)


def absorbing(table: Table, labels: Labels, concepts: Sequence[Concept]) -> Table:
    """The table with every concept absorbing: reaching one is an ending, with a code after those of the labels.

    Of several concepts that fit, the first is reached; as for ledgers.
    """
    names, over = endings_of(labels), table.ending != NOT_ENDED
    finals, which = np.where(over, table.next_state, -1), np.where(over, TIMED_OUT - table.ending, 0)
    ending = table.ending.copy()
    for place, concept in reversed(list(enumerate(concepts, start=len(names)))):
        at_end = over & concept.holds_at_end(finals, names, which)
        ending[at_end | (~over & concept.states[table.next_state])] = ending_place(place)
    return table._replace(ending=ending)


def exact_arrivals(beliefs: ExactBeliefs, state: int, action: int, concepts: Sequence[Concept]) -> Arrivals:
    """The endings of the world in which every concept is one."""
    names = endings_of(beliefs.labels)
    ends = beliefs.with_table(absorbing(beliefs.table, beliefs.labels, concepts), len(names) + len(concepts))
    chances = np.maximum(ends.ends(state, action), 0.0)
    later = beliefs.visits(state, action)
    later[state, action] = max(0.0, later[state, action] - 1.0)
    earned = later * beliefs.rewards
    return Arrivals(
        chances[len(names) : -1],
        dict(zip(names, chances[: len(names)].tolist(), strict=True)),
        never=float(chances[-1]),
        unknown=0.0,
        visits=np.array([later[concept.states].sum() for concept in concepts]),
        earnings=np.array([earned[concept.states].sum() for concept in concepts]),
        discounted=beliefs.discount < 1.0,
    )


def exact_payments(beliefs: ExactBeliefs, state: int, action: int) -> Payments:
    """A payment for every transition that may follow."""
    pairs, chances = entries_of(beliefs.table)
    weight = beliefs.visits(state, action).ravel()[pairs] * chances
    table, names = beliefs.table, endings_of(beliefs.labels)
    return Payments.of(
        pairs, table.reward, weight, ending=table.ending, endings=names, discounted=beliefs.discount < 1.0
    )
