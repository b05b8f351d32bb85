"""BeliefCallback: a belief network that learns beside a Stable-Baselines3 DQN, and changes nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.dqn import DQN

from whatfor.deep.agent import (
    check,
    copy_of,
    environment,
    normaliser,
    q_values_of,
    reward_scale,
    seeing,
    sees_through,
    time_limit_of,
)
from whatfor.deep.belief import BeliefNetwork, joined
from whatfor.deep.cells import Predicate, cells_of
from whatfor.deep.document import HeadName, LossName, Reads
from whatfor.deep.network import Sizes
from whatfor.deep.private import progress_remaining, steps_taken

if TYPE_CHECKING:
    from whatfor.runs import Run

#: Losses and the residual are looked at every so many updates: a look costs a forward pass.
LOOK = 100
#: So many of the agent's experiences are looked at when clusters are made, and when its beliefs are judged.
SAMPLE = 2_000
#: From so many cells and actions on, an update costs by what it writes, and four batches in one cost less than two.
MANY = 1_000
#: A falling learning rate does not fall below this share of its start.
LEAST_RATE = 0.05


def falling(remaining: float) -> float:
    """1e-3, falling to a twentieth of it while training goes on."""
    return 1e-3 * max(remaining, LEAST_RATE)


#: What is used of a batch.
BATCH = ("observations", "actions", "rewards", "next_observations", "dones")


class _Taken(NamedTuple):
    """A batch that the agent learns from, and what its target is built on."""

    batch: Any
    greedy: torch.Tensor  # (B,)
    seen: torch.Tensor  # (B, ...) as the environment showed it
    next_seen: torch.Tensor  # (B, ...)


class BeliefCallback(BaseCallback):
    """Learns what a DQN expects, from the very batches it learns from: ``DQN(...).learn(..., callback=BeliefCallback(cells=...))``.

    ``cells``: what the beliefs are over: nothing (countable observations), a dictionary of named concepts, ``Bins``, ``Clusters`` or ``States``.
    ``endings``: by name, conditions on an episode's last observation. ``actions``: their names. ``head``: "faithful", or the paper's "regression".
    ``world``: an id or a world of whatfor whose states are the cells, where a wrapper hides it; answers then are beside exact ones.
    ``loss`` of earnings: "huber", as DQN's own, so that sums lean as Q does where the world is random; or "squared", which learns means.
    ``together``: how many of the agent's batches are learned from at once: each is used, and fewer and larger updates cost less; by default
    two, and four where there are many cells.
    ``learning_rate``: a number, or a function of the progress that remains, from 1 to 0.
    The agent is the same, to the bit, as without it. Afterwards ``run`` answers questions.
    """

    def __init__(
        self,
        cells: Any = None,
        *,
        endings: Mapping[str, Predicate] | None = None,
        actions: Sequence[str] | None = None,
        head: HeadName = "faithful",
        sizes: Sizes | None = None,
        reads: Reads = "observation",
        loss: LossName = "huber",
        learning_rate: float | Callable[[float], float] = falling,
        optimiser: type[torch.optim.Optimizer] | None = None,
        together: int | None = None,
        world: Any = None,
        seed: int = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        if together is not None and together < 1:
            raise ValueError(f"together is {together}; at least one batch is learned from at a time")
        self.cells = cells
        self.endings = endings
        self.actions = actions
        self.head = head
        self.sizes = sizes
        self.reads = reads
        self.loss = loss
        self.learning_rate = learning_rate
        self.optimiser = optimiser
        self.together = together
        self.world = world
        self.seed = seed
        self.belief: BeliefNetwork | None = None
        self.history: list[tuple[float, int]] = []  # return and length of every episode
        self._taught_by: Any = None  # the agent whose beliefs these are
        self._answering: tuple[tuple[int, int], Run] | None = None
        self._syncs = 0
        self._waiting: list[_Taken] = []  # batches that will be learned from together
        self._playing: NDArray[np.float64] = np.zeros((2, 0))

    # -- what Stable-Baselines3 calls --------------------------------------------------------

    def _on_training_start(self) -> None:
        check(self.model)
        if self.belief is not None and self._taught_by is not self.model:
            raise ValueError("this callback has learned beside another agent; make a new BeliefCallback for this one")
        if self.locals.get("reset_num_timesteps", True) or self._playing.shape[1] != self.training_env.num_envs:
            self._playing = np.zeros((2, self.training_env.num_envs))  # else its episodes go on where they were
        if self.cells is None or isinstance(self.cells, Mapping):  # what is wrong with them is told before the work
            self._cells(np.zeros((0,)))

    def _on_step(self) -> bool:
        rewards, dones = self.locals["rewards"], self.locals["dones"]
        layer = normaliser(self._dqn)
        self._playing[0] += rewards if layer is None else layer.get_original_reward()
        self._playing[1] += 1.0
        for i in np.flatnonzero(dones):
            self.history.append((float(self._playing[0, i]), int(self._playing[1, i])))
            self._playing[:, i] = 0.0
        return True

    def _on_rollout_end(self) -> None:
        """Just before the agent trains: take the batches that it is about to take, and leave its dice as they were."""
        model = self._dqn
        steps = model.gradient_steps
        if steps < 0:
            steps = self.locals["num_collected_steps"] * model.n_envs
        if model.num_timesteps <= model.learning_starts or steps == 0:
            return
        if self.belief is None:
            self.belief = self._made()
        self._follow_syncs(self.belief)
        self._follow_rate(self.belief)
        assert model.replay_buffer is not None
        layer, together = normaliser(model), self.together or (2 if self.belief.n_pairs < MANY else 4)
        dice = np.random.get_state()  # noqa: NPY002
        try:
            for _ in range(steps):
                before = None if layer is None else np.random.get_state()  # noqa: NPY002
                batch = model.replay_buffer.sample(model.batch_size, env=layer)
                shown = batch
                if before is not None:  # cells are of what the environment shows
                    np.random.set_state(before)  # noqa: NPY002
                    shown = model.replay_buffer.sample(model.batch_size)
                with torch.no_grad():
                    greedy = model.q_net_target(batch.next_observations).argmax(dim=1)
                self._waiting.append(_Taken(batch, greedy, shown.observations, shown.next_observations))
                if len(self._waiting) >= together:
                    self._learn(self.belief)
        finally:
            np.random.set_state(dice)  # noqa: NPY002

    @property
    def run(self) -> Run:
        """The agent as it is now, ready for questions; what it learns later does not change the answers."""
        from whatfor.deep.run import run_of
        from whatfor.history import History

        if self.belief is None:
            raise ValueError(
                "nothing was learned yet: call model.learn(..., callback=...) with more steps than learning_starts"
            )
        model = self._dqn
        moment = (self.belief.updates, model.num_timesteps)
        if self._answering is not None and self._answering[0] == moment:
            return self._answering[1]
        returns, lengths = np.array(self.history).reshape(-1, 2).T
        belief = self.belief.snapshot(q_values_of(model, frozen=True))
        belief.agent = copy_of(model)
        run = run_of(
            belief,
            self.visited(SAMPLE),
            env=environment(model.get_env()) if sees_through(model.get_env()) else None,
            world=self.world,
            history=History(returns, lengths.astype(np.int64)),
            learner={"name": type(model).__name__},
            time_limit=time_limit_of(model),
            rewards=self._rewards(),
            reward_scale=reward_scale(model),
        )
        self._answering = (moment, run)
        return run

    # -- the parts -----------------------------------------------------------------------------

    @property
    def _dqn(self) -> DQN:
        assert isinstance(self.model, DQN)
        return self.model

    def _cells(self, visited: NDArray[Any]) -> Any:
        model = self._dqn
        return cells_of(
            self.cells,
            model.observation_space,
            environment(model.get_env()),
            visited,
            n_actions=int(model.action_space.n),  # type: ignore[attr-defined]
            actions=self.actions,
            endings=self.endings,
        )

    def _made(self) -> BeliefNetwork:
        from whatfor.deep.images import encoder_of

        model = self._dqn
        rate = self.learning_rate(1.0) if callable(self.learning_rate) else self.learning_rate
        belief = BeliefNetwork(
            self._cells(self.visited(SAMPLE)[0]),
            q_values_of(model),
            discount=model.gamma,
            head=self.head,
            sizes=self.sizes,
            reads=self.reads,
            loss=self.loss,
            learning_rate=rate,
            optimiser=self.optimiser,
            encoder=encoder_of(model),
            device=model.device,
            seed=self.seed,
        )
        belief.normaliser = seeing(model)
        self._taught_by = model
        return belief

    def _follow_syncs(self, belief: BeliefNetwork) -> None:
        """Sync the target network whenever DQN has synced its own."""
        model = self._dqn
        syncs = steps_taken(model) // max(model.target_update_interval // model.n_envs, 1)
        if syncs > self._syncs:
            self._learn(belief)  # what was taken before the sync belongs to what was thought before it
        for _ in range(min(syncs - self._syncs, 1 if model.tau == 1.0 else syncs - self._syncs)):
            belief.sync(model.tau)
        self._syncs = syncs

    def _follow_rate(self, belief: BeliefNetwork) -> None:
        if callable(self.learning_rate):
            rate = self.learning_rate(progress_remaining(self._dqn))
            for group in belief.optimiser.param_groups:
                group["lr"] = rate

    def _learn(self, belief: BeliefNetwork) -> None:
        """Learn from all batches that wait."""
        if not self._waiting:
            return
        batches, self._waiting = self._waiting, []
        fields = {name: joined([getattr(taken.batch, name) for taken in batches]) for name in BATCH}
        batch, seen = SimpleNamespace(**fields), joined([taken.seen for taken in batches])
        greedy, next_seen = (
            joined([taken.greedy for taken in batches]),
            joined([taken.next_seen for taken in batches]),
        )
        losses = belief.update(batch, greedy, seen=seen, next_seen=next_seen)
        if belief.updates % LOOK == 0 and not self._dqn.q_net.training:
            self._look(belief, batch, losses, seen)

    def _on_training_end(self) -> None:
        if self.belief is not None:
            self._learn(self.belief)

    def _look(self, belief: BeliefNetwork, batch: Any, losses: dict[str, torch.Tensor], seen: torch.Tensor) -> None:
        for name, loss in losses.items():
            self.logger.record(f"belief/loss_{name}", float(loss))
        actions = batch.actions.flatten()
        _, earnings = belief.rows(seen.cpu().numpy(), actions.cpu().numpy())
        with torch.no_grad():
            worth = self._dqn.q_net(batch.observations).gather(1, actions[:, None])[:, 0].cpu().numpy()
        self.logger.record("belief/residual", float(np.abs(earnings.sum(axis=(1, 2)) - worth).mean()))

    def _rewards(self) -> NDArray[Any]:
        """All rewards that the replay buffer holds, as Q learns from them."""
        buffer, layer = self._dqn.replay_buffer, normaliser(self._dqn)
        assert buffer is not None
        held = buffer.rewards[: buffer.buffer_size if buffer.full else buffer.pos]
        return held if layer is None else np.asarray(layer.normalize_reward(held))

    def visited(self, most: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Observations of the agent's replay buffer as the environment showed them, and the actions it took there."""
        buffer = self._dqn.replay_buffer
        assert buffer is not None
        filled = buffer.buffer_size if buffer.full else buffer.pos
        rows = np.linspace(0, filled - 1, min(filled, max(1, most // buffer.n_envs))).astype(int)
        shape = self._dqn.observation_space.shape or ()
        observations = buffer.observations[rows].reshape(-1, *(shape or (1,)))
        return (observations if shape else observations[:, 0]), buffer.actions[rows].reshape(-1).astype(np.int64)
