"""Places: the environment to train in, from an id, an environment or a world, with the engine that steps it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from whatfor.checks import whole
from whatfor.labels import Labels
from whatfor.limits import MAX_EPISODE_STEPS, check_limit, limit
from whatfor.text import either, one_line
from whatfor.training.session import Place
from whatfor.worlds.adapter import NoTwin
from whatfor.worlds.copying import changed_setting
from whatfor.worlds.discovering import Discovering, StateOf
from whatfor.worlds.gymnasium import discovery_of, labels_of, time_limit, twin
from whatfor.worlds.known import OWN_WORLDS, has_twin
from whatfor.worlds.making import binned, make_env
from whatfor.worlds.terms import RewardTerms
from whatfor.worlds.world import World

#: Arguments of ``gymnasium.make`` itself: not options of an environment, and a forged run could open windows with them.
ARGUMENTS_OF_MAKE = {"id", "max_episode_steps", "disable_env_checker", "render_mode", "vector_entry_point"}

#: What else can be done about too many numbered states.
NUMBER_MET_STATES = ", or pass state_of=lambda state: state, to number only those that are met"
PYTHON_ENGINE = "engine='python' or 'auto'"

Engine = Literal["auto", "python", "compiled"]
BinCounts = int | Sequence[int] | None
Ranges = Sequence[tuple[float, float]] | None


def check_no_sb3_agent(given: Any) -> None:
    """Raise ``ValueError`` for an agent of Stable-Baselines3, with what trains and explains it."""
    if type(given).__module__.startswith("stable_baselines3") and hasattr(given, "learn"):
        raise ValueError(
            f"{type(given).__name__} is an agent of Stable-Baselines3, and train() trains tabular agents: call model.learn(..., "
            "callback=whatfor.deep.BeliefCallback(...)), and ask the run of that callback"
        )


def place_of(
    world: Any,
    *,
    bins: BinCounts = None,
    bounds: Ranges = None,
    max_steps: int | None = None,
    engine: Engine = "auto",
    state_of: StateOf | None = None,
    known: Labels | None = None,
) -> Place:
    """The place for a world or an environment, with the engine chosen.

    ``known``: the labels of states that were discovered before.
    """
    if engine not in ("auto", "python", "compiled"):
        raise ValueError(f"engine is 'auto', 'python' or 'compiled', not {engine!r}")
    if max_steps is not None:
        if whole("max_steps", max_steps) < 1:
            raise ValueError(f"max_steps is {max_steps}; an episode has at least one step")
        check_limit("steps", max_steps, "an episode of max_steps")
    if bounds is not None and bins is None:
        raise ValueError(either("bounds needs bins, the number of bins", "--bounds needs --bins, the number of bins"))
    if state_of is not None and (bins is not None or isinstance(world, World)):
        raise ValueError(
            "state_of is for Gymnasium environments, and replaces bins; pass one of them, or none for a whatfor world"
        )
    if isinstance(world, World):
        if bins is not None:
            raise ValueError(
                f"{either('bins', '--bins')} is for Gymnasium environments with continuous observations; a whatfor world has discrete states already"
            )
        reason = "requested" if engine == "python" else "a built-in world"
        longest, chosen = _max_steps(world.labels, world.max_steps, max_steps), engine.replace("auto", "compiled")
        return Place(world.labels, world, None, chosen, reason, world.recipe, longest)
    env = make_env(world) if isinstance(world, str) else world
    check_no_sb3_agent(env)
    if hasattr(env, "num_envs") and not isinstance(env, gym.Env):  # Gymnasium's or Stable-Baselines3's
        raise ValueError(
            "this is a vector environment; train() steps one environment at a time: pass gymnasium.make(...) instead of make_vec(...) or make_vec_env(...)"
        )
    if isinstance(env, type) and issubclass(env, gym.Env):
        raise ValueError(f"train() takes an environment, and {env.__name__} is a class: pass {env.__name__}()")
    if not isinstance(env, gym.Env):
        raise ValueError(
            f"train() takes an environment's id, a gymnasium.Env, a world of whatfor.worlds or a Run, not {type(world).__name__}"
        )
    for name in ("observation_space", "action_space"):
        if getattr(env, name, None) is None:
            raise ValueError(f"{type(env.unwrapped).__name__} has no {name}: set it in its class, or in __init__")
    through_bins = env if bins is None else binned(env, bins, bounds)
    # a third-party environment may be expensive to create, so it is not created again to look for changes
    recipe = recipe_of(env, bins, bounds, fresh=isinstance(world, str) or not has_twin(env.unwrapped))
    if isinstance(world, str):
        recipe |= module_of(world)
    env = through_bins
    discovery = discovery_of(env, state_of)
    if discovery is not None:
        env = Discovering(env, discovery, known if known is not None and known.discovered else None)
        recipe["discovered"] = discovery.source
    elif bins is None and isinstance(env.observation_space, gym.spaces.Discrete):
        check_limit("states", int(env.observation_space.n), "this environment", either(NUMBER_MET_STATES, ""))
    labels = labels_of(env)
    longest = _max_steps(labels, time_limit(env), max_steps)
    if engine == "python":
        return Place(labels, None, env, "python", "requested", recipe, longest)
    try:
        world = twin(env)
    except NoTwin as why:
        if engine == "compiled":
            raise ValueError(
                f"there is no compiled engine for this environment: {why}. Use {either(PYTHON_ENGINE, '--engine python')}"
            ) from None
        return Place(labels, None, env, "python", str(why), recipe, longest)
    return Place(world.labels, world, env, "compiled", f"exact reimplementation of {_name(env)}", recipe, longest)


def place_with_terms(terms: RewardTerms, world: Any, *, engine: Engine, **more: Any) -> Place:
    """The place for a world or an environment, which reports these terms of its rewards."""
    if not terms.keys:
        return place_of(world, engine=engine, **more)
    flag = either("reward_parts", "--reward-part")
    if isinstance(world, World):
        raise ValueError(
            f"{flag} names terms that a Gymnasium environment reports in info; a whatfor world has none: leave it out"
        )
    if engine == "compiled":
        raise ValueError(
            f"{flag} names terms in info, which the compiled engine does not have: use {either(PYTHON_ENGINE, '--engine python')}"
        )
    reason = "the parts of the reward are in the environment's info"
    return replace(place_of(world, engine="python", **more), reason=reason, terms=terms)


def _name(env: Any) -> str:
    """The id of an environment, or its class."""
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def _changed_part(env: Any, recipe: dict[str, Any]) -> str | None:
    """The setting, or "table", in which an environment differs from a new one of the same recipe; None: no difference."""
    fresh = _env_from({**recipe, "bins": None}, render_mode=env.unwrapped.render_mode)
    found = changed_setting(env, fresh)
    if found is not None or not has_twin(env.unwrapped):
        return found
    one, two = _twin_or_reason(env), _twin_or_reason(fresh)
    if isinstance(one, str) or isinstance(two, str):
        return None if one == two else "table"
    parts: Any = zip((*one.arrays.table, *one.arrays.cart), (*two.arrays.table, *two.arrays.cart), strict=True)
    return None if one.labels == two.labels and all(np.array_equal(a, b) for a, b in parts) else "table"


def _twin_or_reason(env: Any) -> World | str:
    try:
        return twin(env)
    except ValueError as why:  # it has none, or its states need bins
        return str(why)


def _env_from(recipe: dict[str, Any], render_mode: str | None = None) -> Any:
    """The environment that a recipe describes."""
    options = {**recipe["options"]}
    if recipe.get("max_steps") is not None:
        options["max_episode_steps"] = recipe["max_steps"]
    if render_mode is not None:
        options["render_mode"] = render_mode
    env = make_env(recipe["id"], options)
    bounds = recipe["bounds"] and [(float(low), float(high)) for low, high in recipe["bounds"]]
    return env if recipe["bins"] is None else binned(env, recipe["bins"], bounds)


def remake_place(
    recipe: dict[str, Any],
    table: World | None,
    *,
    max_steps: int | None = None,
    engine: Engine = "auto",
    state_of: StateOf | None = None,
    known: Labels | None = None,
) -> Place:
    """The place that a saved run was trained in."""
    kind, arguments = recipe.get("kind"), {name: value for name, value in recipe.items() if name != "kind"}
    if kind == "table" and table is not None:
        world: Any = table
    elif kind in OWN_WORLDS:
        world = OWN_WORLDS[kind](**arguments)
    else:
        world = remake_env(recipe)
    return place_of(world, max_steps=max_steps, engine=engine, state_of=state_of, known=known)


def known_states(labels: Labels, recipe: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``place_of`` for a run whose states were discovered; empty: they were not."""
    if labels.states is None:
        return {}
    if recipe.get("discovered") == "state_of" and labels.states.state_of is None:
        raise ValueError(
            "this run discovered its states with state_of=, a function, which a run folder does not contain: load it with "
            "whatfor.load(path, state_of=...) (in Python; the shell cannot)"
        )
    return {"state_of": labels.states.state_of, "known": labels}


