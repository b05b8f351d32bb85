"""What the documentation says about belief networks: their observations, their training, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from scripted import Blink, limited
from small_agents import CONCEPTS, ENDINGS, LITTLE, SMALL, cart, lake, train_agent
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

import whatfor as wf
from whatfor.deep import BeliefCallback, BeliefNetwork, BeliefSettings, Settling, learn_after
from whatfor.deep.agent import observes_single_env, reward_scale
from whatfor.deep.optimiser import ClippedAdam
from whatfor.deep.run import errors_of_exact, out_of_range
from whatfor.deep.settings import decaying_rate
from whatfor.deep.training import MAX_NORM, Trainer

UPRIGHT = np.array([0.0, 0.0, 0.01, 0.0], np.float32)
FALLEN = np.array([0.0, 0.0, -0.3, 0.0], np.float32)
#: No pole of CartPole leans that far before its episode ends; in normalised observations, many do.
LYING: dict[str, Any] = {"lying": lambda obs: abs(obs[2]) > 0.5}


def normalised() -> VecNormalize:
    return VecNormalize(make_vec_env("CartPole-v1", n_envs=2, seed=0))


def agent(env: Any = "CartPole-v1", kind: type[DQN] = DQN, **more: Any) -> DQN:
    settings: dict[str, Any] = {"learning_starts": 20, "train_freq": 1, "batch_size": 8, "buffer_size": 500}
    return kind("MlpPolicy", env, seed=0, device="cpu", policy_kwargs={"net_arch": [8]}, **{**settings, **more})


def network(**more: Any) -> BeliefNetwork:
    return BeliefNetwork.of(
        gym.make("CartPole-v1"), lambda obs: np.zeros((len(obs), 2)), CONCEPTS, endings=ENDINGS, discount=0.9,
        settings=replace(SMALL, learning_rate=1e-2, **more),
    )  # fmt: skip


def last_step() -> SimpleNamespace:
    """A batch of the last step of an episode."""
    return SimpleNamespace(
        observations=torch.as_tensor(UPRIGHT[None]), actions=[0], rewards=[1.0],
        next_observations=torch.as_tensor(FALLEN[None]), dones=[1.0],
    )  # fmt: skip


# -- observations and rewards -----------------------------------------------------------------------


def test_the_last_observation_of_an_episode_decides_its_ending() -> None:
    belief = network()
    for _ in range(100):
        belief.update(last_step(), [0])
    assert belief.row(belief.situation(UPRIGHT), 0).endings["fell left"] > 0.9


def test_cells_are_of_observations_before_normalisation() -> None:
    model, callback = train_agent(normalised(), LYING)
    assert callback.belief is not None
    assert model.replay_buffer is not None
    batch = model.replay_buffer.sample(200, env=model.get_vec_normalize_env())
    assert (batch.observations[:, 2].abs() > 0.5).any()  # normalised observations would be in the other cell
    lying = callback.belief.labels.index("lying")
    assert callback.belief.tries[lying].sum() == 0
    assert callback.belief.tries.sum() > 0


def test_returns_are_in_the_environments_own_rewards() -> None:
    """CartPole's reward is 1 at every step, before normalisation."""
    _, callback = train_agent(normalised(), CONCEPTS)
    history = callback.run.history
    assert len(history) > 5
    assert history.returns.tolist() == history.lengths.tolist()


def test_a_run_does_not_change_with_the_normaliser() -> None:
    model, callback = train_agent(normalised(), CONCEPTS, steps=300)
    run = callback.run
    before = run.intention(UPRIGHT).to_json()
    model.learn(300, callback=callback, reset_num_timesteps=False)
    assert run.intention(UPRIGHT).to_json() == before
    assert callback.run.intention(UPRIGHT).to_json() != before


def test_beliefs_learned_after_training_scale_rewards_as_q_does() -> None:
    model, _ = train_agent(normalised(), CONCEPTS, steps=300)
    run = learn_after(model, CONCEPTS, settling=LITTLE, settings=SMALL)
    tried = run.beliefs.tries > 0  # type: ignore[attr-defined]
    scale = reward_scale(model)
    assert abs(scale - 1.0) > 0.1
    np.testing.assert_allclose(run.beliefs.rewards()[tried], scale, rtol=1e-5)  # type: ignore[attr-defined]


