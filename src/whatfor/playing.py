"""One episode of a greedy policy, to look at step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from whatfor.beliefs.protocol import ObservationAgent
from whatfor.beliefs.simulated import LONGEST
from whatfor.beliefs.situation import Situation
from whatfor.history import Played
from whatfor.kernels.recursion import ending_place
from whatfor.labels import ENDINGS, Labels
from whatfor.worlds.entering import Enter, entering_observation
from whatfor.worlds.rolling import Rollouts

#: An episode that was not played to its end.
CUT = "cut"


def first_of(rollouts: Rollouts, labels: Labels, *, limit_ends: bool) -> Played:
    """The first of some rollouts; ``limit_ends``: whether one that was cut ran out of time, or only out of what matters."""
    first = slice(0, rollouts.first[1])
    pairs = [divmod(int(pair), labels.n_actions) for pair in rollouts.pair[first]]
    names = [ENDINGS[0] if limit_ends else CUT, ENDINGS[1], *labels.ending_names]
    steps = [(labels.observation(state), action) for state, action in pairs]
    return Played(steps, rollouts.reward[first].tolist(), names[ending_place(int(rollouts.ending[0]))])


def watched(agent: ObservationAgent, env: Any, start: Situation | None, *, seed: int, enter: Enter | None) -> Played:
    """An episode with the very observations that a network acted on; ``start=None``: as the environment begins it."""
    dice, ending = np.random.default_rng([seed, 2]), None
    shown, _ = env.reset(seed=int(dice.integers(2**31)))
    if start is not None:
        (enter or entering_observation(env))(env, start, dice)
        shown = start.observation
    steps: list[tuple[Any, int]] = []
    rewards: list[float] = []
    while ending is None and len(steps) < LONGEST:
        action = int(agent.act(np.asarray(shown)[None])[0])
        steps.append((np.asarray(shown), action))
        shown, reward, terminated, truncated, _ = env.step(action)
        rewards.append(float(reward))
        if terminated:
            ending = agent.ended(shown, action, float(reward)) or ENDINGS[1]
        elif truncated:
            ending = ENDINGS[0]
    return Played(steps, rewards, ending or CUT)
