"""One step of every learner: learn from the experience, record the updates, choose the next action.

The Python loop calls ``observe`` once per step; in the compiled loop it is inlined.
"""

from __future__ import annotations

from whatfor.kernels.compiler import inlined
from whatfor.kernels.recursion import NOT_ENDED
from whatfor.learners.double_q import double_q_source, draw_table
from whatfor.learners.lambda_returns import learn_episode
from whatfor.learners.q_learning import q_learning_source
from whatfor.learners.rule import (
    ACTIVE_TABLE,
    BREAKS,
    CURSOR,
    DOUBLE_Q,
    EXPERIENCES,
    LAMBDA_RETURNS,
    LINES,
    Q_LEARNING,
    SARSA,
    STORED,
    Log,
    Memory,
    Rule,
    apply,
    choose,
    draw,
    write_break,
)
from whatfor.learners.sarsa import sarsa_source


@inlined
def begin_episode(rule: Rule, memory: Memory, log: Log, epsilon: float, state: int) -> int:
    """The first action of an episode."""
    if rule.batch > 0 and rule.learning:
        write_break(rule, memory, log)
    if rule.method == DOUBLE_Q and rule.learning and not rule.table_per_step:
        draw_table(memory)
    return choose(rule, memory, state, epsilon, -1)


@inlined
def learn_step(
    rule: Rule,
    memory: Memory,
    log: Log,
    pair: int,
    reward: float,
    next_state: int,
    next_action: int,
    ending: int,
    origin: int,
) -> int:
    """One update from one experience, for one-step methods."""
    table = 0
    if rule.method == DOUBLE_Q:
        if rule.table_per_step or rule.batch > 0:
            draw_table(memory)
        table = memory.counters[ACTIVE_TABLE]
    source = ending
    if ending == NOT_ENDED:
        if rule.method == SARSA:
            source = sarsa_source(rule, next_state, next_action)
        elif rule.method == DOUBLE_Q:
            source = double_q_source(rule, memory, next_state)
        else:
            source = q_learning_source(rule, memory, next_state)
    cell = table * rule.n_states * rule.n_actions + pair
    apply(rule, memory, log, cell, source, reward, 0.0, 0.0, origin)
    return source


@inlined
def store(rule: Rule, memory: Memory, pair: int, reward: float, next_state: int, ending: int) -> None:
    """Store an experience: of this episode, or in the replay buffer."""
    slot = memory.counters[STORED]
    if rule.capacity > 0 and slot == rule.capacity:
        if rule.keep_first:
            return
        slot = memory.counters[EXPERIENCES] % rule.capacity
    else:
        memory.counters[STORED] += 1
    memory.pair[slot] = pair
    memory.reward[slot] = reward
    memory.next_state[slot] = next_state
    memory.ending[slot] = ending


@inlined
def replay(rule: Rule, memory: Memory, log: Log) -> None:
    """Learn from a random batch of stored experiences."""
    stored, newest = memory.counters[STORED], memory.counters[EXPERIENCES]
    if stored < rule.warmup:
        return
    for _ in range(rule.batch):
        slot = int(draw(memory) * stored)
        origin = slot
        if rule.capacity > 0 and not rule.keep_first:  # the latest experience in this slot
            origin = newest - (newest - slot) % rule.capacity
        learn_step(
            rule,
            memory,
            log,
            memory.pair[slot],
            memory.reward[slot],
            memory.next_state[slot],
            -1,
            memory.ending[slot],
            origin,
        )


@inlined
def observe(
    rule: Rule,
    memory: Memory,
    log: Log,
    epsilon: float,
    state: int,
    action: int,
    reward: float,
    next_state: int,
    ending: int,
    last: bool,
) -> int:
    """Learn from a step, and choose the next action (-1 after the last step)."""
    next_action, planned = -1, -1
    if rule.method == SARSA and ending == NOT_ENDED and (rule.learning or not last):
        next_action = choose(rule, memory, next_state, epsilon, -1)
    if rule.learning:
        pair = state * rule.n_actions + action
        if rule.method == LAMBDA_RETURNS or rule.batch > 0:
            store(rule, memory, pair, reward, next_state, ending)
        cut = last and ending == NOT_ENDED and rule.batch == 0  # no update has an ending
        if rule.method == LAMBDA_RETURNS:
            if last:
                if cut:
                    write_break(rule, memory, log)
                learn_episode(rule, memory, log)
        elif rule.batch > 0:
            replay(rule, memory, log)
        else:
            source = learn_step(
                rule, memory, log, pair, reward, next_state, next_action, ending, memory.counters[EXPERIENCES]
            )
            if rule.method == Q_LEARNING and next_state != state:  # the bootstrap action is still greedy
                planned = source - next_state * rule.n_actions
            if cut:
                write_break(rule, memory, log)
        memory.counters[EXPERIENCES] += 1
    if last:
        return -1
    return next_action if next_action >= 0 else choose(rule, memory, next_state, epsilon, planned)


@inlined
def max_draws(rule: Rule) -> int:
    """The most uniform numbers that one step may use, with the start of an episode."""
    return 3 + 3 * rule.batch + (2 if rule.method == DOUBLE_Q else 0)


@inlined
def steps_with_room(rule: Rule, memory: Memory, log: Log) -> int:
    """The number of steps for which uniform numbers, lines, breaks and stored experiences have space."""
    stored = memory.counters[STORED]
    episode = stored if rule.method == LAMBDA_RETURNS else 0  # steps not yet learned from
    steps = (len(memory.uniforms) - memory.counters[CURSOR] - episode) // max_draws(rule)
    if rule.learning and (rule.method == LAMBDA_RETURNS or (rule.batch > 0 and rule.capacity == 0)):
        steps = min(steps, len(memory.pair) - stored)
    if rule.learning and rule.recording:
        steps = min(steps, (len(log.cell) - memory.counters[LINES] - episode) // max(1, rule.batch))
        steps = min(steps, len(log.breaks) - memory.counters[BREAKS])
    return int(steps)
