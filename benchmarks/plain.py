"""The paper's method written plainly: a NumPy loop over the Gymnasium environment, dense maps at every step.

This is the baseline that the ratios of docs/performance.md are measured against. It does what the paper describes for
Q-learning, and nothing more: values and belief map, updated at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def q_learning_with_belief_map(
    env: Any,
    index: Callable[[Any], int],
    values: np.ndarray,  # (S, A), changed in place like beliefs, so that the caller decides whether their memory is warm
    beliefs: np.ndarray,  # (S, A, S, A)
    *,
    step_size: float,
    discount: float,
    exploration: Callable[[int], float],
    steps: int,
    time_out_ends: bool = False,
    seed: int = 0,
) -> None:
    """Learn values and belief maps for this many steps."""
    rng = np.random.default_rng(seed)
    n_states, n_actions = values.shape
    episode, (seen, _) = 0, env.reset(seed=seed)
    state, epsilon = index(seen), exploration(0)
    for _ in range(steps):
        action = int(rng.integers(n_actions)) if rng.random() < epsilon else int(np.argmax(values[state]))
        seen, reward, terminated, truncated, _ = env.step(action)
        following = index(seen)
        best = int(np.argmax(values[following]))
        here = np.zeros((n_states, n_actions))
        here[state, action] = 1.0
        if terminated or (truncated and time_out_ends):
            target, expected = reward, here
        else:
            target = reward + discount * values[following, best]
            expected = here + discount * beliefs[following, best]
        values[state, action] += step_size * (target - values[state, action])
        beliefs[state, action] += step_size * (expected - beliefs[state, action])
        state = following
        if terminated or truncated:
            episode += 1
            seen, _ = env.reset()
            state, epsilon = index(seen), exploration(episode)
