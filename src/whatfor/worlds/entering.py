"""Putting a world into a state that somebody asks about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.envs.classic_control.acrobot import AcrobotEnv
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.envs.classic_control.mountain_car import MountainCarEnv
from gymnasium.envs.toy_text.blackjack import BlackjackEnv
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv
from numpy.typing import NDArray

from whatfor.labels import Labels
from whatfor.worlds.gymnasium import NAME_KEEPING, layers

#: Puts an environment that was just reset into a state: given by its index or, for an agent that acts on observations,
#: as a situation, with ``index`` and ``observation``.
Enter = Callable[[Any, Any, np.random.Generator], None]

#: An observation that was rounded into another bin is drawn again, so many times.
MAX_REDRAWS = 1_000


def observations_in(labels: Labels, state: int, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """(count, axes) Continuous observations that look like a state, drawn evenly from its bins."""
    sides = [(axis.edges[at], axis.edges[at + 1]) for axis, at in zip(labels.axes, labels.values(state), strict=True)]
    low, high = np.array(sides).T
    drawn = generator.uniform(low, high, size=(count, len(sides)))
    for _ in range(MAX_REDRAWS):
        wrong = ~_inside(labels, state, drawn)  # rounded across an edge
        if not wrong.any():
            return drawn
        drawn[wrong] = generator.uniform(low, high, size=(int(wrong.sum()), len(sides)))
    raise ValueError(
        f"no observation was found in {labels.words(state)!r}: its bins are narrower than float32 numbers lie apart"
    )


def _inside(labels: Labels, state: int, drawn: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(labels.indices(drawn.astype(np.float32)) == state)  # as the environment shows them


def entering(env: Any, labels: Labels) -> Enter:
    """How an environment is put into a state, where that is known."""
    core = env.unwrapped
    if labels.observed == "bins" and isinstance(core, (CartPoleEnv, MountainCarEnv)):
        return lambda env, state, generator: setattr(
            env.unwrapped, "state", observations_in(labels, state, 1, generator)[0]
        )
    if isinstance(core, BlackjackEnv) and not (core.natural or core.sab):
        return lambda env, state, generator: _deal(env.unwrapped, labels.observation(state), generator)
    if isinstance(core, (TaxiEnv, FrozenLakeEnv, CliffWalkingEnv)) and labels.observed == "index":
        return lambda env, state, generator: setattr(env.unwrapped, "s", state)
    raise ValueError(_cannot(core))


def entering_observation(env: Any) -> Enter:
    """How an environment is put where it shows a continuous observation, where that is known: ``state.observation``."""
    core, shown_as_is = env.unwrapped, all(isinstance(layer, NAME_KEEPING) for layer in layers(env))
    if shown_as_is and isinstance(core, (CartPoleEnv, MountainCarEnv)):
        return lambda env, state, generator: setattr(env.unwrapped, "state", np.array(state.observation, np.float64))
    if shown_as_is and isinstance(core, AcrobotEnv):
        return lambda env, state, generator: setattr(env.unwrapped, "state", _angles(state.observation))
    if shown_as_is and isinstance(core, (TaxiEnv, FrozenLakeEnv, CliffWalkingEnv)):
        return lambda env, state, generator: setattr(env.unwrapped, "s", int(state.observation))
    raise ValueError(_cannot(core))


def _angles(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Acrobot's two angles and their speeds, from what it shows."""
    return np.array([np.arctan2(seen[1], seen[0]), np.arctan2(seen[3], seen[2]), seen[4], seen[5]], np.float64)


def _cannot(core: Any) -> str:
    return (
        f"{type(core).__name__} cannot be put into a given state, so nothing can be played from there: pass "
        "enter=, a function (env, state, rng) that puts the environment, just reset, into the state with this index"
    )


def _deal(core: Any, seen: tuple[int, int, int], generator: np.random.Generator) -> None:
    """Hands that look like an observation; by the paper's rules any such hand is as good as another."""
    total, shown, ace = seen
    hard = total - 10 * ace
    core.player = [1, hard - 1] if ace else [min(10, hard - 2), hard - min(10, hard - 2)]
    cards = [*range(1, 10), 10, 10, 10, 10]
    core.dealer = [shown, cards[int(generator.integers(len(cards)))]]
