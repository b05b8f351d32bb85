"""Beliefs: the source of what an agent expects, one row at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.beliefs.trust import Trust
from whatfor.checks import whole
from whatfor.labels import Labels

#: What a source may be able to tell besides rows:
#: "endings"  how episodes end, by name
#: "updates"  which updates a value is made of: when, of which experience, and how noisy it is
Capability = Literal["endings", "updates"]


class Beliefs(ABC):
    """A source of rows: the audit of a ledger, a map learned beside training, an exact solution, rollouts, a network.

    A class of your own needs ``row``, and names in ``can`` what else it can tell; ``whatfor.testing.check_beliefs`` checks it.
    """

    can: ClassVar[frozenset[Capability]] = frozenset()
    #: How far estimates can be trusted; None: they are none.
    trust: Trust | None = None

    @abstractmethod
    def row(self, at: Situation, action: int) -> Row:
        """What is expected to follow an action in a situation."""

    def visits(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) Expected visits of every pair from here on, discounted as learned, this one included."""
        return self.row(situation_of(state), action).visits

    def earnings(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) What is expected to be earned at every pair, discounted as learned."""
        return self.row(situation_of(state), action).earnings

    def value(self, state: int | Situation, action: int) -> float:
        """What this state and action are worth."""
        return self.row(situation_of(state), action).value

    @property
    def tries(self) -> NDArray[np.int64] | None:
        """(S, A) How often each pair was learned from; None: not counted."""
        return None

    @property
    def actor(self) -> ObservationAgent | None:
        """The agent itself, where it acts on observations; None: its table of values says what it does."""
        return None

    def named_endings(self, at: Situation, action: int, labels: Labels) -> tuple[dict[str, float], float]:
        """The chance of every way to end, by name, the likeliest first; and what is not known of 1."""
        row = self.row(at, action)
        chances = sorted((row.endings or {}).items(), key=lambda item: -item[1])
        return {name: chance for name, chance in chances if chance > 0.0}, row.endings_unknown

    def gap_error(self, at: Situation, one: int, other: int) -> float | None:
        """The standard error of the gap between two actions' values; None: unknown."""
        return None


class ObservationAgent(Protocol):
    """An agent that acts on observations: its states are cells in which it may see more than they tell."""

    @property
    def labels(self) -> Labels:
        """Names of its states, actions and endings."""

    @property
    def whole(self) -> bool:
        """Whether a state is all that the agent sees."""

    def situation(self, state: Any) -> Situation:
        """What is asked about: an observation, or an index or words with an observation that stands for it."""

    def values_at(self, at: Situation) -> NDArray[np.float64]:
        """(A,) What the agent itself thinks its actions are worth there."""

    def act(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) What the agent does, greedily."""

    def cells_of(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) The states that observations (B, ...) are in."""

    def check_env(self, env: Any) -> None:
        """Raise ``ValueError`` unless an environment has the observations and actions of this agent."""

    def ending_name(self, observation: Any, action: int, reward: float) -> str | None:
        """The name of an episode's end, where there is one."""


def situation_of(state: Any) -> Situation:
    """A state's index as a situation; what is one already stays.

    >>> situation_of(3)
    Situation(index=3, observation=None)
    """
    return state if isinstance(state, Situation) else Situation(whole("state", state))


def checked_pair(state: Any, action: Any, n_states: int, n_actions: int) -> tuple[int, int]:
    """A state and an action as plain indices; ``ValueError`` where there are no such.

    >>> checked_pair(3, 0, 2, 2)
    Traceback (most recent call last):
    ValueError: (3, 0) is out of range: states 0 to 1, actions 0 to 1
    """
    index, action = situation_of(state).index, whole("action", action)
    if not (0 <= index < n_states and 0 <= action < n_actions):
        raise ValueError(
            f"({index}, {action}) is out of range: states 0 to {n_states - 1}, actions 0 to {n_actions - 1}"
        )
    return index, action
