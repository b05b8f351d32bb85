"""The paper's deep method written plainly: a DQN with a belief network alongside it, both updated at every step.

This is the baseline of the deep ratios in docs/performance.md, written from the paper's description alone. The networks,
Adam (1e-4, gradients clipped to ±1 element by element), Huber's loss, batches of 16 and the discount of 1 are the
paper's. Networks are evaluated on a whole batch; batches and targets are built sample by sample. Two things differ from
the paper, so that both sides learn the same: Taxi's belief network has an output for each of 500 x 6 state-action pairs
(the paper's has one for each of 500 states), and target networks are synced every 1,000 steps (the paper does not say).
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from whatfor.worlds.cartpole import BINS, BOUNDS, MAX_STEPS

BATCH, RATE, EXPLORATION, SYNC, BUFFER = 16, 1e-4, 0.1, 1_000, 10_000


def layers(*sizes: int) -> list[nn.Module]:
    """Linear layers with ReLU between them."""
    modules: list[nn.Module] = []
    for before, after in pairwise(sizes):
        modules += [nn.Linear(before, after), nn.ReLU()]
    return modules[:-1]


class CartPoleBelief(nn.Module):
    """From a one-hot state to a map over (state, action) for either action."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(*layers(162, 512, 1024, 2048, 2 * 162 * 2))

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """(B, 324) From one-hot states (B, 162) and actions (B, 2)."""
        return (self.net(states).view(len(states), 2, 324) * actions[:, :, None]).sum(dim=1)


class TaxiBelief(nn.Module):
    """From a one-hot state and a one-hot action to a map over (state, action)."""

    def __init__(self) -> None:
        super().__init__()
        self.state, self.action = nn.Linear(500, 1024), nn.Linear(6, 128)
        self.joint = nn.Sequential(*layers(1152, 2048, 3000))

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """(B, 3000) From one-hot states (B, 500) and actions (B, 6)."""
        return self.joint(torch.cat([self.state(states).relu(), self.action(actions).relu()], dim=1))


@dataclass(frozen=True)
class Game:
    """A world as the input of the paper's networks."""

    env: Callable[[], gym.Env]
    numbers: Callable[[Any], Sequence[int]]  # from an observation to the input of the DQN
    sizes: tuple[int, ...]  # of the numbers: their product is the number of states
    hidden: tuple[int, int]  # of the DQN
    belief: Callable[[], nn.Module]


EDGES = [np.linspace(low, high, n + 1)[1:-1] for n, (low, high) in zip(BINS, BOUNDS, strict=True)]
GAMES = {
    "CartPole": Game(
        lambda: gym.make("CartPole-v1", max_episode_steps=MAX_STEPS),
        lambda seen: [int(np.digitize(x, edges)) for x, edges in zip(seen, EDGES, strict=True)],
        BINS, (128, 512), CartPoleBelief,
    ),
    "Taxi": Game(
        lambda: gym.make("Taxi-v4"),
        lambda seen: [int(n) for n in np.unravel_index(seen, (5, 5, 5, 4))],
        (5, 5, 5, 4), (500, 2000), TaxiBelief,
    ),
}  # fmt: skip


def one_hot(number: int, size: int) -> Tensor:
    """A row of zeros with a one in it."""
    row = torch.zeros(size)
    row[number] = 1.0
    return row


def play(game: Game, steps: int, warm_up: int, seed: int = 0) -> float:
    """Steps per second after ``warm_up`` steps, every step with an update of both networks."""
    random.seed(seed)
    torch.manual_seed(seed)
    env = game.env()
    n_states, n_actions = int(np.prod(game.sizes)), int(env.action_space.n)  # type: ignore[attr-defined]
    q_net, q_target = (nn.Sequential(*layers(len(game.sizes), *game.hidden, n_actions)) for _ in range(2))
    belief, belief_target = game.belief(), game.belief()
    q_adam, belief_adam = (torch.optim.Adam(net.parameters(), lr=RATE) for net in (q_net, belief))
    buffer: deque[tuple[Any, ...]] = deque(maxlen=BUFFER)
    seen, _ = env.reset(seed=seed)
    numbers, began = game.numbers(seen), time.perf_counter()
    for step in range(warm_up + steps):
        if step == warm_up:
            began = time.perf_counter()
        if step % SYNC == 0:
            q_target.load_state_dict(q_net.state_dict())
            belief_target.load_state_dict(belief.state_dict())
        if random.random() < EXPLORATION:
            action = random.randrange(n_actions)
        else:
            with torch.no_grad():
                action = int(q_net(torch.tensor([numbers], dtype=torch.float32)).argmax())
        seen, reward, terminated, truncated, _ = env.step(action)
        following = game.numbers(seen)
        buffer.append((numbers, action, float(reward), following, terminated or truncated))
        numbers = game.numbers(env.reset()[0]) if terminated or truncated else following
        if len(buffer) < BATCH:
            continue
        batch = random.sample(buffer, BATCH)
        reads = torch.tensor([before for before, *_ in batch], dtype=torch.float32)
        states, nexts, actions = [], [], []
        for before, done, _, after, _ in batch:
            states.append(one_hot(int(np.ravel_multi_index(before, game.sizes)), n_states))
            nexts.append(one_hot(int(np.ravel_multi_index(after, game.sizes)), n_states))
            actions.append(one_hot(done, n_actions))
        with torch.no_grad():
            onward = q_target(torch.tensor([after for _, _, _, after, _ in batch], dtype=torch.float32))
            best = torch.stack([one_hot(int(row.argmax()), n_actions) for row in onward])
            later = belief_target(torch.stack(nexts), best)
        values, maps = [], []
        for i, (before, done, paid, _, ended) in enumerate(batch):
            state = int(np.ravel_multi_index(before, game.sizes))
            here = one_hot(state * n_actions + done, n_states * n_actions)
            values.append(paid + (0.0 if ended else float(onward[i].max())))
            maps.append(here if ended else here + later[i])
        taken = torch.stack(actions)
        predicted = (q_net(reads) * taken).sum(dim=1)
        learn(predicted, torch.tensor(values), q_net, q_adam)
        learn(belief(torch.stack(states), taken), torch.stack(maps), belief, belief_adam)
    return steps / (time.perf_counter() - began)


def learn(predicted: Tensor, target: Tensor, net: nn.Module, adam: torch.optim.Optimizer) -> None:
    """One step of Adam on Huber's loss, with clipped gradients."""
    loss = nn.functional.smooth_l1_loss(predicted, target)
    adam.zero_grad()
    loss.backward()
    for weights in net.parameters():
        assert weights.grad is not None
        weights.grad.clamp_(-1.0, 1.0)
    adam.step()
