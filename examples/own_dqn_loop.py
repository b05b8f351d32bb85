"""A DQN of one's own, in plain PyTorch, with beliefs learned beside it: `python examples/own_dqn_loop.py [steps]`."""

import sys
from typing import NamedTuple

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import whatfor as wf

DISCOUNT, BATCH, BUFFER, START, TRAIN_EVERY, SYNC_EVERY = 0.95, 128, 10_000, 1_000, 4, 250


def side(seen):
    """Where the cart is."""
    return "left" if seen[0] < -0.8 else "right" if seen[0] > 0.8 else "middle"


CELLS = {
    "cart": (side, ("left", "middle", "right")),
    "pole falling": (lambda seen: "left" if seen[3] < 0 else "right", ("left", "right")),
    "pole at": (lambda seen: np.degrees(seen[2]), (-8, -4, 0, 4, 8)),
}
ENDINGS = {
    "the pole fell": lambda seen: abs(seen[2]) > 0.2094,
    "it left the track": lambda seen: abs(seen[0]) > 2.4,
}


class Batch(NamedTuple):
    """Some steps, under the names that Stable-Baselines3 and CleanRL give them too."""

    observations: torch.Tensor
    actions: torch.Tensor
    rewards: torch.Tensor
    next_observations: torch.Tensor
    dones: torch.Tensor  # 1 where the episode terminated; a time limit is no end


class Replay:
    """The last steps, in NumPy arrays."""

    def __init__(self, size, shape):
        seen = np.zeros((size, *shape), np.float32)
        self.columns = Batch(
            seen, np.zeros(size, np.int64), np.zeros(size, np.float32), seen.copy(), np.zeros(size, np.float32)
        )
        self.size, self.added = size, 0

    def __len__(self):
        return min(self.added, self.size)

    def add(self, *step):
        """Keep a step in place of the oldest."""
        for column, entry in zip(self.columns, step, strict=True):
            column[self.added % self.size] = entry
        self.added += 1

    def sample(self, n, dice):
        """Some steps, drawn at random."""
        rows = dice.integers(len(self), size=n)
        return Batch(*(torch.as_tensor(column[rows]) for column in self.columns))


def q_network(n_inputs, n_actions):
    """Two hidden layers."""
    return nn.Sequential(nn.Linear(n_inputs, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, n_actions))


def train(steps, *, seed=0, explained=True):
    """The agent's network after so many steps, and its run; without beliefs, None."""
    torch.manual_seed(seed)
    dice = np.random.default_rng(seed)
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

    seen, _ = env.reset(seed=seed)
    for step in range(steps):
        exploration = max(0.05, 1.0 - step / (0.4 * steps))
        action = int(dice.integers(2)) if dice.random() < exploration else int(q_values(seen[None]).argmax())
        later, reward, terminated, truncated, _ = env.step(action)
        replay.add(seen, action, reward, later, terminated)
        seen = env.reset()[0] if terminated or truncated else later

        if step >= START and step % TRAIN_EVERY == 0:
            batch = replay.sample(BATCH, dice)
            with torch.no_grad():
                best, next_actions = target(batch.next_observations).max(dim=1)
                goal = batch.rewards + DISCOUNT * (1.0 - batch.dones) * best
            worth = online(batch.observations).gather(1, batch.actions[:, None])[:, 0]
            loss = nn.functional.mse_loss(worth, goal)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if belief is not None:
                belief.update(batch, next_actions)  # the same batch, and the actions that Q's own target took

        if step >= START and step % SYNC_EVERY == 0:
            target.load_state_dict(online.state_dict())
            if belief is not None:
                belief.sync()  # whenever Q's target network is synced

    if belief is None:
        return online, None
    kept = replay.columns.observations[: len(replay)][-2_000:], replay.columns.actions[: len(replay)][-2_000:]
    return online, wf.deep.run_of(belief, kept, env=env)


def answers(run, rollouts=100):
    """Questions, by the name that the page gives them."""
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
