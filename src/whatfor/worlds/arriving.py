"""Start rollouts in a state that cannot be set directly: play fresh episodes until they reach it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from whatfor.labels import Labels
from whatfor.limits import limit, variable
from whatfor.text import count, either

#: How much of play on the way to a state is at random: what happens before it does not matter for what follows.
EXPLORATIONS = (0.0, 0.1, 0.3, 1.0)
#: An episode on the way is given up after so many steps. Until the state is reached, each one given up doubles them.
PATIENCE = 100


@dataclass
class Search:
    """Fresh episodes on the way to a state, within a budget of steps.

    Of the shares of random actions, each episode takes the one with which the state was reached most often for its steps so far; the policy's own
    course comes first.
    """

    labels: Labels
    state: int
    action: int  # to take there
    rollouts: int
    generator: np.random.Generator
    steps: dict[float, int] = field(default_factory=lambda: dict.fromkeys(EXPLORATIONS, 0))
    only_final: frozenset[int] = frozenset()  # states that ended episodes of training, and that it never acted in
    arrivals: dict[float, int] = field(default_factory=lambda: dict.fromkeys(EXPLORATIONS, 0))
    patience: int = PATIENCE

    def __post_init__(self) -> None:
        if self.state in self.only_final:
            raise ValueError(
                f"episodes end on reaching {self.labels.words(self.state)!r}: nothing can be played from there"
            )

    def way(self) -> float:
        """The share of random actions for the next episode."""
        return max(EXPLORATIONS, key=lambda share: (1 + self.arrivals[share]) / (1 + self.steps[share]))

    def first_action(self, way: float) -> int:
        """The action that is asked about."""
        return self.action

    def action_on_the_way(self, way: float, greedy: int) -> int:
        """The action of the policy, or a random one."""
        if way and self.generator.random() < way:
            return int(self.generator.integers(self.labels.n_actions))
        return greedy

    def has_arrived(self, state: int, way: float) -> bool:
        """Whether an episode is in the state, counted."""
        arrived = state == self.state
        self.arrivals[way] += arrived
        return arrived

    def gives_up(self, steps: int) -> bool:
        """Whether an episode with so many steps is given up: a policy that goes round would use up the budget."""
        if steps < self.patience:
            return False
        self.patience *= 1 if any(self.arrivals.values()) else 2
        return True

    def count_step(self, way: float) -> None:
        """Count a step on the way; ``ValueError`` once the budget is used up."""
        self.steps[way] += 1
        if sum(self.steps.values()) > (budget := limit("search")):
            found = sum(self.arrivals.values())
            name = self.labels.words(self.state)
            reached = "never reached it" if found == 0 else f"reached it only {count(found, 'time')}"
            fewer = f"play fewer rollouts (rollouts={found}), " * (1 < found < self.rollouts)
            raise ValueError(
                f"{count(self.rollouts, 'rollout')} from {name!r} cannot be played: fresh episodes, by its policy and with random actions, "
                f"{reached} in {budget:,} steps{', or episodes end there' * (found == 0)}. To go on, {fewer}set {variable('search')}={10 * budget}, or say how to enter a state: {how_to_enter()}"
            )


def arrival_text(*, whole: bool) -> str:
    """Where such rollouts start; ``whole``: the state is all that the agent observes.

    >>> arrival_text(whole=True).rpartition(": ")[2], arrival_text(whole=False).rpartition(": ")[2]
    ('valid if the environment is Markov in this state.', 'an average over the observations there.')
    """
    how = "Each rollout starts where a fresh episode, played by its policy and with random actions where needed, reached this state"
    valid = ": valid if the environment is Markov in this state."
    return how + (valid if whole else ", not at the observation in question: an average over the observations there.")


def how_to_enter(observation: str = "run.labels.observation(state)") -> str:
    """What to type where a state cannot be entered; ``observation``: that of the state."""
    python = (
        "pass enter=, a function that puts the environment, after a reset, into the state with a given index, such as "
        f"`def enter(env, state, rng): env.unwrapped.position = {observation}`"
    )
    return either(python, f"in Python, {python}; the command line cannot")
