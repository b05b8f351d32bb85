"""The data that all learners' rules read and write, the choice of actions, and the update itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import inlined
from whatfor.kernels.recursion import NO_BOOTSTRAP, moved, target, visit_step

Q_LEARNING, SARSA, DOUBLE_Q, LAMBDA_RETURNS = 0, 1, 2, 3

# Indices into Memory.counters.
LINES, EXPERIENCES, STORED, CURSOR, ACTIVE_TABLE, BREAKS = 0, 1, 2, 3, 4, 5
N_COUNTERS = 6


class Rule(NamedTuple):
    """A learner's settings as numbers."""

    method: int
    n_states: int
    n_actions: int
    n_tables: int
    step_size: float
    power: float  # > 0: the step size is 1 / n ** power at a cell's n-th update
    discount: float
    lambda_: float
    table_per_step: bool  # double Q-learning draws its table at every step instead of every episode
    batch: int  # replayed updates per step; 0: no replay
    warmup: int  # experiences stored before replay begins
    capacity: int  # size of the replay buffer; 0: unlimited
    keep_first: bool  # a full buffer keeps its experiences instead of the latest
    learning: bool
    recording: bool


class Memory(NamedTuple):
    """The state of a learner between steps."""

    values: NDArray[np.float64]  # (tables * S * A,)
    tries: NDArray[np.int64]  # (tables * S * A,), or (0,) with a constant step size
    pair: NDArray[np.int32]  # (room,) stored experience: the episode so far, or a replay buffer
    next_state: NDArray[np.int32]  # (room,)
    reward: NDArray[np.float64]  # (room,)
    ending: NDArray[np.int32]  # (room,)
    counters: NDArray[np.int64]  # (N_COUNTERS,)
    uniforms: NDArray[np.float64]  # the learner's tape


class Log(NamedTuple):
    """The ledger's columns with reserved space; a column of length 1 is constant."""

    cell: NDArray[np.int32]
    source: NDArray[np.int32]
    reward: NDArray[np.float64]
    step_size: NDArray[np.float64]
    discount: NDArray[np.float64]
    lambda_: NDArray[np.float64]
    origin: NDArray[np.int32]
    breaks: NDArray[np.int64]  # (room, 2): line and experience of episode starts that no ending marks


@inlined
def write_break(rule: Rule, memory: Memory, log: Log) -> None:
    """Record that an episode starts at the next line."""
    if rule.recording:
        counters = memory.counters
        log.breaks[counters[BREAKS], 0] = counters[LINES]
        log.breaks[counters[BREAKS], 1] = counters[EXPERIENCES] if rule.batch > 0 else counters[LINES]
        counters[BREAKS] += 1


@inlined
def draw(memory: Memory) -> float:
    """The next uniform number of the learner's tape."""
    memory.counters[CURSOR] += 1
    return float(memory.uniforms[memory.counters[CURSOR] - 1])


@inlined
def score(values: NDArray[np.float64], cell: int, pairs: int, both: bool) -> float:
    """The value of a cell, or with ``both`` its sum with the same cell of the next table."""
    return float(values[cell] + values[cell + pairs] if both else values[cell])


@inlined
def greedy(rule: Rule, memory: Memory, state: int, first: int, both: bool, uniform: float) -> int:
    """The greedy action of table ``first``, or of its sum with the next; ``uniform`` breaks ties (-1: a number is drawn)."""
    pairs = rule.n_states * rule.n_actions
    row = first * pairs + state * rule.n_actions
    chosen, ties, best = 0, 1, score(memory.values, row, pairs, both)
    for action in range(1, rule.n_actions):
        value = score(memory.values, row + action, pairs, both)
        if value > best:
            chosen, ties, best = action, 1, value
        elif value == best:
            ties += 1
    if ties > 1:
        skip = int((draw(memory) if uniform < 0.0 else uniform) * ties)
        for action in range(chosen, rule.n_actions):
            if score(memory.values, row + action, pairs, both) == best:
                if skip == 0:
                    return action
                skip -= 1
    return chosen


@inlined
def choose(rule: Rule, memory: Memory, state: int, epsilon: float, planned: int) -> int:
    """An epsilon-greedy action; ``planned``: the greedy action if it is known (else -1).

    One uniform number decides on exploration, the random action and ties.
    """
    uniform = draw(memory)
    if uniform < epsilon:
        return min(int(uniform / epsilon * rule.n_actions), rule.n_actions - 1)
    if planned >= 0:
        return planned
    rest = (uniform - epsilon) / (1.0 - epsilon)
    return greedy(rule, memory, state, 0, rule.n_tables == 2, rest)


@inlined
def greedy_cell(rule: Rule, memory: Memory, state: int, selecting: int, table: int) -> int:
    """The cell in ``table`` of the greedy action of table ``selecting``."""
    return (table * rule.n_states + state) * rule.n_actions + greedy(rule, memory, state, selecting, False, -1.0)


@inlined
def apply(
    rule: Rule,
    memory: Memory,
    log: Log,
    cell: int,
    source: int,
    reward: float,
    lambda_: float,
    previous: float,
    origin: int,
) -> float:
    """Update one cell and record the update. Returns the target."""
    step_size = rule.step_size
    if rule.power > 0.0:
        memory.tries[cell] += 1
        step_size = visit_step(memory.tries[cell], rule.power)
    discount = rule.discount if source >= NO_BOOTSTRAP else 0.0
    bootstrap = memory.values[source] if source >= 0 else 0.0
    aim = target(reward, discount, lambda_, bootstrap, previous)
    memory.values[cell] = moved(memory.values[cell], aim, step_size)
    if rule.recording:
        line = memory.counters[LINES]
        log.cell[line] = cell
        log.source[line] = source
        log.reward[line] = reward
        if len(log.step_size) > 1:
            log.step_size[line] = step_size
        if len(log.discount) > 1:
            log.discount[line] = rule.discount
        if len(log.lambda_) > 1:
            log.lambda_[line] = lambda_
        if len(log.origin) > 0:
            log.origin[line] = origin
        memory.counters[LINES] = line + 1
    return aim
