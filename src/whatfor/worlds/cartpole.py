"""CartPole's physics with binned observations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.checks import whole
from whatfor.labels import Axis, Ending, Labels
from whatfor.limits import check_limit
from whatfor.worlds.private import has_sutton_barto_reward
from whatfor.worlds.stepping import CARTPOLE, Arrays, Cart
from whatfor.worlds.world import NO_TABLE, World

if TYPE_CHECKING:
    from gymnasium.envs.classic_control.cartpole import CartPoleEnv

#: The paper's bins: cart position, cart velocity, pole angle, pole velocity.
BINS = (3, 3, 6, 3)
BOUNDS = ((-2.4, 2.4), (-2.5, 2.5), (-math.radians(12), math.radians(12)), (-1.0, 1.0))
MAX_STEPS = 200
#: A bin is at least so many times as wide as the distance between two float32 numbers there.
MIN_WIDTH = 4

NAMES = ("cart", "speed", "pole", "swing")
TEMPLATE = "cart at {cart}, moving at {speed}; pole at {pole}, swinging at {swing}"


def cartpole(
    bins: Sequence[int] = BINS, bounds: Sequence[tuple[float, float]] = BOUNDS, max_steps: int = MAX_STEPS
) -> World:
    """CartPole with the paper's bins (162 states) and limit of 200 steps.

    >>> cartpole().labels.words(79)
    'cart at -0.8 to 0.8, moving at -0.83 to 0.83; pole at -4° to 0°, swinging at -0.33 to 0.33'
    """
    from whatfor.worlds.gymnasium import binned, made

    check_limit("steps", whole("max_steps", max_steps, 1), "an episode of max_steps")
    env = binned(made("CartPole-v1", {"max_episode_steps": max_steps}), bins, bounds)
    recipe = {
        "kind": "cartpole",
        "bins": env.bins.tolist(),
        "bounds": [[float(x) for x in pair] for pair in bounds],
        "max_steps": max_steps,
    }
    core: Any = env.unwrapped
    return cart_world(core, labels_of([np.asarray(edges) for edges in edges_of(env)]), max_steps, recipe)


def cart_world(env: CartPoleEnv, labels: Labels, max_steps: int | None, recipe: dict[str, Any]) -> World:
    """The compiled twin of a CartPole environment, with whatever physics it has been given."""
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


def edges_of(env: Any) -> list[NDArray[np.float64]]:
    """The bins' edges, outer ones included, as Gymnasium's wrapper computes them."""
    edges = [
        np.concatenate([[env.low[i]], env.bin_edges[i], [env.high[i]]]).astype(np.float64) for i in range(env.n_dims)
    ]
    for i, row in enumerate(edges):
        apart = MIN_WIDTH * np.spacing(np.abs(row).max().astype(np.float32))
        if not (np.diff(row) >= apart).all():
            raise ValueError(
                f"the bins of observation number {i} are too narrow: {len(row) - 1} between {row[0]:.9g} and {row[-1]:.9g}, where "
                f"numbers that observations hold (float32) lie {apart / MIN_WIDTH:.2g} apart. Use fewer bins or wider bounds"
            )
    return edges


def labels_of(edges: list[NDArray[np.float64]]) -> Labels:
    """CartPole's bins in words."""
    axes = []
    for name, row in zip(NAMES, edges, strict=True):
        shown, unit = (np.degrees(row), "°") if name == "pole" else (row, "")
        axes.append(Axis(name, len(row) - 1, interval_words(shown, unit), edges=tuple(float(x) for x in row)))
    endings = (Ending("fell", said="let the pole fall or leave the track", bad=True),)
    verbs = ("pushes left", "pushes right")
    return Labels(tuple(axes), ("push left", "push right"), TEMPLATE, endings, "cartpole", "bins", verbs)


def interval_words(edges: NDArray[np.float64], unit: str = "") -> tuple[str, ...]:
    """Each bin as "low to high"."""
    for digits in range(2, 17):  # as many as it takes to tell all edges apart
        numbers = [f"{round(float(x), digits) + 0.0:.{digits + 3}g}{unit}" for x in edges]
        if len(set(numbers)) == len(numbers):
            break
    return tuple(f"{low} to {high}" for low, high in pairwise(numbers))
