"""BeliefNetwork: what a deep agent expects, learned from its own batches."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from whatfor.beliefs.protocol import Beliefs, Capability
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.deep.cells import Cells, Predicate, cells_of
from whatfor.deep.document import MAX_INT, HeadName, LossName, Reads, Source
from whatfor.deep.heads import HEADS, Head, Step
from whatfor.deep.inputs import flat_size, one_hot, read
from whatfor.deep.network import AgentCopy, Expected, Network, Sizes
from whatfor.deep.normalising import Normaliser
from whatfor.deep.private import gradient_norm, scale_gradients
from whatfor.labels import Labels
from whatfor.parsing import numbers_in

#: (B, ...) observations as the environment shows them -> (B, A) what the agent thinks its actions are worth.
QValues = Callable[[NDArray[Any]], NDArray[Any]]
#: Makes what reads images, and says how many numbers it makes of one.
Encoder = Callable[[], tuple[nn.Module, int]]

MOST_NORM = 10.0


@dataclass(frozen=True)
class Settings:
    """What makes a belief network, as JSON can hold it."""

    head: HeadName
    sizes: Sizes
    reads: Reads  # "cell": its one-hot code, as the paper's networks do
    loss: LossName  # of what is earned and paid
    discount: float
    seed: int


class BeliefNetwork(Beliefs):
    """Visits, earnings and endings that a deep agent expects, for every situation and action.

    ``cells``: what the beliefs are over, from ``cells_of``. ``q_values``: what the agent itself thinks, for the residual of
    every answer. ``loss``: what Q is taught by; sums then agree with Q, its lean included, while "squared" learns means. In an own training loop, make it with ``BeliefNetwork.of``, call ``update`` with every batch that Q learns from,
    and ``sync`` when its target network is synced; ``run_of`` then answers questions.
    """

    def __init__(
        self,
        cells: Cells,
        q_values: QValues,
        *,
        discount: float,
        head: HeadName = "faithful",
        sizes: Sizes | None = None,
        reads: Reads = "observation",
        loss: LossName = "huber",
        learning_rate: float = 1e-3,
        optimiser: type[torch.optim.Optimizer] | None = None,
        encoder: Encoder | None = None,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        if head not in HEADS:
            raise ValueError(f"head={head!r}: there are {', '.join(HEADS)}")
        if reads not in ("observation", "cell"):
            raise ValueError(f"reads={reads!r}: a network reads the 'observation' or its 'cell'")
        if loss not in ("huber", "squared"):
            raise ValueError(
                f"loss={loss!r}: earnings are taught by the loss that Q is taught by, 'huber' or 'squared'"
            )
        if head == "regression" and loss != "huber":
            raise ValueError("the paper's regression head is taught by Huber's loss: leave out loss=")
        if not 0.0 <= discount <= 1.0:
            raise ValueError(f"discount is {discount}; it must lie in [0, 1]")
        if not -MAX_INT <= operator.index(seed) <= MAX_INT:
            raise ValueError(f"seed is {seed}; it must be an integer of at most 64 bits")
        self.cells, self.q_values = cells, q_values
        self.settings = Settings(head, sizes or Sizes(), reads, loss, float(discount), operator.index(seed))
        self.device = torch.device(device)
        self.updates = 0
        self.source: Source = "learned beside"  # or "evaluated": after training, from rollouts of a frozen agent
        self.normaliser: Normaliser | None = None  # where batches do not hold what the environment shows
        self.agent: AgentCopy | None = None  # the agent's own network, to be saved with the beliefs
        self.encoded = encoder is not None
        self._devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=self._devices):  # the agent's random numbers are not touched
            torch.manual_seed(seed)
            self.online, self.target = self._made(encoder), self._made(encoder)
        self.target.load_state_dict(self.online.state_dict())
        self.target.requires_grad_(False).eval()
        self._followed = tuple(zip(self.target.state_dict().values(), self.online.state_dict().values(), strict=True))
        self._weights = list(self.online.parameters())
        self.optimiser = (
            torch.optim.Adam(self._weights, lr=learning_rate, fused=self.device.type in ("cpu", "cuda"))
            if optimiser is None
            else optimiser(self._weights, lr=learning_rate)  # type: ignore[call-arg]
        )
        self.clips = optimiser is None
        n_pairs = self.n_pairs
        self._count = torch.zeros(n_pairs, dtype=torch.float64, device=self.device)
        #: Rewards above zero and below, summed up by pair.
        self._brought = torch.zeros(2, n_pairs, dtype=torch.float64, device=self.device)
        self._examples: dict[int, NDArray[Any]] = {}
        strides = cells.strides
        self._strides = None if strides is None else [torch.as_tensor(part, device=self.device) for part in strides]

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
        **settings: Any,
    ) -> Self:
        """A network for an own training loop in an environment.

        ``cells``, ``endings``, ``actions`` and further settings are as ``BeliefCallback`` takes them. ``visited``: observations that the
        agent came to, of which ``Clusters`` are made.
        """
        if not isinstance(env.action_space, spaces.Discrete):
            raise ValueError(
                f"actions must be countable (Discrete): a belief is over them too; these are {env.action_space}"
            )
        seen, n_actions = np.zeros(0) if visited is None else visited, int(env.action_space.n)
        over = cells_of(cells, env.observation_space, env, seen, n_actions=n_actions, actions=actions, endings=endings)
        return cls(over, q_values, discount=discount, **settings)

    def _made(self, encoder: Encoder | None) -> Network:
        labels, sizes = self.cells.labels, self.settings.sizes
        n_inputs = labels.n_states if self.settings.reads == "cell" else flat_size(self.cells.space)
        reader = None
        if encoder is not None:
            reader, n_inputs = encoder()
        n_pairs, n_endings = self.n_pairs, len(self.cells.ending_names)
        return Network(n_inputs, labels.n_actions, n_pairs, n_endings, sizes, reader).to(self.device)

    @property
    def labels(self) -> Labels:
        """Names of cells, actions and endings."""
        return self.cells.labels

    @property
    def n_pairs(self) -> int:
        """Of how many cells and actions there are beliefs."""
        return self.labels.n_states * self.labels.n_actions

    @property
    def head(self) -> Head:
        """How the outputs are read and taught."""
        return HEADS[self.settings.head]

    # -- learning --------------------------------------------------------------------------

    def update(
        self,
        batch: Any,
        next_actions: Any,
        *,
        seen: Any = None,
        next_seen: Any = None,
    ) -> dict[str, Tensor]:
        """Learn from a batch that Q learns from; its losses.

        ``batch`` has ``observations``, ``actions``, ``rewards``, ``next_observations`` and ``dones`` (1 where the episode
        terminated), as the replay buffers of Stable-Baselines3 and CleanRL give them. ``next_actions``: the greedy actions that Q's own target takes.
        ``seen``, ``next_seen``: the observations as the environment showed them, where the batch holds them normalised.
        """
        actions, rewards, dones = (self._flat(x) for x in (batch.actions, batch.rewards, batch.dones))
        actions, next_actions, dones = actions.long(), self._flat(next_actions).long(), dones.float()
        if not len(actions) == len(next_actions) == len(rewards) == len(dones):
            raise ValueError(
                f"a batch of {len(actions)} steps has {len(next_actions)} next actions; give the best action for each, "
                "target_network(next_observations).argmax(dim=1)"
            )
        shown = self._as_shown(batch.observations if seen is None else seen, len(actions))
        next_shown = self._as_shown(batch.next_observations if next_seen is None else next_seen, len(actions))
        cell, next_cell = self._cells(joined([shown, next_shown])).chunk(2)
        n_actions = self.labels.n_actions
        step = Step(
            pair=cell * n_actions + actions,
            reward=rewards.float(),
            onward=self.settings.discount * (1.0 - dones),
            next_pair=next_cell * n_actions + next_actions,
        )
        self._remember(step, cell, shown)
        with torch.no_grad():
            later = self._forward(self.target, self._tensor(batch.next_observations), next_cell, next_actions)
            endings = self._ended(later.endings, dones, next_shown, actions, step.reward)
        with torch.random.fork_rng(devices=self._devices, enabled=self.encoded):  # an encoder may drop out at random
            out = self._forward(self.online, self._tensor(batch.observations), cell, actions)
        losses = self.head.losses(out, step, later, self.settings.loss)
        losses["endings"] = F.cross_entropy(out.endings, endings)
        for weight in self._weights:
            weight.grad = None
        torch.autograd.backward(list(losses.values()))
        if self.clips:
            self._clip()
        self.optimiser.step()
        self.updates += 1
        return {name: loss.detach() for name, loss in losses.items()}

    def snapshot(self, q_values: QValues) -> BeliefNetwork:
        """As it is now, for questions to an agent that thinks so; learning goes on without it."""
        still = copy.copy(self)
        still.q_values = q_values
        still.online = still.target = copy.deepcopy(self.online).eval()
        still._count, still._brought, still._examples = self._count.clone(), self._brought.clone(), dict(self._examples)
        still.normaliser = None if self.normaliser is None else self.normaliser.fixed()
        return still

    def sync(self, tau: float = 1.0) -> None:
        """Bring the target network up to date, whenever Q's is."""
        with torch.no_grad():
            for one, two in self._followed:
                one.lerp_(two, tau) if one.is_floating_point() else one.copy_(two)

    def _clip(self) -> None:
        """Bound the norm of the gradient; where it is small already, as it mostly is, it is not written again."""
        grads = [weight.grad for weight in self._weights if weight.grad is not None]
        norm = gradient_norm(grads)
        if self.device.type != "cpu" or norm > MOST_NORM:
            scale_gradients(grads, (MOST_NORM / (norm + 1e-6)).clamp(max=1.0))

    def _forward(self, network: Network, observations: Tensor, cell: Tensor, actions: Tensor) -> Expected:
        if self.settings.reads == "cell":
            inputs = one_hot(cell, self.labels.n_states)
        else:
            inputs = read(observations, self.cells.space)
        out: Expected = network(inputs, actions)
        return out

    def _ended(self, later: Tensor, dones: Tensor, following: Any, actions: Tensor, rewards: Tensor) -> Tensor:
        """(B, E + 1) The endings to expect: what came, or what is expected to come."""
        over = dones[:, None]
        chances = F.softmax(later, dim=1).mul_(1.0 - over)
        places = torch.zeros_like(actions)
        if len(self.cells.ending_names) > 1:
            for i in torch.nonzero(dones).flatten().tolist():
                places[i] = self.cells.ended(_numpy(following[i]), int(actions[i]), float(rewards[i]))
        return chances.scatter_add_(1, places[:, None], over)

    def _remember(self, step: Step, cell: Tensor, seen: Any) -> None:
        ones = torch.ones_like(step.reward, dtype=torch.float64)
        self._count.index_add_(0, step.pair, ones)
        reward = step.reward.double()
        self._brought.index_add_(1, step.pair, torch.stack([reward.clamp(min=0.0), -reward.clamp(max=0.0)]))
        if not self.cells.whole and self.updates % 10 == 0:
            observations = _numpy(seen)
            for i, at in enumerate(cell.tolist()):
                if at not in self._examples:
                    self._examples[at] = observations[i].copy()

    def _as_shown(self, observations: Any, count: int) -> Any:
        """Observations in the shape that the environment gives them; a replay buffer holds a whole number as a row of one."""
        shape = (count, *(self.cells.space.shape or ()))
        if observations.shape != shape and math.prod(observations.shape) == math.prod(shape):
            observations = observations.reshape(shape)
        if observations.shape != shape:
            raise ValueError(
                f"observations have the shape {tuple(observations.shape)}; of {count} steps in {self.cells.space} it is {shape}"
            )
        return observations

    def _tensor(self, numbers: Any) -> Tensor:
        return torch.as_tensor(numbers, device=self.device)

    def _flat(self, numbers: Any) -> Tensor:
        return self._tensor(numbers).reshape(-1)

    def _cells(self, observations: Any) -> Tensor:
        if self._strides is not None and isinstance(
            observations, Tensor
        ):  # no way through NumPy for what lies on a GPU
            start, step = self._strides
            numbers = observations.reshape(len(observations), -1).long() - start
            return (numbers * step).sum(dim=1)
        seen = self._as_shown(_numpy(observations), len(observations))
        return torch.as_tensor(self.cells.index(seen), device=self.device)

    # -- beliefs ---------------------------------------------------------------------------

    can: ClassVar[frozenset[Capability]] = frozenset({"endings"})

    @property
    def actor(self) -> BeliefNetwork:
        """The agent whose beliefs these are: it acts on observations."""
        return self

    def row(self, at: Situation, action: int) -> Row:
        """What the network says of an action, and how far it can be trusted."""
        at = self.situation(at)
        visits, earnings, chances = self._row(at, action)
        endings = {name: float(chance) for name, chance in zip(self.cells.ending_names, chances, strict=False)}
        endings = {name: chance for name, chance in sorted(endings.items(), key=lambda item: -item[1]) if chance > 0.0}
        return Row(
            visits=visits,
            earnings=earnings,
            value=float(self.values_at(at)[action]),
            now=min(1.0, float(visits[at.index, action])),
            endings=endings,
            endings_unknown=max(0.0, 1.0 - sum(endings.values())),
            tried=self.tried,
            trust=self.trust,
        )

    @property
    def whole(self) -> bool:
        """Whether a cell is all that the agent sees."""
        return self.cells.whole

    def situation(self, state: Any) -> Situation:
        """A cell with the observation that is asked about: an observation, or words or an index with one that stands for it.

        Where observations are whole numbers, a number is an observation; and so are words that are several numbers.
        """
        if isinstance(state, str) and not self.cells.whole:
            state = _observed(state)
        shape, seen = self.cells.space.shape or (), not self.cells.whole and not isinstance(state, str | Situation)
        if seen and (np.shape(state) == shape or (shape == () and np.shape(state) == (1,))):
            observation = np.reshape(np.asarray(state, np.float64), shape)
            if not np.isfinite(observation).all():
                raise ValueError(f"the observation {observation} holds NaN or infinite numbers")
            observation = observation.astype(self.cells.space.dtype)
            if shape == () and not (observation == state and self.cells.space.contains(observation[()])):
                raise ValueError(f"{state} is no observation of {self.cells.space}")
            return Situation(int(self.cells.index(observation[None])[0]), observation)
        if seen and np.ndim(state) > 0:
            raise ValueError(
                f"an observation has the shape {shape}, not {np.shape(state)}; give one, or say the state in words or by its index"
            )
        at = state if isinstance(state, Situation) else Situation(self.labels.index(state))
        return at if at.observation is not None else Situation(at.index, self._standing_for(at.index))

    def example(self, cell: int) -> Any:
        """An observation that stands for a cell: its own, or one that the agent has seen; None: there is none."""
        observation = self.cells.stands_for(cell)
        return self._examples.get(cell) if observation is None else observation

    def _standing_for(self, cell: int) -> Any:
        observation = self.example(cell)
        if observation is None:
            raise ValueError(
                f"the agent never came to {self.labels.words(cell)!r}, so no observation stands for it; ask with an observation"
            )
        return observation

    def values_at(self, at: Situation) -> NDArray[np.float64]:
        """(A,) What the agent itself thinks its actions are worth there."""
        observation = np.asarray(self.situation(at).observation)[None]
        values: NDArray[np.float64] = np.asarray(self.q_values(observation), np.float64)
        if values.shape != (1, self.labels.n_actions):
            raise ValueError(
                f"the agent's Q-values of one observation have the shape {values.shape}; they must have {(1, self.labels.n_actions)}"
            )
        worth: NDArray[np.float64] = values[0]
        return worth

    def act(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) What the agent does, greedily."""
        return np.asarray(np.asarray(self.q_values(observations)).argmax(axis=1), np.int64)

    def check_env(self, env: Any) -> None:
        """Raise ``ValueError`` unless an environment has the observations and actions of this agent."""
        here, agent = env.observation_space, self.cells.space
        forms = [(type(s), s.shape, np.array(getattr(s, "nvec", getattr(s, "n", 0))).tolist()) for s in (here, agent)]
        if forms[0] != forms[1] or getattr(env.action_space, "n", 0) != self.labels.n_actions:
            raise ValueError(
                f"the run's environment shows {here} and takes {env.action_space}, where the agent sees {agent} and has "
                f"{self.labels.n_actions} actions: pass the environment it learned in as env="
            )

    def cells_of(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) The cells that observations (B, ...) are in."""
        shape = self.cells.space.shape or ()
        if np.shape(observations)[1:] != shape:
            raise ValueError(
                f"observations of shape {np.shape(observations)[1:]}, where the agent sees {shape}: pass the environment it sees as env="
            )
        return self.cells.index(observations)

    def ended(self, observation: Any, action: int, reward: float) -> str | None:
        """The name of an episode's end, where there is one."""
        return self.cells.ending(np.asarray(observation), action, reward)

    def rewards(self) -> NDArray[np.float64]:
        """(S, A) What every pair has brought, on average."""
        earned, paid = (self._brought / self._count.clamp(min=1.0)).cpu().numpy()
        return np.asarray(earned - paid).reshape(self.labels.n_states, self.labels.n_actions)

    def rows(self, observations: Any, actions: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(B, S, A) Visits and earnings of many situations at once."""
        visits, earnings, _ = self._asked(observations, actions)
        return visits, earnings

    @property
    def tried(self) -> NDArray[np.int64]:
        """(S, A) How often each pair was in a batch."""
        shape = (self.labels.n_states, self.labels.n_actions)
        return self._count.cpu().numpy().astype(np.int64).reshape(shape)

    def _row(self, at: Situation, action: int) -> tuple[NDArray[np.float64], ...]:
        observation = np.asarray(at.observation)[None]
        row = tuple(part[0] for part in self._asked(observation, [self.labels.action(action)]))
        if not all(np.isfinite(part).all() for part in row):
            raise ValueError(
                f"the belief network's answer in {self.labels.words(at.index)!r} is not finite: its learning has diverged. "
                "Train again with a smaller learning_rate"
            )
        return row

    def _asked(self, observations: Any, actions: Any) -> tuple[NDArray[np.float64], ...]:
        seen = np.asarray(observations)
        with torch.no_grad():
            cell, done = self._cells(seen), self._flat(np.asarray(actions)).long()
            out = self._forward(self.online, self._tensor(self.normalised(seen)), cell, done)
            rewards = (self._brought / self._count.clamp(min=1.0)).float()
            maps = self.head.maps(out, cell * self.labels.n_actions + done, rewards)
            chances = F.softmax(out.endings, dim=1)
        shape = (len(seen), self.labels.n_states, self.labels.n_actions)
        visits, earnings = (map_.double().cpu().numpy().reshape(shape) for map_ in (maps.visits, maps.earnings))
        return visits, earnings, chances.double().cpu().numpy()

    def normalised(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Observations as the batches held them."""
        return observations if self.normaliser is None else self.normaliser(observations)


def joined(parts: list[Any]) -> Any:
    """Batches, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts) if isinstance(parts[0], Tensor) else np.concatenate(parts)


def _observed(text: str) -> Any:
    """An observation, where a text is a list of numbers; else the text."""
    numbers, listed = numbers_in(text), text.strip().startswith("[")
    if listed and not numbers:
        raise ValueError(f"{text[:80]!r} is not a list of numbers")
    return np.array(numbers) if listed or len(numbers) > 1 else text


def _numpy(numbers: Any) -> NDArray[Any]:
    return numbers.detach().cpu().numpy() if isinstance(numbers, Tensor) else np.asarray(numbers)
