"""The interface of learners and agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NOT_ENDED
from whatfor.learners.schedules import Schedule

if TYPE_CHECKING:
    from whatfor.ledger import Ledger


class Transition(NamedTuple):
    """One step of experience."""

    state: int
    action: int
    reward: float
    next_state: int
    terminated: bool
    truncated: bool
    ending: int = NOT_ENDED  # 0: not ended (bootstrap); else the code of the ending in the ledger
    parts: Mapping[str, float] | None = None  # of the reward, to pass to Ledger.record(); None: not asked for

    @property
    def following(self) -> int | None:
        """The state to bootstrap from; None if the learner should treat this step as the end."""
        return self.next_state if self.ending == NOT_ENDED else None


@runtime_checkable
class Agent(Protocol):
    """A learner during training."""

    @property
    def tables(self) -> NDArray[np.float64]:
        """(tables, S, A) Its values; explanations are checked against them."""

    def begin(self, state: int, exploration: float) -> int:
        """Start an episode in a state with this exploration probability; returns the first action."""

    def observe(self, step: Transition) -> int:
        """Learn from a step, record each update in the ledger, and choose the next action (-1 after the last step)."""


@runtime_checkable
class Learner(Protocol):
    """The parameters of a learner; ``start`` creates its agent. ``whatfor.testing.check_learner`` checks a custom class."""

    @property
    def discount(self) -> float:
        """The discount factor."""

    @property
    def exploration(self) -> float | Schedule:
        """The exploration probability, or a function from the episode to it."""

    @property
    def n_tables(self) -> int:
        """The number of value tables."""

    @property
    def order(self) -> str:
        """The order of updates relative to the steps of an episode: "forwards", "backwards" or "replayed"."""

    def start(self, n_states: int, n_actions: int, *, ledger: Ledger | None, generator: np.random.Generator) -> Agent:
        """A new agent that records its updates in ``ledger`` (None: it records nothing)."""
