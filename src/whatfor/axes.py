"""The parts of labels: axes, endings, milestones and marks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from whatfor.checks import whole
from whatfor.text import check_plain, normalized


@dataclass(frozen=True)
class Axis:
    """One component of a state."""

    name: str
    size: int
    values: tuple[str, ...] = ()  # a word for each value; empty: the number itself
    start: int = 0  # the observation's smallest value
    edges: tuple[float, ...] = ()  # the size + 1 edges of the bins of a continuous quantity
    repeats: bool = False  # whether several values may have the same word

    def __post_init__(self) -> None:
        for text in (self.name, *self.values):
            check_plain("a name of an axis or of its values", text)
        whole(f"the size of axis {self.name!r}", self.size, 1)
        whole(f"the start of axis {self.name!r}", self.start)
        if self.values and len(self.values) != self.size:
            raise ValueError(
                f"axis {self.name!r} has {self.size} values and {len(self.values)} names; give one name to each"
            )
        if not self.repeats:
            check_distinct(f"the values of axis {self.name!r}", self.values)
        if self.edges and not (
            len(self.edges) == self.size + 1
            and all(map(math.isfinite, self.edges))
            and all(low < high for low, high in pairwise(self.edges))
        ):
            raise ValueError(
                f"axis {self.name!r} needs {self.size + 1} finite edges in rising order, one more than it has bins"
            )

    @classmethod
    def by_function(cls, name: str, size: int, word: Callable[[int], str], **more: Any) -> Axis:
        """An axis whose words come from a function of the value, counted from 0; they may repeat.

        >>> Axis.by_function("floor", 3, lambda at: "cellar" if at == 0 else "upstairs").values
        ('cellar', 'upstairs', 'upstairs')
        """
        return cls(name, size, tuple(word(at) for at in range(whole("size", size, 1))), repeats=True, **more)

    def word(self, at: int) -> str:
        """The value in words."""
        return self.values[at] if self.values else str(at + self.start)


def check_distinct(what: str, names: Sequence[str]) -> None:
    """Raise ``ValueError`` if two names mean the same when a text is read: case and spaces do not count.

    >>> check_distinct("the actions", ("left", "Left"))
    Traceback (most recent call last):
    ValueError: two of the actions have the same name, 'left' (0 and 1); give each its own name
    """
    first: dict[str, int] = {}
    for at, name in enumerate(names):
        before = first.setdefault(normalized(name), at)
        if before != at:
            raise ValueError(
                f"two of {what} have the same name, {names[before]!r} ({before} and {at}); give each its own name"
            )


class LastStep(NamedTuple):
    """The last step of an episode; as a condition, None fits anything."""

    state: int | None
    action: int | None
    reward: float | None
    final_state: int | None  # the state that the episode ends in


#: From an index to the observation of a state.
Observe = Callable[[int], Any]


@dataclass(frozen=True)
class Ending:
    """A named way for an episode to end, recognised by its last action, its last reward and its final state (None: any)."""

    name: str
    action: int | None = None
    reward: float | None = None
    phrase: str = ""  # what the agent does, with {axis} for values of the last state: "deliver at {destination}"
    bad: bool = False  # whether it is never a goal
    state: int | None = None  # the state that the episode ends in
    between: tuple[float | None, float | None] | None = None  # the last reward is at least the first, below the second
    last_steps: tuple[LastStep, ...] | None = None  # where it is recognised by a function: those it is true of
    by_pay: bool = False  # whether it has no name of its own, and is named after its last reward

    def __post_init__(self) -> None:
        check_plain("an ending's name", self.name)
        check_plain(f"the phrase of ending {self.name!r}", self.phrase)
        if self.action is not None:
            whole(f"the action of ending {self.name!r}", self.action)
        if self.state is not None:
            whole(f"the state of ending {self.name!r}", self.state, 0)
        paid = (self.reward, *(self.between or ()), *(step.reward for step in self.last_steps or ()))
        odd = next((one for one in paid if one is not None and not math.isfinite(one)), None)
        if odd is not None:
            raise ValueError(f"the reward of ending {self.name!r} is {odd}; give a finite number, or None for any")

    def fits(self, step: LastStep, observe: Observe | None = None) -> bool:
        """Whether an episode with this last step ended in this way.

        >>> Ending("fell", reward=0.0, state=5).fits(LastStep(4, 1, 0.0, 5))
        True
        """
        paid = math.nan if step.reward is None else step.reward
        if self.last_steps is not None and not self._knows(step):
            return False
        if self.between is not None:
            low, high = self.between
            if (low is not None and not paid >= low) or (high is not None and not paid < high):
                return False
        right = self.reward is None or math.isclose(self.reward, paid)
        return self.action in (None, step.action) and right and self.state in (None, step.final_state)

    def recorded(self, steps: Sequence[LastStep], observe: Observe) -> Ending:
        """This ending as data, if it is recognised by a function: by those of some last steps that the function is true of."""
        return self

    def _knows(self, step: LastStep) -> bool:
        """Whether it is one of its last steps."""
        return step in self._known or step._replace(state=None, action=None, reward=None) in self._known

    @cached_property
    def _known(self) -> frozenset[LastStep]:
        return frozenset(self.last_steps or ())

    @property
    def conditional(self) -> bool:
        """Whether it is recognised by something: any episode fits an ending without conditions."""
        given = (self.action, self.reward, self.state, self.between, self.last_steps)
        return any(one is not None for one in given)

    @property
    def reads_final(self) -> bool:
        """Whether it depends on the state that an episode ends in."""
        return self.state is not None or self.last_steps is not None

    @property
    def reads_step(self) -> bool:
        """Whether it depends on the whole last step."""
        return any(step.state is not None for step in self.last_steps or ())


@dataclass(frozen=True)
class Milestone:
    """An event worth mentioning on the way: an axis takes a value."""

    axis: str
    value: str
    phrase: str  # what the agent does, with {axis} for values of the state before

    def __post_init__(self) -> None:
        for text in (self.axis, self.value, self.phrase):
            check_plain("a word of a milestone", text)


@dataclass(frozen=True)
class Mark:
    """A letter that marks a special state on maps."""

    state: int | None  # None: every state of its cell
    letter: str
    name: str  # what it is: "hole"
    closed: bool = False  # whether no action is ever taken here, so that missing experience is expected
    cell: tuple[int, int] | None = None  # row and column on the board, counted from 0

    def __post_init__(self) -> None:
        if (self.state is None) == (self.cell is None):
            raise ValueError(f"the mark {self.name!r} is of a state or of a cell: give one of state= and cell=")
        for at in (self.cell or ()) if self.state is None else (self.state,):
            whole("the state or the cell of a mark", at, 0)
        for text in (self.letter, self.name):
            check_plain("the letter and the name of a mark", text)
