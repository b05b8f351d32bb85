"""A DQN in plain PyTorch, with a belief network alongside it: `python examples/own_dqn_loop.py [steps]`."""

import sys
from typing import NamedTuple

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import whatfor as wf

DISCOUNT, BATCH, BUFFER, START, TRAIN_EVERY, SYNC_EVERY = 0.95, 128, 10_000, 1_000, 4, 250


def side(obs):
    """Where the cart is."""
    return "left" if obs[0] < -0.8 else "right" if obs[0] > 0.8 else "middle"


CELLS = {
    "cart": (side, ("left", "middle", "right")),
    "pole falling": (lambda obs: "left" if obs[3] < 0 else "right", ("left", "right")),
    "pole at": (lambda obs: np.degrees(obs[2]), (-8, -4, 0, 4, 8)),
}
ENDINGS = {
    "the pole fell": lambda obs: abs(obs[2]) > 0.2094,
    "it left the track": lambda obs: abs(obs[0]) > 2.4,
}


class Batch(NamedTuple):
    """A batch of steps; the fields are named as in Stable-Baselines3 and CleanRL."""

    observations: torch.Tensor
    actions: torch.Tensor
    rewards: torch.Tensor
    next_observations: torch.Tensor
    dones: torch.Tensor  # 1 where the episode terminated, 0 at a time limit


class Replay:
    """A replay buffer of NumPy arrays."""

    def __init__(self, size, shape):
        obs = np.zeros((size, *shape), np.float32)
        self.columns = Batch(
            obs, np.zeros(size, np.int64), np.zeros(size, np.float32), obs.copy(), np.zeros(size, np.float32)
        )
        self.size, self.added = size, 0

    def __len__(self):
        return min(self.added, self.size)

    def add(self, *step):
        """Add a step; a full buffer replaces its oldest."""
        for column, entry in zip(self.columns, step, strict=True):
            column[self.added % self.size] = entry
        self.added += 1

    def sample(self, n, rng):
        """A random batch of ``n`` steps."""
        rows = rng.integers(len(self), size=n)
        return Batch(*(torch.as_tensor(column[rows]) for column in self.columns))


def q_network(n_inputs, n_actions):
    """Two hidden layers."""
    return nn.Sequential(nn.Linear(n_inputs, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, n_actions))


def train(steps, *, seed=0, explained=True):
    """The agent's network after training, and its run; None if it is trained without beliefs."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env = gym.make("CartPole-v1")
    online, target = q_network(4, 2), q_network(4, 2)
    target.load_state_dict(online.state_dict())
    optimiser = torch.optim.Adam(online.parameters(), lr=1e-3)
    replay = Replay(BUFFER, (4,))

    def q_values(observations):
        with torch.no_grad():
            return online(torch.as_tensor(observations, dtype=torch.float32)).numpy()

    belief = None
    if explained:
        belief = wf.deep.BeliefNetwork.of(env, q_values, CELLS, endings=ENDINGS, discount=DISCOUNT)

    obs, _ = env.reset(seed=seed)
    for step in range(steps):
        exploration = max(0.05, 1.0 - step / (0.4 * steps))
        action = int(rng.integers(2)) if rng.random() < exploration else int(q_values(obs[None]).argmax())
        next_obs, reward, terminated, truncated, _ = env.step(action)
        replay.add(obs, action, reward, next_obs, terminated)
        obs = env.reset()[0] if terminated or truncated else next_obs

        if step >= START and step % TRAIN_EVERY == 0:
            batch = replay.sample(BATCH, rng)
            with torch.no_grad():
                next_values, next_actions = target(batch.next_observations).max(dim=1)
                targets = batch.rewards + DISCOUNT * (1.0 - batch.dones) * next_values
            values = online(batch.observations).gather(1, batch.actions[:, None])[:, 0]
            loss = nn.functional.mse_loss(values, targets)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if belief is not None:
                belief.update(batch, next_actions)  # the same batch, and the actions of Q's target

        if step >= START and step % SYNC_EVERY == 0:
            target.load_state_dict(online.state_dict())
            if belief is not None:
                belief.sync()  # whenever Q's target network is synced

    if belief is None:
        return online, None
    visited = replay.columns.observations[: len(replay)][-2_000:], replay.columns.actions[: len(replay)][-2_000:]
    return online, wf.deep.run_of(belief, visited, env=env)


def answers(run, rollouts=100):
    """Answers, by the names that the documentation uses."""
    falling = np.array([0.0, 0.0, 0.1, 0.5], np.float32)  # in the middle, the pole falling to the right
    return {
        "agent": run.evaluate(episodes=20),
        "why": run.intention(falling),
        "comparison": run.comparison(falling, rollouts=rollouts),
    }


if __name__ == "__main__":
    _, run = train(int(sys.argv[1]) if len(sys.argv) > 1 else 25_000)
    for name, answer in answers(run).items():
        print(f"== {name} ==\n{answer}\n")