def test_impossible_values_are_found_with_the_rewards_that_q_is_trained_on() -> None:
    model, callback = train_agent(normalised(), CONCEPTS)
    run, (observations, actions) = callback.run, callback.visited(2_000)
    values = run.beliefs.q_values(observations)[np.arange(len(actions)), actions]  # type: ignore[attr-defined]
    shares = [out_of_range(values, np.full(1, reward), 0.9) for reward in (1.0, reward_scale(model))]
    assert shares[0] != shares[1]
    assert run.trust is not None
    assert run.trust.impossible == shares[1]["impossible"]
    assert run.trust.excess == pytest.approx(shares[1]["excess"], rel=1e-5)


def test_visits_are_not_compared_with_exact_ones_if_a_time_limit_is_terminal() -> None:
    """Exact visits ignore time limits."""
    for terminal in (False, True):
        options = {"handle_timeout_termination": not terminal}
        callback = BeliefCallback(settings=SMALL, settling=False)
        agent(gym.make("FrozenLake-v1"), replay_buffer_kwargs=options).learn(60, callback=callback)
        assert callback.run.trust is not None
        assert (callback.run.trust.distance is None) == terminal


def test_the_distance_to_exact_visits_does_not_depend_on_the_chunk_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = lake()
    policy = np.full((16, 4), 0.25)  # it comes to all states
    whole = errors_of_exact(run.beliefs, run.playing.place(), policy)  # type: ignore[arg-type]
    monkeypatch.setattr("whatfor.deep.run.CHUNK", 2)
    chunked = errors_of_exact(run.beliefs, run.playing.place(), policy)  # type: ignore[arg-type]
    assert whole is not None
    assert whole.states > 4
    assert chunked == pytest.approx(whole)


# -- training ---------------------------------------------------------------------


