"""How an agent that acts on observations is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whatfor.beliefs.protocol import ObservationAgent
from whatfor.beliefs.situation import Situation
from whatfor.kernels.recursion import NOT_ENDED
from whatfor.worlds.adapter import Enter
from whatfor.worlds.arriving import Search
from whatfor.worlds.copying import copies
from whatfor.worlds.play import play
from whatfor.worlds.rolling import Rollouts
from whatfor.worlds.world import ending_code

#: Environments played in parallel, so that a network evaluates them as one batch.
MAX_ENVS = 64


@dataclass(frozen=True)
class AgentPlayer:
    """An agent that acts on observations, from one action in one situation or from the start of an episode."""

    agent: ObservationAgent
    generator: np.random.Generator
    start: tuple[Situation, int] | None = None  # None: where episodes begin
    enter: Enter | None = None
    search: Search | None = None
    seed: int | None = None  # of every reset; None: drawn

    def begin(self, env: Any) -> tuple[Any, int | None]:
        """Reset the environment and put it into the situation, if there is one to enter."""
        observation, _ = env.reset(seed=int(self.generator.integers(2**31)) if self.seed is None else self.seed)
        if self.start is None or self.enter is None:
            return observation, None
        at, action = self.start
        self.enter(env, at, self.generator)
        return at.observation, action

    def states(self, observations: Sequence[Any]) -> Sequence[int]:
        """The cells of observations."""
        return list(self.agent.cells_of(np.stack([np.asarray(one) for one in observations])))

    def actions(self, observations: Sequence[Any]) -> Sequence[int]:
        """The agent's greedy actions."""
        if not observations:
            return []
        return list(self.agent.act(np.stack([np.asarray(one) for one in observations])))

    def step(self, env: Any, action: int) -> tuple[Any, float, int, bool]:
        """One step, with the agent's names of endings."""
        observation, reward, terminated, truncated, _ = env.step(action)
        name = self.agent.ending_name(observation, action, float(reward)) if terminated else None
        ending = ending_code(self.agent.labels, name) if terminated else NOT_ENDED
        return observation, float(reward), ending, bool(truncated)

    def roll_out(self, env: Any, *, rollouts: int, max_steps: int, limit: int | None = None) -> Rollouts:
        """Play in parallel copies of an environment if it can be created again, else in it alone."""
        envs = copies(env, min(MAX_ENVS, rollouts))
        try:
            steps = play(self, envs, rollouts=rollouts, max_steps=max_steps, limit=limit)
            return Rollouts.of(steps, rollouts, self.agent.labels.n_actions)
        finally:
            for other in envs[1:]:
                other.close()
