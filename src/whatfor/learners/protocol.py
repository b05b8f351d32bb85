"""What a learner is, for anyone who wants to write one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NOT_ENDED
from whatfor.learners.schedules import Schedule

if TYPE_CHECKING:
    from whatfor.ledger import Ledger


class Transition(NamedTuple):
    """What the world did."""

    state: int
    action: int
    reward: float
    next_state: int
    terminated: bool
    truncated: bool
    ending: int = NOT_ENDED  # how the learner should take it: 0 goes on (bootstrap), else a code of the ledger

    @property
    def following(self) -> int | None:
        """The state to bootstrap from; None where the learner should take this for an end."""
        return self.next_state if self.ending == NOT_ENDED else None


@runtime_checkable
class Agent(Protocol):
    """A learner at work."""

    @property
    def tables(self) -> NDArray[np.float64]:
        """(tables, S, A) Its own values; what explanations are checked against."""

    def begin(self, state: int, exploration: float) -> int:
        """Start an episode in a state, exploring with this chance; the first action."""

    def observe(self, step: Transition) -> int:
        """Learn from a step, record each update in the ledger, and choose the next action (-1 after the last)."""


@runtime_checkable
class Learner(Protocol):
    """Settings that make an agent. ``whatfor.testing.check_learner`` says whether a class keeps the contract."""

    @property
    def discount(self) -> float:
        """How much the future counts."""

    @property
    def exploration(self) -> float | Schedule:
        """The chance to explore, or a function of the episode."""

    @property
    def n_tables(self) -> int:
        """How many tables of values it keeps."""

    @property
    def order(self) -> str:
        """How its updates follow the steps of an episode: "forwards", "backwards" or "replayed"."""

    def start(self, n_states: int, n_actions: int, *, ledger: Ledger | None, generator: np.random.Generator) -> Agent:
        """A fresh agent that writes into ``ledger`` (None: it records nothing)."""
