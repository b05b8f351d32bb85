"""Beliefs: the interface of all sources of what an agent expects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.futures import Arrivals, Depths, Payments
from whatfor.beliefs.loop import Loop
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.beliefs.trust import COMPUTED, Quality
from whatfor.checks import whole
from whatfor.concepts import Concept
from whatfor.explanation import Caveats
from whatfor.folder import FolderError
from whatfor.labels import ENDINGS, Labels
from whatfor.text import count

if TYPE_CHECKING:
    from whatfor.beliefs.audit import Audit
    from whatfor.beliefs.simulated import SimulatedBeliefs

#: What a source may offer besides rows:
#: "endings"  how episodes end, by name
#: "depths"   visits by the number of steps ahead
#: "arrivals" whether something is reached
#: "payments" the rewards that a value consists of, one by one
Capability = Literal["endings", "depths", "arrivals", "payments"]
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)


class Beliefs(ABC):
    """A source of rows: the audit of a ledger, a map learned during training, an exact solution, rollouts, a network.

    A custom source implements ``row`` and lists in ``can`` what else it offers: "endings" in its rows, and methods of the
    same names as the other capabilities. ``whatfor.testing.check_beliefs`` checks it.
    """

    can: ClassVar[frozenset[Capability]] = frozenset()
    #: Whether the rows are what the agent learned; False: they follow from a policy and a model or environment.
    learned: ClassVar[bool] = True
    #: How far the rows can be trusted, as every row says.
    trust: Quality = COMPUTED

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._about()})"

    def _about(self) -> str:
        """What its short form says: what the rows come from."""
        return ""

    @property
    def faults(self) -> tuple[str, ...]:
        """What seems to be wrong with the record that the rows are computed from, as sentences."""
        return ()

    @property
    def caveats(self) -> Caveats:
        """What every answer that rests on the rows must say."""
        return Caveats(self.learned, (*self.start_text, *self.faults, *self.trust.sentences()))

    @property
    def start_text(self) -> tuple[str, ...]:
        """A sentence about where rollouts start, if not where they are asked about; empty: they do, or there are none."""
        return ()

    @abstractmethod
    def row(self, at: Situation, action: int) -> Row:
        """What is expected to follow an action in a situation."""

    def visits(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) Expected visits to every pair from this step on, discounted as learned; this step counts."""
        return self.row(situation_of(state), action).visits

    def earnings(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) What is expected to be earned at every pair, discounted as learned."""
        return self.row(situation_of(state), action).earnings

    def value(self, state: int | Situation, action: int) -> float:
        """The expected return of this state and action."""
        return self.row(situation_of(state), action).value

    @property
    def tries(self) -> NDArray[np.int64] | None:
        """(S, A) How often each pair was updated, as every row says; None: not counted."""
        return self.row(Situation(0), 0).tries if self.learned else None

    @property
    def evidence(self) -> Audit | None:
        """The audit of the updates that the rows are read from, which gives their sampling error; None: it is unknown."""
        return None

    def depths(self, at: Situation, action: int, horizon: int, discount: float | None = None) -> Depths:
        """Expected visits by the number of steps ahead, discounted as learned or with another discount."""
        raise NotImplementedError

    def arrivals(self, at: Situation, action: int, concepts: Sequence[Concept]) -> Arrivals:
        """The probability that each concept is the first to be reached, and of every ending before any is reached."""
        raise NotImplementedError

    def payments(self, at: Situation, action: int) -> Payments:
        """The rewards that a value consists of, one by one."""
        raise NotImplementedError

    def ending_names(self, labels: Labels) -> tuple[str, ...]:
        """The names of endings that it can tell."""
        return (*ENDINGS, *labels.ending_names)

    def samples(self, at: Situation, action: int) -> int | None:
        """The number of rollouts that its numbers are means over; None: they are not sampled."""
        return None

    def within_limit(self, at: Situation, action: int) -> SimulatedBeliefs | None:
        """Its rollouts, cut at the time limit of episodes; None: all of them end before it, or it ends them."""
        return None

    def actor(self, table: Actor) -> Actor:
        """Who acts: an agent of these beliefs that acts on observations; here, the run's table of values."""
        return table

    def covers(self, needs: Collection[str]) -> bool:
        """Whether it has all capabilities among some needs."""
        return self.can.issuperset({*needs} & {*CAPABILITIES})

    def why_not(self, needs: Collection[str]) -> str | None:
        """Why it cannot answer a question with these needs, and what to do; None: it can."""
        if not self.covers(needs):
            name = type(self).__name__
            missing = "how episodes end" if {"endings"} & {*needs} else "what follows step by step"
            return f"needs beliefs that know {missing}, and {name} does not: ask a run with a ledger, or without {name}"
        return None

    def saved(self, run: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The part of a run's document and the tensors that these beliefs are saved as; ``FolderError``: they cannot be."""
        name = type(self).__name__
        raise FolderError(
            f"this run answers from beliefs of its own ({name}), which cannot be saved: save the run without them"
        )

    def named_endings(self, at: Situation, action: int, labels: Labels) -> tuple[dict[str, float], float]:
        """The probability of every ending by name, the most probable first; and the probability that is unknown."""
        row = self.row(at, action)
        chances = sorted((row.endings or {}).items(), key=lambda item: -item[1])
        return {name: chance for name, chance in chances if chance > 0.0}, row.endings_unknown or 0.0

    def loop(self, at: Situation, action: int) -> Loop:
        """Whether the future goes on without end, as its row says."""
        return self.row(at, action).loop

    @property
    def explores(self) -> bool:
        """Whether what was learned includes exploration."""
        return False

    def gap_error(self, at: Situation, one: int, other: int) -> float | None:
        """The standard error of the gap between two actions' values; None: unknown."""
        return None


class Actor(Protocol):
    """Who acts: a table of values, or an agent that acts on observations."""

    @property
    def labels(self) -> Labels:
        """Names of its states, actions and endings."""

    @property
    def whole(self) -> bool:
        """Whether a state determines what it acts on."""

    def situation(self, state: Any) -> Situation:
        """The situation of a state or an observation; for an index or words, with a typical observation."""

    def values_at(self, at: Situation) -> NDArray[np.float64]:
        """(A,) Its own action values there."""

    def check_renaming(self) -> None:
        """Raise ``ValueError`` if its names are fixed."""

    def player(self, playing: Any) -> Any:
        """What plays it, in the world of a run."""


@runtime_checkable
class ObservationAgent(Actor, Protocol):
    """An agent that acts on observations; one state may contain many observations."""

    def act(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) The agent's greedy actions."""

    def cells_of(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) The states of observations (B, ...)."""

    def check_env(self, env: Any) -> None:
        """Raise ``ValueError`` unless an environment has the observations and actions of this agent."""

    def ending_name(self, observation: Any, action: int, reward: float) -> str | None:
        """The name of the ending of an episode after its last step; None: it has no name."""


def sizes_of(labels: Labels) -> str:
    """The number of states and actions, for short forms.

    >>> sizes_of(Labels.plain(3, 2))
    '3 states, 2 actions'
    """
    return f"{count(labels.n_states, 'state')}, {count(labels.n_actions, 'action')}"


def situation_of(state: Any) -> Situation:
    """A state's index as a situation; a situation is returned as it is.

    >>> situation_of(3)
    Situation(index=3, observation=None)
    """
    return state if isinstance(state, Situation) else Situation(whole("state", state))


def checked_pair(state: Any, action: Any, n_states: int, n_actions: int) -> tuple[int, int]:
    """A state and an action as indices; ``ValueError`` if they are out of range.

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
