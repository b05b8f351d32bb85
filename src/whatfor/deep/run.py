"""From a belief network to a Run that answers questions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.distance import distance, total_variation
from whatfor.beliefs.exact import ExactBeliefs
from whatfor.beliefs.trust import Trust
from whatfor.deep.belief import BeliefNetwork
from whatfor.history import History
from whatfor.playing import Origin
from whatfor.runs import Run
from whatfor.training.places import place_of, recipe_of, remake_place
from whatfor.training.session import Place
from whatfor.worlds.stepping import TABLE

#: Distances to the exact future are averaged over at most this many states.
MAX_STATES = 1_000
#: Values beyond what rewards allow are tolerated up to this share of the bound, or of the range of the values.
SLACK = 0.05
#: Rows are computed in chunks of this size: each is as large as a map.
CHUNK = 256


@dataclass(frozen=True)
class TrainingRecord:
    """How an agent was trained.

    ``learner``: its name. ``history``: of its episodes. ``time_limit``: "bootstrap", or "terminal" where a time limit ends an episode for
    the agent. ``reward_scale``: the factor by which the environment's rewards are multiplied before the agent is trained on them;
    simulations use it too.

    >>> TrainingRecord(learner="my DQN").time_limit
    'bootstrap'
    """

    learner: str = "custom loop"
    history: History | None = None
    time_limit: str = "bootstrap"
    reward_scale: float = 1.0


def run_of(
    belief: BeliefNetwork,
    visited: tuple[NDArray[Any], NDArray[np.int64]],
    *,
    env: Any = None,
    world: Any = None,
    rewards: NDArray[Any] | None = None,
    record: TrainingRecord | None = None,
) -> Run:
    """A Run of a deep agent.

    ``visited``: observations from its experience and its actions there, on which its beliefs are checked. ``env``: for rollouts.
    ``world``: an id or a world of whatfor whose states are its cells, for exact and quick answers. ``rewards``: some that it was
    trained on, which bound what Q can be. ``record``: how it was trained.

    >>> import gymnasium as gym
    >>> env = gym.make("FrozenLake-v1")
    >>> belief = BeliefNetwork.of(env, lambda observations: np.zeros((len(observations), 4)), discount=0.9)
    >>> run_of(belief, (np.array([0, 4]), np.array([1, 2])), env=env)
    Run(custom loop, episodes not counted, no ledger)
    """
    record = record or TrainingRecord()
    place = _place(belief, env, world)
    settings: dict[str, Any] = {
        "learner": {"name": record.learner, "discount": belief.discount},
        "time_limit": record.time_limit,
        "reward_scale": record.reward_scale,
    }
    if env is not None:
        settings["environment"] = recipe_of(env, None, None)
    if place is not None:
        settings |= {"world": place.recipe, "max_steps": place.max_steps}
    run = Run(
        labels=belief.labels,
        values=values_of(belief),
        beliefs=belief,
        settings=settings,
        origin=Origin(place, env, history=record.history),
    )
    known = None if record.time_limit == "terminal" else place  # exact beliefs ignore time limits
    with np.errstate(over="ignore", invalid="ignore"):  # diverged Q-values make trust poor, without warnings
        belief.trust = measure_trust(belief, visited, known, run.policy, rewards)
    return run


def values_of(belief: BeliefNetwork) -> NDArray[np.float64]:
    """(S, A) The agent's Q-values of an example of each cell; 0 where there is none."""
    labels = belief.labels
    values = np.zeros((labels.n_states, labels.n_actions))
    examples = [(cell, obs) for cell in range(labels.n_states) if (obs := belief.example(cell)) is not None]
    if examples:
        values[[cell for cell, _ in examples]] = belief.q_values(np.stack([np.asarray(obs) for _, obs in examples]))
    return values


def measure_trust(
    belief: BeliefNetwork,
    visited: tuple[NDArray[Any], NDArray[np.int64]],
    place: Place | None,
    policy: NDArray[np.float64],
    rewards: NDArray[Any] | None = None,
) -> Trust:
    """The quality of beliefs in the situations that the agent visited."""
    observations, actions = visited
    sums, by_visits, values = np.zeros(0), np.zeros(0), np.zeros(0)
    if len(actions):
        rows = [belief.rows(*chunk) for chunk in _chunks(observations, actions)]
        sums = np.concatenate([earnings.sum(axis=(1, 2)) for _, earnings in rows])
        by_visits = np.concatenate([(visits * belief.rewards()).sum(axis=(1, 2)) for visits, _ in rows])
        values = np.asarray(belief.q_values(observations), np.float64)[np.arange(len(actions)), actions]
    off = errors_of_exact(belief, place, policy)
    return Trust.of(
        belief.labels,
        sums,
        values,
        by_visits=float(np.abs(by_visits - values).mean()) if len(values) else None,
        distance=None if off is None else off.visits,
        endings_distance=None if off is None else off.endings,
        states=0 if off is None else off.states,
        updates=belief.updates,
        discount=belief.discount,
        **out_of_range(values, rewards, belief.discount),
        source=belief.source,
        checked=None if belief.checks is None else belief.checks.checked,
    )


