"""Create Gymnasium environments, and discretise their observations."""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import DiscretizeObservation, TransformObservation

from whatfor.checks import whole
from whatfor.folder import MANIFEST
from whatfor.limits import check_limit
from whatfor.needed import need_minigrid
from whatfor.text import count, either
from whatfor.worlds.spaces import unbounded_text

OLD_IDS = {"Taxi-v3": "Taxi-v4"}
#: How the ids of MiniGrid's worlds begin.
MINIGRID_IDS = ("MiniGrid-", "BabyAI-")
#: With more states than this, no limit can be raised.
MAX_IMAGINABLE = 10**12


class NoEnvironment(ValueError):
    """An id that Gymnasium does not know."""

    def __init__(self, id: str, error: Exception) -> None:
        self.what = f"there is no environment {id!r}: {' '.join(str(error).split()).rstrip('.')}"
        python = "Pass an id such as 'FrozenLake-v1', after importing the module that registers it"
        shell = "Give an id such as FrozenLake-v1, or module:Id if a module registers it"
        saved = (Path(id) / MANIFEST).is_file()
        if saved:
            python += f"; resume a saved run with train(load({id!r}), ...)"
        if "Malformed" in str(error) or (os.sep in id and "-v" not in id):  # Gymnasium's own error is about namespaces
            self.what = f"{id!r} is the folder of a run, " if saved else f"{id!r} is neither the folder of a run "
            self.what += "not the id of an environment" if saved else "nor the id of an environment"
        super().__init__(f"{self.what}{'' if self.what.endswith(('?', '!')) else '.'} {either(python, shell)}")


class Clipped(TransformObservation[Any, Any, Any]):
    """Observations clipped to the bounds of their bins; a class of its own, so that whatfor recognises its wrapper."""


def make_env(id: str, options: dict[str, Any] | None = None) -> gym.Env[Any, Any]:
    """``gymnasium.make``, with removed ids mapped to their successors; ``NoEnvironment`` for an id that is not registered."""
    if id in OLD_IDS:
        warnings.warn(f"Gymnasium has removed {id}; using {OLD_IDS[id]}, which behaves the same", stacklevel=3)
    if id.startswith(MINIGRID_IDS):
        need_minigrid()
    try:
        return gym.make(OLD_IDS.get(id, id), **(options or {}))
    except gym.error.Error as error:
        if not isinstance(error, gym.error.UnregisteredEnv) and "Malformed" not in str(error):
            raise
        raise NoEnvironment(id, error) from error


def options_of(id: str) -> dict[str, Any] | None:
    """The options of an environment with their defaults, as its class lists them; None: unknown, or it takes any.

    >>> options_of("CartPole-v1")
    {'sutton_barto_reward': False}
    """
    try:
        id = id.rpartition(":")[2]  # its module was imported
        spec = gym.spec(OLD_IDS.get(id, id))
        creator = (
            spec.entry_point
            if callable(spec.entry_point)
            else gym.envs.registration.load_env_creator(str(spec.entry_point))
        )
        taken = inspect.signature(creator).parameters.values()
    except (gym.error.Error, ImportError, AttributeError, TypeError, ValueError):
        return None
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken):
        return None
    defaults = {one.name: None if one.default is one.empty else one.default for one in taken}
    return {name: spec.kwargs.get(name, default) for name, default in defaults.items() if name != "render_mode"}


def binned(
    env: gym.Env[Any, Any], bins: int | Sequence[int], bounds: Sequence[tuple[float, float]] | None
) -> DiscretizeObservation[Any, Any, Any]:
    """The environment with Gymnasium's DiscretizeObservation, clipped to ``bounds`` first if they are given."""
    space = env.observation_space
    if not isinstance(space, spaces.Box):
        raise ValueError(
            f"{either('bins=', '--bins')} is for continuous (Box) observations; this environment has {space}: leave it out"
        )
    size = int(np.prod(space.shape))
    counts = [whole("bins", n) for n in np.ravel(np.asarray(bins, dtype=object))]
    counts *= size if np.ndim(bins) == 0 else 1
    if len(counts) != size:
        raise ValueError(
            f"bins has length {len(counts)}, but observations have {count(size, 'dimension')}: pass {count(size, 'number')}, or one for all"
        )
    if min(counts) < 1:
        raise ValueError(f"bins is {bins}; each dimension needs at least one bin")
    low, high = np.ravel(space.low).copy(), np.ravel(space.high).copy()
    if bounds is not None:
        if not _are_pairs(bounds):
            raise ValueError(
                f"bounds must be a (low, high) pair for each dimension, e.g. [(-1, 1), (0, 5)], not {bounds!r}"
            )
        if len(bounds) != size:
            python = f"bounds has length {len(bounds)}, but observations have {count(size, 'dimension')}: pass {size} (low, high) pairs"
            given, needed = 2 * len(bounds), 2 * size
            shell = f"--bounds has {given} numbers; give {needed}: low high for each of {count(size, 'dimension')}"
            raise ValueError(either(python, shell))
        low, high = (np.array(side, dtype=space.dtype) for side in zip(*bounds, strict=True))
    if endless := unbounded_text(low, high):
        raise ValueError(
            f"{endless}: {either('pass bounds=[(low, high), ...]', 'add --bounds low high ...')}, a pair for each dimension"
        )
    if not (low < high).all():
        raise ValueError("in each pair of bounds, low must be less than high")
    states = math.prod(counts)
    if states > MAX_IMAGINABLE:
        raise ValueError(
            f"observations have {count(size, 'dimension')}, so these bins would be 10^{round(math.log10(states))} states, more than any table "
            "holds: wrap the environment so that it observes a few numbers, or train a deep agent and explain it with whatfor.deep"
        )
    check_limit("states", states, either(f"bins={bins}", "this number of bins"))
    if bounds is not None:
        clipped = spaces.Box(low.reshape(space.shape), high.reshape(space.shape), dtype=space.dtype.type)
        env = Clipped(env, lambda observation: np.clip(observation, clipped.low, clipped.high), clipped)
    return DiscretizeObservation(env, tuple(counts))


def _are_pairs(bounds: Any) -> bool:
    try:
        sides = np.asarray(bounds)
    except ValueError:  # of different lengths
        return False
    return sides.dtype.kind in "iuf" and sides.ndim == 2 and sides.shape[1] == 2
