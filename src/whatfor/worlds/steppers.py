"""Steppers: reset and step a world or an environment, with states and actions as indices."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sized
from math import isfinite
from typing import Any, Protocol

import numpy as np

from whatfor.checks import flag
from whatfor.kernels.recursion import NOT_ENDED
from whatfor.kernels.tape import Tape, generator_from
from whatfor.labels import Labels
from whatfor.worlds.discovering import Discovering
from whatfor.worlds.private import random_generator
from whatfor.worlds.spaces import misfit
from whatfor.worlds.stepping import WORLD_DRAWS, begin, step
from whatfor.worlds.terms import RewardTerms
from whatfor.worlds.world import World, ending_code

#: How often an episode is started again that begins in a state which training never met.
MAX_STARTS = 100


class Stepper(Protocol):
    """A world, one step at a time."""

    parts: dict[str, float] | None  # of the last reward; None: not asked for

    def reset(self) -> int:
        """Start an episode; returns its first state."""

    def step(self, action: int) -> tuple[int, float, int, bool]:
        """Next state, reward, the code of the ending (0: not ended), and whether it was truncated."""

    def state(self) -> dict[str, Any]:
        """Between episodes: the complete state of the world, for JSON."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a ``state()``."""


class WorldStepper:
    """A known world, stepped from Python with the functions and random numbers of the compiled loop."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.labels = world.labels
        # Seeded as in Gymnasium, so that a table draws the same numbers as its environment.
        self.tape = Tape(np.random.Generator(np.random.PCG64(seed)))
        self.body = np.zeros(4)
        self.parts: dict[str, float] | None = None
        self._state = 0

    def reset(self) -> int:
        """Start an episode; returns its first state."""
        self.tape.need(WORLD_DRAWS)
        self._state = int(begin(self.world.arrays, self.body, self.tape.uniforms, self.tape.cursor))
        return self._state

    def step(self, action: int) -> tuple[int, float, int, bool]:
        """Next state, reward, the code of the ending (0: not ended), and whether it was truncated."""
        action = self.labels.action(action)
        self.tape.need(WORLD_DRAWS)
        following, reward, ending = step(
            self.world.arrays,
            self.body,
            self.labels.n_actions,
            self._state,
            action,
            self.tape.uniforms,
            self.tape.cursor,
        )
        self._state = int(following)
        return self._state, float(reward), int(ending), False

    def state(self) -> dict[str, Any]:
        """The complete state of the world between episodes."""
        return self.tape.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a ``state()``."""
        self.tape = Tape.from_state(state)


