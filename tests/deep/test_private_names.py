"""The private names of dependencies that belief networks use: each test names the version that no longer has one."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

from whatfor.deep import private
from whatfor.deep.private import (
    CopiedNumbers,
    gradient_norm,
    progress_remaining,
    sampled_rows,
    scale_gradients,
    vector_steps,
)


def check(name: str, distribution: str, works: bool, meaning: str) -> None:
    """Fail with the dependency and its version."""
    if not works:
        pytest.fail(
            f"{distribution} {version(distribution)} changed {name}, which {meaning}: adapt whatfor/deep/private.py to it"
        )


def test_pytorch_has_its_functions_on_lists() -> None:
    gradients = [torch.tensor([3.0, 0.0]), torch.tensor([[4.0]])]
    works = hasattr(torch, "_foreach_norm") and torch.equal(gradient_norm(gradients), torch.tensor(5.0))
    check("torch._foreach_norm", "torch", works, "is the norm of each tensor of a list")
    scaled = hasattr(torch, "_foreach_mul_")
    if scaled:
        scale_gradients(gradients, torch.tensor(0.5))
        scaled = torch.equal(gradients[0], torch.tensor([1.5, 0.0])) and torch.equal(
            gradients[1], torch.tensor([[2.0]])
        )
    check("torch._foreach_mul_", "torch", scaled, "multiplies every tensor of a list in place")


class Recorder(BaseCallback):
    """Records what an agent counts."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[int] = []
        self.remaining: list[float] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        model: Any = self.model
        self.steps.append(vector_steps(model))
        self.remaining.append(progress_remaining(model))


def test_stable_baselines3_counts_steps_and_progress() -> None:
    model = DQN("MlpPolicy", make_vec_env("CartPole-v1", n_envs=2, seed=0), seed=0, device="cpu", learning_starts=1_000)
    names = {name: hasattr(model, name) for name in ("_n_calls", "_current_progress_remaining")}
    recorder = Recorder()
    if all(names.values()):
        model.learn(40, callback=recorder)
    counts = names["_n_calls"] and recorder.steps == [4, 8, 12, 16, 20]
    check("DQN._n_calls", "stable-baselines3", counts, "counts steps of the vector of environments")
    falls = names["_current_progress_remaining"] and recorder.remaining == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.0])
    check("DQN._current_progress_remaining", "stable-baselines3", falls, "falls from 1 to 0 during training")


@pytest.mark.parametrize("name", ["_n_calls", "_current_progress_remaining"])
def test_the_message_names_the_version(name: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=rf"stable-baselines3 \d.* changed DQN\.{name}"):
        check(f"DQN.{name}", "stable-baselines3", False, "is gone")


def test_private_names_are_used_in_one_file() -> None:
    allowed = Path(private.__file__)
    pattern = re.compile(r"torch\._\w+|model\._\w+|_dqn\._\w+|spaces\._\w+|gym\._\w+|policy\._\w+|buffer\._\w+")
    hits = {file.name for file in allowed.parent.rglob("*.py") if pattern.search(file.read_text())}
    assert hits == {allowed.name}


@pytest.mark.parametrize("steps", [70, 260])
@pytest.mark.parametrize("saves_memory", [False, True])
def test_stable_baselines3_draws_rows_then_environments(steps: int, saves_memory: bool) -> None:
    more = {"optimize_memory_usage": True, "handle_timeout_termination": False} if saves_memory else {}
    buffer = ReplayBuffer(200, spaces.Box(-1.0, 999.0, (2,)), spaces.Discrete(2), "cpu", n_envs=2, **more)  # type: ignore[arg-type]
    for step in range(steps):
        seen = np.array([[step, 0], [step, 1]], np.float32)
        buffer.add(seen, seen + 1, np.zeros(2), np.zeros(2), np.zeros(2), [{}, {}])
    np.random.seed(4)  # noqa: NPY002
    numbers = CopiedNumbers().copied()
    for _ in range(3):
        rows, envs = sampled_rows(buffer, 30, numbers)
        batch = buffer.sample(30)
        works = np.array_equal(batch.observations.numpy(), buffer.observations[rows, envs])
        check("ReplayBuffer.sample", "stable-baselines3", works, "draws the rows of a batch, then their environments")
