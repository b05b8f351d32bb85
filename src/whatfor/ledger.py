"""The ledger: every change a learner made to its values, as columns.

A line costs 16 bytes while step size, discount and trail stay the same. Episodes cost nothing
where a line says that it ended one; only other boundaries are written down.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.checks import array_of, flag, number, whole
from whatfor.episodes import origins_of, starts_of
from whatfor.kernels.forwards import fold
from whatfor.kernels.recursion import NO_BOOTSTRAP, TERMINATED, TIMED_OUT, Lines, ending_place
from whatfor.labels import ENDINGS
from whatfor.limits import check_limit
from whatfor.store import Store
from whatfor.text import check_plain

Starts = tuple[NDArray[np.int64], NDArray[np.int64]]


class Update(NamedTuple):
    """One change a learner made to its values, complete enough to repeat it for any other quantity."""

    table: int
    state: int
    action: int
    reward: float
    next_table: int | None  # None: not bootstrapped from a table
    next_state: int | None
    next_action: int | None
    step_size: float
    discount: float
    trail: float
    ending: str | None  # how the episode ended here, None where it went on
    episode: int  # in which the experience was made
    step: int


class Ledger:
    """All updates of a run, in order.

    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
    >>> ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9, ending="won")
    >>> len(ledger), ledger[1].ending, ledger[1].step
    (2, 'won', 1)
    """

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        n_tables: int = 1,
        initial: ArrayLike | None = None,  # a number, (S, A) or (tables, S, A)
        endings: Sequence[str] = (),
        order: str = "forwards",
    ) -> None:
        n_states, n_actions, n_tables = (
            whole(name, count, 1)
            for name, count in (("n_states", n_states), ("n_actions", n_actions), ("n_tables", n_tables))
        )
        if order not in ("forwards", "backwards", "replayed"):
            raise ValueError(f"order is 'forwards', 'backwards' or 'replayed', not {order!r}")
        if n_states * n_actions * n_tables > np.iinfo(np.int32).max:
            raise ValueError(
                f"{n_states} states x {n_actions} actions x {n_tables} tables are more cells than a ledger can name (2**31 - 1)"
            )
        check_limit("states", n_states, "this ledger")
        for name in endings:
            check_plain("an ending's name", name)
        self.n_states = n_states
        self.n_actions = n_actions
        self.n_tables = n_tables
        self.order = order
        self.endings: list[str] = [*ENDINGS, *endings]  # others follow in the order in which they are met
        self.initial = _initial_tables(initial, (n_tables, n_states, n_actions))
        self._store = Store(replayed=order == "replayed")
        self._length: int | None = None  # a prefix; None: all of the store
        self._n_breaks: int | None = None  # as many of the store's breaks; None: as the lines tell
        self._known_starts: tuple[tuple[int, int], Starts] | None = None

    def __repr__(self) -> str:
        tables = f", {self.n_tables} tables" if self.n_tables > 1 else ""
        return f"Ledger({len(self):,} updates, {self.n_states:,} states, {self.n_actions} actions{tables})"

    # -- reading ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._store.used if self._length is None else self._length

    @property
    def n_cells(self) -> int:
        """Cells of all tables together."""
        return self.n_tables * self.n_states * self.n_actions

    @property
    def lines(self) -> Lines:
        """The columns, as the kernels read them."""
        return self._store.lines(len(self))

    def lines_from(self, first: int) -> Lines:
        """The columns from a line on: what is new to somebody who has read the ones before."""
        return self._store.lines(len(self), first)

    @property
    def breaks(self) -> NDArray[np.int64]:
        """(breaks, 2) Line and experience where an episode starts though no line says so."""
        if self._n_breaks is not None:
            return self._store.breaks[: self._n_breaks]
        return self._store.breaks_until(len(self))

    @property
    def nbytes(self) -> int:
        """Bytes that the lines of this ledger take in memory."""
        return self._store.bytes_of(len(self))

    @property
    def origins(self) -> NDArray[np.int64]:
        """(n,) Which experience each line was learned from, counted from the start of training."""
        return self.origins_of(np.arange(len(self)))

    def origins_of(self, lines: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for some lines."""
        if self.order == "replayed":
            return self._store.origin[lines].astype(np.int64)
        return origins_of(self.order, lines, len(self), self.episode_starts)

    @property
    def episode_starts(self) -> NDArray[np.int64]:
        """The first line that was applied in each episode."""
        return self._starts()[0]

    @property
    def n_episodes(self) -> int:
        """Episodes begun."""
        return len(self.episode_starts)

    def made(self, lines: ArrayLike | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Episode and step in which the experience behind each line was made."""
        origins = self.origins_of(np.arange(len(self)) if lines is None else np.asarray(lines))
        starts = self._starts()[1]
        episode = np.searchsorted(starts, origins, side="right") - 1
        return episode, origins - starts[episode]

    def applied(self, lines: ArrayLike | None = None) -> NDArray[np.int64]:
        """Episode in which each line was applied: under replay, later than it was made."""
        which = np.arange(len(self)) if lines is None else np.asarray(lines)
        return np.searchsorted(self.episode_starts, which, side="right") - 1

    def episode(self, number: int) -> list[Update]:
        """The experiences of one episode, step by step, each as the update that first learned from it."""
        number = whole("the number of an episode", number)
        if not 0 <= number < self.n_episodes:
            raise ValueError(f"this ledger holds episodes 0 to {self.n_episodes - 1}, not {number}")
        if self.order == "replayed":
            own = np.flatnonzero(self.made()[0] == number)
        else:
            own = np.arange(*np.append(self.episode_starts, len(self))[number : number + 2])
        steps = self.made(own)[1]
        _, first = np.unique(steps, return_index=True)
        return [self._update(int(own[at]), number, int(steps[at])) for at in first]

    @property
    def ended(self) -> NDArray[np.bool_]:
        """(n,) Lines that ended their episode, by the world or by a time limit treated as an end."""
        return self._store.source[: len(self)] <= TIMED_OUT

    @property
    def timed_out(self) -> NDArray[np.bool_]:
        """(n,) Lines whose episode was cut by a time limit that the learner took for an end."""
        cut: NDArray[np.bool_] = self._store.source[: len(self)] == TIMED_OUT
        return cut

    def tries(self) -> NDArray[np.int64]:
        """(S, A) How often each pair was updated."""
        counts = np.bincount(self.lines.cell, minlength=self.n_cells)
        by_pair: NDArray[np.int64] = counts.reshape(self.n_tables, self.n_states, self.n_actions).sum(axis=0)
        return by_pair

    def values(self) -> NDArray[np.float64]:
        """(tables, S, A) The tables that these updates make, from the start they were given.

        >>> ledger = Ledger(n_states=1, n_actions=1)
        >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9)
        >>> ledger.values().tolist()
        [[[0.5]]]
        """
        tables = self.initial_tables().reshape(-1, 1)
        fold(self.lines, self.lines.reward, tables, np.zeros(1), np.empty(0))
        return tables.reshape(self.n_tables, self.n_states, self.n_actions)

    def initial_tables(self) -> NDArray[np.float64]:
        """(tables, S, A) What the tables held before the first line; a copy."""
        shape = (self.n_tables, self.n_states, self.n_actions)
        return np.zeros(shape) if self.initial is None else np.array(np.broadcast_to(self.initial, shape))

    def until(self, episodes: int) -> Ledger:
        """The ledger as it was after so many episodes."""
        starts, episodes = self.episode_starts, whole("episodes", episodes)
        if not 0 <= episodes <= len(starts):
            raise ValueError(f"this ledger holds {len(starts)} episodes; ask for 0 to {len(starts)}, not {episodes}")
        return self if episodes == len(starts) else self[: starts[episodes]]

    @overload
    def __getitem__(self, key: int) -> Update: ...
    @overload
    def __getitem__(self, key: slice) -> Ledger: ...
    def __getitem__(self, key: int | slice) -> Update | Ledger:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step != 1:
                raise ValueError("a ledger is sliced without gaps: use ledger[start:stop]")
            stop = max(start, stop)
            return self._prefix(stop) if start == 0 else self._cut(start, stop)
        i = range(len(self))[key]
        return self._update(i, *(int(number[0]) for number in self.made([i])))

    def __iter__(self) -> Iterator[Update]:
        episodes, steps = self.made()
        for i in range(len(self)):
            yield self._update(i, int(episodes[i]), int(steps[i]))

    def _update(self, i: int, episode: int, step: int) -> Update:
        lines, pairs = self.lines, (self.n_tables, self.n_states, self.n_actions)
        table, state, action = (int(x) for x in np.unravel_index(lines.cell[i], pairs))
        source = int(lines.source[i])
        after = [int(x) for x in np.unravel_index(source, pairs)] if source >= 0 else None
        a, g, trail = (float(column[i if len(column) > 1 else 0]) for column in lines[3:])
        return Update(
            table=table,
            state=state,
            action=action,
            reward=float(lines.reward[i]),
            next_table=after[0] if after else None,
            next_state=after[1] if after else None,
            next_action=after[2] if after else None,
            step_size=a,
            discount=g,
            trail=trail,
            ending=self.endings[ending_place(source)] if source <= TIMED_OUT else None,
            episode=episode,
            step=step,
        )

    def _starts(self) -> Starts:
        """First line and first experience of every episode; kept until a line or a break is added."""
        now = (len(self), len(self.breaks))
        if self._known_starts is None or self._known_starts[0] != now:
            self._known_starts = now, starts_of(self.order, self.ended, self.breaks)
        return self._known_starts[1]

    def _prefix(self, stop: int) -> Ledger:
        part = copy.copy(self)
        part._length = stop
        part._n_breaks = self._n_breaks if stop == len(self) else None
        return part

    def _cut(self, start: int, stop: int) -> Ledger:
        """Lines start to stop; what came before is their initial table."""
        if start < stop and not self._begins_trail(start):
            raise ValueError(
                f"line {start} goes on with the target of the line before; cut where an episode starts (ledger.episode_starts)"
            )
        part = Ledger(
            self.n_states,
            self.n_actions,
            n_tables=self.n_tables,
            initial=self[:start].values(),
            endings=self.endings[len(ENDINGS) :],
            order=self.order,
        )
        part._store = self._store.copy(start, stop, self.breaks)
        return part

    def _begins_trail(self, i: int) -> bool:
        trail = self.lines.trail
        return bool(trail[i if len(trail) > 1 else 0] == 0.0 or self.lines.source[i] <= TIMED_OUT)

    # -- writing ---------------------------------------------------------------------------

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
        trail: float = 0.0,
        ending: str | int | None = None,
        timed_out: bool = False,
        origin: int | None = None,
    ) -> None:
        """Write down one update, in the order in which the learner made it.

        ``next_state=None``: the episode terminated here (``ending`` may say how, by name or by a
        transition's code; ``timed_out`` if a time limit was treated as an end). ``next_action``: the action whose value was bootstrapped
        from. ``next_table``: the table it was read from. ``trail`` > 0: the target was built on the
        target of the line before (1: Monte Carlo, and then ``next_action`` may be left out).
        """
        cell = self._cell(table, state, action)
        try:
            fine = math.isfinite(reward) and 0.0 <= step_size <= 1.0 and 0.0 <= discount <= 1.0 and 0.0 <= trail <= 1.0
        except (TypeError, OverflowError):  # no number, or a whole number beyond the largest float
            fine = False
        if not fine:
            _refuse(reward, step_size=step_size, discount=discount, trail=trail)
        if (origin is not None) != (self.order == "replayed"):
            raise ValueError(
                "origin says which experience was replayed: give it in a ledger with order='replayed', and only there"
            )
        if origin is not None:
            origin = whole("origin", origin, 0, np.iinfo(np.int32).max)
        from_table = table if next_table is None else whole("next_table", next_table, 0, self.n_tables - 1)
        source = self._source(next_state, next_action, from_table, trail, ending, timed_out)
        self._own_store().append(cell, source, reward, step_size, discount, trail, origin)

    def new_episode(self, experiences: int | None = None) -> None:
        """Say that the next update belongs to a new episode.

        Needed only where the last line does not say so itself: after a time limit that was
        bootstrapped through, and before every episode under replay, where ``experiences`` is the
        number of experiences made so far.
        """
        if (experiences is not None) != (self.order == "replayed"):
            raise ValueError(
                "experiences= says how many were made before this episode: give it in a ledger with order='replayed', and only there"
            )
        if experiences is not None:
            before = int(self.breaks[-1, 1]) if len(self.breaks) else 0
            experiences = whole("experiences", experiences, before, np.iinfo(np.int32).max)
        store = self._own_store()
        store.add_break(store.used, store.used if experiences is None else experiences)

    def writable(self) -> Store:
        """The columns themselves, for a loop that writes into them."""
        return self._own_store()

    def freeze(self) -> None:
        """Stop writing: from now on this ledger is what it is, and others may go on from it."""
        self._hold()
        if self._store.writer is self:
            self._store.writer = None

    def continued(self) -> Ledger:
        """A ledger that begins with these lines and may take more, leaving this one as it is."""
        if self._store.writer is not self:
            self._hold()  # the other may become the store's writer
        later = self._prefix(len(self))
        later.endings = list(self.endings)
        return later

    def _hold(self) -> None:
        """Stay as long as it is now, whoever writes on."""
        if self._length is None:
            self._length, self._n_breaks = self._store.used, self._store.n_breaks

    def _own_store(self) -> Store:
        """The store, if this ledger is its newest state and nobody else writes to it; else a copy."""
        if self._store.writer is not self:
            if self._store.writer is not None or len(self) != self._store.used:
                self._store = self._store.copy(0, len(self), self.breaks)
            self._store.writer = self
            self._length = self._n_breaks = None
        return self._store

    def _cell(self, table: int, state: int, action: int) -> int:
        if type(state) is not int or type(action) is not int or type(table) is not int:
            state, action, table = whole("state", state), whole("action", action), whole("table", table)
        if not 0 <= state < self.n_states:
            raise ValueError(f"state {state} is out of range: this ledger has states 0 to {self.n_states - 1}")
        if not 0 <= action < self.n_actions:
            raise ValueError(f"action {action} is out of range: this ledger has actions 0 to {self.n_actions - 1}")
        if not 0 <= table < self.n_tables:
            raise ValueError(
                f"table {table} is out of range: this ledger has {self.n_tables}; say n_tables= when you make it"
            )
        return (table * self.n_states + state) * self.n_actions + action

    def _source(
        self,
        next_state: int | None,
        next_action: int | None,
        table: int,
        trail: float,
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
                "To bootstrap through a time limit, record it as any other step, then call ledger.new_episode()"
            )
        if next_action is None:
            if trail == 1.0:
                return NO_BOOTSTRAP
            raise ValueError("next_action is missing: say which action's value the target was built on")
        return self._cell(table, next_state, next_action)

    def ending_code(self, ending: str | int | None) -> int:
        """The code of an ending; a new name gets a new code, a transition's code is taken as it is."""
        if ending is None:
            return TERMINATED
        if isinstance(ending, str):
            if ending not in self.endings:
                check_plain("an ending's name", ending)
                self.endings.append(ending)
            return ending_place(self.endings.index(ending))
        code = whole("ending", ending)
        if not 0 <= ending_place(code) < len(self.endings):
            raise ValueError(f"{code} is not the code of an ending of this ledger; give its name")
        return int(code)


def _refuse(reward: float, **shares: float) -> NoReturn:
    """Say what is wrong with the numbers of an update."""
    try:
        number("the reward", reward)
    except ValueError:
        raise ValueError(
            f"the reward is {reward!r}; a ledger takes finite numbers only, and nothing was recorded"
        ) from None
    for name, share in shares.items():
        number(name, share, 0, 1)
    raise TypeError(f"an update is made of numbers, not {reward!r} and {shares}")


def _initial_tables(initial: ArrayLike | None, shape: tuple[int, int, int]) -> NDArray[np.float64] | None:
    if initial is None:
        return None
    tables = array_of("initial", initial, "iuf", "finite numbers").astype(np.float64)  # a copy
    try:
        np.broadcast_to(tables, shape)
    except ValueError:
        raise ValueError(f"initial has shape {tables.shape}; give a number, {shape[1:]} or {shape}") from None
    if not np.isfinite(tables).all():
        raise ValueError("initial holds NaN or infinite values; a table starts with finite numbers")
    return tables if tables.any() else None
