"""How far beliefs of deep agents are from play of their policies: `python benchmarks/deep_play.py [NAME ...] [--seeds 0 1 2]`.

The agents are those of benchmarks/zoo.py. Each is given to ``learn_after`` with its defaults; what it says is then compared with episodes that
were used neither to learn nor to check it. The results are in benchmarks/deep_play.json, one entry for each agent.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
import tyro
from numpy.typing import NDArray
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

import whatfor as wf
import zoo
from whatfor.beliefs import ExactBeliefs

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import deep_acrobot

RESULT = Path(__file__).with_suffix(".json")
#: Situations are drawn from the steps of this many greedy episodes.
EPISODES, SITUATIONS = 72, 216
#: Episodes here start with seeds from here on.
FIRST_SEED = 1_000_000
#: Play goes on, also beyond a time limit, until the discount leaves this share.
LEFT = 1e-3
#: How far states are moved to see how far the truth can be foreseen, in shares of their spread.
MOVED = (0.0001, 0.001, 0.01)
#: Futures of each situation where the environment is random: an even number.
SAMPLES = 4
#: The share of training that is timed.
TIMED = 0.05


@dataclass(frozen=True)
class Task:
    """What beliefs are over; ``random``: the environment draws random numbers after its start."""

    cells: Any
    endings: dict[str, Callable[[NDArray[Any]], Any]]
    seeds: tuple[int, ...] = (0, 1, 2)
    random: bool = False


LANDER_CELLS = {
    "height": (lambda obs: obs[1], (0.1, 0.4, 0.8)),
    "side": (lambda obs: obs[0], (-0.2, 0.2)),
    "falling fast": lambda obs: obs[3] < -0.2,
    "a leg down": lambda obs: obs[6] + obs[7] > 0,
}
TASKS = {
    "CartPole": Task(
        wf.deep.Bins((3, 3, 6, 3), bounds=[(-2.4, 2.4), (-2.5, 2.5), (-0.2094, 0.2094), (-1.0, 1.0)]),
        {"fell": lambda obs: abs(obs[2]) > 0.2094, "left the track": lambda obs: abs(obs[0]) > 2.4},
        seeds=(1, 2, 3, 0),  # the policy of seed 0 has collapsed
    ),
    "MountainCar": Task(wf.deep.Bins((8, 6)), {"reached the flag": lambda obs: obs[0] >= 0.5}),
    "Acrobot": Task(deep_acrobot.CELLS, deep_acrobot.ENDINGS),
    "LunarLander": Task(
        LANDER_CELLS,
        {"landed": lambda obs: obs[6] + obs[7] == 2, "crashed": lambda obs: obs[6] + obs[7] < 2},
        random=True,
    ),
}
#: Worlds whose visits are known exactly, and how long their agents train.
KNOWN = {"FrozenLake": ("FrozenLake-v1", 30_000), "CliffWalking": ("CliffWalking-v1", 30_000)}


class Situation(NamedTuple):
    """A step of an episode: how it was reached, and what was done there."""

    seed: int
    actions: tuple[int, ...]  # before it
    action: int


class Future(NamedTuple):
    """What followed from a situation on."""

    observations: list[NDArray[Any]]
    actions: list[int]
    rewards: list[float]
    last: NDArray[Any]
    ended: bool


def futures(
    env_id: str,
    act: Callable[[NDArray[Any]], NDArray[Any]],
    situations: Sequence[Situation],
    actions: Sequence[int | None],
    *,
    steps: int,
    moved: float = 0.0,
    draw: int | None = None,
) -> list[Future]:
    """Replay episodes up to each situation, take an action there (None: the policy's) and follow the policy.

    ``moved``: states are moved by normal noise of this share of their spread. ``draw``: what is random from there on is drawn anew.
    """
    envs = [gym.make(env_id, disable_env_checker=True) for _ in situations]
    now = []
    for env, at in zip(envs, situations, strict=True):
        obs, _ = env.reset(seed=at.seed)
        for action in at.actions:
            obs, *_ = env.step(action)
        now.append(obs)
    rng = np.random.default_rng(draw or 0)
    if moved:
        states = np.array([env.unwrapped.state for env in envs], float)  # type: ignore[attr-defined]
        for env, state in zip(envs, states + moved * states.std(axis=0) * rng.normal(size=states.shape), strict=True):
            env.unwrapped.state = state  # type: ignore[attr-defined]
        now = [_observe(env, obs) for env, obs in zip(envs, now, strict=True)]
    elif draw is not None:
        for env, child in zip(envs, rng.spawn(len(envs)), strict=True):
            env.unwrapped.np_random = child
    found = [Future([], [], [], obs, False) for obs in now]
    live = list(range(len(envs)))
    for step in range(steps):
        best = act(np.stack([now[i] for i in live])).tolist()
        going = []
        for i, greedy in zip(live, best, strict=True):
            given = actions[i] if step == 0 else None
            action = greedy if given is None else given
            obs, reward, ended, *_ = envs[i].step(action)  # on beyond time limits
            future = found[i]
            future.observations.append(now[i])
            future.actions.append(action)
            future.rewards.append(float(reward))
            now[i], found[i] = obs, future._replace(last=obs, ended=ended)
            if not ended:
                going.append(i)
        live = going
        if not live:
            break
    for env in envs:
        env.close()
    return found


def _observe(env: gym.Env[Any, Any], like: NDArray[Any]) -> NDArray[Any]:
    """What the state of an environment of classic control looks like."""
    inner: Any = env.unwrapped
    seen = inner._get_ob() if hasattr(inner, "_get_ob") else inner.state
    return np.asarray(seen, like.dtype)


class Real(NamedTuple):
    """Real visits and endings, of several futures of each situation."""

    visits: NDArray[np.float64]  # (n, S * A) their means
    lengths: NDArray[np.float64]  # (n,)
    returns: NDArray[np.float64]  # (n,)
    endings: NDArray[np.float64]  # (n, E) shares
    noise: float  # how far mean visits are from their expectation by chance, as a relative L1 distance
    known: NDArray[np.bool_]  # (n,) whether all have ended


def real(belief: Any, samples: Sequence[Sequence[Future]]) -> Real:
    """The real discounted visits of futures: ``samples`` of all situations."""
    labels, names = belief.labels, list(belief.partition.ending_names)
    n, n_actions = len(samples[0]), labels.n_actions
    visits = np.zeros((n, labels.n_states * n_actions))
    endings, returns, known = np.zeros((n, len(names))), np.zeros(n), np.ones(n, bool)
    halves = np.zeros_like(visits)  # the second half of the futures less the first
    for k, sample in enumerate(samples):
        before = visits.copy()
        for i, future in enumerate(sample):
            weights = belief.discount ** np.arange(len(future.actions), dtype=float)
            cells = belief.cells_of(np.stack(future.observations))
            np.add.at(visits[i], cells * n_actions + np.array(future.actions), weights / len(samples))
            returns[i] += weights @ np.array(future.rewards) / len(samples)
            known[i] &= future.ended
            if future.ended:
                name = belief.ending_name(future.last, future.actions[-1], future.rewards[-1])
                endings[i, names.index(name)] += 1.0 / len(samples)
        halves += (visits - before) * (1.0 if 2 * k >= len(samples) else -1.0)
    lengths = visits.sum(axis=1)
    noise = float((np.abs(halves).sum(axis=1) / lengths).mean()) if len(samples) > 1 else 0.0
    return Real(visits, lengths, returns, endings, noise, known)


def off(believed: NDArray[np.float64], actual: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) Relative L1 distances."""
    return np.asarray(np.abs(believed - actual).sum(axis=1) / actual.sum(axis=1))


def without_noise(error: float, noise: float) -> float:
    """An error without what chance adds to it."""
    return math.sqrt(max(0.0, float(error) ** 2 - noise**2))


def best_constant(actual: NDArray[np.float64]) -> float:
    """The error of the best answer that is the same in all situations, known in hindsight."""
    weights = 1.0 / actual.sum(axis=1)
    order = np.argsort(actual, axis=0)
    half = np.cumsum(weights[order], axis=0) >= weights.sum() / 2
    medians = np.take_along_axis(actual, np.take_along_axis(order, half.argmax(axis=0)[None], axis=0), axis=0)
    return float(off(np.broadcast_to(medians, actual.shape), actual).mean())


def averaged(believed: NDArray[np.float64], actual: NDArray[np.float64]) -> float:
    """The error of the mean visits."""
    return float(np.abs(believed.mean(axis=0) - actual.mean(axis=0)).sum() / actual.mean(axis=0).sum())


def measure(name: str, seed: int) -> dict[str, Any]:
    """All measurements of one agent."""
    task, recipe, agent = TASKS[name], zoo.RECIPES[name], zoo.trained(name, seed)
    training = training_seconds(name, seed)
    start = time.process_time()
    run = wf.deep.learn_after(agent, task.cells, endings=task.endings)
    settling = time.process_time() - start
    belief: Any = run.beliefs
    steps = math.ceil(math.log(LEFT) / math.log(agent.gamma))
    limit = gym.spec(recipe.env).max_episode_steps or steps
    rng = np.random.default_rng(seed)
    starts = [Situation(FIRST_SEED + 1_000 * seed + i, (), 0) for i in range(EPISODES)]
    whole = futures(recipe.env, belief.act, starts, [None] * EPISODES, steps=limit)
    places = [(i, step) for i, one in enumerate(whole) for step in range(len(one.actions))]
    chosen = [places[i] for i in sorted(rng.permutation(len(places))[:SITUATIONS].tolist())]
    at = [Situation(starts[i].seed, tuple(whole[i].actions[:step]), whole[i].actions[step]) for i, step in chosen]
    observations = np.stack([whole[i].observations[step] for i, step in chosen])
    n_actions, greedy = belief.labels.n_actions, np.array([one.action for one in at])
    others = (greedy + rng.integers(1, n_actions, size=len(at))) % n_actions
    entry: dict[str, Any] = {"agent": name, "seed": seed, "situations": len(at), "episodes": EPISODES}

    def follow(actions: NDArray[Any], **more: Any) -> list[Future]:
        return futures(recipe.env, belief.act, at, actions.tolist(), steps=steps, **more)

    truth = real(belief, [follow(greedy, draw=draw) for draw in range(SAMPLES)] if task.random else [follow(greedy)])
    visits, earnings = (part.reshape(len(at), -1) for part in belief.rows(observations, greedy))
    apart = off(visits, truth.visits)
    entry |= {
        "length_of_episodes": float(np.mean([len(one.actions) for one in whole])),
        "return": float(np.mean([sum(one.rewards) for one in whole])),
        "visits": without_noise(apart.mean(), truth.noise),
        "noise": truth.noise,
        "averaged": averaged(visits, truth.visits),
        "constant": without_noise(best_constant(truth.visits), truth.noise),
        "length": float((np.abs(visits.sum(axis=1) - truth.lengths) / truth.lengths).mean()),
        "length_averaged": float(abs(visits.sum() / truth.lengths.sum() - 1.0)),
        "value_off": float(np.abs(earnings.sum(axis=1) - truth.returns).mean()),
        "q_off": float(np.abs(belief.q_values(observations).max(axis=1) - truth.returns).mean()),
        "endings": None,
        "endings_each": None,
    }
    if truth.known.any():
        chances = belief.endings(observations, greedy)[truth.known, :-1]
        shares = truth.endings[truth.known]
        entry["endings"] = float(np.abs(chances.mean(axis=0) - shares.mean(axis=0)).max())
        entry["endings_each"] = float(np.abs(chances - shares).mean(axis=0).max())
    other = real(belief, [follow(others, draw=draw) for draw in range(SAMPLES)] if task.random else [follow(others)])
    believed_other = belief.rows(observations, others)[0].reshape(len(at), -1)
    entry["other"] = without_noise(off(believed_other, other.visits).mean(), other.noise)
    if not task.random:
        entry["moved"] = {
            str(share): float(off(real(belief, [follow(greedy, moved=share)]).visits, truth.visits).mean())
            for share in MOVED
        }
    stated = run.trust.checked
    near = np.array([belief.checks.near(one) for one in observations])
    entry |= {
        "stated": stated.visits,
        "interval": [stated.visits_low, stated.visits_high],
        "stated_noise": stated.noise,
        "holds": bool(stated.visits_low <= entry["visits"] <= stated.visits_high),
        "stated_other": stated.other,
        "stated_averaged": stated.averaged,
        "grade": run.trust.grade,
        "near_correlation": float(np.corrcoef(near, apart)[0, 1]),
        "updates": belief.updates,
        "settling_seconds": settling,
        "training_seconds": training,
    }
    return entry


class _Timed(BaseCallback):
    """Stops training after a share of its steps; how long they took."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps, self.started, self.seconds = steps, 0.0, 0.0

    def _on_step(self) -> bool:
        after = self.num_timesteps - self.model.learning_starts
        if after <= 0 or not self.started:
            self.started = time.process_time()
        self.seconds = time.process_time() - self.started
        return after < self.steps


def training_seconds(name: str, seed: int) -> float:
    """Seconds that training takes on this machine now, from a share of it."""
    recipe, agent = zoo.RECIPES[name], zoo.make(name, seed)
    timed = _Timed(int(TIMED * recipe.steps))
    agent.learn(recipe.steps, callback=timed)
    return timed.seconds / TIMED


def measure_known(name: str, seed: int) -> dict[str, Any]:
    """The measurements of an agent in a world whose visits are known exactly."""
    env_id, steps = KNOWN[name]
    agent = DQN(
        "MlpPolicy",
        env_id,
        learning_rate=1e-3,
        buffer_size=steps,
        learning_starts=1_000,
        batch_size=64,
        gamma=0.99,
        target_update_interval=500,
        exploration_fraction=0.5,
        exploration_final_eps=0.05,
        seed=seed,
        device="cpu",
    )
    start = time.process_time()
    agent.learn(steps)
    training, start = time.process_time() - start, time.process_time()
    run = wf.deep.learn_after(agent)
    settling = time.process_time() - start
    belief: Any = run.beliefs
    best = run.policy.argmax(axis=1)
    exact: Any = ExactBeliefs(env_id, run.policy, discount=agent.gamma)
    begin = np.diff(exact.table.start, prepend=0.0)
    weights = exact.solve(begin)
    states = [int(state) for state in np.flatnonzero(weights > 1e-6)]
    seen = np.array(states)
    visits = belief.rows(seen, best[seen])[0].reshape(len(states), -1)
    truth = np.stack([exact.visits(state, int(best[state])).ravel() for state in states])
    stated = run.trust.checked
    return {
        "agent": name,
        "seed": seed,
        "situations": len(states),
        "return_exact": float(begin @ [exact.value(s, int(best[s])) for s in range(len(best))]),
        "visits": float(np.average(off(visits, truth), weights=weights[seen])),
        "length": float(
            np.average(
                np.abs(visits.sum(axis=1) - truth.sum(axis=1)) / truth.sum(axis=1),
                weights=weights[seen],
            )
        ),
        "stated": run.trust.distance,
        "stated_play": stated.visits,
        "noise": stated.noise,
        "grade": run.trust.grade,
        "updates": belief.updates,
        "settling_seconds": settling,
        "training_seconds": training,
    }


def main(names: tuple[str, ...] = (*TASKS, *KNOWN), seeds: tuple[int, ...] = (), out: Path = RESULT) -> None:
    """Measure the agents of these environments."""
    torch.set_num_threads(1)
    for name in names:
        for seed in seeds or (TASKS[name].seeds if name in TASKS else zoo.SEEDS):
            entry = measure(name, seed) if name in TASKS else measure_known(name, seed)
            print(json.dumps(entry), flush=True)
            known = json.loads(out.read_text()) if out.exists() else []
            others = [one for one in known if (one["agent"], one["seed"]) != (name, seed)]
            order = [*TASKS, *KNOWN]
            entries = sorted([*others, entry], key=lambda one: (order.index(one["agent"]), one["seed"]))
            out.write_text(json.dumps(entries, indent=1) + "\n")


if __name__ == "__main__":
    tyro.cli(main)
