"""Playing Gymnasium environments, several side by side, until each rollout is done."""

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
    ending: int  # GOES_ON while the rollout goes on; TIMED_OUT where it was cut


class Player(Protocol):
    """Who plays: how a rollout begins, what is done, and how the environment is stepped."""

    def begin(self, env: Any) -> tuple[Any, int | None]:
        """Start a rollout: the observation, and the first action where it is given."""

    def states(self, observations: Sequence[Any]) -> Sequence[int]:
        """The states that observations are in."""

    def actions(self, observations: Sequence[Any]) -> Sequence[int]:
        """What to do."""

    def step(self, env: Any, action: int) -> tuple[Any, float, int, bool]:
        """Next observation, reward, how the environment ended it (GOES_ON: it did not), and whether it was truncated."""


def play(player: Player, envs: Sequence[Any], *, rollouts: int, max_steps: int) -> Iterator[PlayedStep]:
    """Play rollouts in environments side by side, so that a network is asked for all of them at once."""
    begun, played = min(len(envs), rollouts), 0
    running: list[tuple[int, Any, Any, int | None, int]] = [
        (n, env, *player.begin(env), 0) for n, env in zip(range(begun), envs, strict=False)
    ]
    while running:
        played += len(running)
        check_steps(played)
        states = player.states([observation for _, _, observation, _, _ in running])
        chosen = iter(player.actions([seen for _, _, seen, first, _ in running if first is None]))
        still: list[tuple[int, Any, Any, int | None, int]] = []
        for (n, env, observation, first, length), state in zip(running, states, strict=True):
            action = int(next(chosen)) if first is None else first
            following, reward, ending, truncated = player.step(env, action)
            if ending == NOT_ENDED and (truncated or length + 1 >= max_steps):
                ending = TIMED_OUT
            yield PlayedStep(n, observation, int(state), action, reward, following, ending)
            if ending == NOT_ENDED:
                still.append((n, env, following, None, length + 1))
            elif begun < rollouts:
                still.append((begun, env, *player.begin(env), 0))
                begun += 1
        running = still


@dataclass(frozen=True)
class TablePlayer:
    """A policy by states, in an environment whose observations are states; each rollout begins with one action in one state."""

    stepper: EnvStepper
    cumulative: NDArray[np.float64]  # (S, A) chances summed up within each state
    start: tuple[int, int]
    generator: np.random.Generator
    enter: Enter

    def begin(self, env: Any) -> tuple[int, int]:
        """Put the environment into the state."""
        state, action = self.start
        self.stepper.reset()
        self.enter(env, state, self.generator)
        return state, action

    def states(self, observations: Sequence[int]) -> Sequence[int]:
        """Its observations are states."""
        return observations

    def actions(self, observations: Sequence[int]) -> Sequence[int]:
        """Draw an action for each."""
        return [int((self.cumulative[state] <= self.generator.random()).sum()) for state in observations]

    def step(self, _: Any, action: int) -> tuple[int, float, int, bool]:
        """By the stepper, which checks what the environment gives."""
        return self.stepper.step(action)


def check_steps(steps: int) -> None:
    """Raise ``ValueError`` where rollouts together have become too long."""
    if steps > (most := limit("steps")):  # how many more it would play is unknown
        raise LimitError(
            f"this simulation needs more than {most:,} steps, which is the limit. Play fewer rollouts, or set {variable('steps')}={10 * most}"
        )
