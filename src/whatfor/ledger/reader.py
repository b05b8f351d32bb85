"""Read a ledger: by update, by episode, as tables, and as parts."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.checks import array_of, episode_number, whole
from whatfor.kernels.following import count_updates
from whatfor.kernels.forwards import fold
from whatfor.kernels.recursion import TIMED_OUT, LedgerLines, ending_place
from whatfor.labels import ENDINGS
from whatfor.ledger.episodes import learned_from, origins_of, starts_of
from whatfor.ledger.parts import check_part_names
from whatfor.ledger.store import Store
from whatfor.limits import check_limit
from whatfor.text import check_plain, count

Starts = tuple[NDArray[np.int64], NDArray[np.int64]]


class Update(NamedTuple):
    """One update of a learner, with all that is needed to repeat it."""

    table: int
    state: int
    action: int
    reward: float
    next_table: int | None  # None: not bootstrapped from a table
    next_state: int | None
    next_action: int | None
    step_size: float
    discount: float
    lambda_: float
    ending: str | None  # None: the episode did not end here
    episode: int  # of the experience
    step: int  # of the experience in its episode
    parts: tuple[float, ...] = ()  # of the reward, in the order of ``Ledger.parts``


class Columns:
    """The columns of a ledger, and how to read them."""

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        n_tables: int = 1,
        initial: ArrayLike | None = None,  # a number, (S, A) or (tables, S, A)
        endings: Sequence[str] = (),
        order: str = "forwards",
        parts: Sequence[str] = (),  # of the reward; else the first update names them
    ) -> None:
        n_states, n_actions, n_tables = (
            whole(name, size, 1)
            for name, size in (("n_states", n_states), ("n_actions", n_actions), ("n_tables", n_tables))
        )
        if order not in ("forwards", "backwards", "replayed"):
            raise ValueError(f"order is 'forwards', 'backwards' or 'replayed', not {order!r}")
        check_size(n_states, n_actions, n_tables)
        for name in endings:
            check_plain("an ending's name", name)
        self.n_states = n_states
        self.n_actions = n_actions
        self.n_tables = n_tables
        self.order = order
        self.endings: list[str] = [*ENDINGS, *endings]  # further ones in the order of their first use
        self.initial = _initial_tables(initial, (n_tables, n_states, n_actions))
        self.parts = check_part_names(parts)
        self._store = Store(replayed=order == "replayed")
        self._store.expect_parts(len(self.parts))
        self._length: int | None = None  # a prefix; None: all of the store
        self._n_breaks: int | None = None  # breaks of a prefix; None: those up to its last line
        self._known_starts: tuple[tuple[int, int], Starts] | None = None

    def __repr__(self) -> str:
        tables = f", {self.n_tables} tables" if self.n_tables > 1 else ""
        updates, states = count(len(self), "update"), count(self.n_states, "state")
        return f"Ledger({updates}, {states}, {count(self.n_actions, 'action')}{tables})"

    def __len__(self) -> int:
        return self._store.used if self._length is None else self._length

    @property
    def n_cells(self) -> int:
        """Cells of all tables together."""
        return self.n_tables * self.n_states * self.n_actions

    @property
    def lines(self) -> LedgerLines:
        """The columns, as the kernels read them."""
        return self._store.lines(len(self))

    def lines_from(self, first: int) -> LedgerLines:
        """The columns from update ``first`` on."""
        return self._store.lines(len(self), first)

    @property
    def part_columns(self) -> NDArray[np.float64]:
        """(n, parts) The parts of each reward, in the order of ``parts``."""
        return self._store.parts[: len(self)]

    @property
    def breaks(self) -> NDArray[np.int64]:
        """(breaks, 2) Line and experience of episode starts that no ending marks."""
        if self._n_breaks is not None:
            return self._store.breaks[: self._n_breaks]
        return self._store.breaks_until(len(self))

    @property
    def nbytes(self) -> int:
        """Memory of the updates in bytes."""
        return self._store.bytes_of(len(self))

    @property
    def origins(self) -> NDArray[np.int64]:
        """(n,) The number of the experience behind each update, counted from the start of training."""
        return self.origins_of(np.arange(len(self)))

    def origins_of(self, lines: NDArray[np.int64]) -> NDArray[np.int64]:
        """The experiences behind some updates."""
        if self.order == "replayed":
            return self._store.origin[lines].astype(np.int64)
        return origins_of(self.order, lines, len(self), self.episode_starts)

    @property
    def episode_starts(self) -> NDArray[np.int64]:
        """The first update in each episode."""
        return self._starts()[0]

    @property
    def n_episodes(self) -> int:
        """The number of episodes, with an unfinished last one."""
        return len(self.episode_starts)

    def episodes_and_steps(self, lines: ArrayLike | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Episode and step of the experience behind each update."""
        starts = self._starts()[1]
        if lines is None and self.order != "replayed":  # all of them: without a search
            lengths = np.diff(np.append(starts, len(self)))
            episode = np.repeat(np.arange(len(starts)), lengths)
            step = np.arange(len(self)) - starts[episode]
            return episode, step if self.order == "forwards" else lengths[episode] - 1 - step
        origins = self.origins_of(np.arange(len(self)) if lines is None else np.asarray(lines))
        episode = np.searchsorted(starts, origins, side="right") - 1
        return episode, origins - starts[episode]

    def episode(self, number: int) -> list[Update]:
        """The experiences of one episode in order, each as the first update that learned from it."""
        number = episode_number(number, self.n_episodes)
        if self.order == "replayed":
            own = np.flatnonzero(self.episodes_and_steps()[0] == number)
        else:
            own = np.arange(*np.append(self.episode_starts, len(self))[number : number + 2])
        steps = self.episodes_and_steps(own)[1]
        _, first = np.unique(steps, return_index=True)
        return [self._update(int(own[at]), number, int(steps[at])) for at in first]

    @property
    def finals(self) -> NDArray[np.int64]:
        """(n, 2) Ends of episodes: line, or experience under replay, and final state."""
        finals = self._store.finals
        whole = len(self) == self._store.used  # then episodes without any update yet count too
        return finals if whole else finals[finals[:, 0] < self._finals_end()]

    def _finals_end(self) -> int:
        """The first line, or experience under replay, whose episode end is not in this ledger."""
        if self.order != "replayed":
            return len(self)
        breaks = self._store.breaks[: self._store.n_breaks]
        later = breaks[breaks[:, 0] >= len(self), 1]
        return int(later[0]) if len(later) else int(np.iinfo(np.int64).max)

    @property
    def final_states(self) -> NDArray[np.int64]:
        """(episodes,) The final state of each episode; -1: not recorded.

        >>> from whatfor.ledger import Ledger
        >>> ledger = Ledger(n_states=3, n_actions=1)
        >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9, final_state=2)
        >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9)
        >>> ledger.final_states.tolist()
        [2, -1]
        """
        lines, experiences = self._starts()
        keys, states = self.finals[self.finals[:, 0] < self._finals_end()].T
        episode = np.searchsorted(experiences if self.order == "replayed" else lines, keys, side="right") - 1
        found = np.full(len(lines), -1, np.int64)
        found[episode] = states
        return found

    @property
    def ended(self) -> NDArray[np.bool_]:
        """(n,) Whether each update ended its episode, by termination or by a time limit treated as an end."""
        return self._store.source[: len(self)] <= TIMED_OUT

    @property
    def timed_out(self) -> NDArray[np.bool_]:
        """(n,) Whether each update ended its episode by a time limit that was treated as an end."""
        cut: NDArray[np.bool_] = self._store.source[: len(self)] == TIMED_OUT
        return cut

    @property
    def applied(self) -> NDArray[np.bool_]:
        """(n,) Whether each update changed its pair's value; with a step size of 0, it did not."""
        return np.broadcast_to(self.lines.step_size > 0.0, len(self))

    @property
    def learned_from(self) -> NDArray[np.bool_]:
        """(n,) Whether the experience of each update was learned from: by itself, or by a later one that used its target."""
        return learned_from(self.applied, self.lines)

    def tries(self) -> NDArray[np.int64]:
        """(S, A) How often each pair was updated."""
        counts = np.zeros(self.n_cells, np.int64)
        count_updates(self.lines.cell, self.lines.step_size, counts)
        by_pair: NDArray[np.int64] = counts.reshape(self.n_tables, self.n_states, self.n_actions).sum(axis=0)
        return by_pair

    def values(self) -> NDArray[np.float64]:
        """(tables, S, A) The tables that these updates give, from their initial values.

        >>> from whatfor.ledger import Ledger
        >>> ledger = Ledger(n_states=1, n_actions=1)
        >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9)
        >>> ledger.values().tolist()
        [[[0.5]]]
        """
        tables = self.initial_tables().reshape(-1, 1)
        fold(self.lines, self.lines.reward, tables, np.zeros(1), np.empty(0))
        return tables.reshape(self.n_tables, self.n_states, self.n_actions)

    def initial_tables(self) -> NDArray[np.float64]:
        """(tables, S, A) The initial values; a copy."""
        shape = (self.n_tables, self.n_states, self.n_actions)
        return np.zeros(shape) if self.initial is None else np.array(np.broadcast_to(self.initial, shape))

    def until(self, episodes: int) -> Self:
        """The ledger after the first ``episodes`` episodes."""
        starts, episodes = self.episode_starts, whole("episodes", episodes)
        if not 0 <= episodes <= len(starts):
            raise ValueError(
                f"the run has {count(len(starts), 'episode')}; pass 0 to {len(starts):,}, not {episodes:,}"
            )
        return self if episodes == len(starts) else self[: starts[episodes]]

    @overload
    def __getitem__(self, key: int) -> Update: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    def __getitem__(self, key: int | slice) -> Update | Self:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step != 1:
                raise ValueError("a ledger cannot be sliced with a step: use ledger[start:stop]")
            stop = max(start, stop)
            return self._prefix(stop) if start == 0 else self._cut(start, stop)
        i = range(len(self))[key]
        return self._update(i, *(int(number[0]) for number in self.episodes_and_steps([i])))

    def __iter__(self) -> Iterator[Update]:
        episodes, steps = self.episodes_and_steps()
        for i in range(len(self)):
            yield self._update(i, int(episodes[i]), int(steps[i]))

    def _update(self, i: int, episode: int, step: int) -> Update:
        lines, pairs = self.lines, (self.n_tables, self.n_states, self.n_actions)
        table, state, action = (int(x) for x in np.unravel_index(lines.cell[i], pairs))
        source = int(lines.source[i])
        after = [int(x) for x in np.unravel_index(source, pairs)] if source >= 0 else None
        a, g, lambda_ = (float(column[i if len(column) > 1 else 0]) for column in lines[3:])
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
            lambda_=lambda_,
            ending=self.endings[ending_place(source)] if source <= TIMED_OUT else None,
            episode=episode,
            step=step,
            parts=tuple(self.part_columns[i].tolist()) if self.parts else (),
        )

    def _starts(self) -> Starts:
        """First line and first experience of every episode; cached until a line or a break is added."""
        now = (len(self), len(self.breaks))
        if self._known_starts is None or self._known_starts[0] != now:
            self._known_starts = now, starts_of(self.order, self.ended, self.breaks)
        return self._known_starts[1]

    def _prefix(self, stop: int) -> Self:
        part = copy.copy(self)
        part._length = stop
        part._n_breaks = self._n_breaks if stop == len(self) else None
        return part

    def _cut(self, start: int, stop: int) -> Self:
        """Updates start to stop; the values before them are the initial ones."""
        if start < stop and not self._begins_target(start):
            raise ValueError(
                f"update {start} uses the target of the update before; slice where an episode starts (ledger.episode_starts)"
            )
        part = type(self)(
            self.n_states,
            self.n_actions,
            n_tables=self.n_tables,
            initial=self[:start].values(),
            endings=self.endings[len(ENDINGS) :],
            order=self.order,
            parts=self.parts,
        )
        part._store = self._store.copy(start, stop, self.breaks)
        return part

    def _begins_target(self, i: int) -> bool:
        lambda_ = self.lines.lambda_
        return bool(lambda_[i if len(lambda_) > 1 else 0] == 0.0 or self.lines.source[i] <= TIMED_OUT)


def check_size(n_states: int, n_actions: int, n_tables: int) -> None:
    """Raise ``ValueError`` for more states than a ledger can number, or than the limit."""
    if n_states * n_actions * n_tables > np.iinfo(np.int32).max:
        sizes = f"{count(n_states, 'state')} x {count(n_actions, 'action')} x {count(n_tables, 'table')}"
        raise ValueError(f"{sizes} are more than a ledger can number (2**31 - 1)")
    check_limit("states", n_states, "this ledger")


def _initial_tables(initial: ArrayLike | None, shape: tuple[int, int, int]) -> NDArray[np.float64] | None:
    if initial is None:
        return None
    tables = array_of("initial", initial, "iuf", "finite numbers").astype(np.float64)  # a copy
    try:
        np.broadcast_to(tables, shape)
    except ValueError:
        raise ValueError(f"initial has shape {tables.shape}; pass a number, {shape[1:]} or {shape}") from None
    if not np.isfinite(tables).all():
        raise ValueError("initial contains NaN or infinite values; initial values must be finite")
    return tables if tables.any() else None
