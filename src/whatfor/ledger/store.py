"""Store: the growing columns of a ledger."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import LedgerLines
from whatfor.memory import MemoryWatch

#: Columns with one number per line, or a single number while all lines have the same.
VARYING = ("step_size", "discount", "lambda_")
FIRST_CAPACITY = 1 << 12
#: After so many appended lines, it is checked how much memory is left.
CHECKED_LINES = 1 << 20
#: What to do when memory is short in a custom loop.
FEWER_RECORDED = "end the loop, and save the run so far. Record fewer updates"
#: The most lines that are reserved ahead.
MAX_AHEAD = 1 << 27


class Store:
    """Growing columns, shared by a ledger and its prefixes."""

    def __init__(self, replayed: bool = False) -> None:
        self.writer: object | None = None  # the ledger that may append
        self.used = 0
        self.cell = np.empty(0, np.int32)
        self.source = np.empty(0, np.int32)
        self.reward = np.empty(0, np.float64)
        self.step_size = np.empty(0, np.float64)  # (0,): no line yet; (1,): constant; (capacity,): varying
        self.discount = np.empty(0, np.float64)
        self.lambda_ = np.empty(0, np.float64)
        self.origin = np.empty(0, np.int32)  # only under replay
        self.parts = np.empty((0, 0), np.float64)  # (capacity, parts of the reward); (0, 0): no parts
        self.replayed = replayed
        self.memory_watch = MemoryWatch()
        self.breaks = np.empty((0, 2), np.int64)  # (line, experience) of episode starts that no ending marks
        self.n_breaks = 0
        self._finals = np.empty((0, 2), np.int64)  # (line, or experience under replay; final state) of ended episodes
        self._new_finals: list[tuple[NDArray[np.int64], NDArray[np.int64], int, bool]] = []
        self._new_rows: list[tuple[int, int]] = []

    @property
    def capacity(self) -> int:
        """Lines that fit without growing."""
        return len(self.cell)

    def reserve(self, lines: int, breaks: int = 0, expected: int = 0) -> None:
        """Reserve space for more lines and breaks.

        Space is reserved far ahead (for ``expected`` lines in total, if that is known): memory that is not written to
        costs nothing, and copying into new memory takes longer than learning.
        """
        needed = self.used + lines
        if needed > self.capacity:
            self._grow(needed, max(needed, 4 * self.capacity, FIRST_CAPACITY, min(expected, MAX_AHEAD)))
        if self.n_breaks + breaks > len(self.breaks):
            room = max(self.n_breaks + breaks, 2 * len(self.breaks))
            self.breaks = _grown(self.breaks, room, self.n_breaks)

    def _grow(self, needed: int, room: int) -> None:
        """Grow every column to ``room`` lines; if memory is short, to half of that, down to ``needed``."""
        names = [name for name in VARYING if len(getattr(self, name)) > 1] + ["origin"] * self.replayed
        names += ["parts"] * (self.parts.shape[1] > 0)
        columns = {name: getattr(self, name) for name in ("cell", "source", "reward", *names)}
        while True:
            try:
                grown = {name: _grown(column, room, self.used) for name, column in columns.items()}
                break
            except MemoryError:
                if room <= needed:
                    raise
                room = max(needed, room // 2)
        for name, column in grown.items():
            setattr(self, name, column)

    def expect(self, name: str, value: float | None) -> None:
        """Prepare a column for lines that all have ``value`` (None: for lines that differ)."""
        column: NDArray[np.float64] = getattr(self, name)
        if self.used == 0 and value is not None and len(column) <= 1:
            setattr(self, name, np.array([value], np.float64))
        elif len(column) <= 1 and (value is None or column[0] != value):
            try:
                full = np.empty(max(self.capacity, 2), np.float64)
            except MemoryError:  # release the space reserved ahead
                self._grow(self.used + 2, self.used + 2)
                full = np.empty(self.capacity, np.float64)
            full[: self.used] = column[0] if self.used else 0.0
            setattr(self, name, full)

    def expect_parts(self, n: int) -> None:
        """Prepare a column for each of n parts of the reward; only while there are no lines."""
        if self.parts.shape[1] != n:
            self.parts = np.empty((self.capacity, n), np.float64)

    def append(
        self,
        cell: int,
        source: int,
        reward: float,
        step_size: float,
        discount: float,
        lambda_: float,
        origin: int | None,
    ) -> None:
        """Append one line."""
        i = self.used
        if i == self.capacity:
            self.reserve(1)
        if i % CHECKED_LINES == 0 and i:
            self.memory_watch.check("the ledger", self.bytes_of(i), FEWER_RECORDED)
        for name, value in (("step_size", step_size), ("discount", discount), ("lambda_", lambda_)):
            column = getattr(self, name)
            if len(column) > 1 and i > 0:
                column[i] = value
            elif i == 0 or column[0] != value:
                self.expect(name, value)
                if i > 0:
                    getattr(self, name)[i] = value
        self.cell[i] = cell
        self.source[i] = source
        self.reward[i] = reward
        if origin is not None:
            self.origin[i] = origin
        self.used = i + 1

    def add_break(self, line: int, experience: int) -> None:
        """Record that an episode starts at a line."""
        self.reserve(0, 1)
        self.breaks[self.n_breaks] = (line, experience)
        self.n_breaks += 1

    def add_finals(self, finals: NDArray[np.int64]) -> None:
        """Record the final states of episodes: (line, or experience under replay; final state)."""
        self._finals = np.concatenate([self.finals, finals])

    def renumber_finals(self, where: NDArray[np.int64]) -> None:
        """Final states with other numbers: state s becomes ``where[s]``."""
        finals = self.finals.copy()
        finals[:, 1] = where[finals[:, 1]]
        self._finals = finals

    def add_final(self, key: int, state: int) -> None:
        """The same for one episode."""
        self._new_rows.append((key, state))

    def add_episodes(
        self, lengths: NDArray[np.int64], final_states: NDArray[np.int64], first: int, backwards: bool
    ) -> None:
        """The same for whole episodes from the line ``first`` on (-1: unknown); computed when it is read."""
        self._new_finals.append((lengths, final_states, first, backwards))

    @property
    def finals(self) -> NDArray[np.int64]:
        """(episodes, 2) Line, or experience under replay, and final state of ended episodes."""
        for lengths, states, first, backwards in self._new_finals:
            ends = first + np.cumsum(lengths)
            known = states >= 0
            keys = ends - lengths if backwards else ends - 1
            self._finals = np.concatenate([self._finals, np.stack([keys[known], states[known]], axis=1)])
        if self._new_rows:
            self._finals = np.concatenate([self._finals, np.array(self._new_rows, np.int64)])
        self._new_finals, self._new_rows = [], []
        return self._finals

    def breaks_until(self, line: int) -> NDArray[np.int64]:
        """Breaks of a prefix; a break at its end starts an episode without lines."""
        breaks = self.breaks[: self.n_breaks]
        return breaks[: int(np.searchsorted(breaks[:, 0], line, side="right"))]

    def lines(self, n: int, first: int = 0) -> LedgerLines:
        """Lines ``first`` to n, as the kernels read them."""

        def column(name: str) -> NDArray[np.float64]:
            values: NDArray[np.float64] = getattr(self, name)
            return values[first:n] if len(values) > 1 else values if len(values) else np.zeros(1)

        own = slice(first, n)
        return LedgerLines(self.cell[own], self.source[own], self.reward[own], *(column(name) for name in VARYING))

    def bytes_of(self, n: int) -> int:
        """Bytes of the first n lines, without reserved space."""
        lines = self.lines(n)
        more = self.origin[:n].nbytes + self.parts[:n].nbytes + self.breaks_until(n).nbytes
        return sum(column.nbytes for column in lines) + more

    def copy(self, start: int, stop: int, breaks: NDArray[np.int64]) -> Store:
        """A new store with the lines from start to stop, and the breaks among them."""
        part = Store(self.replayed)
        part.used = stop - start
        for name in ("cell", "source", "reward", "origin", "parts"):
            setattr(part, name, getattr(self, name)[start:stop].copy())
        for name in VARYING:
            column = getattr(self, name)
            setattr(part, name, column.copy() if len(column) <= 1 else column[start:stop].copy())
        breaks = breaks[breaks[:, 0] <= stop]
        if self.replayed:  # experiences keep their numbers, so all episode starts stay
            part.breaks = np.stack([np.maximum(breaks[:, 0] - start, 0), breaks[:, 1]], axis=1)
        else:
            part.breaks = breaks[breaks[:, 0] >= start] - start
        part.n_breaks = len(part.breaks)
        finals = self.finals
        if not self.replayed:
            finals = finals[(finals[:, 0] >= start) & (finals[:, 0] < stop)] - np.array([start, 0])
        part.add_finals(finals)
        return part


def _grown(column: NDArray[Any], room: int, used: int) -> NDArray[Any]:
    fresh = np.empty((room, *column.shape[1:]), column.dtype)
    fresh[:used] = column[:used]
    return fresh
