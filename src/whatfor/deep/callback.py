"""BeliefCallback: trains a belief network alongside a Stable-Baselines3 DQN, without changing the agent."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.dqn import DQN

from whatfor.deep.after import Evaluated, GivenCells, environment_of, evaluate, no_environment
from whatfor.deep.agent import (
    check_endings_known,
    check_supported,
    copy_of,
    make_environment,
    normaliser_of,
    observes_single_env,
    q_values_of,
    reward_scale,
    time_limit_of,
    vec_normalize,
)
from whatfor.deep.belief import BeliefNetwork
from whatfor.deep.cells import Partition, Predicate, make_partition
from whatfor.deep.images import encoder_of
from whatfor.deep.private import progress_remaining, vector_steps
from whatfor.deep.replayed import Replayed, ReplayedBatches, joined
from whatfor.deep.run import TrainingRecord, run_of
from whatfor.deep.settings import BeliefSettings
from whatfor.deep.settling import Settling
from whatfor.history import History

if TYPE_CHECKING:
    from whatfor.runs import Run

#: The updates between two logs of the losses and the mean residual: a log costs a forward pass.
LOG_INTERVAL = 100
#: The number of samples of the agent's experience that clusters are made from, and that its beliefs are checked on.
SAMPLE_SIZE = 2_000
#: From this number of pairs on, outputs dominate the cost of an update, and four batches at once cost less than two. With four elsewhere,
#: sums of earnings follow Q much less closely.
MANY_PAIRS = 1_000
#: Without a budget, settling has one update for so many batches of training.
UPDATES_SHARE = 4


@contextmanager
def unchanged_random_states() -> Iterator[None]:
    """Restore the random states of Python, NumPy and PyTorch afterwards."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


