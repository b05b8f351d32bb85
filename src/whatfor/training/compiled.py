"""The compiled training loop: the same steps as the Python loop, in the same order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import compiled
from whatfor.kernels.recursion import NOT_ENDED, TIMED_OUT
from whatfor.learners.observing import begin_episode, observe, steps_with_room
from whatfor.learners.rule import Log, Memory, Rule
from whatfor.worlds.stepping import WORLD_DRAWS, Arrays, begin, step

DONE, NEEDS_ROOM, NEEDS_LAMBDA, STEPS_SPENT = 0, 1, 2, 3

# Indices into Stage.now.
EPISODE, STATE, ACTION, LENGTH, RUNNING, CUTS = 0, 1, 2, 3, 4, 5


class Stage(NamedTuple):
    """The position in training, and its results so far."""

    now: NDArray[np.int64]  # (6,)
    body: NDArray[np.float64]  # (4,) CartPole's own state
    uniforms: NDArray[np.float64]  # the world's tape
    cursor: NDArray[np.int64]  # (1,)
    epsilons: NDArray[np.float64]  # (episodes,) the exploration probability of each
    returns: NDArray[np.float64]  # (episodes,)
    lengths: NDArray[np.int64]  # (episodes,)
    finals: NDArray[np.int64]  # (episodes,) the final state of each


@compiled
def play(
    world: Arrays, rule: Rule, memory: Memory, log: Log, stage: Stage, max_steps: int, time_out_ends: bool, budget: int
) -> int:
    """Play episodes until all are done, reserved space is used up, or ``budget`` steps were played."""
    now = stage.now
    episode, state, action, length, running = now[EPISODE], now[STATE], now[ACTION], now[LENGTH], now[RUNNING]
    earned = stage.returns[episode] if running else 0.0
    epsilon = stage.epsilons[episode] if running else 0.0
    steps = steps_with_room(rule, memory, log)
    status = NEEDS_ROOM
    if steps > budget:
        steps, status = budget, STEPS_SPENT
    cut_needs_lambda = rule.lambda_ > 0.0 and rule.recording and not time_out_ends and len(log.lambda_) <= 1
    for _ in range(steps):
        if len(stage.uniforms) - stage.cursor[0] < WORLD_DRAWS:
            status = NEEDS_ROOM
            break
        at_limit = length + 1 >= max_steps
        if at_limit and cut_needs_lambda:
            status = NEEDS_LAMBDA
            break
        if not running:
            if episode == len(stage.epsilons):
                status = DONE
                break
            running = 1
            epsilon = stage.epsilons[episode]
            state = begin(world, stage.body, stage.uniforms, stage.cursor)
            action = begin_episode(rule, memory, log, epsilon, state)
        next_state, reward, ending = step(
            world, stage.body, rule.n_actions, state, action, stage.uniforms, stage.cursor
        )
        last = ending != NOT_ENDED or at_limit
        if ending == NOT_ENDED and last:
            now[CUTS] += 1
            if time_out_ends:
                ending = TIMED_OUT
        action = observe(rule, memory, log, epsilon, state, action, reward, next_state, ending, last)
        state = next_state
        length += 1
        earned += reward
        if last:
            stage.returns[episode] = earned
            stage.lengths[episode] = length
            stage.finals[episode] = next_state
            episode += 1
            length, running, earned = 0, 0, 0.0
    if running:
        stage.returns[episode] = earned
        stage.lengths[episode] = length
    now[EPISODE], now[STATE], now[ACTION], now[LENGTH], now[RUNNING] = episode, state, action, length, running
    return status
