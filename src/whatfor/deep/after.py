"""Beliefs about an agent that is already trained: learned from rollouts of it as it is, and labelled so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from whatfor.deep.agent import (
    check,
    copy_of,
    environment,
    q_values_of,
    reward_scale,
    seeing,
    sees_through,
    time_limit_of,
)
from whatfor.deep.belief import BeliefNetwork
from whatfor.deep.callback import LEAST_RATE
from whatfor.deep.cells import Predicate, cells_of
from whatfor.deep.document import HeadName, Reads
from whatfor.deep.images import encoder_of
from whatfor.deep.network import Sizes
from whatfor.deep.run import run_of
from whatfor.runs import Run


def learn_after(
    model: Any,
    cells: Any = None,
    *,
    steps: int = 20_000,
    updates: int = 10_000,
    exploration: float = 0.1,
    batch_size: int = 64,
    sync: int = 20,
    learning_rate: float = 1e-3,
    endings: Mapping[str, Predicate] | None = None,
    actions: Sequence[str] | None = None,
    head: HeadName = "faithful",
    sizes: Sizes | None = None,
    reads: Reads = "observation",
    world: Any = None,
    seed: int = 0,
) -> Run:
    """A Run of an agent that nobody watched while it learned: its policy is played for ``steps`` steps, and beliefs are learned from that.

    They say what its policy leads to, not what it believed while it learned; every answer says so.
    """
    check(model)
    if steps < 1 or updates < 1:
        raise ValueError(f"steps is {steps} and updates is {updates}; it takes at least one of each")
    space, n_actions = model.observation_space, int(model.action_space.n)
    env = environment(model.get_env())
    if env is None or not sees_through(model.get_env()):
        raise ValueError(
            "the agent has no environment to be played in that shows what it sees: give it one with model.set_env(env)"
        )
    think, dice, limit = q_values_of(model, frozen=True), np.random.default_rng(seed), time_limit_of(model)
    seen, done, paid, following, ended = _played(env, think, n_actions, steps, exploration, dice, limit == "terminal")
    named = cells_of(cells, space, env, seen, n_actions=n_actions, actions=actions, endings=endings)
    belief = BeliefNetwork(
        named, think, discount=model.gamma, head=head, sizes=sizes, reads=reads, loss="squared" if head == "faithful" else "huber",
        learning_rate=learning_rate, encoder=encoder_of(model), device=model.device, seed=seed,
    )  # fmt: skip
    normalise = seeing(model)
    belief.source, belief.agent = "evaluated", copy_of(model)
    belief.normaliser = None if normalise is None else normalise.fixed()
    paid = paid * reward_scale(model)
    greedy = np.concatenate([think(following[at : at + 1_024]) for at in range(0, len(seen), 1_024)]).argmax(axis=1)
    inputs, onward = belief.normalised(seen), belief.normalised(following)
    for update in range(updates):
        at = dice.integers(len(seen), size=batch_size)
        batch = SimpleNamespace(
            observations=torch.as_tensor(inputs[at]), actions=done[at], rewards=paid[at],
            next_observations=torch.as_tensor(onward[at]), dones=ended[at],
        )  # fmt: skip
        for group in belief.optimiser.param_groups:
            group["lr"] = learning_rate * max(LEAST_RATE, 1.0 - update / updates)
        belief.update(batch, greedy[at], seen=seen[at], next_seen=following[at])
        if update % sync == sync - 1:
            belief.sync()
    judged = dice.integers(len(seen), size=min(2_000, len(seen)))
    return run_of(
        belief, (seen[judged], done[judged]), env=env, world=world, learner={"name": type(model).__name__},
        time_limit=limit, rewards=paid, reward_scale=reward_scale(model),
    )  # fmt: skip


def _played(
    env: Any, think: Any, n_actions: int, steps: int, exploration: float, dice: np.random.Generator, limit_ends: bool
) -> tuple[Any, ...]:
    """Steps of the policy, exploring a little so that other actions are known too."""
    rows = []
    shown, _ = env.reset(seed=int(dice.integers(2**31)))
    for _ in range(steps):
        action = (
            int(dice.integers(n_actions))
            if dice.random() < exploration
            else int(think(np.asarray(shown)[None])[0].argmax())
        )
        later, reward, terminated, truncated, _ = env.step(action)
        rows.append((shown, action, float(reward), later, float(terminated or (truncated and limit_ends))))
        shown = env.reset()[0] if terminated or truncated else later
    seen, done, paid, following, ended = zip(*rows, strict=True)
    return (
        np.stack([np.asarray(x) for x in seen]), np.array(done, np.int64), np.array(paid, np.float32),
        np.stack([np.asarray(x) for x in following]), np.array(ended, np.float32),
    )  # fmt: skip
