"""Exact beliefs of a fixed policy in a known world: a sparse linear system."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.kernels.recursion import GOES_ON
from whatfor.kernels.tables import Table
from whatfor.labels import Labels


@runtime_checkable
class Known(Protocol):
    """A world whose table of transitions is known."""

    @property
    def labels(self) -> Labels:
        """Names of its states and actions."""

    @property
    def table(self) -> Table:
        """What may follow each state and action."""


class ExactBeliefs:
    """What a policy really leads to.

    ``world``: a world with a table, or a Gymnasium environment (or id) whose table is known.
    ``policy``: an action for each state, or (S, A) chances.

    >>> from whatfor.worlds import chain
    >>> beliefs = ExactBeliefs(chain(), policy=[0, 0, 1], discount=1.0)
    >>> beliefs.value(0, 0), beliefs.visits(0, 1).tolist()
    (2.0, [[0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    """

    def __init__(self, world: Any, policy: ArrayLike, *, discount: float) -> None:
        world = known(world)
        check_discount(discount)
        self.labels = world.labels
        self.discount = discount
        self.policy = chances_of(policy, world.labels)
        self._onward, self.rewards = transition_matrix(world.table, world.labels.n_actions)

    def visits(self, state: int, action: int) -> NDArray[np.float64]:
        """(S, A) Expected visits of the policy after this action, discounted, this one included."""
        state, action = self.labels._checked(state), self.labels.action(action)
        arriving, endless = self._arriving(state, action), self._endless
        if endless is not None and arriving[endless].any():
            where = self.labels.words(int(np.flatnonzero((arriving > 0) & endless)[0]))
            raise ValueError(
                f"without a discount the visits are infinite: from {where!r} this policy may go on for ever"
            )
        visits: NDArray[np.float64] = self._solver(arriving)[:, None] * self.policy * self.discount
        visits[state, action] += 1.0
        return visits

    def ends(self, state: int, action: int) -> bool:
        """Whether the visits are finite: with a discount, or where the policy is sure to come to an end."""
        endless = self._endless
        return endless is None or not self._arriving(state, action)[endless].any()

    def _arriving(self, state: int, action: int) -> NDArray[np.float64]:
        """(S,) Chances of the next state."""
        pair = state * self.labels.n_actions + action
        return np.asarray(self._onward[[pair]].todense()).ravel()

    def earnings(self, state: int, action: int) -> NDArray[np.float64]:
        """(S, A) Where the policy earns its value, on average."""
        return self.visits(state, action) * self.rewards

    def value(self, state: int, action: int) -> float:
        """What the action is worth if the policy follows."""
        return float(self.earnings(state, action).sum())

    @cached_property
    def _moving(self) -> Any:
        """(S, S) Chances to go from state to state under the policy; what ends is left out."""
        from scipy import sparse

        n_states, n_actions = self.policy.shape
        rows = np.repeat(np.arange(n_states), n_actions)
        by_state = sparse.csr_array((self.policy.ravel(), (rows, np.arange(rows.size))), shape=(n_states, rows.size))
        return (by_state @ self._onward).tocsr()

    @cached_property
    def _endless(self) -> NDArray[np.bool_] | None:
        """States from which the policy may never end; None with a discount."""
        if self.discount < 1.0:
            return None
        leaving = 1.0 - np.asarray(self._moving.sum(axis=1)).ravel() > 1e-12
        trapped = ~_reaching(self._moving, leaving)
        return _reaching(self._moving, trapped) if trapped.any() else trapped

    @cached_property
    def _solver(self) -> Any:
        from scipy import sparse
        from scipy.sparse.linalg import splu

        moving = self._moving
        if self._endless is not None and self._endless.any():  # their equations have no solution and are not asked
            moving = sparse.diags_array((~self._endless).astype(float)) @ moving
        system = sparse.eye_array(moving.shape[0]) - self.discount * moving
        return splu(sparse.csc_array(system.T)).solve


def transition_matrix(table: Table, n_actions: int) -> tuple[Any, NDArray[np.float64]]:
    """(S*A, S) Chances to go on to each state, and (S, A) the mean rewards."""
    from scipy import sparse

    counts = np.diff(table.first)
    pairs = np.repeat(np.arange(len(counts)), counts)
    chances = table.chance.copy()  # summed up within each pair
    inside = np.ones(len(chances), bool)
    inside[table.first[:-1]] = False
    chances[inside] -= table.chance[np.flatnonzero(inside) - 1]
    goes_on = table.ending == GOES_ON
    shape = (len(counts), len(table.start))
    onward = sparse.csr_array((chances[goes_on], (pairs[goes_on], table.next_state[goes_on])), shape=shape)
    rewards = np.bincount(pairs, weights=chances * table.reward, minlength=len(counts))
    return onward, rewards.astype(np.float64).reshape(-1, n_actions)


def known(world: Any) -> Known:
    """The world itself, or the known world behind a Gymnasium environment."""
    if isinstance(world, Known):
        return world
    from whatfor.worlds.gymnasium import made, twin

    return twin(made(world) if isinstance(world, str) else world)


def check_discount(discount: float) -> None:
    """Refuse what is no discount."""
    if not 0.0 <= discount <= 1.0:
        raise ValueError(f"discount is {discount}; it must lie in [0, 1]")


def value_iteration(
    world: Any, *, discount: float, tolerance: float = 1e-13, most: int = 100_000
) -> NDArray[np.float64]:
    """(S, A) The values of the best policy, by value iteration.

    >>> from whatfor.worlds import chain
    >>> value_iteration(chain(), discount=1.0)[0].tolist()
    [2.0, 2.0]
    """
    world = known(world)
    check_discount(discount)
    onward, rewards = transition_matrix(world.table, world.labels.n_actions)
    values = np.zeros(rewards.shape)
    for _ in range(most):
        better: NDArray[np.float64] = rewards + discount * (onward @ values.max(axis=1)).reshape(rewards.shape)
        change = np.abs(better - values).max()
        values = better
        if change <= tolerance * max(1.0, np.abs(values).max()):
            return values
    raise ValueError(
        f"values still moved by {change:.3g} after {most} sweeps; without a discount a world that never ends has no finite values"
    )


def _reaching(moving: Any, goal: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """States from which the goal can be reached, itself included."""
    from scipy import sparse
    from scipy.sparse.csgraph import breadth_first_order

    n = moving.shape[0]
    backwards = sparse.vstack([sparse.csr_array(moving.T), sparse.csr_array(goal[None, :].astype(float))])
    graph = sparse.hstack([backwards, sparse.csr_array((n + 1, 1))]).tocsr()
    found = breadth_first_order(graph, n, directed=True, return_predecessors=False)
    reached = np.zeros(n + 1, bool)
    reached[found] = True
    return reached[:n]


def chances_of(policy: ArrayLike, labels: Labels) -> NDArray[np.float64]:
    """(S, A) A policy as chances, whichever way it was given."""
    given = np.asarray(policy)
    shape = (labels.n_states, labels.n_actions)
    if given.shape == (labels.n_states,):
        if not np.isin(given, np.arange(labels.n_actions)).all():
            raise ValueError(f"policy names actions that do not exist; there are 0 to {labels.n_actions - 1}")
        chances = np.zeros(shape)
        chances[np.arange(labels.n_states), given.astype(int)] = 1.0
        return chances
    if given.shape != shape or (given < 0).any() or not np.allclose(given.sum(axis=1), 1.0):
        raise ValueError(
            f"policy must hold an action for each of {shape[0]} states, or {shape} chances that sum to 1 in each state"
        )
    return given.astype(np.float64)
