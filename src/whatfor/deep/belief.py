"""BeliefNetwork: a source of rows that a network predicts, trained on the agent's own batches."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from whatfor.beliefs.protocol import Actor, Beliefs, Capability
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.beliefs.trust import Quality, Trust
from whatfor.deep.cells import Partition, Predicate, make_partition
from whatfor.deep.checks import Checks
from whatfor.deep.document import Source
from whatfor.deep.experience import Experience
from whatfor.deep.heads import HEADS
from whatfor.deep.inputs import InputReader, QValues
from whatfor.deep.network import AgentCopy, Network, Sizes
from whatfor.deep.normalising import Normaliser
from whatfor.deep.settings import BeliefSettings
from whatfor.deep.training import Encoder, Trainer
from whatfor.labels import Labels
from whatfor.needed import need_safetensors
from whatfor.parsing import numbers_in
from whatfor.players import NetworkPlay, TablePlay, player_of
from whatfor.playing import Playing

if TYPE_CHECKING:
    from whatfor.runs import Run


class BeliefNetwork(Beliefs):
    """Visits, earnings and endings that a deep agent expects, for every situation and action.

    ``partition``: the cells that beliefs are over, from ``make_partition``. ``q_values``: the agent's own, for the residual of every answer.
    ``scaled``: whether it reads numbers by their spread and as waves, which is for learning from play alone: one-step targets follow Q less closely with it.
    In a custom training loop, create it with ``BeliefNetwork.of``, call ``update`` with every batch that Q is trained on, and ``sync``
    whenever Q's target network is synced; ``run_of`` then answers questions.

    >>> from types import SimpleNamespace
    >>> belief = BeliefNetwork.of(gym.make("FrozenLake-v1"), lambda observations: np.zeros((len(observations), 4)), discount=0.9)
    >>> batch = SimpleNamespace(observations=np.array([0]), actions=[2], rewards=[0.0], next_observations=np.array([1]), dones=[0.0])
    >>> losses = belief.update(batch, next_actions=[2])
    >>> sorted(losses), belief.updates, bool(belief.visits(0, 2).sum() >= 1.0)
    (['amounts', 'endings', 'visits'], 1, True)
    """

    can: ClassVar[frozenset[Capability]] = frozenset({"endings"})

    @property
    def learned(self) -> bool:  # type: ignore[override]
        """Whether it was trained alongside the agent; False: by playing its policy."""
        return self.source == "trained alongside"

    def __init__(
        self,
        partition: Partition,
        q_values: QValues,
        *,
        discount: float,
        settings: BeliefSettings | None = None,
        encoder: Encoder | None = None,
        scaled: bool = False,
    ) -> None:
        if not 0.0 <= discount <= 1.0:
            raise ValueError(f"discount is {discount}; it must lie in [0, 1]")
        self.partition, self.q_values, self.discount = partition, q_values, float(discount)
        settings = settings or BeliefSettings()
        self.settings = replace(settings, sizes=settings.sizes or Sizes())
        self.source: Source = "trained alongside"  # or "evaluated": after training, from rollouts of the frozen agent
        self.normaliser: Normaliser | None = None  # where batches do not hold what the environment returns
        self.agent: AgentCopy | None = None  # the agent's own network, to be saved with the beliefs
        self.checks: Checks | None = None  # against held-out play
        device = torch.device(self.settings.device or "cpu")
        self.reader = InputReader(partition, self.settings.reads, device)
        self.experience = Experience(partition, device)
        self.trainer: Trainer | None = Trainer(
            self.reader, self.settings, self.experience, discount=self.discount, encoder=encoder, scaled=scaled
        )
        self.network: Network = self.trainer.online
        self.encoded = encoder is not None

    @classmethod
    def of(
        cls,
        env: gym.Env[Any, Any],
        q_values: QValues,
        cells: Any = None,
        *,
        discount: float,
        endings: Mapping[str, Predicate] | None = None,
        actions: Sequence[str] | None = None,
        visited: NDArray[Any] | None = None,
        settings: BeliefSettings | None = None,
    ) -> Self:
        """A belief network for a custom training loop in an environment.

        ``cells``, ``endings``, ``actions`` and ``settings`` are as in ``BeliefCallback``. ``visited``: observations from experience,
        for ``Clusters`` and ``Anchors``.
        """
        if not isinstance(env.action_space, spaces.Discrete):
            raise ValueError(f"actions must be Discrete, since beliefs are over them; these are {env.action_space}")
        experience, n_actions = np.zeros(0) if visited is None else visited, int(env.action_space.n)
        space = env.observation_space
        partition = make_partition(cells, space, env, experience, n_actions=n_actions, actions=actions, endings=endings)
        return cls(partition, q_values, discount=discount, settings=settings)

    # -- training ------------------------------------------------------------------------------

    def update(
        self, batch: Any, next_actions: Any, *, raw_observations: Any = None, raw_next_observations: Any = None
    ) -> dict[str, Tensor]:
        """Train on a batch that Q is trained on; the losses by name.

        ``batch`` has ``observations``, ``actions``, ``rewards``, ``next_observations`` and ``dones`` (1 where the episode
        terminated), as the replay buffers of Stable-Baselines3 and CleanRL return them. ``next_actions``: the greedy actions of Q's own target.
        ``raw_observations``, ``raw_next_observations``: as the environment returned them, where the batch holds them normalised.
        """
        raw = (
            batch.observations if raw_observations is None else raw_observations,
            batch.next_observations if raw_next_observations is None else raw_next_observations,
        )
        return self.training.update(batch, next_actions, raw)

    def sync(self, tau: float = 1.0) -> None:
        """Sync the target network, whenever Q's is synced."""
        self.training.sync(tau)

    def snapshot(self, q_values: QValues) -> BeliefNetwork:
        """A copy for questions about the agent with these Q-values; further training does not change it."""
        copied = copy.copy(self)
        copied.q_values, copied.trainer = q_values, None
        copied.network, copied.experience = copy.deepcopy(self.network).eval(), self.experience.copy()
        copied.normaliser = None if self.normaliser is None else self.normaliser.snapshot()
        return copied

    @property
    def training(self) -> Trainer:
        """What trains the network; ``ValueError`` for a snapshot."""
        if self.trainer is None:
            raise ValueError("a snapshot of a belief network cannot be trained; train the network it was taken from")
        return self.trainer

    @property
    def updates(self) -> int:
        """The number of updates so far."""
        return self.experience.updates

    # -- the agent -----------------------------------------------------------------------------

    def actor(self, table: Actor) -> BeliefNetwork:
        """The agent whose beliefs these are: it acts on observations."""
        return self

    def check_renaming(self) -> None:
        """Its cells, actions and endings were learned by their names."""
        raise ValueError(
            "a network keeps the names of cells, actions and endings that it was trained with: pass cells=, actions= and endings= to "
            "BeliefCallback or learn_after, or let the environment carry names"
        )

    def player(self, playing: Playing) -> TablePlay | NetworkPlay:
        """What plays it."""
        return player_of(self, playing)

    def saved(self, run: Run) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The network, and that of the agent."""
        need_safetensors()
        from whatfor.deep.saving import network_out

        document, tensors = network_out(run)
        return {"network": document}, tensors

    @property
    def labels(self) -> Labels:
        """Names of cells, actions and endings."""
        return self.partition.labels

    @property
    def whole(self) -> bool:
        """Whether the cell is all that the agent observes."""
        return self.partition.whole

    def values_at(self, at: Situation) -> NDArray[np.float64]:
        """(A,) The agent's own Q-values in a situation."""
        observation = np.asarray(self.situation(at).observation)[None]
        values: NDArray[np.float64] = np.asarray(self.q_values(observation), np.float64)
        if values.shape != (1, self.labels.n_actions):
            raise ValueError(
                f"the agent's Q-values of one observation have the shape {values.shape}; they must have {(1, self.labels.n_actions)}"
            )
        row: NDArray[np.float64] = values[0]
        return row

    def act(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) The agent's greedy actions."""
        return np.asarray(np.asarray(self.q_values(observations)).argmax(axis=1), np.int64)

    def check_env(self, env: Any) -> None:
        """Raise ``ValueError`` unless an environment has the observations and actions of this agent."""
        here, agent = env.observation_space, self.partition.space
        forms = [(type(s), s.shape, np.array(getattr(s, "nvec", getattr(s, "n", 0))).tolist()) for s in (here, agent)]
        if forms[0] != forms[1] or getattr(env.action_space, "n", 0) != self.labels.n_actions:
            raise ValueError(
                f"the run's environment has observations of {here} and actions of {env.action_space}; the agent observes {agent} and has "
                f"{self.labels.n_actions} actions: pass the environment it was trained in as env="
            )

    def cells_of(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) The cells of observations (B, ...)."""
        shape = self.partition.space.shape or ()
        if np.shape(observations)[1:] != shape:
            raise ValueError(
                f"observations have the shape {np.shape(observations)[1:]}, those of the agent {shape}: pass the environment it observes as env="
            )
        return self.partition.index(observations)

    def ending_name(self, observation: Any, action: int, reward: float) -> str | None:
        """The name of an episode's ending; None: it has none."""
        return self.partition.ending_name(np.asarray(observation), action, reward)

    # -- situations ----------------------------------------------------------------------------

    def situation(self, state: Any) -> Situation:
        """A cell with an observation: the given one, or an example where the cell is given by words or its index.

        Where observations are integers, a number is an observation; so is a text of several numbers.
        """
        if isinstance(state, str) and not self.whole:
            state = _parse_observation(state)
        if not self.whole and not isinstance(state, str | Situation):
            shape = self.partition.space.shape or ()
            if np.shape(state) == shape or (shape == () and np.shape(state) == (1,)):
                return self._observed(state, shape)
            if np.ndim(state) > 0:
                raise ValueError(
                    f"an observation has the shape {shape}, not {np.shape(state)}; give one, or the state in words or by its index"
                )
        at = state if isinstance(state, Situation) else Situation(self.labels.index(state))
        return at if at.observation is not None else Situation(at.index, self._example(at.index))

    def _observed(self, state: Any, shape: tuple[int, ...]) -> Situation:
        """The situation of an observation."""
        observation = np.reshape(np.asarray(state, np.float64), shape)
        if not np.isfinite(observation).all():
            raise ValueError(f"the observation {observation} holds NaN or infinite numbers")
        observation = observation.astype(self.partition.space.dtype)
        if shape == () and not (observation == state and self.partition.space.contains(observation[()])):
            raise ValueError(f"{state} is not an observation of {self.partition.space}")
        return Situation(int(self.partition.index(observation[None])[0]), observation)

    def example(self, cell: int) -> Any:
        """An observation of a cell; None: there is none."""
        return self.experience.example(cell)

    def _example(self, cell: int) -> Any:
        observation = self.example(cell)
        if observation is None:
            raise ValueError(
                f"the agent never visited {self.labels.words(cell)!r}, so there is no observation of it; ask with an observation"
            )
        return observation

    # -- rows ----------------------------------------------------------------------------------

    def row(self, at: Situation, action: int) -> Row:
        """What the network predicts of an action, and the quality of its predictions."""
        at = self.situation(at)
        observation = np.asarray(at.observation)[None]
        visits, earnings, chances = (part[0] for part in self._predict(observation, [self.labels.action(action)]))
        if not all(np.isfinite(part).all() for part in (visits, earnings, chances)):
            raise ValueError(
                f"the belief network's answer in {self.labels.words(at.index)!r} is not finite: training has diverged. "
                "Train again with a smaller learning_rate"
            )
        endings = {name: float(chance) for name, chance in zip(self.partition.ending_names, chances, strict=False)}
        endings = {name: chance for name, chance in sorted(endings.items(), key=lambda item: -item[1]) if chance > 0.0}
        return Row(
            visits=visits,
            earnings=earnings,
            value=float(self.values_at(at)[action] if self.learned else earnings.sum()),
            endings=endings,
            endings_unknown=max(0.0, 1.0 - sum(endings.values())),
            tries=self.tries,
            discounted=self.discount < 1.0,
            trust=self._trust_near(np.asarray(at.observation)),
        )

    def _trust_near(self, observation: NDArray[Any]) -> Quality:
        """Its trust, with the error in held-out situations like an observation."""
        if self.checks is None or not isinstance(self.trust, Trust):
            return self.trust
        return replace(self.trust, here=self.checks.near(observation))

    def rows(self, observations: Any, actions: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(B, S, A) Visits and earnings of many situations at once."""
        visits, earnings, _ = self._predict(observations, actions)
        return visits, earnings

    def endings(self, observations: Any, actions: Any) -> NDArray[np.float64]:
        """(B, E + 1) Chances of endings in many situations at once, in the order of their names; the last is unknown."""
        return self._predict(observations, actions)[2]

    def rewards(self) -> NDArray[np.float64]:
        """(S, A) The mean reward of every pair."""
        earned, paid = self.experience.mean_rewards().cpu().numpy()
        return np.asarray(earned - paid).reshape(self.labels.n_states, self.labels.n_actions)

    @property
    def tries(self) -> NDArray[np.int64]:
        """(S, A) How often each pair was in a batch."""
        shape = (self.labels.n_states, self.labels.n_actions)
        return self.experience.count.cpu().numpy().astype(np.int64).reshape(shape)

    def normalised(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Observations as the batches hold them."""
        return observations if self.normaliser is None else self.normaliser(observations)

    def _predict(self, observations: Any, actions: Any) -> tuple[NDArray[np.float64], ...]:
        """(B, S, A) visits and earnings, and (B, E + 1) chances of endings."""
        raw = np.asarray(observations)
        with torch.no_grad():
            cell, action = self.reader.cells(raw), self.reader.flat(np.asarray(actions)).long()
            predictions = self.network(self.reader.inputs(self.normalised(raw), cell), action)
            rewards = self.experience.mean_rewards().float()
            maps = HEADS[self.settings.head].maps(predictions, cell * self.labels.n_actions + action, rewards)
            chances = F.softmax(predictions.endings, dim=1)
        shape = (len(raw), self.labels.n_states, self.labels.n_actions)
        visits, earnings = (map_.double().cpu().numpy().reshape(shape) for map_ in (maps.visits, maps.earnings))
        return visits, earnings, chances.double().cpu().numpy()


def _parse_observation(text: str) -> Any:
    """An observation, where a text is a list of numbers; otherwise the text."""
    numbers, listed = numbers_in(text), text.strip().startswith("[")
    if listed and not numbers:
        raise ValueError(f"{text[:80]!r} is not a list of numbers")
    return np.array(numbers) if listed or len(numbers) > 1 else text
