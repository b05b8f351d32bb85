"""The training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NOT_ENDED, TIMED_OUT
from whatfor.learners.agent import TabularAgent
from whatfor.learners.protocol import Agent, Transition
from whatfor.learners.rule import LINES
from whatfor.training.compiled import CUTS, DONE, EPISODE, NEEDS_LAMBDA, RUNNING, Stage, play
from whatfor.worlds.steppers import Stepper, WorldStepper
from whatfor.worlds.stepping import WORLD_DRAWS

#: Steps of the compiled loop between two calls of ``on_step``.
BUDGET = 1 << 16


class Plan(NamedTuple):
    """The episodes to play."""

    epsilons: NDArray[np.float64]  # (episodes,) the exploration probability of each
    max_steps: int
    time_out_ends: bool  # whether a time limit is treated as terminal


class Progress(NamedTuple):
    """The episodes played so far."""

    returns: NDArray[np.float64]  # (episodes,)
    lengths: NDArray[np.int64]  # (episodes,)
    finals: NDArray[np.int64]  # (episodes,) the final state of each; -1: not ended
    now: NDArray[np.int64]  # (6,) the position in training; indices as in training.compiled

    @property
    def episodes(self) -> int:
        """Episodes started."""
        return int(self.now[EPISODE] + self.now[RUNNING])

    @property
    def running(self) -> bool:
        """Whether an episode has started and not ended."""
        return bool(self.now[RUNNING])

    @property
    def cuts(self) -> int:
        """Episodes truncated by a time limit."""
        return int(self.now[CUTS])

    @classmethod
    def empty(cls, episodes: int) -> Progress:
        """Before the first episode."""
        return cls(np.zeros(episodes), np.zeros(episodes, np.int64), np.full(episodes, -1), np.zeros(6, np.int64))


def play_python(stepper: Stepper, agent: Agent, plan: Plan, played: Progress, on_step: Callable[[], None]) -> None:
    """Train with the Python loop; ``on_step`` is called after every step."""
    now, max_steps = played.now, plan.max_steps
    for episode, epsilon in enumerate(plan.epsilons.tolist()):
        state = stepper.reset()
        now[RUNNING] = 1
        action = agent.begin(state, epsilon)
        earned, length, last = 0.0, 0, False
        try:
            while not last:
                next_state, reward, ending, truncated = stepper.step(action)
                truncated = ending == NOT_ENDED and (truncated or length + 1 >= max_steps)
                last = truncated or ending != NOT_ENDED
                if truncated:
                    now[CUTS] += 1
                    ending = TIMED_OUT if plan.time_out_ends else NOT_ENDED
                over = last and not truncated
                transition = Transition(
                    state, action, reward, next_state, over, truncated, ending, stepper.parts
                )  # fmt: skip
                action = agent.observe(transition)
                state, earned, length = next_state, earned + reward, length + 1
                if last:
                    now[EPISODE] += 1
                    played.finals[episode] = next_state
                    now[RUNNING] = 0
                on_step()
        finally:  # also of an episode that an error stopped
            played.returns[episode] = earned
            played.lengths[episode] = length


def play_compiled(
    stepper: WorldStepper, agent: TabularAgent, plan: Plan, played: Progress, on_step: Callable[[], None]
) -> None:
    """Train with the compiled loop; ``on_step`` is called from time to time."""
    status, before = -1, int(agent.memory.counters[LINES])
    while status != DONE:
        if status == NEEDS_LAMBDA:
            agent.expect_cut()
        else:
            agent.make_room(_expected_lines(agent, played, plan, before))
            stepper.tape.need(WORLD_DRAWS)
        stage = Stage(
            played.now,
            stepper.body,
            stepper.tape.uniforms,
            stepper.tape.cursor,
            plan.epsilons,
            played.returns,
            played.lengths,
            played.finals,
        )
        status = play(
            stepper.world.arrays, agent.rule, agent.memory, agent.log, stage, plan.max_steps, plan.time_out_ends, BUDGET
        )
        on_step()


def _expected_lines(agent: TabularAgent, played: Progress, plan: Plan, before: int) -> int:
    """A generous estimate of the final length of the ledger: unused space costs nothing, growing does."""
    done, episodes = int(played.now[EPISODE]), len(plan.epsilons)
    written = int(agent.memory.counters[LINES]) - before
    per_step = max(1, agent.rule.batch)
    likely = 4 * written * episodes // done if done else 0
    return before + min(likely, episodes * plan.max_steps * per_step)
