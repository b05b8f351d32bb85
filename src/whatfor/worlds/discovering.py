"""Environments whose states are discovered while they are met."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym

from whatfor.axes import Axis
from whatfor.document import KeySource
from whatfor.labels import Labels
from whatfor.limits import check_limit, limit
from whatfor.states import KINDS, DiscoveredStates
from whatfor.structure import Scalar, Structure, instead_of, scalar, structure_of
from whatfor.text import one_line
from whatfor.worlds.spaces import axis_names, values_in

#: From an observation to the key of its state.
StateOf = Callable[[Any], Hashable]
#: The labels of the states that were met, from their axes and the structure of their keys.
Naming = Callable[[DiscoveredStates, Structure], Labels]
#: After this many states, a warning says if more than this share of all steps met a new one.
MANY, MAX_NEW_SHARE = 10_000, 0.5
#: The longest a key may be in an error message.
MAX_SHOWN = 200


@dataclass(frozen=True)
class Discovery:
    """How states are recognised and named."""

    source: KeySource
    state_of: StateOf
    before: Labels  # before any state is known: actions and endings
    name: Naming | None = None
    structure: Structure | None = None  # of observations, if states are observations; None: of the keys

    @classmethod
    def by_key(cls, state_of: Any, before: Labels) -> Discovery:
        """By the function ``state_of=``."""
        if not callable(state_of):
            raise ValueError(
                f"state_of must be a function that maps an observation to its state (a whole number, text, or a tuple of these), not {state_of!r}"
            )
        return cls("state_of", state_of, before)

    @classmethod
    def by_space(cls, structure: Structure, ranges: Any, before: Labels) -> Discovery:
        """By the values of a countable space that is too large for a table of all its states."""
        return cls("space", values_in(structure, ranges), before, structure=structure)

    def labels(self, states: DiscoveredStates, structure: Structure) -> Labels:
        """Labels of the states that were met."""
        structure = self.structure or structure
        if self.name is not None:
            return self.name(states, structure)
        axes = states.axes(axis_names(structure))
        return replace(self.before, axes=axes, observed="nested", structure=structure, states=states)


def not_yet_discovered(actions: tuple[str, ...], **more: Any) -> Labels:
    """Labels before any state is known."""
    return Labels((Axis("state", 1),), actions, **more)


class Discovering(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose states get their numbers in the order in which they are met; observations stay as they are."""

    def __init__(self, env: gym.Env[Any, Any], discovery: Discovery, known: Labels | None = None) -> None:
        super().__init__(env)
        self.discovery = discovery
        self.structure: Structure | None = None  # of the keys
        self.columns: list[list[Scalar]] = []  # for each axis, the value of each state
        self.kinds: list[type | None] = []  # of the values of each axis
        self.numbers: dict[Hashable, int] = {}  # the index of each key
        self.room = 0  # states that the agent's tables have room for
        self.make_room: Callable[[int], None] | None = None
        self.most = limit("states")
        self.steps = 0  # observations so far
        self.known: Labels | None = None  # the labels of so many states as they have
        if known is not None:
            self._know(known)

    @property
    def _given(self) -> StateOf | None:
        """The function ``state_of=``, with which labels find the state of an observation."""
        return self.discovery.state_of if self.discovery.source == "state_of" else None

    def _know(self, known: Labels) -> None:
        """Begin with the states of earlier labels."""
        assert known.states is not None
        assert known.structure is not None
        states = DiscoveredStates(known.states.positions, known.states.values, self._given)
        self.structure = known.structure if self.discovery.structure is None else _flat(len(known.axes))
        self.columns = states.columns()
        self.kinds = [next((type(one) for one in column if one is not None), None) for column in self.columns]
        rows = zip(*self.columns, strict=True)
        self.numbers = {self.structure.build(row): state for state, row in enumerate(rows)}
        # endings are recorded as the environment tells them, also if a run has other names for them
        self.known = replace(known, states=states, endings=self.discovery.before.endings)

    def __len__(self) -> int:
        return len(self.numbers)

    def fork(self) -> Discovering:
        """The same environment with the same states; what one discovers, the other does not know."""
        other = Discovering(self.env, self.discovery)
        other.structure, other.known = self.structure, self.known
        other.columns, other.kinds = [column.copy() for column in self.columns], self.kinds.copy()
        other.numbers = self.numbers.copy()
        return other

    def index(self, observation: Any) -> int:
        """The index of an observation's state; a state that was never met gets the next number."""
        self.steps += 1
        try:
            key = self.discovery.state_of(observation)
        except Exception as error:
            if self._given is None:
                raise
            raise ValueError(
                f"state_of= failed for the observation {_shown(observation)}: {type(error).__name__}: {one_line(str(error), MAX_SHOWN)}"
            ) from error
        try:
            state = self.numbers.get(key)
        except TypeError:
            raise ValueError(
                f"state_of= returned {_shown(key)}, which is not hashable: {instead_of(_unhashable(key))}"
            ) from None
        return self._add(key) if state is None else state

    def _add(self, key: Hashable) -> int:
        """Give a new state the next number."""
        try:
            if self.structure is None:
                self.structure = structure_of(key)
                self.columns = [[] for _ in range(self.structure.n_values)]
                self.kinds = [None] * len(self.columns)
                if not self.columns:
                    raise ValueError("it is empty: return at least one value")
            row = [scalar(value) for value in self._values(self.structure, key)]
            kinds = [self._kind(at, value) for at, value in enumerate(row)]
        except ValueError as error:
            raise ValueError(f"the key {_shown(key)} of a state cannot be used: {error}") from None
        state = len(self.numbers)
        if state >= self.most:
            check_limit("states", state + 1, "an environment with this many different states")
        if state == MANY and state > MAX_NEW_SHARE * self.steps:
            warnings.warn(
                f"{state:,} of the first {self.steps:,} steps met a new state, so hardly anything is learned twice: return a coarser key from state_of=",
                stacklevel=2,
            )
        if state >= self.room and self.make_room is not None:
            self.room = min(max(FIRST_ROOM, 2 * state), self.most)
            self.make_room(self.room)
        self.kinds = kinds
        for column, value in zip(self.columns, row, strict=True):
            column.append(value)
        self.numbers[self.structure.build(row)] = state
        return state

    def _values(self, structure: Structure, key: Hashable) -> list[Any]:
        try:
            return list(structure.values(key))
        except ValueError as error:
            first = _shown(next(iter(self.numbers)))
            raise ValueError(
                f"{error}, as in the first key, {first}. All keys of an environment are built alike: fill up with None, or return a text"
            ) from None

    def _kind(self, at: int, value: Scalar) -> type | None:
        """The kind of value on an axis, with this value; ``ValueError`` if the others are of another kind."""
        kind = self.kinds[at]
        if value is None or type(value) is kind:
            return kind
        if kind is not None:
            other = next(one for one in self.columns[at] if one is not None)
            where = "" if len(self.columns) == 1 else f"value {at} of "
            raise ValueError(
                f"{where}an earlier key was {other!r}, and here it is {value!r}; return the same kind of value in every state"
            )
        return next(one for one in KINDS if type(value) is one)

    def labels(self) -> Labels:
        """Labels of the states that were met so far."""
        if self.structure is None or not self.numbers:
            return self.discovery.before
        if self.known is None or self.known.n_states != len(self.numbers):
            states = DiscoveredStates.of(self.columns, self._given)
            self.known = self.discovery.labels(states, self.structure)
        return self.known


#: The number of states that tables first have room for.
FIRST_ROOM = 256


def _flat(n: int) -> Structure:
    """A tuple of single values."""
    return Structure("tuple", parts=(Structure(),) * n)


def _shown(key: Any) -> str:
    return one_line(repr(key), MAX_SHOWN)


def _unhashable(key: Any) -> Any:
    """The part of a key that is not hashable."""
    if isinstance(key, tuple):
        for part in key:
            try:
                hash(part)
            except TypeError:
                return _unhashable(part)
    return key


def discovering(env: Any) -> Discovering | None:
    """The outermost wrapper if it discovers states."""
    return env if isinstance(env, Discovering) else None