def remake_env(recipe: dict[str, Any]) -> Any:
    """The environment that a saved run was trained in."""
    # "module:id" would import code named in a file, and so would Gymnasium's adapters for old environments
    if recipe.get("kind") == "gymnasium" and ":" not in recipe["id"] and not recipe["id"].startswith("GymV2"):
        wrong = sorted(ARGUMENTS_OF_MAKE & recipe["options"].keys())
        if wrong:
            raise ValueError(
                f"the settings of this run pass {wrong[0]}= to gymnasium.make, which is not allowed: {pass_env()}"
            )
        try:
            return _env_from(recipe)
        except Exception as error:  # any class: the options come from a file
            module = recipe.get("module")
            python = f"import {module or 'what registers it with Gymnasium'}, or pass env="
            shell = f"add --module {module or 'NAME'}, the module that registers it with Gymnasium"
            raise ValueError(
                f"the environment of this run, {recipe['id']!r}, cannot be created here ({one_line(str(getattr(error, 'what', error)))}): {either(python, shell)}"
            ) from error
    raise ValueError(
        f"the environment of this run cannot be created again ({recipe.get('why', 'it was passed as an object')}): {pass_env()}"
    )


def pass_env() -> str:
    """What to do where an environment cannot be created again."""
    return either(
        "pass the environment of the run as env=, to this call or, for all questions, to whatfor.load(path, env=...) or whatfor.Run(..., env=...)",
        "add --module MODULE:NAME, the class or function that creates it",
    )


