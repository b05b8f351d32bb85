"""Training a belief network: its target network, its optimiser, and the update from a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whatfor.deep.document import LossName
from whatfor.deep.experience import Experience
from whatfor.deep.heads import HEADS, Step, Targets, one_step, signed
from whatfor.deep.inputs import InputReader, as_numpy, concatenate, reads_numbers
from whatfor.deep.network import Network, Predictions, Scaled, Sizes
from whatfor.deep.private import gradient_norm, scale_gradients
from whatfor.deep.settings import BeliefSettings

#: Makes the network that encodes images, and returns it with its number of outputs.
Encoder = Callable[[], tuple[nn.Module, int]]

#: Gradients are clipped to this norm.
MAX_NORM = 10.0


class Trainer:
    """Trains a belief network on the batches that the agent is trained on."""

    def __init__(
        self,
        reader: InputReader,
        settings: BeliefSettings,
        experience: Experience,
        *,
        discount: float,
        encoder: Encoder | None = None,
        scaled: bool = False,
    ) -> None:
        self.reader, self.settings, self.experience, self.discount = reader, settings, experience, discount
        self.device = reader.device
        self.encoded, self.scaled = encoder is not None, scaled
        self._cuda = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=self._cuda):  # the agent's random numbers must not change
            torch.manual_seed(settings.seed)
            self.online, self.target = self._make_network(encoder), self._make_network(encoder)
        self.target.load_state_dict(self.online.state_dict())
        self.target.requires_grad_(False).eval()
        self._synced = tuple(zip(self.target.state_dict().values(), self.online.state_dict().values(), strict=True))
        self._weights = list(self.online.parameters())
        self.optimiser = self._make_optimiser()

    def _make_network(self, encoder: Encoder | None) -> Network:
        partition, n_inputs, module = self.reader.partition, self.reader.n_inputs, None
        if encoder is not None:
            module, n_inputs = encoder()
        n_endings = len(partition.ending_names)
        sizes, n_actions = self.settings.sizes or Sizes(), partition.labels.n_actions
        scaled = self.scaled and module is None and reads_numbers(partition.space, self.settings.reads)
        return Network(n_inputs, n_actions, partition.n_pairs, n_endings, sizes, module, scaled=scaled).to(self.device)

    def scale_to(self, observations: Any) -> None:
        """Scale the network's inputs by the mean and spread of observations, as batches hold them."""
        for network in (self.online, self.target):
            if isinstance(network.features, Scaled) and len(observations):
                network.features.fit(self.reader.tensor(observations).float())

    def _make_optimiser(self) -> torch.optim.Optimizer:
        kind, rate = self.settings.optimiser, self.settings.initial_rate
        if kind is None:
            return torch.optim.Adam(self._weights, lr=rate, fused=self.device.type in ("cpu", "cuda"))
        return kind(self._weights, lr=rate)  # type: ignore[call-arg]

    def set_learning_rate(self, rate: float) -> None:
        """Use another learning rate from now on."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate

    def update(
        self, batch: Any, next_actions: Any, raw: tuple[Any, Any], cells: tuple[Any, Any] | None = None
    ) -> dict[str, Tensor]:
        """Train on a batch; its losses. ``raw``: observations and next observations, as the environment returned them; ``cells``: theirs, if known."""
        actions, rewards, dones = (self.reader.flat(x) for x in (batch.actions, batch.rewards, batch.dones))
        actions, next_actions, dones = actions.long(), self.reader.flat(next_actions).long(), dones.float()
        if not len(actions) == len(next_actions) == len(rewards) == len(dones):
            raise ValueError(
                f"a batch of {len(actions)} steps has {len(next_actions)} next actions; give the best action for each, "
                "target_network(next_observations).argmax(dim=1)"
            )
        observations, next_observations = (self.reader.reshape(part, len(actions)) for part in raw)
        if cells is None:
            cell, next_cell = self.reader.cells(concatenate([observations, next_observations])).chunk(2)
        else:
            cell, next_cell = (self.reader.tensor(part) for part in cells)
        n_actions = self.reader.partition.labels.n_actions
        step = Step(
            pair=cell * n_actions + actions,
            reward=rewards.float(),
            onward=self.discount * (1.0 - dones),
            next_pair=next_cell * n_actions + next_actions,
        )
        self.experience.add(step.pair, signed(step.reward), cell if cells is None else cells[0], observations)
        with torch.no_grad():
            later = self._predict(self.target, batch.next_observations, next_cell, next_actions)
            endings = self._ending_targets(later.endings, dones, batch, next_observations)
            targets = one_step(HEADS[self.settings.head], step, later, endings)
        return self.learn(self.reader.inputs(batch.observations, cell), actions, targets, "huber")

    def learn(self, inputs: Tensor, actions: Tensor, targets: Targets, loss: LossName) -> dict[str, Tensor]:
        """One update towards targets; its losses. ``loss``: of amounts, unless the settings name one."""
        with torch.random.fork_rng(devices=self._cuda, enabled=self.encoded):  # an encoder may have dropout
            out: Predictions = self.online(inputs, actions)
        losses = HEADS[self.settings.head].losses(out, targets, self.settings.loss_or(loss))
        losses["endings"] = F.cross_entropy(out.endings, targets.endings)
        self._descend(losses)
        self.experience.updates += 1
        return {name: loss.detach() for name, loss in losses.items()}

    def sync(self, tau: float = 1.0) -> None:
        """Copy the network's weights to the target network; ``tau``: the share of the new weights in the mix."""
        with torch.no_grad():
            for target, online in self._synced:
                target.lerp_(online, tau) if target.is_floating_point() else target.copy_(online)

    def _predict(self, network: Network, observations: Any, cell: Tensor, actions: Tensor) -> Predictions:
        predictions: Predictions = network(self.reader.inputs(observations, cell), actions)
        return predictions

    def _ending_targets(self, later: Tensor, dones: Tensor, batch: Any, last_observations: Any) -> Tensor:
        """(B, E + 1) The chances of endings to learn: of the one that occurred, or of those that are expected."""
        over = dones[:, None]
        chances = F.softmax(later, dim=1).mul_(1.0 - over)
        endings, partition = np.zeros(len(dones), np.int64), self.reader.partition
        if len(partition.ending_names) > 1:
            actions, rewards, ended = (as_numpy(x).ravel() for x in (batch.actions, batch.rewards, batch.dones))
            for i in np.flatnonzero(ended):
                endings[i] = partition.ending_index(as_numpy(last_observations[i]), int(actions[i]), float(rewards[i]))
        return chances.scatter_add_(1, self.reader.tensor(endings)[:, None], over)

    def _descend(self, losses: dict[str, Tensor]) -> None:
        """One step of the optimiser."""
        for weight in self._weights:
            weight.grad = None
        torch.autograd.backward(list(losses.values()))
        if self.settings.optimiser is None:
            self._clip()
        self.optimiser.step()

    def _clip(self) -> None:
        """Clip the gradient's norm; a small gradient, the usual case, is left as it is."""
        gradients = [weight.grad for weight in self._weights if weight.grad is not None]
        norm = gradient_norm(gradients)
        if self.device.type != "cpu" or norm > MAX_NORM:
            scale_gradients(gradients, (MAX_NORM / (norm + 1e-6)).clamp(max=1.0))
