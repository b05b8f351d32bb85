"""Gymnasium's environments: their names in words, their bins, and their compiled twins."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.envs.toy_text.blackjack import BlackjackEnv
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv
from gymnasium.wrappers import (
    DiscretizeObservation,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeLimit,
    TransformObservation,
)

from whatfor.checks import whole
from whatfor.labels import Axis, Ending, Labels, Mark
from whatfor.limits import check_limit
from whatfor.worlds.blackjack import LABELS as BLACKJACK
from whatfor.worlds.blackjack import blackjack
from whatfor.worlds.cartpole import NAMES, cart_world, edges_of, interval_words
from whatfor.worlds.cartpole import labels_of as cartpole_labels
from whatfor.worlds.private import cliff_cells, max_episode_steps
from whatfor.worlds.table import table
from whatfor.worlds.taxi import LABELS as TAXI
from whatfor.worlds.world import World

#: Wrappers that do not change what the agent sees or earns.
PLAIN_WRAPPERS = (OrderEnforcing, PassiveEnvChecker, TimeLimit)
#: Wrappers under which states and actions keep their meaning.
NAME_KEEPING = (*PLAIN_WRAPPERS, gym.RewardWrapper, RecordEpisodeStatistics)
#: Environments that have a compiled twin.
KNOWN = (TaxiEnv, FrozenLakeEnv, CliffWalkingEnv, BlackjackEnv, CartPoleEnv)
OLD_IDS = {"Taxi-v3": "Taxi-v4"}

MOVES = ("left", "down", "right", "up")
CLIFF_MOVES = ("up", "right", "down", "left")
#: Names of actions, by environment, where labels do not give them.
ACTIONS = {
    "CartPoleEnv": ("push left", "push right"),
    "MountainCarEnv": ("push left", "do not push", "push right"),
    "AcrobotEnv": ("torque left", "no torque", "torque right"),
    "LunarLander": ("do nothing", "fire left engine", "fire main engine", "fire right engine"),
    "TaxiEnv": TAXI.actions,
    "BlackjackEnv": BLACKJACK.actions,
    "FrozenLakeEnv": MOVES,
    "CliffWalkingEnv": CLIFF_MOVES,
}
CHECKED_STEPS = 2_000
FEW = 30  # too few counts to judge chances by

FICKLE = (
    "this taxi's passenger changes its mind (fickle_passenger=True): the environment's table P does not contain that, "
    "and what follows a state depends on more than the state. There is no compiled or exact twin; engine='python' trains on it as it is"
)


class Clipped(TransformObservation[Any, Any, Any]):
    """Observations clipped to the bounds of their bins; told apart from wrappers that others have put there."""


class NoTwin(ValueError):
    """Why a Gymnasium environment has no compiled twin."""


def made(id: str, options: dict[str, Any] | None = None) -> gym.Env[Any, Any]:
    """``gymnasium.make``, with ids that Gymnasium has retired mapped to their successors."""
    if id in OLD_IDS:
        warnings.warn(f"Gymnasium has retired {id}; using {OLD_IDS[id]}, whose world is the same", stacklevel=3)
    return gym.make(OLD_IDS.get(id, id), **(options or {}))


def copies(env: gym.Env[Any, Any], n: int) -> list[gym.Env[Any, Any]]:
    """So many environments like this one, if they can be made again; else this one alone."""
    if env.spec is None or n < 2:
        return [env]
    try:
        first = gym.make(env.spec)
        if changed(env, first) is None:
            return [env, first, *(gym.make(env.spec) for _ in range(n - 2))]
        first.close()
        return [env]
    except (gym.error.Error, TypeError, ValueError):
        return [env]


def changed(env: gym.Env[Any, Any], fresh: gym.Env[Any, Any]) -> str | None:
    """The name of a setting in which an environment differs from one that was just made like it; None: there is none.

    Settings are plain attributes that play does not change.

    >>> one = made("CartPole-v1")
    >>> one.unwrapped.gravity = 1.0
    >>> changed(one, made("CartPole-v1"))
    'gravity'
    """
    before = _settings(fresh)
    fresh.action_space.seed(0)
    with suppress(Exception):  # whatever a stranger's environment does; then all its attributes are settings
        for seed in range(2):
            fresh.reset(seed=seed)
            for _ in range(FEW):
                if any(fresh.step(fresh.action_space.sample())[2:4]):
                    break
    after, given = _settings(fresh), _settings(env)
    settings = (name for name, value in before.items() if after.get(name) == value)
    return next((name for name in settings if given.get(name) != before[name]), None)


def _settings(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """The attributes of an environment that are numbers, words, or a few numbers."""
    found = {}
    for name, value in vars(env.unwrapped).items():
        if isinstance(value, bool | int | float | str | np.number):
            found[name] = value
        elif isinstance(value, np.ndarray) and value.size <= FEW and value.dtype.kind in "biuf":
            found[name] = value.tolist()
    return found


def binned(
    env: gym.Env[Any, Any], bins: int | Sequence[int], bounds: Sequence[tuple[float, float]] | None
) -> DiscretizeObservation[Any, Any, Any]:
    """The environment seen through Gymnasium's own bins, clipped to ``bounds`` first where they are given."""
    space = env.observation_space
    if not isinstance(space, spaces.Box):
        raise ValueError(f"bins= is for continuous (Box) observations; this environment has {space}")
    size = int(np.prod(space.shape))
    low, high = np.ravel(space.low).copy(), np.ravel(space.high).copy()
    if bounds is not None:
        if not _are_pairs(bounds):
            raise ValueError(f"bounds takes a (low, high) pair for each number, e.g. [(-1, 1), (0, 5)], not {bounds!r}")
        if len(bounds) != size:
            raise ValueError(f"bounds has {len(bounds)} pairs, an observation has {size} numbers")
        low, high = (np.array(side, dtype=space.dtype) for side in zip(*bounds, strict=True))
    endless = [i for i in range(size) if not (np.isfinite(low[i]) and np.isfinite(high[i]))]
    if endless:
        raise ValueError(
            f"observation number {endless[0]} has no finite bounds: say where the bins lie with bounds=[(low, high), ...]"
        )
    if not (low < high).all():
        raise ValueError("each of bounds must have its low side below its high side")
    counts = [whole("bins", count) for count in np.ravel(np.asarray(bins, dtype=object))]
    counts *= size if np.ndim(bins) == 0 else 1
    if len(counts) != size:
        raise ValueError(f"bins has {len(counts)} numbers, an observation has {size}")
    if min(counts) < 1:
        raise ValueError(f"bins is {bins}; at least one bin is needed for each number")
    check_limit("states", math.prod(counts), f"bins={bins}")
    if bounds is not None:
        clipped = spaces.Box(low.reshape(space.shape), high.reshape(space.shape), dtype=space.dtype.type)
        env = Clipped(env, lambda seen: np.clip(seen, clipped.low, clipped.high), clipped)
    return DiscretizeObservation(env, tuple(counts))


