"""What the documentation promises of deep beliefs: of which observations they are, when they are learned, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from small_agents import CONCEPTS, ENDINGS, SMALL, cart, lake, learned
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

from whatfor.deep import BeliefCallback, BeliefNetwork, learn_after
from whatfor.deep.agent import observes_single_env, reward_scale
from whatfor.deep.optimiser import ClippedAdam
from whatfor.deep.run import distance_to_exact, share_out_of_range
from whatfor.deep.settings import decaying_rate
from whatfor.deep.training import MAX_NORM

UPRIGHT = np.array([0.0, 0.0, 0.01, 0.0], np.float32)
FALLEN = np.array([0.0, 0.0, -0.3, 0.0], np.float32)
#: No pole of CartPole leans so far before its episode is over; normalised, half of them would.
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


def fall() -> SimpleNamespace:
    """A batch of the last step of an episode."""
    return SimpleNamespace(
        observations=torch.as_tensor(UPRIGHT[None]), actions=[0], rewards=[1.0],
        next_observations=torch.as_tensor(FALLEN[None]), dones=[1.0],
    )  # fmt: skip


# -- of what beliefs are -----------------------------------------------------------------------


def test_an_ending_is_told_by_the_last_observation_of_an_episode() -> None:
    belief = network()
    for _ in range(100):
        belief.update(fall(), [0])
    assert belief.row(belief.situation(UPRIGHT), 0).endings["fell left"] > 0.9


def test_cells_are_of_what_the_environment_shows_where_the_agent_sees_it_normalised() -> None:
    model, beside = learned(normalised(), LYING)
    assert beside.belief is not None
    assert model.replay_buffer is not None
    batch = model.replay_buffer.sample(200, env=model.get_vec_normalize_env())
    assert (batch.observations[:, 2].abs() > 0.5).any()  # what the agent reads would be in the other cell
    lying = beside.belief.labels.index("lying")
    assert beside.belief.tries[lying].sum() == 0
    assert beside.belief.tries.sum() > 0


def test_returns_are_in_the_environments_own_rewards() -> None:
    """CartPole pays 1 a step, whatever a layer makes of it."""
    _, beside = learned(normalised(), CONCEPTS)
    history = beside.run.history
    assert len(history) > 5
    assert history.returns.tolist() == history.lengths.tolist()


def test_a_run_stays_what_it_was_while_the_normaliser_goes_on_learning() -> None:
    model, beside = learned(normalised(), CONCEPTS, steps=300)
    run = beside.run
    before = run.intention(UPRIGHT).to_json()
    model.learn(300, callback=beside, reset_num_timesteps=False)
    assert run.intention(UPRIGHT).to_json() == before
    assert beside.run.intention(UPRIGHT).to_json() != before


def test_after_training_earnings_are_in_the_units_of_q_too() -> None:
    model, _ = learned(normalised(), CONCEPTS, steps=300)
    run = learn_after(model, CONCEPTS, steps=100, updates=20, settings=SMALL)
    tried = run.beliefs.tries > 0  # type: ignore[attr-defined]
    scale = reward_scale(model)
    assert abs(scale - 1.0) > 0.1
    np.testing.assert_allclose(run.beliefs.rewards()[tried], scale, rtol=1e-5)  # type: ignore[attr-defined]


def test_values_are_held_against_rewards_as_q_learns_from_them() -> None:
    model, beside = learned(normalised(), CONCEPTS)
    run, (seen, done) = beside.run, beside.visited(2_000)
    values = run.beliefs.q_values(seen)[np.arange(len(done)), done]  # type: ignore[attr-defined]
    shares = [
        share_out_of_range(values, np.full(1, paid), 0.9) for paid in (1.0, reward_scale(model))
    ]  # CartPole pays 1 a step
    assert shares[0] != shares[1]
    assert run.trust is not None
    assert run.trust.impossible == shares[1]


def test_exact_visits_are_no_measure_where_a_time_limit_is_an_end() -> None:
    """They know no limit."""
    for terminal in (False, True):
        kept = {"handle_timeout_termination": not terminal}
        beside = BeliefCallback(settings=SMALL)
        agent(gym.make("FrozenLake-v1"), replay_buffer_kwargs=kept).learn(60, callback=beside)
        assert beside.run.trust is not None
        assert (beside.run.trust.distance is None) == terminal


def test_exact_visits_are_measured_state_by_state_however_many_are_asked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = lake()
    apart, states = distance_to_exact(run.beliefs, run.playing.place(), run.policy)  # type: ignore[arg-type]
    monkeypatch.setattr("whatfor.deep.run.CHUNK", 2)
    assert states > 4
    assert distance_to_exact(run.beliefs, run.playing.place(), run.policy)[0] == pytest.approx(apart)  # type: ignore[arg-type]


# -- when they are learned ---------------------------------------------------------------------


def test_batches_taken_before_a_sync_are_learned_from_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their targets are what was thought before it."""
    model = agent(target_update_interval=50)
    learned_from: list[int] = []
    at_syncs: list[tuple[int, int]] = []  # rows learned from, and rows that the agent has learned from
    update, sync = BeliefNetwork.update, BeliefNetwork.sync

    def updating(belief: BeliefNetwork, batch: Any, *args: Any, **more: Any) -> Any:
        learned_from.append(len(batch.actions))
        return update(belief, batch, *args, **more)

    def syncing(belief: BeliefNetwork, tau: float = 1.0) -> None:
        at_syncs.append((sum(learned_from), 8 * model._n_updates))
        sync(belief, tau)

    monkeypatch.setattr(BeliefNetwork, "update", updating)
    monkeypatch.setattr(BeliefNetwork, "sync", syncing)
    model.learn(260, callback=BeliefCallback(CONCEPTS, settings=replace(SMALL, batches_per_update=4)))
    assert len(at_syncs) == 5
    assert all(ours == agents for ours, agents in at_syncs)
    assert any(rows % (4 * 8) for rows, _ in at_syncs)  # some were waiting for more


