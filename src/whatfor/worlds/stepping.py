"""One step in a world of the compiled engine: a table, or CartPole's physics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import inlined
from whatfor.kernels.recursion import NOT_ENDED, TERMINATED
from whatfor.kernels.tables import Table, start_state, step_table

TABLE, CARTPOLE = 0, 1

#: The most uniform numbers that a world may use in one step, with the start of an episode.
WORLD_DRAWS = 4

#: The code of CartPole's ending, the first one with a name.
FELL = TERMINATED - 1


class Cart(NamedTuple):
    """The parameters of CartPole; names as in Gymnasium's environment."""

    gravity: float
    masspole: float
    total_mass: float
    length: float
    polemass_length: float
    force_mag: float
    tau: float
    theta_threshold: float
    x_threshold: float
    reward: float  # while it stands
    last_reward: float  # when it falls
    edges: NDArray[np.float64]  # (4, largest number of bins - 1): inner edges of the bins, padded
    bins: NDArray[np.int64]  # (4,)


class Arrays(NamedTuple):
    """A world as arrays, for the compiled loop."""

    kind: int
    table: Table
    cart: Cart


@inlined
def bin_of(cart: Cart, body: NDArray[np.float64]) -> int:
    """The state that Gymnasium's DiscretizeObservation gives the cart's float32 observation."""
    state = 0
    for axis in range(4):
        shown = np.float32(body[axis])
        at = 0
        for place in range(cart.bins[axis] - 1):
            if not cart.edges[axis, place] > shown:  # as in Gymnasium, NaN is in the last bin
                at += 1
        state = state * cart.bins[axis] + at
    return state


@inlined
def push_cart(cart: Cart, body: NDArray[np.float64], action: int) -> bool:
    """Move the cart by one step of Euler's method; True if it fell. In Gymnasium's order of operations."""
    x, x_dot, theta, theta_dot = body[0], body[1], body[2], body[3]
    force = cart.force_mag if action == 1 else -cart.force_mag
    costheta = np.cos(theta)
    sintheta = np.sin(theta)
    temp = (force + cart.polemass_length * (theta_dot * theta_dot) * sintheta) / cart.total_mass
    thetaacc = (cart.gravity * sintheta - costheta * temp) / (
        cart.length * (4.0 / 3.0 - cart.masspole * (costheta * costheta) / cart.total_mass)
    )
    xacc = temp - cart.polemass_length * thetaacc * costheta / cart.total_mass
    body[0] = x + cart.tau * x_dot
    body[1] = x_dot + cart.tau * xacc
    body[2] = theta + cart.tau * theta_dot
    body[3] = theta_dot + cart.tau * thetaacc
    outside = abs(body[0]) > cart.x_threshold or abs(body[2]) > cart.theta_threshold
    return bool(outside)


@inlined
def begin(world: Arrays, body: NDArray[np.float64], uniforms: NDArray[np.float64], cursor: NDArray[np.int64]) -> int:
    """Start an episode; returns its first state."""
    if world.kind == TABLE:
        cursor[0] += 1
        return start_state(world.table, uniforms[cursor[0] - 1])
    for axis in range(4):  # Gymnasium's uniform(-0.05, 0.05)
        body[axis] = -0.05 + 0.1 * uniforms[cursor[0]]
        cursor[0] += 1
    return bin_of(world.cart, body)


@inlined
def step(
    world: Arrays,
    body: NDArray[np.float64],  # (4,) CartPole's own state
    n_actions: int,
    state: int,
    action: int,
    uniforms: NDArray[np.float64],
    cursor: NDArray[np.int64],
) -> tuple[int, float, int]:
    """Next state, reward, and the code of the ending (0: not ended)."""
    if world.kind == TABLE:
        entry = step_table(world.table, state * n_actions + action, uniforms[cursor[0]])
        cursor[0] += 1
        return world.table.next_state[entry], world.table.reward[entry], world.table.ending[entry]
    fell = push_cart(world.cart, body, action)
    state = bin_of(world.cart, body)
    if fell:
        return state, world.cart.last_reward, FELL
    return state, world.cart.reward, NOT_ENDED
