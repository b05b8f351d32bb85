"""Gymnasium environments: labels, compiled twins and functions to enter a state."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium import spaces
from gymnasium.wrappers import (
    DiscretizeObservation,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeLimit,
)

from whatfor.axes import Axis
from whatfor.labels import MAX_AXES, Labels
from whatfor.naming import Names
from whatfor.worlds.adapter import Enter, NoTwin
from whatfor.worlds.bins import edges_of, interval_words
from whatfor.worlds.discovering import Discovering, Discovery, StateOf, not_yet_discovered
from whatfor.worlds.known import adapter_of, has_twin
from whatfor.worlds.making import Clipped, make_env
from whatfor.worlds.private import max_episode_steps
from whatfor.worlds.spaces import NotCountable, countable, is_small, product_labels, ranges_of, structure_of_space
from whatfor.worlds.world import World

#: Wrappers that change neither observations nor rewards.
PLAIN_WRAPPERS = (OrderEnforcing, PassiveEnvChecker, TimeLimit)
#: Wrappers under which states and actions keep their meaning.
NAME_KEEPING = (*PLAIN_WRAPPERS, gym.RewardWrapper, RecordEpisodeStatistics)


#: The entry of ``metadata`` with the names that an environment carries itself.
NAMES_ENTRY = "whatfor"


def labels_of(env: gym.Env[Any, Any] | str) -> Labels:
    """Labels for the states and actions of an environment or its id: its own names, those of its adapter, or generic ones."""
    if isinstance(env, str):
        env = make_env(env)
    if isinstance(env, Discovering):
        return env.labels()
    try:
        return names_of(env).applied_to(_labels_of(env))
    except ValueError as error:
        if names_of(env) == Names():
            raise
        raise ValueError(f"metadata[{NAMES_ENTRY!r}] of this environment: {error}") from error


def labels_without_training(env: gym.Env[Any, Any] | str) -> Labels:
    """The labels of an environment where no training follows; a continuous one has none."""
    try:
        return labels_of(env)
    except NotCountable as error:
        raise error.without_training() from None


def names_of(env: gym.Env[Any, Any]) -> Names:
    """The names that an environment or a wrapper carries, unless a wrapper outside of it changes states or actions."""
    for layer in (*layers(env), env.unwrapped):
        own = vars(layer).get("_metadata") if isinstance(layer, gym.Wrapper) else layer.metadata
        if own and NAMES_ENTRY in own:
            return Names.of(own[NAMES_ENTRY])
        if not isinstance(layer, (*NAME_KEEPING, DiscretizeObservation, Clipped, Discovering)):
            break
    return Names()


def _labels_of(env: gym.Env[Any, Any]) -> Labels:
    """Labels without the names that the environment carries."""
    _check_actions(env.action_space)
    core, space, known = env.unwrapped, env.observation_space, adapter_of(env.unwrapped)
    if known is not None and known.labels is not None and keeps_meaning(layers(env)):
        return known.labels(core)
    bins = _bins(env)
    if bins is None:
        return product_labels(space, countable(space), action_names(env))
    edges = edges_of(bins)
    below = [layer for layer in layers(env)[1 + layers(env).index(bins) :] if type(layer) is not Clipped]
    named = None
    if known is not None and known.bin_labels is not None and keeps_meaning(below):
        named = known.bin_labels(edges)
    return _plain_bins(edges, action_names(env)) if named is None else named


def _check_actions(actions: spaces.Space[Any]) -> None:
    """Raise ``ValueError`` unless actions are numbered from 0."""
    if not isinstance(actions, spaces.Discrete):
        raise ValueError(
            f"actions must be Discrete; this environment has {actions}: number its actions from 0 in a "
            "gymnasium.ActionWrapper, whose action_space is Discrete(n) and whose action(number) returns the action it stands for"
        )
    if actions.start != 0:
        raise ValueError(
            f"actions must start at 0, and here they start at {actions.start}: pass gymnasium.wrappers.TransformAction(env, "
            f"lambda action: action + {actions.start}, gymnasium.spaces.Discrete({actions.n})), whose action 0 is action {actions.start} of env"
        )


def discovery_of(env: gym.Env[Any, Any], state_of: StateOf | None) -> Discovery | None:
    """How the states of an environment are discovered during training; None: they are known before."""
    _check_actions(env.action_space)
    known, ranges = adapter_of(env.unwrapped), ranges_of(env.observation_space)
    own = None if known is None or known.discovery is None else known.discovery(env, action_names(env))
    if state_of is not None:
        return Discovery.by_key(state_of, not_yet_discovered(action_names(env)) if own is None else own.before)
    if own is not None and ranges is None:
        return own
    if ranges is None or is_small(ranges) or _bins(env) is not None or len(ranges) > MAX_AXES:
        return None
    if isinstance(env.observation_space, spaces.Discrete):  # it lists its states: too many of them are an error
        return None
    return Discovery.by_space(structure_of_space(env.observation_space), ranges, not_yet_discovered(action_names(env)))


def keeps_meaning(layers: list[Any]) -> bool:
    """Whether states and actions keep their meaning under wrappers."""
    return all(isinstance(layer, NAME_KEEPING) for layer in layers)


def action_names(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    """Names of an environment's actions; numbers if it is unknown or a wrapper may change the actions."""
    renamed = any(isinstance(layer, gym.ActionWrapper) for layer in layers(env))
    adapter = adapter_of(env.unwrapped)
    known = () if renamed or adapter is None else adapter.actions
    n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
    return known if len(known) == n_actions else tuple(f"action {a}" for a in range(n_actions))


