"""Play rollouts in Gymnasium environments, several in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NOT_ENDED, TIMED_OUT
from whatfor.limits import LimitError, limit, variable
from whatfor.worlds.adapter import Enter
from whatfor.worlds.steppers import EnvStepper


class PlayedStep(NamedTuple):
    """One step of one rollout."""

    rollout: int
    observation: Any
    state: int
    action: int
    reward: float
    next_observation: Any
    ending: int  # NOT_ENDED before the last step; TIMED_OUT: truncated


class Player(Protocol):
    """How to start a rollout, choose actions and step the environment."""

    def begin(self, env: Any) -> tuple[Any, int | None]:
        """Start a rollout: the observation, and the first action if it is given."""

    def states(self, observations: Sequence[Any]) -> Sequence[int]:
        """The states of observations."""

    def actions(self, observations: Sequence[Any]) -> Sequence[int]:
        """An action for each observation."""

    def step(self, env: Any, action: int) -> tuple[Any, float, int, bool]:
        """Next observation, reward, the code of the ending (NOT_ENDED: none), and whether it was truncated."""


def play(
    player: Player, envs: Sequence[Any], *, rollouts: int, max_steps: int, limit: int | None = None
) -> Iterator[PlayedStep]:
    """Play rollouts in several environments in parallel, so that a network evaluates them as one batch.

    ``limit``: the time limit of the environments; a rollout goes on beyond it, up to ``max_steps``.
    """
    begun, played = min(len(envs), rollouts), 0
    running: list[tuple[int, Any, Any, int | None, int]] = [
        (n, env, *player.begin(env), 0) for n, env in zip(range(begun), envs, strict=False)
    ]
    while running:
        played += len(running)
        check_steps(played)
        states = player.states([observation for _, _, observation, _, _ in running])
        chosen = iter(player.actions([observation for _, _, observation, first, _ in running if first is None]))
        unfinished: list[tuple[int, Any, Any, int | None, int]] = []
        for (n, env, observation, first, length), state in zip(running, states, strict=True):
            action = int(next(chosen)) if first is None else first
            following, reward, ending, truncated = player.step(env, action)
            cut = truncated and (limit is None or length + 1 < limit)
            if ending == NOT_ENDED and (cut or length + 1 >= max_steps):
                ending = TIMED_OUT
            yield PlayedStep(n, observation, int(state), action, reward, following, ending)
            if ending == NOT_ENDED:
                unfinished.append((n, env, following, None, length + 1))
            elif begun < rollouts:
                unfinished.append((begun, env, *player.begin(env), 0))
                begun += 1
        running = unfinished


@dataclass(frozen=True)
class TablePlayer:
    """A tabular policy in an environment with discrete observations, from one action in one state."""

    stepper: EnvStepper
    cumulative: NDArray[np.float64]  # (S, A) cumulative action probabilities
    start: tuple[int, int]
    generator: np.random.Generator
    enter: Enter

    def begin(self, env: Any) -> tuple[int, int]:
        """Reset the environment and put it into the state."""
        state, action = self.start
        self.stepper.reset()
        self.enter(env, state, self.generator)
        self.stepper.at = state
        return state, action

    def states(self, observations: Sequence[int]) -> Sequence[int]:
        """The observations are states."""
        return observations

    def actions(self, observations: Sequence[int]) -> Sequence[int]:
        """An action for each state, drawn from the policy."""
        return [int((self.cumulative[state] <= self.generator.random()).sum()) for state in observations]

    def step(self, _: Any, action: int) -> tuple[int, float, int, bool]:
        """One step, checked by the stepper."""
        return self.stepper.step(action)


def check_steps(steps: int) -> None:
    """Raise ``LimitError`` if all rollouts together have too many steps."""
    if steps > (maximum := limit("steps")):  # the total number is unknown
        raise LimitError(
            f"this simulation needs more than {maximum:,} steps, which is the limit. Play fewer rollouts, or set {variable('steps')}={10 * maximum}"
        )
