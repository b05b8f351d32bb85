"""Ledger: the record of every update that a learner makes, as columns.

An update takes 16 bytes while step size, discount and λ are constant. Episode boundaries are stored only where no
update has an ending.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from whatfor.checks import flag, number, whole
from whatfor.kernels.recursion import NO_BOOTSTRAP, TERMINATED, TIMED_OUT, ending_place
from whatfor.ledger.parts import check_part_names, part_row
from whatfor.ledger.reader import Columns, check_size
from whatfor.ledger.store import Store
from whatfor.text import check_plain


class Ledger(Columns):
    """All updates of a run, in order.

    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
    >>> ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9, ending="won")
    >>> len(ledger), ledger[1].ending, ledger[1].step
    (2, 'won', 1)
    """

    def record(
        self,
        state: int,
        action: int,
        reward: float,
        next_state: int | None = None,
        next_action: int | None = None,
        *,
        step_size: float,
        discount: float,
        table: int = 0,
        next_table: int | None = None,
        lambda_: float = 0.0,
        ending: str | int | None = None,
        timed_out: bool = False,
        origin: int | None = None,
        final_state: int | None = None,
        parts: Mapping[str, float] | None = None,
    ) -> None:
        """Record one update; call it in the order of the learner's updates.

        ``next_state`` and ``next_action``: the state-action pair that the target bootstrapped from; ``next_table``: its
        table. ``next_state=None``: the episode ended here; ``ending`` is the name of the ending or a transition's code,
        ``timed_out`` means that a time limit was treated as the end, ``final_state`` is the last state. ``lambda_`` > 0:
        the target also used the target of the update before (1: Monte Carlo, ``next_action`` may be left out).
        ``origin``: under replay, the number of the experience. ``parts``: terms that the reward is the sum of, by name; the rest
        of the reward is computed. Every update has the parts of the first one.
        """
        cell = self._cell(table, state, action)
        try:
            fine = (
                math.isfinite(reward) and 0.0 <= step_size <= 1.0 and 0.0 <= discount <= 1.0 and 0.0 <= lambda_ <= 1.0
            )
        except (TypeError, OverflowError):  # no number, or a whole number beyond the largest float
            fine = False
        if not fine:
            _raise_invalid(reward, step_size=step_size, discount=discount, lambda_=lambda_)
        if (origin is not None) != (self.order == "replayed"):
            raise ValueError(
                "origin is the number of the replayed experience: pass it if the ledger has order='replayed', and only then"
            )
        if origin is not None:
            origin = whole("origin", origin, 0, np.iinfo(np.int32).max)
        from_table = table if next_table is None else self._table("next_table", next_table)
        source = self._source(next_state, next_action, from_table, lambda_, ending, timed_out)
        if final_state is not None:
            final_state = self._final(final_state, next_state)
        row = None if parts is None and not self.parts else self._part_row(reward, parts)
        store = self._own_store()
        store.append(cell, source, reward, step_size, discount, lambda_, origin)
        if row is not None:
            store.parts[store.used - 1] = row
        if final_state is not None:
            store.add_final(store.used - 1 if origin is None else origin, final_state)

    def new_episode(self, experiences: int | None = None) -> None:
        """Start a new episode with the next update.

        Needed only if no ending tells: after an episode with a time limit that was bootstrapped through (before its updates,
        if they are recorded backwards), and before every episode under replay, where ``experiences`` is the number of experiences so far.
        """
        if (experiences is not None) != (self.order == "replayed"):
            raise ValueError(
                "experiences= is the number of experiences before this episode: pass it if the ledger has order='replayed', and only then"
            )
        if experiences is not None:
            before = int(self.breaks[-1, 1]) if len(self.breaks) else 0
            experiences = whole("experiences", experiences, before, np.iinfo(np.int32).max)
        store = self._own_store()
        store.add_break(store.used, store.used if experiences is None else experiences)

    def end_episodes(self, first: int, lengths: NDArray[np.int64], final_states: NDArray[np.int64]) -> None:
        """Record the final states of episodes (-1: unknown); ``first``: the update, or experience under replay, they began with."""
        self._own_store().add_episodes(lengths, final_states, first, self.order == "backwards")

    def with_sources(self, source: NDArray[np.int32], endings: Sequence[str]) -> Ledger:
        """The same updates with other sources and names of endings; this ledger does not change."""
        other = self._prefix(len(self))
        other._store = self._store.copy(0, len(self), self.breaks)
        other._store.source, other.endings = source, list(endings)
        other._length = other._n_breaks = other._known_starts = None
        return other

    def resize(self, n_states: int) -> None:
        """Change the number of states, for a learner that discovers them; updates keep their states.

        >>> ledger = Ledger(n_states=1, n_actions=1, n_tables=2)
        >>> ledger.record(0, 0, 1.0, None, table=1, step_size=0.5, discount=0.9)
        >>> ledger.resize(3)
        >>> ledger.values().tolist()
        [[[0.0], [0.0], [0.0]], [[0.5], [0.0], [0.0]]]
        """
        check_size(n_states, self.n_actions, self.n_tables)
        if self.n_tables > 1 and n_states != self.n_states:  # cells are numbered by table, then state
            before, after = (states * self.n_actions for states in (self.n_states, n_states))
            self._store = self._own_store().copy(0, len(self), self.breaks)  # an earlier ledger may share the columns
            self._store.writer = self
            for column in (self._store.cell, self._store.source):
                column[column >= 0] += column[column >= 0] // before * (after - before)
        self.n_states = n_states

    def renumbered(self, where: NDArray[np.int64], n_states: int) -> Ledger:
        """A copy with other numbers for its states: state s becomes ``where[s]``.

        >>> ledger = Ledger(n_states=2, n_actions=1)
        >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9)
        >>> ledger.renumbered(np.array([2, 0]), 3).values().tolist()
        [[[0.0], [0.0], [0.5]]]
        """
        other = self.revised()
        check_size(n_states, self.n_actions, self.n_tables)
        tables, actions = np.arange(self.n_tables)[:, None, None], np.arange(self.n_actions)
        cells = ((tables * n_states + where[:, None]) * self.n_actions + actions).ravel().astype(np.int32)
        store = other._store
        store.cell = cells[store.cell]
        store.source = np.where(store.source >= 0, cells[np.maximum(store.source, 0)], store.source)
        store.renumber_finals(where)
        other.n_states = n_states
        return other

    def writable(self) -> Store:
        """The columns, for a loop that writes into them."""
        return self._own_store()

    def freeze(self) -> None:
        """Stop writing to this ledger; others may continue from it."""
        self._fix_length()
        if self._store.writer is self:
            self._store.writer = None

    def continued(self) -> Ledger:
        """A ledger that starts with these updates and can record more; this one does not change."""
        if self._store.writer is not self:
            self._fix_length()  # the other may become the store's writer
        later = self._prefix(len(self))
        later.endings = list(self.endings)
        return later

    def revised(self, **columns: NDArray[Any]) -> Ledger:
        """A copy with other numbers in some columns, for counterfactual runs; episodes keep their numbers.

        >>> ledger = Ledger(n_states=1, n_actions=1)
        >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9)
        >>> ledger.revised(reward=np.array([3.0])).values().tolist(), ledger.values().tolist()
        ([[[1.5]]], [[[0.5]]])
        """
        other = self._prefix(len(self))
        other.endings = list(self.endings)
        other._store = self._store.copy(0, len(self), self.breaks)
        for name, column in columns.items():
            setattr(other._store, name, column.astype(getattr(self._store, name).dtype))  # a copy
        other._length, other._n_breaks = len(self), len(self.breaks)
        return other

    def _fix_length(self) -> None:
        """Fix the length of this ledger, also if another one appends to the store."""
        if self._length is None:
            self._length, self._n_breaks = self._store.used, self._store.n_breaks

    def _own_store(self) -> Store:
        """The store, if this ledger is its newest state and no other ledger writes to it; else a copy."""
        if self._store.writer is not self:
            if self._store.writer is not None or len(self) != self._store.used:
                self._store = self._store.copy(0, len(self), self.breaks)
            self._store.writer = self
            self._length = self._n_breaks = None
        return self._store

    def _table(self, what: str, value: int) -> int:
        """Validate and return the index of a table."""
        table = whole(what, value)
        if not 0 <= table < self.n_tables:
            raise ValueError(
                f"{what} {table} is out of range: this ledger has {self.n_tables}; pass n_tables= to Ledger()"
            )
        return table

    def _cell(self, table: int, state: int, action: int, after: str = "") -> int:
        """The cell of a pair; ``after``: the prefix of its arguments' names."""
        if type(state) is not int or type(action) is not int or type(table) is not int:
            state, action = whole(f"{after}state", state), whole(f"{after}action", action)
            table = whole("table", table)
        if not 0 <= state < self.n_states:
            raise ValueError(f"{after}state {state} is out of range: this ledger has states 0 to {self.n_states - 1}")
        if not 0 <= action < self.n_actions:
            raise ValueError(
                f"{after}action {action} is out of range: this ledger has actions 0 to {self.n_actions - 1}"
            )
        if not 0 <= table < self.n_tables:
            self._table("table", table)
        return (table * self.n_states + state) * self.n_actions + action

    def _part_row(self, reward: float, parts: Mapping[str, float] | None) -> list[float]:
        """The parts of a reward in order; the first update names them."""
        if self.parts or not isinstance(parts, Mapping):
            return part_row(self.parts, reward, parts)
        if len(self):
            raise ValueError(
                "the first update of this ledger has no parts of the reward, so no other has: pass parts= from the start of a new ledger"
            )
        names = check_part_names(parts)
        row = part_row(names, reward, parts)
        self._own_store().expect_parts(len(names))
        self.parts = names
        return row

    def _final(self, final_state: int, next_state: int | None) -> int:
        if next_state is not None:
            raise ValueError("final_state is the last state of an episode: pass it with next_state=None, and only then")
        return whole("final_state", final_state, 0, self.n_states - 1)

    def _source(
        self,
        next_state: int | None,
        next_action: int | None,
        table: int,
        lambda_: float,
        ending: str | int | None,
        timed_out: bool,
    ) -> int:
        if timed_out is not False:
            timed_out = flag("timed_out", timed_out)
        if next_state is None:
            if timed_out and ending is not None:
                raise ValueError(
                    f"an episode that ended as {ending!r} did not time out: pass one of ending= and timed_out="
                )
            return TIMED_OUT if timed_out else self.ending_code(ending)
        if ending is not None or timed_out:
            raise ValueError(
                "an episode that ended has no next state to bootstrap from: pass next_state=None with ending= or timed_out=. "
                "To bootstrap through a time limit, record it like any other step, then call ledger.new_episode()"
            )
        if next_action is None:
            if lambda_ == 1.0:
                return NO_BOOTSTRAP
            raise ValueError("next_action is missing: pass the action that the target bootstrapped from")
        return self._cell(table, next_state, next_action, "next_")

    def ending_code(self, ending: str | int | None) -> int:
        """The code of an ending, given by name or by code; a new name gets a new code."""
        if ending is None:
            return TERMINATED
        if isinstance(ending, str):
            if ending not in self.endings:
                check_plain("an ending's name", ending)
                self.endings.append(ending)
            return ending_place(self.endings.index(ending))
        code = whole("ending", ending)
        if not 0 <= ending_place(code) < len(self.endings):
            raise ValueError(f"{code} is not the code of an ending of this ledger; pass its name")
        return int(code)


def _raise_invalid(reward: float, **shares: float) -> NoReturn:
    """Raise the error for the first invalid number of an update."""
    try:
        number("the reward", reward)
    except ValueError:
        raise ValueError(f"the reward is {reward!r}; it must be a finite number. Nothing was recorded") from None
    for name, share in shares.items():
        number(name, share, 0, 1)
    raise TypeError(f"an update needs numbers, not {reward!r} and {shares}")