def test_batches_sampled_before_a_sync_are_used_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their targets come from the target network before the sync."""
    model = agent(target_update_interval=50)
    rows_used: list[int] = []
    at_syncs: list[tuple[int, int]] = []  # rows that the belief network, and that the agent was trained on
    update, sync = Trainer.update, BeliefNetwork.sync

    def updating(trainer: Trainer, batch: Any, *args: Any, **more: Any) -> Any:
        rows_used.append(len(batch.actions))
        return update(trainer, batch, *args, **more)

    def syncing(belief: BeliefNetwork, tau: float = 1.0) -> None:
        at_syncs.append((sum(rows_used), 8 * model._n_updates))
        sync(belief, tau)

    monkeypatch.setattr(Trainer, "update", updating)
    monkeypatch.setattr(BeliefNetwork, "sync", syncing)
    model.learn(260, callback=BeliefCallback(CONCEPTS, settings=replace(SMALL, batches_per_update=4), settling=False))
    assert len(at_syncs) == 5
    assert all(belief_rows == agent_rows for belief_rows, agent_rows in at_syncs)
    assert any(rows % (4 * 8) for rows, _ in at_syncs)  # some batches were pending


def test_a_soft_sync_mixes_both_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    model, sync = agent(tau=0.25, target_update_interval=10), BeliefNetwork.sync
    syncs: list[tuple[torch.Tensor, ...]] = []

    def recorded_sync(belief: BeliefNetwork, tau: float = 1.0) -> None:
        assert belief.trainer is not None
        target, online = next(belief.trainer.target.parameters()), next(belief.network.parameters())
        before = target.clone()
        sync(belief, tau)
        syncs.append((before, target.clone(), online.detach().clone()))

    monkeypatch.setattr(BeliefNetwork, "sync", recorded_sync)
    model.learn(100, callback=BeliefCallback(CONCEPTS, settings=SMALL, settling=False))
    assert len(syncs) == 10
    for before, after, online in syncs:
        assert torch.allclose(after, 0.75 * before + 0.25 * online)
    assert any((before - online).abs().max() > 1e-3 for before, _, online in syncs)


@pytest.mark.parametrize(("optimiser", "order", "bound"), [(None, 2, MAX_NORM), (ClippedAdam, np.inf, 1.0)])
def test_gradients_are_bounded(optimiser: Any, order: float, bound: float) -> None:
    """In norm; or number by number, as in the paper."""
    belief, batch = network(optimiser=optimiser), last_step()
    batch.observations = torch.full((1, 4), 1e4)  # so large that the gradient exceeds the bound
    belief.update(batch, [0])
    gradient = torch.cat([weight.grad.flatten() for weight in belief.network.parameters() if weight.grad is not None])
    assert torch.linalg.vector_norm(gradient, order) == pytest.approx(bound, rel=1e-4)


def test_the_learning_rate_follows_its_schedule() -> None:
    calls: list[float] = []

    def schedule(remaining: float) -> float:
        calls.append(remaining)
        return 0.01 + remaining

    for rate, last in ((schedule, 0.01), (decaying_rate, 0.05 * 1e-3)):
        callback = BeliefCallback(CONCEPTS, settings=replace(SMALL, learning_rate=rate), settling=False)
        agent().learn(50, callback=callback)
        assert callback.belief is not None
        assert callback.belief.trainer is not None
        assert callback.belief.trainer.optimiser.param_groups[0]["lr"] == pytest.approx(last)
    assert calls == sorted(calls, reverse=True)


# -- environments for rollouts -----------------------------------------------------------------


def test_a_played_episode_has_a_named_ending() -> None:
    _, run = cart()
    leaning = np.array([0.0, 0.0, 0.2, 3.0], np.float32)  # to the right, whatever it does
    assert run.episode(leaning).ending == "fell right"


def test_only_normalised_environments_have_the_observations_of_a_single_one() -> None:
    vector = DummyVecEnv([lambda: gym.make("CartPole-v1")])
    assert observes_single_env(vector)
    assert observes_single_env(VecNormalize(VecMonitor(vector)))
    assert not observes_single_env(VecFrameStack(vector, 2))
    assert not observes_single_env(VecNormalize(VecFrameStack(vector, 2)))
    assert not observes_single_env(None)


def test_an_agent_of_stacked_observations_has_no_environment_for_rollouts() -> None:
    stacked = VecFrameStack(make_vec_env("CartPole-v1", n_envs=1, seed=0), 2)
    left = {"left": lambda obs: obs[4] < 0.0}
    with pytest.warns(UserWarning, match=r"have not settled, and their visits are not checked: .*pass play_in="):
        model, callback = train_agent(stacked, left, steps=200, settling=LITTLE)
    with pytest.raises(ValueError, match=r"cannot be made anew with its observations .*; pass play_in="):
        learn_after(model, left, settling=LITTLE)
    with pytest.raises(ValueError, match="env="):
        callback.run.simulation(np.zeros(8, np.float32), rollouts=2)


@pytest.mark.parametrize("terminal", [True, False])
def test_beliefs_learned_after_training_handle_time_limits_as_the_agent_does(terminal: bool) -> None:
    """Episodes of one step: with a terminal limit one visit is expected, and 1 / (1 - 0.9) if the agent bootstraps."""
    model = agent(limited(Blink(), 1), gamma=0.9, replay_buffer_kwargs={"handle_timeout_termination": not terminal})
    settling = Settling(steps=200, updates=800)
    run = learn_after(model, settling=settling, settings=SMALL, play_in=lambda: limited(Blink(), 1))
    assert run.intention(0).visits.sum() == pytest.approx(1.0 if terminal else 10.0, rel=0.1)


def test_a_learning_rate_that_would_not_learn_is_refused() -> None:
    with pytest.raises(ValueError, match="learning_rate is -1; it must be positive"):
        BeliefSettings(learning_rate=-1)


# -- agents that are refused -----------------------------------------------------------------------------


class OwnTraining(DQN):
    """An agent whose targets are unknown."""

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        super().train(gradient_steps, batch_size)


class OwnBuffer(ReplayBuffer):
    """A replay buffer that sampling might change."""


def dictionary_agent() -> DQN:
    """An agent whose observations are dictionaries."""
    env = gym.wrappers.TimeAwareObservation(gym.make("CartPole-v1"), flatten=False)
    return DQN("MultiInputPolicy", env, device="cpu", buffer_size=100)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: agent(kind=OwnTraining), r"OwnTraining has a train\(\) of its own"),
        (lambda: agent(replay_buffer_class=OwnBuffer), "the replay buffer is a OwnBuffer"),
        (dictionary_agent, "observations are dictionaries; flatten them"),
    ],
    ids=["train()", "replay buffer", "dictionaries"],
)
def test_agents_that_cannot_be_explained_are_refused(make: Callable[[], DQN], message: str) -> None:
    model = make()
    with pytest.raises(ValueError, match=message):
        model.learn(10, callback=BeliefCallback(CONCEPTS))
    with pytest.raises(ValueError, match=message):
        learn_after(model, CONCEPTS)


def test_agents_and_vectors_of_stable_baselines3_are_sent_to_the_callback() -> None:
    message = (
        "DQN is an agent of Stable-Baselines3, and train.. trains tabular agents: call model.learn.*BeliefCallback"
    )
    model = agent(gym.make("CartPole-v1"))
    with pytest.raises(ValueError, match=message):
        wf.train("FrozenLake-v1", model, episodes=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        wf.train(model, episodes=1)
    with pytest.raises(ValueError, match="this is a vector environment"):
        wf.train(make_vec_env("CartPole-v1", n_envs=2), episodes=1)
