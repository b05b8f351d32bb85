"""World: a world for the compiled engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.checks import whole
from whatfor.kernels.recursion import NOT_ENDED, TERMINATED, TIMED_OUT, ending_place
from whatfor.kernels.tables import Table, guide_to
from whatfor.labels import ENDINGS, Labels
from whatfor.ledger.paid import paid_endings
from whatfor.limits import check_limit
from whatfor.worlds.stepping import CARTPOLE, TABLE, Arrays, Cart

#: State-action pairs and the rewards that they gave to other rewards.
Reprice = Callable[[NDArray[np.integer[Any]], NDArray[np.float64]], NDArray[np.float64]]

NO_CART = Cart(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.empty((4, 0)), np.ones(4, np.int64))
NO_TABLE = Table(
    np.zeros(1, np.int64),
    np.empty(0),
    np.empty(0, np.int32),
    np.empty(0),
    np.empty(0, np.int32),
    np.empty(0),
    np.zeros(1, np.int32),
)


@dataclass(frozen=True)
class World:
    """Labels, and the arrays for the compiled engine."""

    labels: Labels
    arrays: Arrays
    max_steps: int | None = None  # the world's own time limit
    recipe: dict[str, Any] = field(default_factory=dict)  # how to create it again, for JSON

    def __post_init__(self) -> None:
        if self.max_steps is not None:
            check_limit("steps", whole("max_steps", self.max_steps, 1), "an episode of max_steps")
        (_check_cart if self.arrays.kind == CARTPOLE else _check_table)(self.labels, self.arrays)

    @property
    def table(self) -> Table:
        """The table of transitions."""
        if self.arrays.kind == CARTPOLE:
            raise ValueError(
                "CartPole has no table of transitions: its states are continuous. Use a simulation instead of exact beliefs"
            )
        return self.arrays.table

    def repriced(self, reprice: Reprice) -> World:
        """The same world with other rewards."""
        table = self.table
        pairs = np.repeat(np.arange(len(table.first) - 1), np.diff(table.first))
        return replace(self, arrays=self.arrays._replace(table=table._replace(reward=reprice(pairs, table.reward))))

    def __repr__(self) -> str:
        return (
            f"World({self.recipe.get('kind', 'table')}, {self.labels.n_states} states, {self.labels.n_actions} actions)"
        )


def _check_table(labels: Labels, arrays: Arrays) -> None:
    """Raise ``ValueError`` unless every index in a table is within the labels; compiled code does not check it."""
    table, lowest = arrays.table, ending_place(len(ENDINGS) + len(labels.ending_names) - 1)
    pairs, states = len(table.first) - 1, len(table.start)
    if (pairs, states) != (labels.n_states * labels.n_actions, labels.n_states):
        raise ValueError(
            f"the labels name {labels.n_states} states and {labels.n_actions} actions, the table has {states} and {pairs / max(states, 1):g}: "
            "pass labels of the table's own shape, e.g. Labels.plain(n_states, n_actions)"
        )
    entries = {len(column) for column in (table.chance, table.next_state, table.reward, table.ending)}
    ordered = table.first[0] == 0 and (np.diff(table.first) > 0).all()
    if arrays.kind != TABLE or not ordered or entries != {int(table.first[-1])}:
        raise ValueError("the columns of the table have different lengths; create worlds with whatfor.worlds.table()")
    if table.next_state.min() < 0 or table.next_state.max() >= states:
        raise ValueError(f"the table has next states that do not exist; there are 0 to {states - 1}")
    if table.ending.min() < lowest or (table.ending > TIMED_OUT)[table.ending != NOT_ENDED].any():
        raise ValueError("the table has endings that the labels do not name")
    if len(table.guide) != states + 1 or table.guide.min() < 0:
        raise ValueError("the table's guide does not fit its start; use whatfor.kernels.tables.guide_to(start)")


def _check_cart(labels: Labels, arrays: Arrays) -> None:
    """Raise ``ValueError`` unless labels fit CartPole: four axes with edges, two actions, and an ending."""
    edges, bins = arrays.cart.edges, arrays.cart.bins
    binned = len(labels.axes) == 4 and all(len(axis.edges) == axis.size + 1 for axis in labels.axes)
    if not binned or labels.n_actions != 2 or not labels.ending_names:
        raise ValueError("labels for CartPole need four axes with the edges of their bins, two actions, and an ending")
    if bins.tolist() != list(labels.shape) or edges.shape != (4, max(labels.shape) - 1):
        raise ValueError(f"CartPole's bins are {bins.tolist()}, the labels' {list(labels.shape)}")


def ending_code(labels: Labels, name: str | None) -> int:
    """The code of an ending in a ledger for these labels."""
    return TERMINATED if name is None else ending_place(len(ENDINGS) + labels.ending_names.index(name))


def table_world(
    labels: Labels,
    first: NDArray[np.int64],
    probability: NDArray[np.float64],
    next_state: NDArray[np.int32],
    reward: NDArray[np.float64],
    terminated: NDArray[np.bool_],
    start: ArrayLike,
    **more: Any,
) -> World:
    """A world from its entries, ordered by pair; checks them."""
    n_pairs = labels.n_states * labels.n_actions
    counts = np.diff(first)
    if len(first) != n_pairs + 1 or (counts < 1).any():
        raise ValueError(
            f"every one of {labels.n_states} states x {labels.n_actions} actions needs at least one transition"
        )
    if not np.isfinite(reward).all():
        where = int(np.flatnonzero(~np.isfinite(reward))[0])
        pair = int(np.searchsorted(first, where, side="right") - 1)
        raise ValueError(
            f"the reward of {_pair_words(labels, pair)} is {reward[where]}; rewards must be finite numbers"
        )
    chance = probability
    if (counts > 1).any():
        total = np.add.reduceat(probability, first[:-1])
        wrong = ~np.isclose(total, 1.0, atol=1e-9) | (np.minimum.reduceat(probability, first[:-1]) < 0)
        if wrong.any():
            pair = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"the probabilities of {_pair_words(labels, pair)} are negative or sum to {total[pair]:.6g}; they must sum to 1"
            )
        chance = _summed_by_pair(probability, first)
    elif not np.allclose(probability, 1.0):
        pair = int(np.flatnonzero(~np.isclose(probability, 1.0))[0])
        raise ValueError(
            f"the probability of the only transition of {_pair_words(labels, pair)} is {probability[pair]:.6g}; it must be 1"
        )
    started = np.asarray(start, dtype=np.float64)
    if started.shape != (labels.n_states,) or (started < 0).any() or not np.isclose(started.sum(), 1.0):
        raise ValueError(f"start must have {labels.n_states} probabilities that sum to 1")
    ending = np.where(terminated, TERMINATED, NOT_ENDED).astype(np.int32)
    summed = np.cumsum(started)
    table = Table(first.astype(np.int64), chance, next_state, reward, ending, summed, guide_to(summed))
    return World(labels, Arrays(TABLE, _name_endings(table, labels), NO_CART), **more)


def with_endings(world: World, labels: Labels) -> World:
    """The world with the endings of other labels, derived from their conditions; itself if there are none, or its own.

    >>> from whatfor.axes import Axis, Ending
    >>> from whatfor.worlds import chain
    >>> labels = Labels((Axis("state", 3),), ("up", "down"), endings=(Ending("won", reward=2.0),))
    >>> with_endings(chain(), labels).labels.ending_names
    ('won',)
    """
    if labels.endings in ((), world.labels.endings):
        return world
    if world.arrays.kind != TABLE:
        if len(labels.ending_names) > 1:
            raise ValueError(
                f"the compiled CartPole knows one ending, and there are {len(labels.ending_names)} names: name one, or "
                "train with engine='python' and pass env= here"
            )
        return replace(world, labels=replace(world.labels, endings=labels.endings))
    named = replace(world.labels, endings=labels.endings)
    table = _name_endings(world.table, named)
    unnamed = np.unique(table.reward[table.ending == TERMINATED]).tolist()
    if unnamed and any(ending.by_pay for ending in labels.endings):  # the agent has not met these ends
        named = replace(named, endings=(*named.endings, *paid_endings(unnamed, labels.endings)))
        table = _name_endings(table, named)
    return replace(world, labels=named, arrays=world.arrays._replace(table=table))


def _name_endings(table: Table, labels: Labels) -> Table:
    """The table with the codes of its endings as the conditions of these labels give them."""
    terminated = np.flatnonzero(table.ending <= TERMINATED)
    ending = table.ending.copy()
    ending[terminated] = TERMINATED
    if labels.endings:
        pairs = np.repeat(np.arange(len(table.first) - 1), np.diff(table.first))
        for where in terminated.tolist():
            state, action = divmod(int(pairs[where]), labels.n_actions)
            to = int(table.next_state[where])
            ending[where] = ending_code(labels, labels.ending(action, float(table.reward[where]), to, state))
    return table._replace(ending=ending)


def _summed_by_pair(probability: NDArray[np.float64], first: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cumulative sums within each pair, added in the same order as in Gymnasium."""
    summed = probability.copy()
    longest = int(np.diff(first).max())
    for place in range(1, longest):
        at = first[:-1][np.diff(first) > place] + place
        summed[at] += summed[at - 1]
    return summed


def _pair_words(labels: Labels, pair: int) -> str:
    state, action = divmod(pair, labels.n_actions)
    return f"{labels.actions[action]!r} in {labels.words(state)!r}"


def is_terminal(world: World, state: int) -> bool:
    """Whether only the last step of an episode reaches a state."""
    if world.arrays.kind != TABLE:
        return False
    table = world.arrays.table
    pairs = np.repeat(np.arange(len(table.first) - 1), np.diff(table.first))
    reached = (table.next_state == state) & (pairs // world.labels.n_actions != state)
    starts = np.diff(table.start, prepend=0.0)[state] > 0.0
    return bool(reached.any() and not starts and (table.ending[reached] != NOT_ENDED).all())
