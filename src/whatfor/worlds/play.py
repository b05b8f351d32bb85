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
from whatfor.worlds.entered import enter_checked
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
    final: int = -1  # the state after the last step; -1: this is not the last one


@dataclass
class _Rollout:
    """A rollout under way."""

    number: int
    env: Any
    observation: Any
    first: int | None = None  # the first action, if it is given
    length: int = 0
    since_reset: int = 0  # steps of its episode; more than ``length`` if it was played into the state
    way: float | None = None  # how it comes to the state; None: it is there


class Way(Protocol):
    """How rollouts come to the states that they start in: on ways that are told apart by a number."""

    def way(self) -> float:
        """The way of the next rollout, or of its next episode."""

    def action_on_the_way(self, way: float, greedy: int) -> int:
        """The action to take there, instead of the policy's own."""

    def has_arrived(self, state: int, way: float) -> bool:
        """Whether it is in the state to start in."""

    def first_action(self, way: float) -> int:
        """The action to take in the state."""

    def count_step(self, way: float) -> None:
        """Count a step on the way."""

    def gives_up(self, steps: int) -> bool:
        """Whether an episode of so many steps is given up, and another begun."""


class Player(Protocol):
    """How to start a rollout, choose actions and step the environment."""

    @property
    def search(self) -> Way | None:
        """The way to the state to start in; None: it can be entered, or rollouts are whole episodes."""

    def begin(self, env: Any) -> tuple[Any, int | None]:
        """Start a rollout, or an episode on the way to the state: the observation, and the first action if it is given."""

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

    ``limit``: the time limit of the environments; a rollout goes on beyond it, up to ``max_steps``. Steps on the way to a state
    are played, and are no part of a rollout.
    """
    begun, played = min(len(envs), rollouts), 0
    running = [_begun(player, n, env) for n, env in zip(range(begun), envs, strict=False)]
    while running:
        played += len(running)
        check_steps(played)
        states = player.states([one.observation for one in running])
        for one, state in zip(running, states, strict=True):
            _notice_arrival(one, int(state), player.search)
        chosen = iter(player.actions([one.observation for one in running if one.first is None]))
        unfinished = []
        for one, state in zip(running, states, strict=True):
            action = int(next(chosen)) if one.first is None else one.first
            if one.way is not None and player.search is not None:
                action = player.search.action_on_the_way(one.way, action)
            before = one.observation
            one.observation, reward, ending, truncated = player.step(one.env, action)
            one.since_reset, one.first = one.since_reset + 1, None
            if one.way is not None and player.search is not None:
                player.search.count_step(one.way)
                ended = truncated or ending != NOT_ENDED or player.search.gives_up(one.since_reset)
                unfinished.append(_begun(player, one.number, one.env) if ended else one)
                continue
            one.length += 1
            cut = truncated and (limit is None or one.since_reset < limit)
            if ending == NOT_ENDED and (cut or one.length >= max_steps):
                ending = TIMED_OUT
            final = -1 if ending == NOT_ENDED else int(player.states([one.observation])[0])
            yield PlayedStep(one.number, before, int(state), action, reward, one.observation, ending, final)
            if ending == NOT_ENDED:
                unfinished.append(one)
            elif begun < rollouts:
                unfinished.append(_begun(player, begun, one.env))
                begun += 1
        running = unfinished


def _begun(player: Player, number: int, env: Any) -> _Rollout:
    """A rollout in its state, or on the way there."""
    observation, first = player.begin(env)
    search = player.search
    return _Rollout(number, env, observation, first, way=None if search is None else search.way())


def _notice_arrival(one: _Rollout, state: int, search: Way | None) -> None:
    """Start the rollout if it is on its way and in the state."""
    if search is not None and one.way is not None and search.has_arrived(state, one.way):
        one.first = search.first_action(one.way)
        one.way = None


@dataclass(frozen=True)
class TablePlayer:
    """A tabular policy in an environment with discrete observations, from one action in one state or whole episodes."""

    stepper: EnvStepper
    cumulative: NDArray[np.float64]  # (S, A) cumulative action probabilities
    start: tuple[int, int] | None  # None: where episodes begin
    generator: np.random.Generator
    enter: Enter | None = None
    search: Way | None = None

    def begin(self, env: Any) -> tuple[int, int | None]:
        """Reset the environment and put it into the state, if there is one to enter."""
        state = self.stepper.reset()
        if self.start is None or self.enter is None:
            return state, None
        enter_checked(self.enter, env, self.stepper.labels, state, self.start[0], self.generator)
        self.stepper.at = self.start[0]
        return self.start

    def states(self, observations: Sequence[int]) -> Sequence[int]:
        """The observations are states."""
        return observations

    def actions(self, observations: Sequence[int]) -> Sequence[int]:
        """An action for each state, drawn from the policy."""
        return [int((self._row(state) <= self.generator.random()).sum()) for state in observations]

    def _row(self, state: int) -> NDArray[np.float64]:
        """(A,) Cumulative probabilities; in a state that training never met, all actions are equally good."""
        if state < len(self.cumulative):
            row: NDArray[np.float64] = self.cumulative[state]
            return row
        n_actions = self.cumulative.shape[1]
        return np.linspace(1.0 / n_actions, 1.0, n_actions)

    def step(self, _: Any, action: int) -> tuple[int, float, int, bool]:
        """One step, checked by the stepper."""
        return self.stepper.step(action)


def check_steps(steps: int) -> None:
    """Raise ``LimitError`` if all rollouts together have too many steps."""
    if steps > (maximum := limit("steps")):  # the total number is unknown
        raise LimitError(
            f"this simulation needs more than {maximum:,} steps, which is the limit. Play fewer rollouts, or set {variable('steps')}={10 * maximum}"
        )