def test_a_soft_sync_goes_part_of_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    model, sync = agent(tau=0.25, target_update_interval=10), BeliefNetwork.sync
    ways: list[tuple[torch.Tensor, ...]] = []

    def watched(belief: BeliefNetwork, tau: float = 1.0) -> None:
        assert belief.trainer is not None
        target, online = next(belief.trainer.target.parameters()), next(belief.network.parameters())
        before = target.clone()
        sync(belief, tau)
        ways.append((before, target.clone(), online.detach().clone()))

    monkeypatch.setattr(BeliefNetwork, "sync", watched)
    model.learn(100, callback=BeliefCallback(CONCEPTS, settings=SMALL))
    assert len(ways) == 10
    for before, after, online in ways:
        assert torch.allclose(after, 0.75 * before + 0.25 * online)
    assert any((before - online).abs().max() > 1e-3 for before, _, online in ways)


@pytest.mark.parametrize(("optimiser", "order", "most"), [(None, 2, MAX_NORM), (ClippedAdam, np.inf, 1.0)])
def test_gradients_are_bounded(optimiser: Any, order: float, most: float) -> None:
    """In length; or number by number, as in the paper."""
    belief, batch = network(optimiser=optimiser), fall()
    batch.observations = torch.full((1, 4), 1e4)  # far from all that networks are made for
    belief.update(batch, [0])
    gradient = torch.cat([weight.grad.flatten() for weight in belief.network.parameters() if weight.grad is not None])
    assert torch.linalg.vector_norm(gradient, order) == pytest.approx(most, rel=1e-4)


def test_the_learning_rate_falls_as_training_goes_on() -> None:
    rates: list[float] = []

    def rate_at(remaining: float) -> float:
        rates.append(remaining)
        return 0.01 + remaining

    for rate, last in ((rate_at, 0.01), (decaying_rate, 0.05 * 1e-3)):
        beside = BeliefCallback(CONCEPTS, settings=replace(SMALL, learning_rate=rate))
        agent().learn(50, callback=beside)
        assert beside.belief is not None
        assert beside.belief.trainer is not None
        assert beside.belief.trainer.optimiser.param_groups[0]["lr"] == pytest.approx(last)
    assert rates == sorted(rates, reverse=True)


# -- whose environment is played -----------------------------------------------------------------


def test_an_episode_that_is_played_ends_by_the_name_that_was_given() -> None:
    _, run = cart()
    leaning = np.array([0.0, 0.0, 0.2, 3.0], np.float32)  # to the right, whatever it does
    assert run.episode(leaning).ending == "fell right"


def test_an_environment_shows_what_the_agent_sees_through_normalising_only() -> None:
    vector = DummyVecEnv([lambda: gym.make("CartPole-v1")])
    assert observes_single_env(vector)
    assert observes_single_env(VecNormalize(VecMonitor(vector)))
    assert not observes_single_env(VecFrameStack(vector, 2))
    assert not observes_single_env(VecNormalize(VecFrameStack(vector, 2)))
    assert not observes_single_env(None)


def test_an_agent_of_stacked_observations_is_not_played_in_an_environment_of_single_ones() -> None:
    stacked = VecFrameStack(make_vec_env("CartPole-v1", n_envs=1, seed=0), 2)
    model, beside = learned(stacked, {"left": lambda obs: obs[4] < 0.0}, steps=200)
    with pytest.raises(ValueError, match="no environment for rollouts with its observations"):
        learn_after(model, {"left": lambda obs: obs[4] < 0.0}, steps=10, updates=1)
    with pytest.raises(ValueError, match="env="):
        beside.run.simulation(np.zeros(8, np.float32), rollouts=1)


@pytest.mark.parametrize("terminal", [True, False])
def test_after_training_a_time_limit_is_what_the_agent_takes_it_for(terminal: bool) -> None:
    """One step an episode: it is over for an agent that takes a limit for an end, and goes on for one that looks past it."""
    model = agent(
        gym.make("CartPole-v1", max_episode_steps=1), gamma=0.9,
        replay_buffer_kwargs={"handle_timeout_termination": not terminal},
    )  # fmt: skip
    run = learn_after(model, CONCEPTS, steps=200, updates=400, settings=replace(SMALL, learning_rate=1e-2))
    ahead = run.intention(UPRIGHT).visits.sum()
    assert ahead == pytest.approx(1.0, abs=0.2) if terminal else ahead > 5.0


# -- what is refused -----------------------------------------------------------------------------


class OwnTraining(DQN):
    """Whose targets could be anything."""

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        super().train(gradient_steps, batch_size)


class OwnBuffer(ReplayBuffer):
    """Which could count how often it is sampled."""


def in_dictionaries() -> DQN:
    env = gym.wrappers.TimeAwareObservation(gym.make("CartPole-v1"), flatten=False)
    return DQN("MultiInputPolicy", env, device="cpu", buffer_size=100)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: agent(kind=OwnTraining), r"OwnTraining has a train\(\) of its own"),
        (lambda: agent(replay_buffer_class=OwnBuffer), "the replay buffer is a OwnBuffer"),
        (in_dictionaries, "observations are dictionaries; flatten them"),
    ],
    ids=["a train of its own", "another replay buffer", "dictionaries"],
)
def test_what_cannot_be_explained_is_refused(made: Callable[[], DQN], says: str) -> None:
    model = made()
    with pytest.raises(ValueError, match=says):
        model.learn(10, callback=BeliefCallback(CONCEPTS))
    with pytest.raises(ValueError, match=says):
        learn_after(model, CONCEPTS)