def _max_steps(labels: Labels, own: int | None, given: int | None) -> int:
    """The maximum steps per episode, by the world's own limit and ``given``; ``LimitError`` for too many states."""
    limits = [whole("max_steps", most, 1) for most in (own, given) if most is not None]
    check_limit("states", labels.n_states, "this environment")
    return min(*limits, limit("steps")) if limits else MAX_EPISODE_STEPS


def module_of(id: str) -> dict[str, str]:
    """The module in an id, which registers the environment: a run saves it, to name it where it has to be imported again.

    >>> module_of("lifts:Lift-v0"), module_of("Taxi-v4")
    ({'module': 'lifts'}, {})
    """
    module, colon, _ = id.rpartition(":")
    return {"module": module} if colon else {}


def recipe_of(env: Any, bins: BinCounts, bounds: Ranges, *, fresh: bool = False) -> dict[str, Any]:
    """How to create an environment again, as JSON; ``fresh``: without a search for changed settings."""
    spec = env.spec
    binning: dict[str, Any] = {
        "bins": None if bins is None else np.asarray(bins, dtype=int).tolist(),
        "bounds": None if bounds is None else [[float(low), float(high)] for low, high in bounds],
    }
    if spec is None:
        return {"kind": "object", "why": f"{type(env.unwrapped).__name__} is not registered with Gymnasium", **binning}
    if spec.additional_wrappers:
        return {"kind": "object", "why": f"it is wrapped in {spec.additional_wrappers[0].name}", **binning}
    options = {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    try:
        json.dumps(options, allow_nan=False)
    except (TypeError, ValueError):
        return {"kind": "object", "why": "it was created with options that cannot be saved", **binning}
    recipe = {
        "kind": "gymnasium",
        "id": spec.id,
        "options": options,
        "max_steps": spec.max_episode_steps,
        **binning,
    }
    found = None if fresh else _changed_part(env, recipe)
    return (
        recipe
        if found is None
        else {**recipe, "kind": "object", "why": f"its {found} was changed after it was created"}
    )
