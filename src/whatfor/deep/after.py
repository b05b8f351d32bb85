"""Beliefs about an agent that is already trained: learned from rollouts of its policy, and labelled as such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from whatfor.deep.agent import (
    check_supported,
    copy_of,
    make_environment,
    normaliser_of,
    observes_single_env,
    q_values_of,
    reward_scale,
    time_limit_of,
)
from whatfor.deep.belief import BeliefNetwork, QValues
from whatfor.deep.cells import Partition, Predicate, make_partition
from whatfor.deep.images import encoder_of
from whatfor.deep.run import TrainingRecord, run_of
from whatfor.deep.settings import MIN_RATE_SHARE, BeliefSettings
from whatfor.kernels.recursion import NOT_ENDED, TERMINATED, TIMED_OUT
from whatfor.runs import Run
from whatfor.worlds.play import play

#: The number of observations whose Q-values are computed at once.
CHUNK = 1_024
#: The number of steps on which beliefs are checked.
SAMPLE_SIZE = 2_000


class _Steps(NamedTuple):
    """The steps of a policy."""

    observations: NDArray[Any]  # (n, ...)
    actions: NDArray[np.int64]  # (n,)
    rewards: NDArray[np.float32]  # (n,)
    next_observations: NDArray[Any]  # (n, ...)
    dones: NDArray[np.float32]  # (n,)


def learn_after(
    model: Any,
    cells: Any = None,
    *,
    endings: Mapping[str, Predicate] | None = None,
    actions: Sequence[str] | None = None,
    world: Any = None,
    steps: int = 20_000,
    updates: int = 10_000,
    settings: BeliefSettings | None = None,
) -> Run:
    """A Run of an agent that was trained without beliefs: they are learned from ``steps`` steps of its policy.

    They show what its policy leads to, not what it believed during training; every answer says so. The other parameters are those of
    ``BeliefCallback``. A ``learning_rate`` that is a number decays linearly.

    >>> from stable_baselines3 import DQN
    >>> agent = DQN("MlpPolicy", "CartPole-v1", device="cpu")
    >>> run = learn_after(agent, {"moving left": lambda obs: obs[1] < 0}, steps=50, updates=5)
    >>> run.trust.source
    'evaluated'
    """
    check_supported(model)
    if steps < 1 or updates < 1:
        raise ValueError(f"steps is {steps} and updates is {updates}; both must be at least 1")
    env = make_environment(model.get_env())
    if env is None or not observes_single_env(model.get_env()):
        raise ValueError(
            "the agent has no environment for rollouts with its observations: set one with model.set_env(env)"
        )
    settings = _with_defaults(settings or BeliefSettings(), model)
    q_values, rng = q_values_of(model, frozen=True), np.random.default_rng(settings.seed)
    rollouts = _roll_out(env, q_values, steps, settings.exploration, rng, time_limit_of(model) == "terminal")
    rollouts = rollouts._replace(rewards=rollouts.rewards * reward_scale(model))
    n_actions = int(model.action_space.n)
    partition = make_partition(
        cells,
        model.observation_space,
        env,
        rollouts.observations,
        n_actions=n_actions,
        actions=actions,
        endings=endings,
    )
    belief = _make_belief(model, partition, q_values, settings)
    _train(belief, rollouts, updates, rng)
    sample = rng.integers(steps, size=min(SAMPLE_SIZE, steps))
    record = TrainingRecord(
        learner=type(model).__name__, time_limit=time_limit_of(model), reward_scale=reward_scale(model)
    )
    visited = (rollouts.observations[sample], rollouts.actions[sample])
    return run_of(belief, visited, env=env, world=world, rewards=rollouts.rewards, record=record)


def _with_defaults(settings: BeliefSettings, model: Any) -> BeliefSettings:
    return replace(settings, loss=settings.loss_or("squared"), device=settings.device or model.device)


def _make_belief(model: Any, partition: Partition, q_values: QValues, settings: BeliefSettings) -> BeliefNetwork:
    belief = BeliefNetwork(partition, q_values, discount=model.gamma, settings=settings, encoder=encoder_of(model))
    normaliser = normaliser_of(model)
    belief.source, belief.agent = "evaluated", copy_of(model)
    belief.normaliser = None if normaliser is None else normaliser.snapshot()
    return belief


def _train(belief: BeliefNetwork, rollouts: _Steps, updates: int, rng: np.random.Generator) -> None:
    """Train on batches of the steps, with a decaying learning rate."""
    settings, steps, following = belief.settings, len(rollouts.actions), rollouts.next_observations
    q_values = np.concatenate([belief.q_values(following[at : at + CHUNK]) for at in range(0, steps, CHUNK)])
    next_actions = q_values.argmax(axis=1)
    inputs, next_inputs = belief.normalised(rollouts.observations), belief.normalised(following)
    for update in range(updates):
        at = rng.integers(steps, size=settings.batch_size)
        batch = SimpleNamespace(
            observations=torch.as_tensor(inputs[at]),
            actions=rollouts.actions[at],
            rewards=rollouts.rewards[at],
            next_observations=torch.as_tensor(next_inputs[at]),
            dones=rollouts.dones[at],
        )
        if belief.trainer is not None:
            belief.trainer.set_learning_rate(_rate(settings, 1.0 - update / updates))
        belief.update(
            batch, next_actions[at], raw_observations=rollouts.observations[at], raw_next_observations=following[at]
        )
        if update % settings.sync_interval == settings.sync_interval - 1:
            belief.sync()


def _rate(settings: BeliefSettings, remaining: float) -> float:
    rate = settings.learning_rate
    return rate(remaining) if callable(rate) else rate * max(MIN_RATE_SHARE, remaining)


@dataclass
class _ExploringPlayer:
    """The policy of an agent, with some exploration so that other actions are learned too."""

    q_values: QValues
    n_actions: int
    exploration: float
    rng: np.random.Generator
    begun: bool = False
    search: None = None  # whole episodes

    def begin(self, env: Any) -> tuple[Any, None]:
        """Reset the environment; only the first time with a seed."""
        seed = None if self.begun else int(self.rng.integers(2**31))
        self.begun = True
        return env.reset(seed=seed)[0], None

    def states(self, observations: Sequence[Any]) -> Sequence[int]:
        """Not needed: cells are found afterwards."""
        return [0] * len(observations)

    def actions(self, observations: Sequence[Any]) -> Sequence[int]:
        """The best action for each observation, or now and then another."""
        return [self._action(np.asarray(one)) for one in observations]

    def _action(self, observation: NDArray[Any]) -> int:
        if self.rng.random() < self.exploration:
            return int(self.rng.integers(self.n_actions))
        return int(self.q_values(observation[None])[0].argmax())

    def step(self, env: Any, action: int) -> tuple[Any, float, int, bool]:
        """One step; endings have no names here."""
        observation, reward, terminated, truncated, _ = env.step(action)
        return observation, float(reward), TERMINATED if terminated else NOT_ENDED, bool(truncated)


def _roll_out(
    env: Any, q_values: QValues, steps: int, exploration: float, rng: np.random.Generator, limit_terminates: bool
) -> _Steps:
    """This many steps of the policy, in as many episodes as they take."""
    player = _ExploringPlayer(q_values, int(env.action_space.n), exploration, rng)
    played = list(islice(play(player, [env], rollouts=steps, max_steps=steps + 1), steps))
    ends = (TERMINATED, TIMED_OUT) if limit_terminates else (TERMINATED,)
    return _Steps(
        np.stack([np.asarray(one.observation) for one in played]),
        np.array([one.action for one in played], np.int64),
        np.array([one.reward for one in played], np.float32),
        np.stack([np.asarray(one.next_observation) for one in played]),
        np.array([one.ending in ends for one in played], np.float32),
    )
