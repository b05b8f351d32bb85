"""What beliefs are: for a state and an action, what is expected to follow."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from whatfor.checks import whole
from whatfor.labels import Labels


@runtime_checkable
class Beliefs(Protocol):
    """Five sources, one noun. ``whatfor.testing.check_beliefs`` says whether a class keeps the contract."""

    def visits(self, state: int, action: int) -> NDArray[np.float64]:
        """(S, A) Expected visits of every pair from here on, discounted as learned, this one included."""

    def earnings(self, state: int, action: int) -> NDArray[np.float64]:
        """(S, A) What is expected to be earned at every pair, discounted as learned."""

    def value(self, state: int, action: int) -> float:
        """What this state and action are worth."""


def checked_pair(state: Any, action: Any, n_states: int, n_actions: int) -> tuple[int, int]:
    """A state and an action as plain indices; ``ValueError`` where there are no such.

    >>> checked_pair(3, 0, 2, 2)
    Traceback (most recent call last):
    ValueError: (3, 0) is out of range: states 0 to 1, actions 0 to 1
    """
    state, action = whole("state", state), whole("action", action)
    if not (0 <= state < n_states and 0 <= action < n_actions):
        raise ValueError(
            f"({state}, {action}) is out of range: states 0 to {n_states - 1}, actions 0 to {n_actions - 1}"
        )
    return state, action


class Situation(int):
    """The index of a state, with the very observation that was asked about: many may look like one state.

    >>> there = Situation(3, [0.1, 0.2])
    >>> there + 0, there.observation
    (3, [0.1, 0.2])
    """

    observation: Any

    def __new__(cls, index: int, observation: Any) -> Situation:
        """An index, and an observation of it."""
        made = super().__new__(cls, index)
        made.observation = observation
        return made


@runtime_checkable
class Seeing(Beliefs, Protocol):
    """Beliefs of an agent that acts on observations: its states are cells that it may see more in than they tell."""

    @property
    def labels(self) -> Labels:
        """Names of its states, actions and endings."""

    @property
    def whole(self) -> bool:
        """Whether a state is all that the agent sees."""

    def situation(self, state: Any) -> Situation:
        """What is asked about: an observation, or an index or words with an observation that stands for it."""

    def values_at(self, state: int) -> NDArray[np.float64]:
        """(A,) What the agent itself thinks its actions are worth there."""

    def act(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) What the agent does, greedily."""

    def cells_of(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) The states that observations (B, ...) are in."""

    def ended(self, observation: Any, action: int, reward: float) -> str | None:
        """The name of an episode's end, where there is one."""

    def outcomes(self, state: int, action: int) -> dict[str, float]:
        """The chance of every way to end; what is missing from 1 it does not know."""

    def tried(self) -> NDArray[np.int64]:
        """(S, A) How often each pair was learned from."""
