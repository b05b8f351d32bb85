"""Worlds from tables of transitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.checks import array_of, flags, whole
from whatfor.labels import Labels
from whatfor.worlds.adapter import Enter
from whatfor.worlds.world import World, table_world


def table(
    next_state: Any,
    reward: ArrayLike | None = None,
    terminated: ArrayLike | bool = False,
    *,
    probability: ArrayLike | None = None,
    start: int | ArrayLike = 0,
    labels: Labels | None = None,
    max_steps: int | None = None,
) -> World:
    """A world from a table of transitions.

    Pass arrays: ``next_state``, ``reward`` and ``terminated`` of shape (S, A), or (S, A, K) with the ``probability`` of
    each of K outcomes. Or pass Gymnasium's ``P`` alone: ``P[s][a]`` is a list of (probability, next state, reward,
    terminated). ``start`` is a state, or the probability of each state.

    >>> world = table(next_state=[[1, 0], [1, 1]], reward=[[0, 0], [1, 0]], terminated=[[False, False], [True, False]])
    >>> world.labels.n_states, world.labels.n_actions
    (2, 2)
    """
    if reward is None:
        return _from_lists(next_state, start, labels, max_steps)
    following = array_of("next_state", next_state, "iu", "whole numbers")
    if following.ndim not in (2, 3) or not following.size:
        raise ValueError(
            f"next_state has shape {following.shape}; pass (states, actions) or (states, actions, outcomes)"
        )
    shape = following.shape
    _check_states(following, shape[0])
    if following.ndim == 3 and probability is None:
        raise ValueError("with several outcomes per pair, pass probability= of the same shape")
    rewards = _fitting("reward", array_of("reward", reward, "biuf", "numbers"), shape).astype(np.float64)
    ended = _fitting("terminated", flags("terminated", terminated), shape)
    given = array_of("probability", 1.0 if probability is None else probability, "iuf", "numbers")
    chances = _fitting("probability", given, shape).astype(np.float64)
    width = shape[2] if len(shape) == 3 else 1
    return table_world(
        _labels(labels, shape[0], shape[1]),
        np.arange(shape[0] * shape[1] + 1, dtype=np.int64) * width,
        chances,
        following.astype(np.int32).ravel(),
        rewards,
        ended,
        _start_chances(start, shape[0]),
        max_steps=max_steps,
        recipe={"kind": "table"},
    )


def _from_lists(
    transitions: Mapping[int, Any] | Sequence[Any], start: int | ArrayLike, labels: Labels | None, max_steps: int | None
) -> World:
    """A world from Gymnasium's ``P``; entries keep their order, so that a uniform number selects the same one."""
    try:
        n_states, n_actions = len(transitions), len(transitions[0])
        rows = [transitions[s][a] for s in range(n_states) for a in range(n_actions)]
        flat = [(p, to, r, end) for row in rows for p, to, r, end in row]
    except (TypeError, KeyError, IndexError, ValueError):
        raise ValueError(
            "a table without reward= must be Gymnasium's P: P[state][action] = [(probability, next state, reward, terminated), ...]"
        ) from None
    if not flat or not all(rows):
        raise ValueError(f"every one of {n_states} states x {n_actions} actions needs at least one transition")
    first = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    columns = zip(*flat, strict=True)
    chances = array_of("the probabilities of P", next(columns), "iuf", "numbers").astype(np.float64)
    to = array_of("the next states of P", next(columns), "iu", "whole numbers")
    rewards = array_of("the rewards of P", next(columns), "biuf", "numbers").astype(np.float64)
    ended = flags("terminated in P", next(columns))
    if any(column.ndim != 1 for column in (chances, to, rewards, ended)):
        raise ValueError("every entry of P is (probability, next state, reward, terminated), four single values")
    _check_states(to, n_states)
    return table_world(
        _labels(labels, n_states, n_actions),
        first,
        chances,
        to.astype(np.int32),
        rewards,
        ended,
        _start_chances(start, n_states),
        max_steps=max_steps,
        recipe={"kind": "table"},
    )


def _check_states(states: Any, n_states: int) -> None:
    """Raise ``ValueError`` for next states out of range; before the cast to int32, which could wrap around."""
    outside = (states < 0) | (states >= n_states)
    if outside.any():
        raise ValueError(f"next state {states[outside][0]} is out of range: there are states 0 to {n_states - 1}")


def _fitting(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    try:
        return np.ascontiguousarray(np.broadcast_to(array, shape)).ravel()
    except ValueError:
        raise ValueError(f"{name} has shape {array.shape}, next_state has {shape}: they must be the same") from None


def _labels(given: Labels | None, n_states: int, n_actions: int) -> Labels:
    """The given labels, if they fit the table; numbers if there are none."""
    if given is None:
        return Labels.plain(n_states, n_actions)
    if (given.n_states, given.n_actions) != (n_states, n_actions):
        raise ValueError(
            f"labels= names {given.n_states} states and {given.n_actions} actions; the table has {n_states} states and {n_actions} actions"
        )
    return given


def _start_chances(start: int | ArrayLike, n_states: int) -> Any:
    if np.ndim(start) == 0:
        state = whole("start", start)
        if not 0 <= state < n_states:
            raise ValueError(f"start {state} is out of range: there are states 0 to {n_states - 1}")
        chances = np.zeros(n_states)
        chances[state] = 1.0
        return chances
    return array_of("start", start, "iuf", "a probability for each state").astype(np.float64)


def table_twin(core: Any, labels: Labels, limit: int | None) -> World:
    """The compiled twin of an environment with a transition table ``P``, as in Gymnasium's toy text environments."""
    return table(core.P, start=core.initial_state_distrib, labels=labels, max_steps=limit)


def enter_by_index(_: Any, labels: Labels) -> Enter | None:
    """Enter a state of such an environment, if its observation is the index of the state."""
    if labels.observed != "index":
        return None
    return lambda env, state, generator: setattr(env.unwrapped, "s", state)


def enter_by_observation(env: Any, state: Any, _: np.random.Generator) -> None:
    """Enter the state of an observation of such an environment."""
    env.unwrapped.s = int(state.observation)