class EnvStepper:
    """A Gymnasium environment."""

    def __init__(self, env: Any, labels: Labels, seed: int, terms: RewardTerms | None = None) -> None:
        self.env = env
        self.terms = terms if terms is not None and terms.keys else None
        self.parts: dict[str, float] | None = None
        self.labels = labels
        self.n_actions = labels.n_actions
        self.index = env.index if isinstance(env, Discovering) else _indexer(labels)
        self._seed: int | None = seed  # for the first reset only
        self.at = 0  # the state now; whoever puts the environment into another one sets it

    def reset(self) -> int:
        """Start an episode; returns its first state."""
        self.at = self.index(observation_of(self.env.reset(seed=self._seed)))
        self._seed = None
        return self.at

    def step(self, action: int) -> tuple[int, float, int, bool]:
        """Next state, reward, the code of the ending (0: not ended), and whether it was truncated."""
        if type(action) is not int or not 0 <= action < self.n_actions:
            action = self.labels.action(action)
        outcome = self.env.step(action)
        try:
            observation, reward, terminated, truncated, info = outcome
        except (TypeError, ValueError):
            raise ValueError(
                "step() of the environment must return 5 values (observation, reward, terminated, truncated, info), "
                f"not {len(outcome) if isinstance(outcome, Sized) else type(outcome).__name__}"
            ) from None
        if type(reward) is int:
            reward = float(reward)
        elif type(reward) is not float or not isfinite(reward):
            reward = _reward(reward)
        if type(terminated) is not bool or type(truncated) is not bool:
            terminated, truncated = (
                flag("the environment's terminated", terminated),
                flag("the environment's truncated", truncated),
            )
        before, state = self.at, self.index(observation)
        self.at, ending = state, NOT_ENDED
        if terminated:
            ending = ending_code(self.labels, self.labels.ending(action, reward, state, before))
        if self.terms is not None:
            self.parts = self.terms.parts_in(info)
            reward = self.terms.paid(reward, self.parts)
        return state, reward, ending, truncated

    def state(self) -> dict[str, Any]:
        """The complete state of the world between episodes."""
        generator = random_generator(self.env)
        begun = self._seed is None
        return {"begun": begun, "generator": generator.bit_generator.state if begun and generator is not None else None}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a ``state()``."""
        if state["begun"]:
            self._seed = None
        if state["generator"] is not None:
            self.env.unwrapped.np_random = generator_from(state["generator"])


def first_met(stepper: Stepper, n_states: int) -> int:
    """Start episodes until one begins in one of the first ``n_states`` states; where states are discovered, play may meet others."""
    starts = (stepper.reset() for _ in range(MAX_STARTS))
    state = next((state for state in starts if state < n_states), None)
    if state is None:
        raise ValueError(
            f"{MAX_STARTS} episodes began in states that training never met: train for more episodes, or with a coarser key of states"
        )
    return state


def observation_of(begun: Any) -> Any:
    """The observation that reset() of an environment returned, checked.

    >>> observation_of((3, {}))
    3
    >>> observation_of(3)
    Traceback (most recent call last):
    ValueError: reset() of the environment must return 2 values (observation, info), not int
    """
    if isinstance(begun, tuple | list) and len(begun) == 2 and (begun[1] is None or isinstance(begun[1], Mapping)):
        return begun[0]
    returned = len(begun) if isinstance(begun, tuple | list) and len(begun) != 2 else type(begun).__name__
    raise ValueError(f"reset() of the environment must return 2 values (observation, info), not {returned}")


def _reward(given: Any) -> float:
    """A reward as a float; text is refused, even if it could be parsed."""
    try:
        reward = math.nan if isinstance(given, (str, bytes)) else float(given)
    except (TypeError, ValueError, OverflowError):
        reward = math.nan
    if not isfinite(reward):
        raise ValueError(f"the environment returned the reward {given!r}; rewards must be finite numbers")
    return reward


def _indexer(labels: Labels) -> Callable[[Any], int]:
    """The fastest function from an observation to its state index, with checks."""
    if labels.observed in ("index", "bins"):  # bins: the wrapper returns an index
        start = labels.axes[0].start if len(labels.axes) == 1 else 0
        n_states = labels.n_states

        def index(observation: Any) -> int:
            try:
                state = operator.index(observation) - start
            except TypeError:
                raise ValueError(
                    f"the environment returned the observation {observation!r}, which is not a state: states are whole numbers"
                ) from None
            if not 0 <= state < n_states:
                raise ValueError(
                    f"the environment returned state {observation}, which is out of range: {start} to {start + n_states - 1}"
                )
            return state

        return index
    sides = [(axis.start, axis.size) for axis in labels.axes]
    numbers_of = iter if labels.structure is None else labels.structure.values

    def index_of_numbers(observation: Any) -> int:
        state = 0
        try:
            for number, (start, size) in zip(numbers_of(observation), sides, strict=True):
                at = operator.index(number) - start
                if not 0 <= at < size:
                    raise ValueError(f"{at + start} is out of range: {start} to {start + size - 1}")
                state = state * size + at
        except (TypeError, ValueError) as error:
            why = misfit(numbers_of, observation, len(sides), error)
            raise ValueError(
                f"the environment returned the observation {observation!r}, which is not a state of {len(sides)} whole numbers: {why}"
            ) from None
        return state

    return index_of_numbers
