"""Belief networks are trained on the steps that Q is trained on, and cells are computed once for each row of the replay buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from whatfor.deep import BeliefCallback, BeliefSettings, Sizes
from whatfor.deep.training import Trainer

SMALL = BeliefSettings(sizes=Sizes(joint=(8,)), batches_per_update=3)
FIELDS = ("observations", "actions", "rewards", "next_observations", "dones")
CASES: dict[str, dict[str, Any]] = {
    "one environment": {},
    "a small buffer that is overwritten": {"buffer_size": 60},
    "no second array of observations": {
        "buffer_size": 60,
        "optimize_memory_usage": True,
        "replay_buffer_kwargs": {"handle_timeout_termination": False},
    },
    "two environments, two gradient steps": {"envs": 2, "gradient_steps": 2},
    "normalised": {"normalised": True},
    "more steps between updates than the buffer holds": {"buffer_size": 60, "train_freq": 70},
}


@pytest.mark.parametrize("case", CASES)
def test_all_batches_are_those_of_the_agent(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"train_freq": 2, "batch_size": 8, "learning_starts": 20, "buffer_size": 5_000, **CASES[case]}
    vector: Any = make_vec_env("CartPole-v1", n_envs=given.pop("envs", 1), seed=0)
    vector = VecNormalize(vector) if given.pop("normalised", False) else vector
    sampled: list[Any] = []
    trained: list[Any] = []
    sample, update = ReplayBuffer.sample, Trainer.update
    model = DQN("MlpPolicy", vector, seed=0, device="cpu", **given)
    greedy: list[torch.Tensor] = []
    model.q_net_target.register_forward_hook(lambda net, inputs, values: greedy.append(values.argmax(dim=1)))

    def recorded_sample(buffer: ReplayBuffer, *args: Any, **more: Any) -> Any:
        batch = sample(buffer, *args, **more)
        sampled.append(batch)
        return batch

    def recorded_update(trainer: Trainer, batch: Any, next_actions: Any, raw: Any, cells: Any = None) -> Any:
        trained.append(batch)
        names = [[bool(cell) for cell in part] for part in cells]
        inside = batch.dones == 0.0  # the observation after the last one may be of the next episode
        assert names[0] == [obs[1] < 0.0 for obs in raw[0]]
        assert [n for n, i in zip(names[1], inside, strict=True) if i] == [o[1] < 0.0 for o in raw[1][inside]]
        return update(trainer, batch, next_actions, raw, cells)

    monkeypatch.setattr(ReplayBuffer, "sample", recorded_sample)
    monkeypatch.setattr(Trainer, "update", recorded_update)
    model.learn(420, callback=BeliefCallback({"left": lambda obs: obs[1] < 0.0}, settings=SMALL, settling=False))
    assert len(sampled) > 3
    for name in FIELDS:
        theirs = np.concatenate([getattr(batch, name).numpy() for batch in sampled])
        ours = np.concatenate([getattr(batch, name) for batch in trained])
        np.testing.assert_array_equal(ours.reshape(theirs.shape).astype(theirs.dtype), theirs)
    np.testing.assert_array_equal(torch.cat([batch.next_actions for batch in trained]), torch.cat(greedy))


def test_a_condition_is_evaluated_once_for_each_observation_and_not_in_every_batch() -> None:
    asked: list[bytes] = []

    def left(obs: Any) -> bool:
        asked.append(obs.tobytes())
        return bool(obs[1] < 0.0)

    model = DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=100, batch_size=32, train_freq=1)
    model.learn(400, callback=BeliefCallback({"left": left}, settings=SMALL, settling=False))
    assert len(asked) < 4 * 400  # both observations of 300 batches of 32 steps would be 19,200
