"""Labels: the names and axes of states and actions; observation <-> index <-> words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis, Ending, LastStep, Mark, Milestone, check_distinct
from whatfor.boards import Wall, board_axes
from whatfor.checks import whole
from whatfor.codec import example, index_of, indices_of, observation_of
from whatfor.concepts import Concept, states_in, states_where
from whatfor.label_parts import check_parts, fill, varying_of, worded_axes
from whatfor.limits import check_limit
from whatfor.points import Points
from whatfor.reading import Reader, action_of
from whatfor.states import DiscoveredStates, not_met
from whatfor.structure import Structure
from whatfor.text import amount, check_plain, shortened

__all__ = ["Axis", "Ending", "Labels", "Mark", "Milestone"]

#: Labels with up to this many states ignore the limit on states: the built-in ones are created on import.
MAX_BUILT_IN_STATES = 1_000
#: ``np.ravel_multi_index`` supports no more.
MAX_AXES = 63
#: The names of the two endings that every world has.
ENDINGS = ("timed out", "terminated")
#: The names for going on without end: where the transition table is known, and by recorded transitions alone.
NEVER_ENDS, NO_RECORDED_END = "never ends", "no recorded end"
#: The kinds of observation that ``Labels.observed`` may be.
OBSERVATION_KINDS = ("index", "tuple", "array", "bins", "nested")
#: Pictures of discovered states have a cell for every combination of values, if these are at most so many, or so many for each state.
MAX_SPARE_CELLS, MAX_CELLS_PER_STATE = 100_000, 16


@dataclass(frozen=True)
class Labels:
    """Names of states and actions.

    >>> labels = Labels.plain(3, 2)
    >>> labels.words(1), labels.index("state 1"), labels.actions
    ('state 1', 1, ('action 0', 'action 1'))
    """

    axes: tuple[Axis, ...]
    actions: tuple[str, ...]
    template: str = ""  # words with {axis} for the values; by default "axis value, axis value"
    endings: tuple[Ending, ...] = ()
    kind: str = ""  # the kind of world, for pictures: "taxi", "blackjack", "cartpole", "grid"
    observed: str = "index"  # the kind of observation: "index", "tuple", "array" or "bins"
    verbs: tuple[str, ...] = ()  # a verb phrase for each action: "moves south"; by default "takes" and its name
    milestones: tuple[Milestone, ...] = ()
    marks: tuple[Mark, ...] = ()
    board: tuple[str, str] | None = None  # the axes that are rows and columns; None: those named so
    walls: tuple[Wall, ...] = ()  # on the board, counted from 0
    state_words: tuple[str, ...] = ()  # words for each state instead of the template; they may repeat
    structure: Structure | None = None  # of nested observations, and of the keys of discovered states
    discovered: int = 0  # how many states were discovered; 0: every combination of values is a state
    states: DiscoveredStates | None = None  # the discovered ones; not part of the JSON
    points: Points | None = None  # where states lie in a continuous space; not part of the JSON

    def __post_init__(self) -> None:
        if self.states is not None:
            object.__setattr__(self, "discovered", len(self.states))
        if not self.axes or not self.actions:
            raise ValueError("labels need at least one axis and one action")
        if len(self.axes) > MAX_AXES:
            raise ValueError(f"there are {len(self.axes):,} axes; the limit is {MAX_AXES}")
        for text in (*self.actions, *self.verbs, self.template, self.kind):
            check_plain("a name of an action, a verb or the template", text)
        check_distinct("the actions", self.actions)
        names = [axis.name for axis in self.axes]
        if len(set(names)) < len(names):
            raise ValueError(f"two axes have the same name; the names are {', '.join(names)}")
        if self.n_states > MAX_BUILT_IN_STATES:
            check_limit("states", self.n_states, "this world")
        if self.observed not in OBSERVATION_KINDS:
            raise ValueError(f"observed is one of {', '.join(OBSERVATION_KINDS)}, not {self.observed!r}")
        if self.structure is not None and self.structure.n_values != len(self.axes):
            raise ValueError(f"observations have {self.structure.n_values} values, and there are {len(self.axes)} axes")
        if self.observed == "bins" and not all(axis.edges for axis in self.axes):
            raise ValueError("bins need edges: give them to each axis, Axis(name, size, edges=(...))")
        if self.verbs and len(self.verbs) != len(self.actions):
            raise ValueError(f"there are {len(self.actions)} actions and {len(self.verbs)} verbs; give one to each")
        check_parts(self)

    def __repr__(self) -> str:
        axes = " × ".join(f"{axis.name} ({axis.size:,})" for axis in self.axes)
        return f"Labels({axes}; {shortened(', '.join(self.actions))})"

    @classmethod
    def plain(cls, n_states: int, n_actions: int) -> Labels:
        """Numbered states and actions."""
        return cls((Axis("state", n_states),), tuple(f"action {a}" for a in range(n_actions)))

    @classmethod
    def of(cls, env: Any, names: Any = None) -> Labels:
        """Labels for a Gymnasium environment or its id, with the names that it carries itself and those given, as in ``train``."""
        from whatfor.naming import Names
        from whatfor.worlds.gymnasium import labels_without_training

        return Names.of(names).applied_to(labels_without_training(env))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return tuple(axis.size for axis in self.axes)

    @cached_property
    def inner_edges(self) -> tuple[NDArray[np.float64], ...]:
        """The edges of the bins of each axis, without the outer ones."""
        return tuple(np.array(axis.edges[1:-1]) for axis in self.axes)

    @cached_property
    def n_states(self) -> int:
        """The number of states."""
        return self.discovered or math.prod(self.shape)

    @cached_property
    def is_dense(self) -> bool:
        """Whether an array with a cell for every combination of values is not much larger than one of the states."""
        return math.prod(self.shape) <= max(MAX_SPARE_CELLS, MAX_CELLS_PER_STATE * self.n_states)

    @cached_property
    def varying(self) -> Labels:
        """The same states without the axes on which all discovered states are alike, for pictures."""
        return varying_of(self)

    @cached_property
    def grid(self) -> NDArray[np.int64]:
        """``(*shape)`` The state at every combination of values; -1: there is none."""
        if self.states is None:
            return np.arange(self.n_states).reshape(self.shape)
        return self.on_axes(np.arange(self.n_states), missing=-1)

    def on_axes(self, numbers: NDArray[Any], missing: Any = 0) -> NDArray[Any]:
        """``(*shape, ...)`` Numbers of all states (S, ...) by axis; ``missing`` where there is no state."""
        numbers = np.asarray(numbers)
        if self.states is None:
            return numbers.reshape(*self.shape, *numbers.shape[1:])
        placed = np.full((*self.shape, *numbers.shape[1:]), missing, numbers.dtype)
        placed[tuple(self.states.positions.T)] = numbers
        return placed

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return len(self.actions)

    @cached_property
    def _template(self) -> str:
        return self.template or ", ".join(f"{axis.name} {{{axis.name}}}" for axis in worded_axes(self))

    def values(self, index: int) -> tuple[int, ...]:
        """The position of a state on each axis, counted from 0."""
        if self.states is not None:
            return tuple(self.states.positions[self.check_state(index)].tolist())
        return tuple(int(at) for at in np.unravel_index(self.check_state(index), self.shape))

    @cached_property
    def positions(self) -> NDArray[np.integer[Any]]:
        """(S, axes) The position of every state on each axis, counted from 0."""
        every = np.unravel_index(np.arange(0 if self.states else self.n_states), self.shape)
        return self.states.positions if self.states else np.stack(every, axis=1)

    @property
    def board_axes(self) -> tuple[int, int] | None:
        """The places of the axes that are rows and columns; None: there is no board."""
        return board_axes(self.axes, self.board)

    def last_step(self, state: int, action: int, reward: float) -> str:
        """A name for an ending that has none: its last step, or what it pays if others are named after that."""
        if any(ending.by_pay for ending in self.endings):
            return f"ended with {amount(reward, signed=True)}"
        return f"ended by {self.actions[action]} in {self.words(state)} ({reward:+g})"

    def words(self, index: int) -> str:
        """The state in words."""
        return self.state_words[self.check_state(index)] if self.state_words else self.values_in_words(index)

    def values_in_words(self, index: int) -> str:
        """The state by its values on all axes; ``words`` may be the same for several states, these are not."""
        return self._fill(self._template, index)

    def _fill(self, text: str, index: int) -> str:
        """Replace each {axis} in a text by the state's word for it."""
        return fill(text, self.axes, self.values(index))

    def action_phrase(self, action: int) -> str:
        """A verb phrase for an action: "moves south"."""
        return self.verbs[action] if self.verbs else f"takes {self.actions[action]!r}"

    def milestone_phrase(self, state: int, following: int) -> str | None:
        """The phrase of the milestone between two consecutive states, or None."""
        before, after = self.values(state), self.values(following)
        for milestone in self.milestones:
            at = [axis.name for axis in self.axes].index(milestone.axis)
            axis = self.axes[at]
            if axis.word(after[at]) == milestone.value != axis.word(before[at]):
                return self._fill(milestone.phrase, state)
        return None

    def ending_is_bad(self, name: str) -> bool:
        """Whether an ending is never a goal."""
        return any(ending.bad for ending in self.endings if ending.name == name)

    def ending_phrase(self, name: str, state: int) -> str:
        """A phrase for an ending in a state: "deliver at R"."""
        phrase = next((ending.phrase for ending in self.endings if ending.name == name and ending.phrase), None)
        if phrase is not None:
            return self._fill(phrase, state)
        return {
            "timed out": "reach the time limit",
            "terminated": "end the episode",
            NEVER_ENDS: "go on without end",
            NO_RECORDED_END: "go on without a recorded end",
        }.get(
            name,
            name.replace("ended", "end", 1) if name.startswith(("ended with ", "ended by ")) else f"end with {name!r}",
        )

    def observation(self, index: int) -> Any:
        """The observation of a state, or the key of a discovered one; for bins, their midpoints."""
        return observation_of(self, index)

    def index(self, observation: Any) -> int:
        """The index of a state given as an observation, as one value per axis, in words, or as an index.

        A whole number is an observation: the index, except in a ``Discrete`` space that does not start at 0. A discovered
        state is also given by its key.

        >>> Labels((Axis("row", 2), Axis("column", 3)), ("go",), observed="tuple").index("row 1, column 2")
        5
        """
        if isinstance(observation, str):
            key = None if self.states is None else self.states.find([observation])
            return self._reader.state(observation) if key is None else key
        return index_of(self, observation)

    def at(self, positions: Sequence[int]) -> int:
        """The index of the state at a position on each axis; ``ValueError`` if no such state was discovered."""
        if self.states is None:
            return int(np.ravel_multi_index(tuple(positions), self.shape))
        state = self.states.at(positions)
        if state is None:
            words = ", ".join(f"{axis.name} {axis.word(at)}" for axis, at in zip(self.axes, positions, strict=True))
            raise ValueError(not_met(self.n_states, f"with {words}", self.example()))
        return state

    def indices(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """(B,) The indices of continuous observations (B, ...), from the edges of the axes.

        >>> Labels((Axis("x", 2, edges=(0.0, 1.0, 2.0)),), ("go",), observed="bins").indices(np.array([[0.5], [9.0]])).tolist()
        [0, 1]
        """
        return indices_of(self, observations)

    def action(self, action: int | str) -> int:
        """The index of an action given as index or name."""
        if type(action) is int and 0 <= action < len(self.actions):
            return action
        return action_of(self.actions, action)

    def ending(
        self, action: int, reward: float, final_state: int | None = None, state: int | None = None
    ) -> str | None:
        """The name of an episode's ending by its last action and reward, the state it ends in and the one before, or None."""
        return next((one.name for one in self.endings_of(LastStep(state, action, reward, final_state))), None)

    def endings_of(self, step: LastStep) -> list[Ending]:
        """The endings that fit a last step."""
        return [ending for ending in self.endings if ending.fits(step, self.observation)]

    @cached_property
    def ending_names(self) -> tuple[str, ...]:
        """The distinct names of endings."""
        return tuple(dict.fromkeys(ending.name for ending in self.endings))

    def where(self, what: Any, *, endings: Sequence[str] = ()) -> Concept:
        """Create a concept: the states or endings of which something is true.

        ``what``: words about some of the axes ("passenger aboard"), the name of an ending ("delivered", "timed out";
        "terminated" is any ending but the time limit), a function of an observation that returns True or False, an
        array of True and False for each state, or a list or set of state indices. ``endings``: further names of endings.

        >>> labels = Labels((Axis("row", 2), Axis("column", 3)), ("go",), endings=(Ending("fell"),))
        >>> labels.where("row 1").states.tolist()
        [False, False, False, True, True, True]
        >>> labels.where("fell").endings
        ('fell',)
        """
        if isinstance(what, Concept):
            return what
        if isinstance(what, str):
            names = tuple(dict.fromkeys([*ENDINGS, *self.ending_names, *endings]))
            found = next((name for name in names if name.lower() == what.strip().lower()), None)
            if found is None:
                return Concept(what.strip(), self._reader.states(what, names))
            ends = names[1:] if found == ENDINGS[1] else (found,)
            return Concept(found, np.zeros(self.n_states, np.bool_), ends)
        if callable(what):
            name = getattr(what, "__name__", "<lambda>")
            observations = (self.observation(state) for state in range(self.n_states))
            return Concept("the condition" if name == "<lambda>" else name, states_where(what, observations))
        return Concept("the given states", states_in(what, self.n_states))

    def check_state(self, index: int) -> int:
        """Validate and return the index of a state."""
        if not 0 <= (index := whole("a state's index", index)) < self.n_states:
            raise ValueError(f"state {index} is out of range: there are states 0 to {self.n_states - 1}")
        return index

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self, self._template)

    def example(self) -> str:
        """A hint how to write a state."""
        return example(self)

    def recorded(self, steps: Sequence[LastStep]) -> Labels:
        """The labels as data: endings that are recognised by functions know only some last steps."""
        return replace(self, endings=tuple(ending.recorded(steps, self.observation) for ending in self.endings))

    def to_json(self) -> dict[str, Any]:
        """The labels as JSON-compatible data, without the discovered states and the points."""
        plain = replace(self.recorded(()), states=None, points=None)
        data: dict[str, Any] = msgspec.to_builtins(plain, enc_hook=np.generic.item)  # NumPy numbers become Python's
        del data["states"], data["points"]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Labels:
        """Create labels from the output of ``to_json``.

        >>> Labels.from_json(Labels.plain(3, 2).to_json()) == Labels.plain(3, 2)
        True
        """
        try:
            return msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"these are not labels: {error}") from None
