"""Exact beliefs of a fixed policy in a known world: a sparse linear system."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.beliefs.futures import Arrivals, Depths, Payments
from whatfor.beliefs.loop import Loop
from whatfor.beliefs.protocol import CAPABILITIES, Beliefs, Capability, situation_of, sizes_of
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.beliefs.solved import NamedTable, endings_of, exact_arrivals, exact_depths, exact_payments
from whatfor.beliefs.transitions import ending_chances, entries_of, transition_matrix
from whatfor.checks import number
from whatfor.concepts import Concept
from whatfor.kernels.recursion import NOT_ENDED
from whatfor.kernels.tables import Table
from whatfor.labels import NEVER_ENDS, Labels


@runtime_checkable
class KnownWorld(Protocol):
    """A world whose table of transitions is known."""

    @property
    def labels(self) -> Labels:
        """Names of its states and actions."""

    @property
    def table(self) -> Table:
        """The transitions of each state-action pair."""


class ExpectedAmount(NamedTuple):
    """The expected sum of some amount under a policy; each (S, A)."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]  # of one step: its own amount and the expected sum after it
    span: NDArray[np.float64]  # of one step: the largest possible outcome less the smallest


class ExactBeliefs(Beliefs):
    """The exact future of a fixed policy.

    ``world``: a world with a table, or a Gymnasium environment (or its id) whose table is known.
    ``policy``: an action for each state, or (S, A) chances.

    >>> from whatfor.worlds import chain
    >>> beliefs = ExactBeliefs(chain(), policy=[0, 0, 1], discount=1.0)
    >>> beliefs.value(0, 0), beliefs.visits(0, 1).tolist()
    (2.0, [[0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    """

    def __init__(self, world: Any, policy: ArrayLike, *, discount: float) -> None:
        world = known_world(world)
        check_discount(discount)
        self.labels = world.labels
        self.discount = discount
        self.policy = chances_of(policy, world.labels)
        self.onward, self.rewards = transition_matrix(world.table, world.labels.n_actions)
        self.table = world.table
        self.n_endings = len(endings_of(world.labels))
        self._factors: dict[float, Any] = {}

    can: ClassVar[frozenset[Capability]] = frozenset(CAPABILITIES)
    learned: ClassVar[bool] = False

    def _about(self) -> str:
        return sizes_of(self.labels)

    def row(self, at: Situation, action: int) -> Row:
        """The exact future of the policy after this action."""
        visits = self.visits(at.index, action)
        earnings = visits * self.rewards
        return Row(
            visits=visits,
            earnings=earnings,
            value=float(earnings.sum()),
            unknown=0.0,
            now=min(1.0, float(visits[at.index, action])),
            endings=self.outcomes(at.index, action),
            loop=self.loop(at, action),
            discounted=self.discount < 1.0,
        )

    def visits(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) Expected visits of the policy after this action, discounted, this one included."""
        index, action = self.labels.check_state(situation_of(state).index), self.labels.action(action)
        arriving, infinite = self.arriving(index, action), self._infinite_from
        if infinite is not None and arriving[infinite].any():
            where = self.labels.words(int(np.flatnonzero((arriving > 0) & infinite)[0]))
            raise ValueError(f"without a discount the visits are infinite: from {where!r} this policy may never end")
        visits: NDArray[np.float64] = self.solve(arriving)[:, None] * self.policy * self.discount
        visits[index, action] += 1.0
        return visits

    def has_finite_visits(self, state: int, action: int) -> bool:
        """Whether the visits are finite: with a discount, or if the policy ends with certainty."""
        infinite = self._infinite_from
        arriving = self.arriving(self.labels.check_state(state), self.labels.action(action))
        return infinite is None or not arriving[infinite].any()

    def arriving(self, state: int, action: int) -> NDArray[np.float64]:
        """(S,) The probability of each next state."""
        pair = state * self.labels.n_actions + action
        return np.asarray(self.onward[[pair]].todense()).ravel()

    def earnings(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) Where the policy earns its value, on average."""
        return self.visits(state, action) * self.rewards

    def value(self, state: int | Situation, action: int) -> float:
        """The expected return of the action if the policy follows."""
        return float(self.earnings(state, action).sum())

    def outcomes(self, state: int, action: int) -> dict[str, float]:
        """The probability of every ending if the policy follows, without a discount; the most probable first.

        "never ends" is the probability to reach states from which the policy never ends, so that all sum to 1. A table
        has no time limit.

        >>> from whatfor.worlds import table
        >>> lake = table([[[0, 0], [0, 0]]], [[[0, 0], [0, 0]]], [[[0, 1], [0, 0]]], probability=[[[0.75, 0.25], [1, 0]]])
        >>> ExactBeliefs(lake, policy=[0], discount=1.0).outcomes(0, 0)
        {'terminated': 1.0}
        >>> ExactBeliefs(lake, policy=[1], discount=1.0).outcomes(0, 0)
        {'never ends': 0.75, 'terminated': 0.25}
        """
        chances = self.ends(self.labels.check_state(state), self.labels.action(action))
        names = (*endings_of(self.labels), NEVER_ENDS)
        ordered = sorted(zip(names, chances.tolist(), strict=True), key=lambda item: -item[1])
        return {name: chance for name, chance in ordered if chance > 0.0}

    def ends(self, state: int, action: int) -> NDArray[np.float64]:
        """(endings + 1,) The probability of every ending by the place of its code; last, of never ending."""
        pair = state * self.labels.n_actions + action
        chances: NDArray[np.float64] = np.append(self._ending[pair], 0.0) + self.onward[[pair]] @ self._ending_from
        return chances.ravel()

    def loop(self, at: Situation, action: int) -> Loop:
        """The probability to reach states from which the policy never ends."""
        return Loop(float(self.ends(at.index, action)[-1]), known=True)

    def depths(self, at: Situation, action: int, horizon: int, discount: float | None = None) -> Depths:
        """The exact visits by the number of steps ahead."""
        beliefs = self if discount in (None, self.discount) else self._with_discount(discount)
        return exact_depths(beliefs, at.index, action, horizon)

    def arrivals(self, at: Situation, action: int, concepts: Sequence[Concept]) -> Arrivals:
        """The exact probabilities of what is reached first."""
        return exact_arrivals(self, at.index, action, concepts)

    def payments(self, at: Situation, action: int) -> Payments:
        """The rewards of all transitions that may follow."""
        return exact_payments(self, at.index, action)

    def _with_discount(self, discount: float) -> ExactBeliefs:
        return ExactBeliefs(NamedTable(self.labels, self.table), self.policy, discount=discount)

    def with_table(self, table: Table, n_endings: int) -> ExactBeliefs:
        """The same policy in a table with other endings, without a discount."""
        other = ExactBeliefs(NamedTable(self.labels, table), self.policy, discount=1.0)
        other.n_endings = n_endings
        return other

    @cached_property
    def entry_pairs(self) -> NDArray[np.int64]:
        """(entries,) The pair, state * A + action, that each entry of the table belongs to."""
        return entries_of(self.table)[0]

    def expected(self, amount: NDArray[np.float64], discount: float | None = None) -> ExpectedAmount:
        """The expected sum after every pair if the policy follows, where each entry of the table adds ``amount``."""
        discount = self.discount if discount is None else discount
        pairs, chances = entries_of(self.table)
        n_pairs, continues = self.policy.size, self.table.ending == NOT_ENDED

        def mean(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
            summed = np.bincount(pairs, weights=chances * numbers, minlength=n_pairs)
            return summed.astype(np.float64).reshape(self.policy.shape)

        by_state = self._factored(discount).solve((mean(amount) * self.policy).sum(axis=1), trans="T")
        follows = amount + discount * np.where(continues, by_state[self.table.next_state], 0.0)
        means = mean(follows)
        starts = self.table.first[:-1]
        span = np.maximum.reduceat(follows, starts) - np.minimum.reduceat(follows, starts)
        return ExpectedAmount(means, np.maximum(mean(follows**2) - means**2, 0.0), span.reshape(self.policy.shape))

    @cached_property
    def _ending(self) -> NDArray[np.float64]:
        """(S*A, endings) The probability that the step of a pair ends the episode, by ending."""
        return ending_chances(self.table, self.n_endings)

    @cached_property
    def _ending_from(self) -> NDArray[np.float64]:
        """(S, endings + 1) The probability of every ending from each state under the policy; last, of never ending."""
        n_states, n_actions = self.policy.shape
        here = (self._ending.reshape(n_states, n_actions, -1) * self.policy[:, :, None]).sum(axis=1)
        sums = np.column_stack([here, self.cannot_end.astype(float)])
        ends: NDArray[np.float64] = self._factored(1.0).solve(sums, trans="T")
        return ends

    @cached_property
    def _infinite_from(self) -> NDArray[np.bool_] | None:
        """States from which the policy may never end; None with a discount."""
        return None if self.discount < 1.0 else self.may_not_end

    @cached_property
    def may_not_end(self) -> NDArray[np.bool_]:
        """(S,) States from which the policy may never end."""
        return reaching(self.moving, self.cannot_end) if self.cannot_end.any() else self.cannot_end

    @cached_property
    def cannot_end(self) -> NDArray[np.bool_]:
        """(S,) States from which the policy cannot end."""
        leaving = 1.0 - np.asarray(self.moving.sum(axis=1)).ravel() > 1e-12
        return ~reaching(self.moving, leaving)

    @cached_property
    def moving(self) -> Any:
        """(S, S) Transition probabilities under the policy, without steps that end the episode; sparse."""
        from scipy import sparse

        n_states, n_actions = self.policy.shape
        rows = np.repeat(np.arange(n_states), n_actions)
        by_state = sparse.csr_array((self.policy.ravel(), (rows, np.arange(rows.size))), shape=(n_states, rows.size))
        return (by_state @ self.onward).tocsr()

    def visits_from(self, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """(S,) Expected visits to each state, undiscounted, from a distribution of first states; or (S, K) from several.

        A state from which the policy cannot end is counted once, where it is entered.
        """
        visits: NDArray[np.float64] = self._factored(1.0).solve(start)
        return visits

    def solve(self, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """(S,) Expected visits to each state, discounted, from a distribution of first states."""
        visits: NDArray[np.float64] = self._factored(self.discount).solve(start)
        return visits

    def _factored(self, discount: float) -> Any:
        """The factors of the transposed system (I - g P) of the policy."""
        from scipy import sparse
        from scipy.sparse.linalg import splu

        if discount not in self._factors:
            moving = self.moving
            if discount == 1.0 and self.cannot_end.any():  # states that cannot end are made absorbing
                moving = sparse.diags_array((~self.cannot_end).astype(float)) @ moving
            system = sparse.eye_array(moving.shape[0]) - discount * moving
            self._factors[discount] = splu(sparse.csc_array(system.T))
        return self._factors[discount]


def known_world(world: Any) -> KnownWorld:
    """The world itself, or the known world behind a Gymnasium environment."""
    if isinstance(world, KnownWorld):
        return world
    from whatfor.worlds.gymnasium import twin
    from whatfor.worlds.making import make_env

    return twin(make_env(world) if isinstance(world, str) else world)


def check_discount(discount: float) -> None:
    """Raise ``ValueError`` unless a discount lies in [0, 1]."""
    number("discount", discount, 0, 1)


def value_iteration(
    world: Any, *, discount: float, tolerance: float = 1e-13, max_sweeps: int = 100_000
) -> NDArray[np.float64]:
    """(S, A) The values of the best policy, by value iteration.

    >>> from whatfor.worlds import chain
    >>> value_iteration(chain(), discount=1.0)[0].tolist()
    [2.0, 2.0]
    """
    world = known_world(world)
    check_discount(discount)
    onward, rewards = transition_matrix(world.table, world.labels.n_actions)
    values = np.zeros(rewards.shape)
    for _ in range(max_sweeps):
        better: NDArray[np.float64] = rewards + discount * (onward @ values.max(axis=1)).reshape(rewards.shape)
        change = np.abs(better - values).max()
        values = better
        if change <= tolerance * max(1.0, np.abs(values).max()):
            return values
    raise ValueError(
        f"values still changed by {change:.3g} after {max_sweeps} sweeps; without a discount, a world that never ends has no finite values"
    )


def reaching(moving: Any, goal: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """States from which the goal can be reached, with the goal itself."""
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
    """(S, A) The action probabilities of a policy, given as actions or as probabilities."""
    given = np.asarray(policy)
    shape = (labels.n_states, labels.n_actions)
    if given.shape == (labels.n_states,):
        if given.dtype.kind not in "iu" or not np.isin(given, np.arange(labels.n_actions)).all():
            raise ValueError(f"policy names actions that do not exist; there are 0 to {labels.n_actions - 1}")
        chances = np.zeros(shape)
        chances[np.arange(labels.n_states), given.astype(int)] = 1.0
        return chances
    if (
        given.shape != shape
        or given.dtype.kind not in "biuf"
        or (given < 0).any()
        or not np.allclose(given.sum(axis=1), 1.0)
    ):
        raise ValueError(
            f"policy must hold an action for each of {shape[0]} states, or probabilities of shape {shape} that sum to 1 in each state"
        )
    return given.astype(np.float64)
