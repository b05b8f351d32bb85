"""Deep agents with a wrong mechanism, made from trained ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs import Beliefs, Situation
from whatfor.beliefs.protocol import Actor
from whatfor.beliefs.row import Row
from whatfor.paper.agents import ANOTHER_SEED
from whatfor.paper.deep_agents import DeepAgents
from whatfor.paper.taxi import optimal_values
from whatfor.runs import Run


class WrongDeepAgents:
    """The agents of one seed, each changed in the same way."""

    def __init__(self, right: DeepAgents, change: Callable[[Run], Run]) -> None:
        self.right, self.change, self.seed = right, change, right.seed

    @property
    def taxi(self) -> Run:
        """The changed Taxi agent."""
        return self.change(self.right.taxi)

    @property
    def taxi_learned(self) -> Run:
        """The changed Taxi agent, with what was learned alongside."""
        return self.change(self.right.taxi_learned)

    @property
    def cartpole_learned(self) -> Run:
        """The changed CartPole agent, with what was learned alongside."""
        return self.change(self.right.cartpole_learned)


class BeliefsOfOtherStates(Beliefs):
    """The beliefs of an agent, each given for another state."""

    def __init__(self, right: Run) -> None:
        self.right = right
        self.other = np.random.default_rng(0).permutation(right.labels.n_states)
        self.trust = right.trust

    def row(self, at: Situation, action: int) -> Row:
        """The row of another state."""
        return self.right.beliefs.row(self.right.situation(int(self.other[at.index])), action)

    @property
    def tries(self) -> NDArray[np.int64] | None:
        """Those of the agent."""
        return self.right.beliefs.tries

    def actor(self, table: Actor) -> Actor:
        """The agent itself."""
        return self.right.actor


def _of_other_states(run: Run) -> Run:
    return run.believing(BeliefsOfOtherStates(run))


def _simulated(right: DeepAgents, rollouts: int) -> WrongDeepAgents:
    """Each agent draws a start of its own in the bin."""
    seed = right.seed + ANOTHER_SEED
    return WrongDeepAgents(right, lambda run: run.believing(run.playing.simulated(None, rollouts, seed, None)))


def _worst(run: Run) -> Run:
    """A table that prefers the worst action, with the beliefs of playing it."""
    more: dict[str, Any] = {"settings": run.settings, "origin": run.origin}
    contrary = Run(labels=run.labels, values=-run.values, **more)
    return Run(
        labels=run.labels, values=-run.values, beliefs=contrary.playing.simulated(None, CONTRARY_ROLLOUTS, 1, None), **more
    )  # fmt: skip


def _discounted(run: Run) -> Run:
    return Run(labels=run.labels, values=optimal_values(0.9))


CONTRARY_ROLLOUTS = 100
#: The wrong mechanisms by name; each takes the right agents.
DEEP_WRONG: dict[str, Callable[[DeepAgents], WrongDeepAgents]] = {
    "beliefs of other states": lambda right: WrongDeepAgents(right, _of_other_states),
    "one forward simulation in place of the belief": lambda right: _simulated(right, 1),
    "forward simulation in place of the belief": lambda right: _simulated(right, 1_000),
    "choosing the worst action": lambda right: WrongDeepAgents(right, _worst),
    "values with a discount of 0.9": lambda right: WrongDeepAgents(right, _discounted),
}