def out_of_range(values: NDArray[np.float64], rewards: NDArray[Any] | None, discount: float) -> dict[str, float]:
    """The share of values that no sequence of rewards in the range of these can add up to, and how far the worst is beyond.

    A network is never exact: values count if they are further beyond a bound than a share of it, or of their own range.

    >>> out_of_range(np.array([-5.0, 3.0]), np.array([-1.0, -1.0]), 0.9)
    {'impossible': 0.5, 'excess': 4.0}
    >>> out_of_range(np.array([40.0, 50.9]), np.ones(1), 0.98)
    {'impossible': 0.0, 'excess': 0.0}
    """
    if rewards is None or not len(rewards) or not len(values):
        return {"impossible": 0.0, "excess": 0.0}
    lowest, highest = float(np.min(rewards)), float(np.max(rewards))
    horizon = 1.0 / (1.0 - discount) if discount < 1.0 else np.inf
    low = min(lowest, lowest * horizon if lowest else 0.0)
    high = max(highest, highest * horizon if highest else 0.0)
    spread = float(np.ptp(values))
    slack = [SLACK * max(abs(bound) if np.isfinite(bound) else 0.0, spread) for bound in (low, high)]
    outside = (values < low - slack[0]) | (values > high + slack[1])
    excess = np.maximum(low - values, values - high)[outside]
    return {"impossible": float(np.mean(outside)), "excess": float(excess.max(initial=0.0))}


class ExactErrors(NamedTuple):
    """How far beliefs about greedy actions are from the exact future, weighted by how often the policy is in each state."""

    visits: float  # the mean relative L1 distance of the visits
    endings: float  # the mean total variation distance of how episodes end; what is unknown is part of it
    states: int


def errors_of_exact(belief: BeliefNetwork, place: Place | None, policy: NDArray[np.float64]) -> ExactErrors | None:
    """The errors in the states of training that the policy comes to; None: the transition probabilities are unknown."""
    if place is None or place.world is None or place.world.arrays.kind != TABLE:
        return None
    exact, table = ExactBeliefs(place.world, policy, discount=belief.discount), place.world.table
    start = np.diff(table.start, prepend=0.0)
    weight = exact.solve(start) if belief.discount < 1.0 else exact.visits_from(start)
    visited, best = belief.tries.any(axis=1) & (weight > 0.0), policy.argmax(axis=1)
    order = np.argsort(-weight, kind="stable")
    states = [s for s in order[visited[order]].tolist() if exact.has_finite_visits(s, int(best[s]))][:MAX_STATES]
    if not states:
        return None
    observations = np.stack([np.asarray(belief.example(state)) for state in states])
    chunks, names = _chunks(observations, best[states]), (*belief.partition.ending_names, None)
    visits = [one for chunk in chunks for one in belief.rows(*chunk)[0]]
    endings = [dict(zip(names, one.tolist(), strict=True)) for chunk in chunks for one in belief.endings(*chunk)]
    weights, pairs = weight[states], [(state, int(best[state])) for state in states]
    apart = [distance(one, exact.visits(*pair)) for one, pair in zip(visits, pairs, strict=True)]
    ends_apart = [total_variation(one, exact.outcomes(*pair)) for one, pair in zip(endings, pairs, strict=True)]
    return ExactErrors(
        float(np.average(apart, weights=weights)), float(np.average(ends_apart, weights=weights)), len(states)
    )


def _chunks(observations: NDArray[Any], actions: NDArray[np.int64]) -> list[tuple[NDArray[Any], NDArray[np.int64]]]:
    starts = range(0, len(actions), CHUNK)
    return [(observations[at : at + CHUNK], actions[at : at + CHUNK]) for at in starts]


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
    if place.world is None and world is None:  # e.g. because it renders, as those of Stable-Baselines3 do
        with suppress(ValueError, TypeError):
            remade = remake_place(place.recipe, None, max_steps=place.max_steps, engine="auto")
            place = remade if remade.world is not None else place
    if place.labels == belief.labels:
        return place
    if world is not None:
        raise ValueError("world= must be a world whose states are the cells; the states of this one have other names")
    return None