def _are_pairs(bounds: Any) -> bool:
    try:
        sides = np.asarray(bounds)
    except ValueError:  # of different lengths
        return False
    return sides.dtype.kind in "iuf" and sides.ndim == 2 and sides.shape[1] == 2


def labels_of(env: gym.Env[Any, Any]) -> Labels:
    """Names for an environment's states and actions; sensible ones where nobody has chosen any."""
    actions = env.action_space
    if not isinstance(actions, spaces.Discrete):
        raise ValueError(f"actions must be countable (Discrete); this environment has {actions}")
    if actions.start != 0:
        raise ValueError(
            f"actions must start at 0; this environment's start at {actions.start}. gymnasium.wrappers.TransformAction can shift them"
        )
    core, space = env.unwrapped, env.observation_space
    whole = all(isinstance(layer, NAME_KEEPING) for layer in layers(env))
    if isinstance(core, TaxiEnv) and whole:
        return TAXI
    if isinstance(core, BlackjackEnv) and whole:
        return BLACKJACK
    if isinstance(core, FrozenLakeEnv) and whole:
        return _grid(core.nrow, core.ncol, MOVES, _lake_endings(core), _lake_marks(core))
    if isinstance(core, CliffWalkingEnv) and whole:
        goal = (Ending("reached the goal", said="reach the goal"),)
        return _grid(*core.shape, CLIFF_MOVES, goal, _cliff_marks(core))
    bins = _bins(env)
    if bins is not None:
        below = [layer for layer in layers(env)[1 + layers(env).index(bins) :] if type(layer) is not Clipped]
        known = isinstance(core, CartPoleEnv) and all(isinstance(layer, NAME_KEEPING) for layer in below)
        if known and bins.n_dims == len(NAMES):
            return cartpole_labels(edges_of(bins))
        return _plain_bins(edges_of(bins), action_names(env))
    return Labels(*_plain_axes(space, action_names(env)))


