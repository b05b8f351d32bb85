"""CartPole: its physics with binned observations, names and layouts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis, Ending
from whatfor.checks import whole
from whatfor.labels import Labels
from whatfor.layouts.facets import all_facets, sheets_of
from whatfor.layouts.map import Map, named
from whatfor.layouts.shapes import Layout, Panels
from whatfor.limits import check_limit
from whatfor.worlds.adapter import Adapter, Look, NoTwin, Places, cells_of
from whatfor.worlds.bins import edges_of, interval_words
from whatfor.worlds.entering import enter_bins, enter_observation
from whatfor.worlds.making import binned, make_env
from whatfor.worlds.private import has_sutton_barto_reward
from whatfor.worlds.stepping import CARTPOLE, Arrays, Cart
from whatfor.worlds.world import NO_TABLE, World

if TYPE_CHECKING:
    from gymnasium.envs.classic_control.cartpole import CartPoleEnv

#: The paper's bins: cart position, cart velocity, pole angle, pole velocity.
BINS = (3, 3, 6, 3)
BOUNDS = ((-2.4, 2.4), (-2.5, 2.5), (-math.radians(12), math.radians(12)), (-1.0, 1.0))
MAX_STEPS = 200

NAMES = ("cart", "speed", "pole", "swing")
ACTIONS = ("push left", "push right")
TEMPLATE = "cart at {cart}, moving at {speed}; pole at {pole}, swinging at {swing}"


def cartpole(
    bins: Sequence[int] = BINS, bounds: Sequence[tuple[float, float]] = BOUNDS, max_steps: int = MAX_STEPS
) -> World:
    """CartPole with the paper's bins (162 states) and limit of 200 steps.

    >>> cartpole().labels.words(79)
    'cart at -0.8 to 0.8, moving at -0.83 to 0.83; pole at -4° to 0°, swinging at -0.33 to 0.33'
    """
    check_limit("steps", whole("max_steps", max_steps, 1), "an episode of max_steps")
    env = binned(make_env("CartPole-v1", {"max_episode_steps": max_steps}), bins, bounds)
    recipe = {
        "kind": "cartpole",
        "bins": env.bins.tolist(),
        "bounds": [[float(x) for x in pair] for pair in bounds],
        "max_steps": max_steps,
    }
    core: Any = env.unwrapped
    return cart_world(core, cartpole_labels([np.asarray(edges) for edges in edges_of(env)]), max_steps, recipe)


def cart_world(env: CartPoleEnv, labels: Labels, max_steps: int | None, recipe: dict[str, Any]) -> World:
    """The compiled twin of a CartPole environment, with its physical parameters."""
    inner = [axis.edges[1:-1] for axis in labels.axes]
    edges = np.full((4, max(len(row) for row in inner)), np.inf)
    for row, filled in zip(edges, inner, strict=True):
        row[: len(filled)] = filled
    barto = has_sutton_barto_reward(env)
    cart = Cart(
        gravity=float(env.gravity),
        masspole=float(env.masspole),
        total_mass=float(env.total_mass),
        length=float(env.length),
        polemass_length=float(env.polemass_length),
        force_mag=float(env.force_mag),
        tau=float(env.tau),
        theta_threshold=float(env.theta_threshold_radians),
        x_threshold=float(env.x_threshold),
        reward=0.0 if barto else 1.0,
        last_reward=-1.0 if barto else 1.0,
        edges=edges,
        bins=np.array(labels.shape, np.int64),
    )
    return World(labels, Arrays(CARTPOLE, NO_TABLE, cart), max_steps, recipe)


def cartpole_labels(edges: Sequence[NDArray[np.float64]]) -> Labels:
    """Names of CartPole's bins."""
    axes = []
    for name, row in zip(NAMES, edges, strict=True):
        shown, unit = (np.degrees(row), "°") if name == "pole" else (row, "")
        axes.append(Axis(name, len(row) - 1, interval_words(shown, unit), edges=tuple(float(x) for x in row)))
    endings = (Ending("fell", phrase="let the pole fall or leave the track", bad=True),)
    verbs = ("pushes left", "pushes right")
    return Labels(tuple(axes), ACTIONS, TEMPLATE, endings, "cartpole", "bins", verbs)


def twin(core: CartPoleEnv, labels: Labels, limit: int | None) -> World:
    """Its compiled twin; ``NoTwin`` for other integrators."""
    if core.kinematics_integrator != "euler":
        raise NoTwin(f"its integrator is {core.kinematics_integrator!r}; the compiled version uses 'euler'")
    if labels.observed != "bins":
        raise NoTwin("its bins are observed as several numbers (multidiscrete=True)")
    return cart_world(core, labels, limit, {})


AXIS_TITLES = {"cart": "cart position", "speed": "cart speed", "pole": "pole angle", "swing": "pole swing"}
#: The most grids in a layout by cart position and speed; arranged by two quantities, more grids are readable.
MAX_CART_GRIDS = 36


def panels(shown: Map) -> Layout:
    """A grid for every cart position (rows) and speed (columns); with many bins, one per action, summed over carts."""
    axes = titled_axes(shown.labels)
    sheets = sheets_of(shown.labels, shown.state, MAX_CART_GRIDS)
    if sheets is not None:
        return all_facets(shown, axes, sheets)
    unknown, marked = shown.unknown_states, None if shown.at is None else (shown.at[2], shown.at[3])
    grids = [
        shown.grid(
            shown.by_pair[..., action].sum(axis=(0, 1)),
            named(axes[2]),
            named(axes[3]),
            title=name,
            unknown=None if unknown is None else np.asarray(unknown.all(axis=(0, 1))),
            marked=marked,
        )
        for action, name in enumerate(shown.labels.actions)
    ]
    return Panels(shown.title, shown.caption, tuple(grids), len(grids), column_heads=shown.labels.actions)


def titled_axes(labels: Labels) -> tuple[Axis, ...]:
    """The axes with full names."""
    return tuple(replace(axis, name=AXIS_TITLES.get(axis.name, axis.name)) for axis in labels.axes)


def places(labels: Labels, state: int) -> Places:
    """The states of each grid; for sums over carts, those with the same cart."""
    states, at = np.arange(labels.n_states).reshape(labels.shape), labels.values(state)
    if math.prod(labels.shape[:2]) > MAX_CART_GRIDS:
        return tuple(cells_of(states[at[:2]]) for _ in labels.actions)
    return tuple(cells_of(states[lead]) for lead in product(*(range(size) for size in labels.shape[:2])))


ADAPTER = Adapter(
    "CartPoleEnv",
    ACTIONS,
    bin_labels=lambda edges: cartpole_labels(edges) if len(edges) == len(NAMES) else None,
    twin=twin,
    enter=enter_bins,
    enter_observation=enter_observation,
    dimensions=("cart position", "cart velocity", "pole angle", "pole velocity"),
    kind="cartpole",
    look=Look(dict.fromkeys(NAMES), panels, places, titled_axes),
)
