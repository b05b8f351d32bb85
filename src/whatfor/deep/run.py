"""From a belief network to a Run that answers questions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.exact import ExactBeliefs
from whatfor.beliefs.trust import Trust
from whatfor.deep.belief import BeliefNetwork
from whatfor.history import History
from whatfor.playing import Origin
from whatfor.runs import Run
from whatfor.training.places import place_again, place_of, recipe_of
from whatfor.training.session import Place
from whatfor.worlds.stepping import TABLE

#: Distances to exact visits are averaged over at most this many states.
MOST_STATES = 1_000


def run_of(
    belief: BeliefNetwork,
    visited: tuple[NDArray[Any], NDArray[np.int64]],
    *,
    env: Any = None,
    world: Any = None,
    history: History | None = None,
    learner: dict[str, Any] | None = None,
    time_limit: str = "bootstrap",
    rewards: NDArray[Any] | None = None,
    reward_scale: float = 1.0,
) -> Run:
    """A Run of a deep agent.

    ``visited``: observations it came to and the actions it took there, over which its beliefs are judged. ``env``: where it plays.
    ``rewards``: some that it has learned from, which bound what Q can be. ``reward_scale``: what the environment's rewards are multiplied by before
    it learns from them; simulations then are in the units of its values.
    ``world``: an id or a world of whatfor whose states are its cells, for exact and quick answers.
    """
    place = _place(belief, env, world)
    settings: dict[str, Any] = {
        "learner": {"name": "own loop", **(learner or {}), "discount": belief.settings.discount},
        "engine": "python",
        "time_limit": time_limit,
        "reward_scale": reward_scale,
    }
    if env is not None:
        settings["environment"] = recipe_of(env, None, None)
    if place is not None:
        settings |= {"world": place.recipe, "max_steps": place.max_steps}
    values = values_of(belief)
    origin = Origin(place, env)
    run = Run(labels=belief.labels, values=values, beliefs=belief, history=history, settings=settings, origin=origin)
    known = None if time_limit == "terminal" else place  # a table knows no limit
    with np.errstate(over="ignore", invalid="ignore"):  # Q-values that diverged make trust poor, and no warning
        belief.trust = trust_in(belief, visited, known, run.policy, rewards)
    return run


def values_of(belief: BeliefNetwork) -> NDArray[np.float64]:
    """(S, A) What the agent thinks where an observation stands for a cell; 0 where none does."""
    labels = belief.labels
    values = np.zeros((labels.n_states, labels.n_actions))
    known = [(cell, seen) for cell in range(labels.n_states) if (seen := belief.example(cell)) is not None]
    if known:
        values[[cell for cell, _ in known]] = belief.q_values(np.stack([np.asarray(seen) for _, seen in known]))
    return values


def trust_in(
    belief: BeliefNetwork,
    visited: tuple[NDArray[Any], NDArray[np.int64]],
    place: Place | None,
    policy: NDArray[np.float64],
    rewards: NDArray[Any] | None = None,
) -> Trust:
    """How far beliefs can be trusted where the agent has been."""
    observations, actions = visited
    sums, brought, values = np.zeros(0), np.zeros(0), np.zeros(0)
    if len(actions):
        rows = [belief.rows(seen, done) for seen, done in _parts(observations, actions)]
        sums = np.concatenate([earnings.sum(axis=(1, 2)) for _, earnings in rows])
        brought = np.concatenate([(visits * belief.rewards()).sum(axis=(1, 2)) for visits, _ in rows])
        values = np.asarray(belief.q_values(observations), np.float64)[np.arange(len(actions)), actions]
    distance, states = distance_to_exact(belief, place, policy)
    return Trust.of(
        belief.labels,
        sums,
        values,
        by_visits=float(np.abs(brought - values).mean()) if len(values) else None,
        distance=distance,
        states=states,
        updates=belief.updates,
        discount=belief.settings.discount,
        impossible=beyond(values, rewards, belief.settings.discount),
        source=belief.source,
    )


def beyond(values: NDArray[np.float64], rewards: NDArray[Any] | None, discount: float) -> float:
    """The share of values that rewards like these cannot bring, however they follow each other.

    >>> beyond(np.array([-5.0, 3.0]), np.array([-1.0, -1.0]), 0.9)
    0.5
    """
    if rewards is None or not len(rewards) or not len(values):
        return 0.0
    least, most = float(np.min(rewards)), float(np.max(rewards))
    ahead = 1.0 / (1.0 - discount) if discount < 1.0 else np.inf  # the longest that can be looked ahead
    low, high = min(least, least * ahead if least else 0.0), max(most, most * ahead if most else 0.0)
    slack = 0.05 * max(abs(least), abs(most))
    return float(np.mean((values < low - slack) | (values > high + slack)))


def distance_to_exact(
    belief: BeliefNetwork, place: Place | None, policy: NDArray[np.float64]
) -> tuple[float | None, int]:
    """The mean relative L1 distance between visits of greedy actions and the exact ones, and over how many states."""
    if place is None or place.world is None or place.world.arrays.kind != TABLE:
        return None, 0
    exact = ExactBeliefs(place.world, policy, discount=belief.settings.discount)
    been, best = belief.tried.any(axis=1), policy.argmax(axis=1)
    asked = [state for state in np.flatnonzero(been).tolist() if exact.ends(state, int(best[state]))][:MOST_STATES]
    if not asked:
        return None, 0
    seen = np.stack([np.asarray(belief.example(state)) for state in asked])
    apart = []
    for part, (some, done) in enumerate(_parts(seen, best[asked])):
        for row, believed in enumerate(belief.rows(some, done)[0]):
            apart.append(exact.off(believed, asked[part * PART + row], int(done[row])))
    return float(np.mean(apart)), len(asked)


#: Rows are asked for in parts of this size: each is as large as a map.
PART = 256


def _parts(observations: NDArray[Any], actions: NDArray[np.int64]) -> list[tuple[NDArray[Any], NDArray[np.int64]]]:
    starts = range(0, len(actions), PART)
    return [(observations[at : at + PART], actions[at : at + PART]) for at in starts]


def _place(belief: BeliefNetwork, env: Any, world: Any) -> Place | None:
    """The known world whose states are the cells, if there is one."""
    if not belief.whole:
        return None
    try:
        place = place_of(env if world is None else world)
    except (ValueError, TypeError):
        if world is not None:
            raise
        return None
    if place.world is None and world is None:  # one that renders, say, as those of Stable-Baselines3 do
        with suppress(ValueError, TypeError):
            again = place_again(place.recipe, None, max_steps=place.max_steps, engine="auto")
            place = again if again.world is not None else place
    if place.labels == belief.labels:
        return place
    if world is not None:
        raise ValueError("world= is a world whose states are the cells; this one's states have other names")
    return None
