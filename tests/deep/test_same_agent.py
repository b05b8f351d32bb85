"""An agent with beliefs is bit-for-bit identical to one without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_agents import LITTLE
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, CheckpointCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from whatfor.deep import BeliefCallback, BeliefNetwork, BeliefSettings, Bins, Settling, Sizes
from whatfor.deep.private import CopiedNumbers
from whatfor.deep.replayed import ReplayedBatches

CELLS = Bins((3, 3, 6, 3), bounds=[(-2.4, 2.4), (-2.5, 2.5), (-0.21, 0.21), (-1.0, 1.0)])


def beliefs(batches: int = 1, settling: Settling | bool = False) -> BeliefCallback:
    settings = BeliefSettings(sizes=Sizes(joint=(16,)), batches_per_update=batches)
    return BeliefCallback(CELLS, settings=settings, settling=settling)


class Actions(BaseCallback):
    """Records the actions of the agent."""

    def __init__(self) -> None:
        super().__init__()
        self.record: list[Any] = []

    def _on_step(self) -> bool:
        self.record.append(np.array(self.locals["actions"]))
        return True


def train_agent(
    callback: BeliefCallback | None,
    *,
    envs: int = 1,
    normalised: bool = False,
    steps: int,
    folder: Path | None = None,
    **more: Any,
) -> tuple[DQN, list[Any]]:
    vector = make_vec_env("CartPole-v1", n_envs=envs, seed=3)
    if normalised:
        vector = VecNormalize(vector)
    settings = {
        "learning_starts": 50,
        "train_freq": 2,
        "target_update_interval": 100,
        "batch_size": 16,
        "buffer_size": 5_000,
    }
    model = DQN("MlpPolicy", vector, seed=3, device="cpu", policy_kwargs={"net_arch": [16]}, **{**settings, **more})
    actions = Actions()
    callbacks: list[BaseCallback] = [actions]
    if folder is not None:
        callbacks.append(CheckpointCallback(200, str(folder)))
    if callback is not None:
        callbacks.append(callback)
    model.learn(steps, callback=CallbackList(callbacks))
    return model, actions.record


def assert_same(one: tuple[DQN, list[Any]], two: tuple[DQN, list[Any]]) -> None:
    (first, first_actions), (second, second_actions) = one, two
    assert first._n_updates == second._n_updates > 300
    for net in ("q_net", "q_net_target"):
        for a, b in zip(getattr(first, net).parameters(), getattr(second, net).parameters(), strict=True):
            assert torch.equal(a, b)
    assert all(np.array_equal(a, b) for a, b in zip(first_actions, second_actions, strict=True))
    assert first.replay_buffer is not None
    for name in ("observations", "next_observations", "actions", "rewards", "dones", "timeouts"):
        assert np.array_equal(getattr(first.replay_buffer, name), getattr(second.replay_buffer, name))


CASES: dict[str, dict[str, Any]] = {
    "one environment": {"steps": 800},
    "three environments, two gradient steps": {"envs": 3, "gradient_steps": 2, "steps": 1_200},
    "as many gradient steps as steps, soft syncs": {"gradient_steps": -1, "tau": 0.3, "steps": 450},
    "normalised": {"normalised": True, "steps": 800},
}


@pytest.mark.parametrize("case", CASES)
def test_the_agent_is_bit_for_bit_identical(case: str, tmp_path: Path) -> None:
    callback = beliefs(settling=LITTLE)
    with_beliefs = train_agent(callback, folder=tmp_path, **CASES[case])
    assert_same(with_beliefs, train_agent(None, **CASES[case]))
    assert callback.belief is not None
    assert callback.belief.updates == with_beliefs[0]._n_updates
    assert callback.belief.tries.sum() == 16 * with_beliefs[0]._n_updates
    assert list(tmp_path.glob("*.zip"))  # checkpoints were written too


def test_using_up_random_numbers_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CopiedNumbers, "copied", lambda numbers: np.random)
    with pytest.raises(RuntimeError, match="the agent was trained on other batches"):
        train_agent(beliefs(), steps=800)
    monkeypatch.setattr(ReplayedBatches, "_compare", lambda *_: None)
    with_beliefs = train_agent(beliefs(), steps=800)
    monkeypatch.undo()
    with pytest.raises(AssertionError):
        assert_same(with_beliefs, train_agent(None, steps=800))


def test_another_generator_of_random_numbers_is_copied_too() -> None:
    before = np.random.get_bit_generator()
    try:
        np.random.set_bit_generator(np.random.PCG64(3))
        drawn = CopiedNumbers().copied().randint(1000, size=5)
        assert drawn.tolist() == np.random.randint(1000, size=5).tolist()  # noqa: NPY002
    finally:
        np.random.set_bit_generator(before)


def test_all_batches_of_an_update_are_used() -> None:
    callback = beliefs(batches=3)
    model, actions = train_agent(callback, steps=800)
    assert_same((model, actions), train_agent(None, steps=800))
    assert callback.belief is not None
    assert callback.belief.tries.sum() == 16 * model._n_updates  # none is lost at the end of training
    assert callback.belief.updates < 0.4 * model._n_updates
    with pytest.raises(ValueError, match="batches_per_update is 0; it must be at least 1"):
        beliefs(batches=0)


def test_target_networks_are_synced_together(monkeypatch: pytest.MonkeyPatch) -> None:
    callback = beliefs()
    model = DQN(
        "MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=20, train_freq=1, target_update_interval=50
    )
    synced: list[int] = []
    sync = BeliefNetwork.sync

    def recorded_sync(belief: BeliefNetwork, tau: float = 1.0) -> None:
        synced.append(model.num_timesteps)
        sync(belief, tau)

    monkeypatch.setattr(BeliefNetwork, "sync", recorded_sync)
    model.learn(260, callback=callback)
    assert synced == [50, 100, 150, 200, 250]


def test_stopping_early_leaves_a_usable_belief() -> None:
    class Stop(BaseCallback):
        def _on_step(self) -> bool:
            return self.num_timesteps < 300

    callback = beliefs()
    model = DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=50)
    model.learn(10_000, callback=[callback, Stop()])
    why = callback.learned.intention(np.zeros(4, np.float32))
    assert why.visits.sum() >= 1.0
    assert why.residual == pytest.approx(abs(why.earnings.sum() - why.value))


def test_a_second_call_of_learn_continues_with_the_same_network() -> None:
    callback = beliefs()
    model = DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=50)
    model.learn(200, callback=callback)
    first, updates = callback.belief, callback.belief.updates  # type: ignore[union-attr]
    model.learn(200, callback=callback, reset_num_timesteps=False)
    assert callback.belief is first
    assert first.updates > updates  # type: ignore[union-attr]


def test_losses_and_residual_are_logged() -> None:
    from stable_baselines3.common.logger import Logger

    callback, records = beliefs(), {}

    class RecordingLogger(Logger):
        def record(self, key: str, value: Any, exclude: Any = None) -> None:
            records[key] = value

    model = DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=50, train_freq=1)
    model.set_logger(RecordingLogger(None, []))
    model.learn(200, callback=callback)
    assert {"belief/mean_residual", "belief/loss_visits", "belief/loss_amounts", "belief/loss_endings"} <= set(records)
    assert all(np.isfinite(records[name]) for name in records if name.startswith("belief/"))


def test_unsupported_agents_are_refused() -> None:
    from stable_baselines3 import PPO, SAC

    with pytest.raises(ValueError, match="n_steps=3: its batches leave out the states between"):
        DQN("MlpPolicy", "CartPole-v1", n_steps=3, device="cpu").learn(10, callback=beliefs())
    with pytest.raises(ValueError, match="actions must be Discrete"):
        SAC("MlpPolicy", "Pendulum-v1", device="cpu").learn(10, callback=beliefs())
    with pytest.raises(ValueError, match="PPO is not supported, only DQN is"):
        PPO("MlpPolicy", "CartPole-v1", device="cpu").learn(10, callback=beliefs())
    with pytest.raises(ValueError, match="observations are not discrete"):
        DQN("MlpPolicy", "CartPole-v1", device="cpu").learn(10, callback=BeliefCallback())
    with pytest.raises(ValueError, match="nothing has been learned yet"):
        _ = beliefs().run
