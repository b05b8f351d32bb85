"""TabularAgent: the agent of the built-in learners, with its tables, memory and random numbers."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.checks import flag, number, whole
from whatfor.kernels.recursion import NOT_ENDED, TIMED_OUT, ending_place
from whatfor.kernels.tape import Tape
from whatfor.learners.observing import begin_episode, max_draws, observe, steps_with_room
from whatfor.learners.parts import PartsWriter
from whatfor.learners.protocol import Transition
from whatfor.learners.rule import (
    BREAKS,
    CURSOR,
    EXPERIENCES,
    LAMBDA_RETURNS,
    LINES,
    N_COUNTERS,
    STORED,
    Log,
    Memory,
    Rule,
)
from whatfor.ledger import Ledger
from whatfor.memory import MemoryWatch

#: What to do when memory is short.
FEWER_UPDATES = "press Ctrl-C to keep the run so far. Train for fewer episodes, or without a ledger (record=False)"
FEWER_STATES = "press Ctrl-C to keep the run so far. Return a coarser key from state_of="
#: Updates to reserve space for at a time, and the minimum in steps.
AHEAD, MIN_AHEAD = 1 << 15, 16


class TabularAgent:
    """The agent of every built-in learner."""

    def __init__(self, rule: Rule, ledger: Ledger | None, generator: np.random.Generator, initial: float = 0.0) -> None:
        cells = rule.n_tables * rule.n_states * rule.n_actions
        _check_ledger(rule, ledger)
        self.rule, self.initial = rule, initial
        self.n_states, self.n_actions = rule.n_states, rule.n_actions
        self.ledger = ledger
        self.tape = Tape(generator)
        self.memory = Memory(
            values=np.full(cells, initial, np.float64),
            tries=np.zeros(cells if rule.power > 0.0 else 0, np.int64),
            pair=np.empty(0, np.int32),
            next_state=np.empty(0, np.int32),
            reward=np.empty(0, np.float64),
            ending=np.empty(0, np.int32),
            counters=np.zeros(N_COUNTERS, np.int64),
            uniforms=self.tape.uniforms,
        )
        self.log = _columns(None)
        self.parts = PartsWriter.of(rule, ledger)
        self.epsilon = 0.0
        self.memory_watch = MemoryWatch()
        self.steps_left = 0  # steps for which the reserved space suffices
        self.lowest = int(np.iinfo(np.int32).min)  # the lowest code of an ending; without a ledger, any code
        self.make_room()

    @property
    def tables(self) -> NDArray[np.float64]:
        """(tables, S, A) The learner's own values."""
        return self.memory.values.reshape(self.rule.n_tables, self.rule.n_states, self.rule.n_actions)

    def begin(self, state: int, exploration: float) -> int:
        """Start an episode; returns the first action."""
        if type(state) is not int or not 0 <= state < self.n_states:
            state = whole("the first state", state, 0, self.n_states - 1)
        if type(exploration) is not float or not 0.0 <= exploration <= 1.0:
            exploration = number("exploration", exploration, 0, 1)
        self.epsilon = exploration
        if self.steps_left <= 0:
            self.make_room()
        self.steps_left -= 1  # the start of an episode may use as much space as a step
        return begin_episode(self.rule, self.memory, self.log, self.epsilon, state)

    def observe(self, step: Transition) -> int:
        """Learn from a step, record the updates, and choose the next action (-1 after the last step)."""
        state, action, reward, next_state, terminated, truncated, ending, parts = step
        last = terminated or truncated
        if not (
            type(state) is type(action) is type(next_state) is type(ending) is int
            and 0 <= state < self.n_states
            and 0 <= action < self.n_actions
            and 0 <= next_state < self.n_states
            and (ending == NOT_ENDED or self.lowest <= ending <= TIMED_OUT)
            and type(reward) is float
            and isfinite(reward)
            and type(last) is bool
        ):
            last = flag("the end of an episode", last)
            state, action, reward, next_state, terminated, truncated, ending, parts = self._checked(step)
        row = [] if self.parts is None else self.parts.row(reward, parts)
        if self.steps_left <= 0:
            self.make_room()
        if last and ending == NOT_ENDED:
            self.expect_cut()
        self.steps_left -= 1
        if self.parts is None:
            return observe(
                self.rule, self.memory, self.log, self.epsilon, state, action, reward, next_state, ending, last
            )  # fmt: skip
        first = self.parts.store(self.memory, row)
        chosen = observe(
            self.rule, self.memory, self.log, self.epsilon, state, action, reward, next_state, ending, last
        )  # fmt: skip
        self.parts.write(self.memory, self.log.origin, first, row)
        return chosen

    def _checked(self, step: Transition) -> Transition:
        """The transition with numbers of the right types; ``ValueError`` if one is out of range."""
        states, actions = self.n_states - 1, self.n_actions - 1
        ending = whole("ending", step.ending, None, NOT_ENDED)
        if ending != NOT_ENDED and not self.lowest <= ending <= TIMED_OUT:
            raise ValueError(f"{ending} is not the code of an ending of this ledger")
        return step._replace(
            state=whole("state", step.state, 0, states),
            action=whole("action", step.action, 0, actions),
            reward=number("reward", step.reward),
            next_state=whole("next_state", step.next_state, 0, states),
            ending=ending,
        )

    def settle(self, abandoned: bool = False) -> None:
        """Set the length of the ledger to the updates written; ``abandoned``: the episode under way ends here."""
        if abandoned and self.rule.method == LAMBDA_RETURNS:
            self.memory.counters[EXPERIENCES] -= self.memory.counters[STORED]
            self.memory.counters[STORED] = 0
        if self.ledger is not None:
            store = self.ledger.writable()
            store.used = int(self.memory.counters[LINES])
            store.n_breaks = int(self.memory.counters[BREAKS])
            if abandoned and self.rule.method != LAMBDA_RETURNS and not self.rule.batch:
                self.ledger.new_episode()
                self.memory.counters[BREAKS] = store.n_breaks

    def grow(self, n_states: int) -> None:
        """Make room for more states, whose values are the initial ones; or give up the room for the last ones."""
        self.settle()
        size = self.rule.n_tables * n_states * self.n_actions * self.memory.values.itemsize
        self.memory_watch.check("the table of values", size, FEWER_STATES)
        values, tries = (_resized(one, self.rule, n_states, fill) for one, fill in ((self.memory.values, self.initial), (self.memory.tries, 0)))  # fmt: skip
        self.memory = self.memory._replace(values=values, tries=tries)
        self.rule = self.rule._replace(n_states=n_states)
        self.n_states = n_states
        if self.ledger is not None:
            self.ledger.resize(n_states)
        self.make_room()

    # -- space for the loops ---------------------------------------------------------------

    def make_room(self, expected: int = 0) -> None:
        """Reserve space for the next steps: uniform numbers, updates (``expected`` in total, if known) and experiences."""
        stored = int(self.memory.counters[STORED])
        per_step = max(1, self.rule.batch)
        ahead = max(MIN_AHEAD, AHEAD // per_step)
        self.tape.cursor[0] = self.memory.counters[CURSOR]
        self.tape.need(ahead * max_draws(self.rule) + stored)
        self.memory.counters[CURSOR] = self.tape.cursor[0]
        memory = self.memory._replace(uniforms=self.tape.uniforms)
        if self.rule.method == LAMBDA_RETURNS or self.rule.batch:
            room = self.rule.capacity or 2 * stored + AHEAD
            if room > len(memory.pair):
                memory = memory._replace(
                    **{name: _wider(getattr(memory, name), room) for name in ("pair", "next_state", "reward", "ending")}
                )
        self.memory = memory
        if self.rule.batch and memory.counters[EXPERIENCES] + AHEAD > np.iinfo(np.int32).max:
            raise ValueError("a ledger can number 2**31 - 1 experiences under replay, and there are no more")
        if self.ledger is not None:
            self.settle()
            store = self.ledger.writable()
            store.expect("step_size", None if self.rule.power > 0.0 else self.rule.step_size)
            store.expect("discount", self.rule.discount)
            store.expect("lambda_", self.rule.lambda_)
            self.memory_watch.check("the ledger", self.ledger.nbytes, FEWER_UPDATES)
            store.reserve(ahead * per_step + stored, ahead, expected)
            self.log = _columns(self.ledger)
            self.lowest = ending_place(len(self.ledger.endings) - 1)
        self.steps_left = int(steps_with_room(self.rule, self.memory, self.log)) - 1

    def expect_cut(self) -> None:
        """Prepare for a truncated episode: its last target has λ = 0, so the column of λ is no longer constant."""
        if self.rule.lambda_ > 0.0 and self.ledger is not None and len(self.log.lambda_) <= 1:
            self.settle()
            self.ledger.writable().expect("lambda_", None)
            self.log = _columns(self.ledger)

    # -- snapshots -------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The complete state of the agent: arrays, and numbers for JSON."""
        stored = int(self.memory.counters[STORED])
        self.tape.cursor[0] = self.memory.counters[CURSOR]
        arrays = {name: getattr(self.memory, name) for name in ("values", "tries", "counters")}
        arrays |= {name: getattr(self.memory, name)[:stored] for name in ("pair", "next_state", "reward", "ending")}
        if self.parts is not None:
            arrays["parts"] = self.parts.stored[:stored]
        return {name: array.copy() for name, array in arrays.items()}, {"tape": self.tape.state()}

    @classmethod
    def from_state(
        cls,
        rule: Rule,
        ledger: Ledger | None,
        arrays: dict[str, NDArray[Any]],
        numbers: dict[str, Any],
        initial: float = 0.0,
    ) -> TabularAgent:
        """An agent that continues from a ``state()``."""
        agent = cls(rule, None, np.random.default_rng(0), initial)
        agent.tape = Tape.from_state(numbers["tape"])
        agent.memory = agent.memory._replace(**{name: arrays[name].copy() for name in arrays if name != "parts"})
        agent.memory.counters[CURSOR] = 0
        _check_ledger(rule, ledger)
        agent.ledger = ledger
        agent.parts = PartsWriter.of(rule, ledger, arrays.get("parts"))
        agent.make_room()
        return agent


def _check_ledger(rule: Rule, ledger: Ledger | None) -> None:
    """Raise ``ValueError`` unless rule and ledger have the same shape; compiled code does not check it."""
    if ledger is not None:
        shape = (rule.n_tables, rule.n_states, rule.n_actions)
        found = (ledger.n_tables, ledger.n_states, ledger.n_actions)
        if shape != found:
            raise ValueError(
                "the learner has {} tables, {} states and {} actions, its ledger {}, {} and {}".format(*shape, *found)
            )


def _columns(ledger: Ledger | None) -> Log:
    if ledger is None:
        return Log(
            np.empty(0, np.int32),
            np.empty(0, np.int32),
            np.empty(0),
            np.empty(0),
            np.empty(0),
            np.empty(0),
            np.empty(0, np.int32),
            np.empty((0, 2), np.int64),
        )
    store = ledger.writable()
    return Log(
        store.cell,
        store.source,
        store.reward,
        store.step_size,
        store.discount,
        store.lambda_,
        store.origin,
        store.breaks,
    )


def _wider(column: NDArray[Any], room: int) -> NDArray[Any]:
    fresh = np.empty(room, column.dtype)
    fresh[: len(column)] = column
    return fresh


def _resized(cells: NDArray[Any], rule: Rule, n_states: int, fill: float) -> NDArray[Any]:
    """Numbers of all cells, for another number of states."""
    if not len(cells):
        return cells
    tables = cells.reshape(rule.n_tables, rule.n_states, rule.n_actions)[:, :n_states]
    resized = np.full((rule.n_tables, n_states, rule.n_actions), fill, cells.dtype)
    resized[:, : tables.shape[1]] = tables
    return resized.ravel()