def dimension_names(env: gym.Env[Any, Any] | None, n: int) -> tuple[str, ...]:
    """Names of the numbers of an observation: those that the environment carries, those of its adapter, or numbered ones.

    >>> dimension_names(gym.make("MountainCar-v0"), 2), dimension_names(None, 2)
    (('position', 'velocity'), ('x0', 'x1'))
    """
    carried = None if env is None else names_of(env).axes
    adapter = None if env is None or not keeps_meaning(layers(env)) else adapter_of(env.unwrapped)
    known = () if adapter is None else adapter.dimensions
    return next((tuple(one) for one in (carried, known) if one and len(one) == n), tuple(f"x{i}" for i in range(n)))


def _plain_bins(edges: list[Any], actions: tuple[str, ...]) -> Labels:
    axes = tuple(
        Axis(f"x{i}", len(row) - 1, interval_words(row), edges=tuple(float(x) for x in row))
        for i, row in enumerate(edges)
    )
    return Labels(
        axes,
        actions,
        "; ".join(f"x{i} {{x{i}}}" for i in range(len(axes))),
        observed="bins",
    )


def layers(env: gym.Env[Any, Any]) -> list[Any]:
    """The wrappers of an environment, outermost first."""
    layers = []
    while isinstance(env, gym.Wrapper):
        layers.append(env)
        env = env.env
    return layers


def _bins(env: gym.Env[Any, Any]) -> Any:
    """The wrapper with the bins, if no wrapper around it changes observations."""
    for layer in layers(env):
        if isinstance(layer, DiscretizeObservation):
            return None if layer.multidiscrete else layer
        if not isinstance(layer, PLAIN_WRAPPERS):
            return None
    return None


def time_limit(env: gym.Env[Any, Any]) -> int | None:
    """The time limit of an environment, if a wrapper sets one."""
    limits = [max_episode_steps(layer) for layer in layers(env) if isinstance(layer, TimeLimit)]
    return min(limits) if limits else None


def twin(env: gym.Env[Any, Any]) -> World:
    """The compiled twin of an environment; ``NoTwin`` if there is none that behaves identically."""
    if isinstance(env, Discovering):
        raise NoTwin("its states are discovered during training")
    core: Any = env.unwrapped
    below_bins = isinstance(env, DiscretizeObservation)
    for layer in layers(env)[1:] if below_bins else layers(env):
        if type(layer) not in PLAIN_WRAPPERS and not (below_bins and type(layer) is Clipped):
            raise NoTwin(f"the wrapper {type(layer).__name__} may change the environment")
    if core.render_mode is not None:
        raise NoTwin(f"it renders (render_mode={core.render_mode!r})")
    known = adapter_of(core)
    if known is None or known.twin is None or not has_twin(core):
        more = (
            "; pass whatfor.worlds.table(env.unwrapped.P, start=...) to train on its table"
            if hasattr(core, "P")
            else ""
        )
        raise NoTwin(f"{type(core).__name__} is not one of the environments with a compiled version{more}")
    return known.twin(core, labels_of(env), time_limit(env))


def enter_of(env: Any, labels: Labels) -> Enter | None:
    """The function that puts an environment into a state; None: unknown."""
    known = adapter_of(env.unwrapped)
    return None if known is None or known.enter is None else known.enter(env.unwrapped, labels)


def enter_observation_of(env: Any) -> Enter | None:
    """The function that puts an environment into the state of ``state.observation``; None: unknown."""
    known = adapter_of(env.unwrapped)
    return known.enter_observation if known is not None and keeps_meaning(layers(env)) else None