class BeliefCallback(BaseCallback):
    """Trains a belief network on the same batches that a DQN is trained on.

    ``cells``: what the beliefs are over: nothing (finite observations), a dictionary of named concepts, ``Bins``, ``Clusters`` or ``States``.
    ``endings``: by name, conditions on an episode's last observation. ``actions``: their names.
    ``world``: an id or a world of whatfor whose states are the cells, where a wrapper hides it; answers can then be compared with exact ones.
    ``settings``: the belief network and its training. The agent is bit-for-bit identical to one trained without it.

    When ``learn()`` ends, the beliefs settle: the policy is frozen and played in an environment made anew, or made by ``play_in``, and a second
    network learns what follows. ``settling``: its budget, by default at most as many steps and a quarter as many updates as training had; False: none.
    Afterwards ``run`` answers from what playing the policy gives, and ``learned`` from what was learned alongside.

    >>> callback = BeliefCallback({"moving left": lambda obs: obs[1] < 0}, settings=BeliefSettings(seed=1))
    >>> agent = DQN("MlpPolicy", "CartPole-v1", learning_starts=50, device="cpu").learn(100, callback=callback)
    >>> callback.run.labels.n_states, callback.run.trust.source, callback.learned.trust.source
    (2, 'evaluated', 'trained alongside')
    """

    def __init__(
        self,
        cells: Any = None,
        *,
        endings: Mapping[str, Predicate] | None = None,
        actions: Sequence[str] | None = None,
        world: Any = None,
        settings: BeliefSettings | None = None,
        settling: Settling | bool = True,
        play_in: Callable[[], gym.Env[Any, Any]] | None = None,
    ) -> None:
        super().__init__()
        self.cells, self.endings, self.actions, self.world = cells, endings, actions, world
        self.settling, self.play_in = settling, play_in
        self._evaluated: Evaluated | None = None
        self.settings = settings or BeliefSettings()
        self.belief: BeliefNetwork | None = None
        self.history: list[tuple[float, int]] = []  # return and length of every episode
        self._agent: Any = None  # whose beliefs these are
        self._latest_runs: tuple[tuple[int, int], dict[str, Run]] | None = None
        self._syncs = 0
        self._replayed: ReplayedBatches | None = None
        self._pending: list[tuple[Replayed, int]] = []  # for the next update: steps, and of how many batches
        self._trained = 0  # batches that the agent was trained on
        self._episodes: NDArray[np.float64] = np.zeros((2, 0))  # return and length so far, by environment

    # -- what Stable-Baselines3 calls --------------------------------------------------------

    def _on_training_start(self) -> None:
        check_supported(self.model)
        check_endings_known(self._dqn, self.endings)
        if self.belief is not None and self._agent is not self.model:
            raise ValueError(
                "this callback was trained alongside another agent; create a new BeliefCallback for this one"
            )
        self._stop_listening()  # to a training that was broken off
        if self.locals.get("reset_num_timesteps", True) or self._episodes.shape[1] != self.training_env.num_envs:
            self._episodes = np.zeros((2, self.training_env.num_envs))  # otherwise episodes continue
        if self.cells is None or isinstance(self.cells, Mapping):  # report errors in them before training
            self._make_partition(np.zeros((0,)))

    def _on_step(self) -> bool:
        rewards, dones = self.locals["rewards"], self.locals["dones"]
        layer = vec_normalize(self._dqn)
        self._episodes[0] += rewards if layer is None else layer.get_original_reward()
        self._episodes[1] += 1.0
        for i in np.flatnonzero(dones):
            self.history.append((float(self._episodes[0, i]), int(self._episodes[1, i])))
            self._episodes[:, i] = 0.0
        return True

    def _on_rollout_start(self) -> None:
        """Just after the agent was trained: train on the same batches."""
        if self.belief is None or self._replayed is None:
            return
        size = self.settings.batches_per_update or (2 if self.belief.partition.n_pairs < MANY_PAIRS else 4)
        for replayed in self._replayed.take(size):
            self._pending.append(replayed)
            if sum(batches for _, batches in self._pending) >= size:
                self._update(self.belief)

    def _on_rollout_end(self) -> None:
        """Just before the agent is trained: draw the batches it will draw."""
        model = self._dqn
        if self._replayed is not None:
            self._replayed.forget(self.locals["num_collected_steps"])
        steps = model.gradient_steps
        if steps < 0:
            steps = self.locals["num_collected_steps"] * model.n_envs
        if model.num_timesteps <= model.learning_starts or steps == 0:
            return
        if self.belief is None:
            self.belief = self._make_belief()
        self._evaluated, self._trained = None, self._trained + steps  # the policy changes
        self._follow_syncs(self.belief)
        self._follow_rate(self.belief)
        if self._replayed is None:
            self._replayed = ReplayedBatches(model, self.belief.reader)
        self._replayed.draw(steps)

    def _on_training_end(self) -> None:
        self._on_rollout_start()
        self._stop_listening()
        if self.belief is not None:
            self._update(self.belief)
            if self.settling is not False:
                self._settle(self.belief)

    def _stop_listening(self) -> None:
        if self._replayed is not None:
            self._replayed.close()
            self._replayed = None

    def _settle(self, belief: BeliefNetwork) -> None:
        """Learn what playing the policy gives, and check both networks against held-out play."""
        model, budget = self._dqn, self.settling
        with unchanged_random_states():
            env = environment_of(model, self.play_in)
            if env is None:
                warnings.warn(
                    f"the beliefs have not settled, and their visits are not checked: {no_environment(model)}",
                    stacklevel=2,
                )
                return
            if not isinstance(budget, Settling):
                most = Settling()
                updates = max(1, min(most.updates, self._trained // UPDATES_SHARE))
                budget = replace(
                    most, steps=min(most.steps, model.num_timesteps), updates=updates, seed=abs(self.settings.seed)
                )
            given = GivenCells(self.cells, self.endings, self.actions)
            self._evaluated = evaluate(model, env, given, self.settings, budget)
            if not self._evaluated.finished:
                warnings.warn("settling was stopped: the best beliefs so far are kept", stacklevel=2)
            belief.checks = self._evaluated.check(belief)

    # -- questions -----------------------------------------------------------------------------

    @property
    def run(self) -> Run:
        """The agent as it is now, ready for questions: what playing its policy gives or, before it has settled, what was learned alongside."""
        runs = self._runs()
        return runs.get("settled", runs["learned"])

    @property
    def learned(self) -> Run:
        """The agent with the beliefs that were learned alongside, from the batches that Q was trained on."""
        return self._runs()["learned"]

    def _runs(self) -> dict[str, Run]:
        """Both runs; further training does not change their answers."""
        if self.belief is None:
            raise ValueError(
                "nothing has been learned yet: call model.learn(..., callback=...) with more steps than learning_starts"
            )
        model = self._dqn
        moment = (self.belief.updates, model.num_timesteps)
        if self._latest_runs is None or self._latest_runs[0] != moment:
            self._latest_runs = (moment, self._make_runs(self.belief))
        return self._latest_runs[1]

    def _make_runs(self, alongside: BeliefNetwork) -> dict[str, Run]:
        model = self._dqn
        returns, lengths = np.array(self.history).reshape(-1, 2).T
        belief = alongside.snapshot(q_values_of(model, frozen=True))
        belief.agent = copy_of(model)
        record = TrainingRecord(
            learner=type(model).__name__,
            history=History(returns, lengths.astype(np.int64)),
            time_limit=time_limit_of(model),
            reward_scale=reward_scale(model),
        )
        env = make_environment(model.get_env()) if observes_single_env(model.get_env()) else None
        env = self.play_in() if self.play_in is not None else env
        visited, rewards = self.visited(SAMPLE_SIZE), self._rewards()
        runs = {"learned": run_of(belief, visited, env=env, world=self.world, rewards=rewards, record=record)}
        if self._evaluated is not None:
            runs["settled"] = self._evaluated.run(env, self.world, record)
        return runs

    def visited(self, size: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Some observations of the agent's replay buffer, as the environment returned them, and its actions there."""
        buffer = self._dqn.replay_buffer
        assert buffer is not None
        filled = buffer.buffer_size if buffer.full else buffer.pos
        rows = np.linspace(0, filled - 1, min(filled, max(1, size // buffer.n_envs))).astype(int)
        shape = self._dqn.observation_space.shape or ()
        observations = buffer.observations[rows].reshape(-1, *(shape or (1,)))
        return (observations if shape else observations[:, 0]), buffer.actions[rows].reshape(-1).astype(np.int64)

    # -- the parts -----------------------------------------------------------------------------

    @property
    def _dqn(self) -> DQN:
        assert isinstance(self.model, DQN)
        return self.model

    def _make_partition(self, visited: NDArray[Any]) -> Partition:
        model = self._dqn
        n_actions = int(model.action_space.n)  # type: ignore[attr-defined]
        env = make_environment(model.get_env())
        return make_partition(
            self.cells,
            model.observation_space,
            env,
            visited,
            n_actions=n_actions,
            actions=self.actions,
            endings=self.endings,
        )

    def _make_belief(self) -> BeliefNetwork:
        model = self._dqn
        settings = replace(self.settings, device=self.settings.device or model.device)
        partition = self._make_partition(self.visited(SAMPLE_SIZE)[0])
        belief = BeliefNetwork(
            partition, q_values_of(model), discount=model.gamma, settings=settings, encoder=encoder_of(model)
        )
        belief.normaliser = normaliser_of(model)
        self._agent = model
        return belief

    def _follow_syncs(self, belief: BeliefNetwork) -> None:
        """Sync the target network whenever DQN has synced its own."""
        model = self._dqn
        syncs = vector_steps(model) // max(model.target_update_interval // model.n_envs, 1)
        if syncs > self._syncs:
            self._update(belief)  # batches sampled before the sync belong to the target network before it
        for _ in range(min(syncs - self._syncs, 1 if model.tau == 1.0 else syncs - self._syncs)):
            belief.sync(model.tau)
        self._syncs = syncs

    def _follow_rate(self, belief: BeliefNetwork) -> None:
        rate = self.settings.learning_rate
        if callable(rate) and belief.trainer is not None:
            belief.trainer.set_learning_rate(rate(progress_remaining(self._dqn)))

    def _update(self, belief: BeliefNetwork) -> None:
        """Train on all pending batches."""
        if not self._pending:
            return
        parts, self._pending = [part for part, _ in self._pending], []
        batch = joined(parts)
        losses = belief.training.update(batch, batch.next_actions, batch.raw, batch.cells)
        if belief.updates % LOG_INTERVAL == 0 and not self._dqn.q_net.training:
            self._log(belief, batch, losses)

    def _log(self, belief: BeliefNetwork, batch: Replayed, losses: dict[str, torch.Tensor]) -> None:
        for name, loss in losses.items():
            self.logger.record(f"belief/loss_{name}", float(loss))
        actions = batch.actions.ravel()
        _, earnings = belief.rows(belief.reader.reshape(batch.raw[0], len(actions)), actions)
        with torch.no_grad():
            values = self._dqn.q_net(torch.as_tensor(batch.observations, device=self._dqn.device)).cpu().numpy()
        residuals = earnings.sum(axis=(1, 2)) - values[np.arange(len(actions)), actions]
        self.logger.record("belief/mean_residual", float(np.abs(residuals).mean()))

    def _rewards(self) -> NDArray[Any]:
        """All rewards in the replay buffer, as Q is trained on them."""
        buffer, layer = self._dqn.replay_buffer, vec_normalize(self._dqn)
        assert buffer is not None
        rewards = buffer.rewards[: buffer.buffer_size if buffer.full else buffer.pos]
        return rewards if layer is None else np.asarray(layer.normalize_reward(rewards))