def action_names(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    """Names of an environment's actions; numbers where nobody has chosen any, or a wrapper may change what they mean."""
    renamed = any(isinstance(layer, gym.ActionWrapper) for layer in layers(env))
    known = () if renamed else ACTIONS.get(type(env.unwrapped).__name__, ())
    n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
    return known if len(known) == n_actions else tuple(f"action {a}" for a in range(n_actions))


def _grid(
    rows: int, columns: int, actions: tuple[str, ...], endings: tuple[Ending, ...], marks: tuple[Mark, ...]
) -> Labels:
    axes, verbs = (Axis("row", int(rows)), Axis("column", int(columns))), tuple(f"moves {name}" for name in actions)
    return Labels(axes, actions, endings=endings, kind="grid", verbs=verbs, marks=marks)


def _lake_marks(core: FrozenLakeEnv) -> tuple[Mark, ...]:
    """Start, goal and holes; the last two end an episode."""
    names = {"S": "start", "H": "hole", "G": "goal"}
    tiles = [tile.decode() for tile in np.asarray(core.desc).ravel()]
    return tuple(Mark(at, tile, names[tile], tile != "S") for at, tile in enumerate(tiles) if tile in names)


def _cliff_marks(core: CliffWalkingEnv) -> tuple[Mark, ...]:
    """Start, goal and the cliff, from which one is put back to the start."""
    cliff = (Mark(int(at), "C", "cliff", closed=True) for at in cliff_cells(core))
    goal = np.prod(core.shape) - 1
    return Mark(int(core.start_state_index), "S", "start"), *cliff, Mark(int(goal), "G", "goal", closed=True)


def _lake_endings(core: FrozenLakeEnv) -> tuple[Ending, ...]:
    """Goal and holes, told apart by what they pay."""
    tiles = np.asarray(core.desc).ravel()
    paid: dict[bytes, set[float]] = {b"H": set(), b"G": set()}
    for state, actions in core.P.items():
        for _, to, reward, ended in (entry for entries in actions.values() for entry in entries):
            if ended and tiles[to] in paid and tiles[state] not in paid:
                paid[tiles[to]].add(float(reward))
    names = ((b"H", "fell into a hole", "fall into a hole"), (b"G", "reached the goal", "reach the goal"))
    if paid[b"H"] & paid[b"G"]:
        return ()
    return tuple(
        Ending(name, None, reward, said, bad=tile == b"H")
        for tile, name, said in names
        for reward in sorted(paid[tile])
    )


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


def _plain_axes(space: spaces.Space[Any], actions: tuple[str, ...]) -> tuple[Any, ...]:
    if isinstance(space, spaces.Discrete):
        return (Axis("state", int(space.n), start=int(space.start)),), actions
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        parts = [(int(n), int(start)) for n, start in zip(space.nvec, space.start, strict=True)]
        return tuple(Axis(f"x{i}", n, start=at) for i, (n, at) in enumerate(parts)), actions, "", (), "", "array"
    if isinstance(space, spaces.Tuple) and all(isinstance(part, spaces.Discrete) for part in space):
        return (
            tuple(Axis(f"x{i}", int(part.n), start=int(part.start)) for i, part in enumerate(space)),
            actions,
            "",
            (),
            "",
            "tuple",
        )
    if isinstance(space, spaces.Box):
        raise ValueError(
            f"observations are continuous ({space}): say into how many bins each number goes, e.g. bins=10, and bounds=[(low, high), ...] where it has none"
        )
    raise ValueError(
        f"observations must be countable: Discrete, MultiDiscrete, a Tuple of Discrete, or Box with bins=; this environment has {space}"
    )


def layers(env: gym.Env[Any, Any]) -> list[Any]:
    """The wrappers of an environment, from the outside in."""
    layers = []
    while isinstance(env, gym.Wrapper):
        layers.append(env)
        env = env.env
    return layers


def _bins(env: gym.Env[Any, Any]) -> Any:
    """The layer of bins, if nothing above it changes what is seen."""
    for layer in layers(env):
        if isinstance(layer, DiscretizeObservation):
            return None if layer.multidiscrete else layer
        if not isinstance(layer, PLAIN_WRAPPERS):
            return None
    return None


def time_limit(env: gym.Env[Any, Any]) -> int | None:
    """The time limit of an environment, where a wrapper sets one."""
    limits = [max_episode_steps(layer) for layer in layers(env) if isinstance(layer, TimeLimit)]
    return min(limits) if limits else None


def _checked_table(core: Any, labels: Labels, limit: int | None) -> World:
    """A stranger's table ``P``, after a walk through the environment that the table explains."""
    name = type(core).__name__
    chances = getattr(core, "initial_state_distrib", None)
    if chances is None:
        raise NoTwin(
            f"{name} has a table P but no initial_state_distrib; build the world with whatfor.worlds.table(P, start=...)"
        )
    world = table(core.P, start=chances, labels=labels, max_steps=limit)
    state, dice, starts = labels.index(core.reset(seed=0)[0]), np.random.default_rng(0), set()
    starts.add(state)
    seen: dict[tuple[int, int], dict[tuple[int, float, bool], int]] = {}
    for _ in range(CHECKED_STEPS):
        action = int(dice.integers(labels.n_actions))
        shown, reward, ended, cut, _ = core.step(action)
        if cut:
            raise NoTwin(f"{name} cuts its episodes itself, which its table P does not say")
        following = labels.index(shown)
        counts = seen.setdefault((state, action), {})
        counts[following, float(reward), bool(ended)] = counts.get((following, float(reward), bool(ended)), 0) + 1
        state = labels.index(core.reset()[0]) if ended else following
        if ended:
            starts.add(state)
    if any(chances[start] == 0 for start in starts):
        raise NoTwin(f"{name} starts where its initial_state_distrib says it never does")
    for (at, action), counts in seen.items():
        if not _explained(core.P[at][action], counts):
            raise NoTwin(
                f"its table P is not what {name} does: {labels.actions[action]!r} in {labels.words(at)!r} turned out otherwise"
            )
    return world


def _explained(entries: Any, counts: dict[tuple[int, float, bool], int]) -> bool:
    """Whether counts fit the chances of a table's entries; a fitting table fails once in a million pairs."""
    from scipy.special import chdtrc

    expected: dict[tuple[int, float, bool], float] = {}
    for chance, to, reward, ended in entries:
        if chance > 0:
            key = (int(to), float(reward), bool(ended))
            expected[key] = expected.get(key, 0.0) + float(chance)
    if not counts.keys() <= expected.keys():
        return False
    total = sum(counts.values())
    if len(expected) == 1 or total < FEW:
        return True
    wanted = {key: chance * total for key, chance in expected.items()}
    far = sum((counts.get(key, 0) - n) ** 2 / n for key, n in wanted.items())
    return bool(chdtrc(len(wanted) - 1, far) > 1e-6)


def twin(env: gym.Env[Any, Any], *, vouched: bool = False) -> World:
    """The compiled twin of an environment, only where it is the same world.

    Raises ``NoTwin`` with the reason where there is none. ``vouched``: take an unknown class's
    table ``P`` too, after checking it against the environment.
    """
    core: Any = env.unwrapped
    below_bins = isinstance(env, DiscretizeObservation)
    for layer in layers(env)[1:] if below_bins else layers(env):
        if type(layer) not in PLAIN_WRAPPERS and not (below_bins and type(layer) is Clipped):
            raise NoTwin(f"the wrapper {type(layer).__name__} may change the world")
    if core.render_mode is not None:
        raise NoTwin(f"it renders (render_mode={core.render_mode!r})")
    labels, limit = labels_of(env), time_limit(env)
    if type(core) is BlackjackEnv:
        if core.natural or core.sab:
            raise NoTwin(
                "with natural=True or sab=True (the id's default) the pay depends on how a hand came about, which the observation "
                "does not show; gymnasium.make('Blackjack-v1', sab=False) is the paper's game, and compiled"
            )
        world = blackjack()
        return World(world.labels, world.arrays, limit, world.recipe)
    if type(core) is CartPoleEnv:
        if core.kinematics_integrator != "euler":
            raise NoTwin(f"its integrator is {core.kinematics_integrator!r}; the compiled physics is Euler's")
        if labels.observed != "bins":
            raise NoTwin("its bins are shown as several numbers (multidiscrete=True)")
        return cart_world(core, labels, limit, {})
    if type(core) is TaxiEnv and core.fickle_passenger:
        raise NoTwin(FICKLE)
    if type(core) in (TaxiEnv, FrozenLakeEnv, CliffWalkingEnv):
        return table(core.P, start=core.initial_state_distrib, labels=labels, max_steps=limit)
    if vouched and hasattr(core, "P"):
        return _checked_table(core, labels, limit)
    raise NoTwin(f"{type(core).__name__} is not one of the worlds that have a compiled twin")
