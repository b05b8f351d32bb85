"""The parts of labels: axes, endings, milestones and marks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

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


@dataclass(frozen=True)
class Ending:
    """A named way for an episode to end, recognised by its last action, its last reward and its final state (None: any)."""

    name: str
    action: int | None = None
    reward: float | None = None
    phrase: str = ""  # what the agent does, with {axis} for values of the last state: "deliver at {destination}"
    bad: bool = False  # whether it is never a goal
    state: int | None = None  # the state that the episode ends in

    def __post_init__(self) -> None:
        check_plain("an ending's name", self.name)
        check_plain(f"the phrase of ending {self.name!r}", self.phrase)
        if self.action is not None:
            whole(f"the action of ending {self.name!r}", self.action)
        if self.state is not None:
            whole(f"the state of ending {self.name!r}", self.state, 0)
        if self.reward is not None and not math.isfinite(self.reward):
            raise ValueError(
                f"the reward of ending {self.name!r} is {self.reward}; give a finite number, or None for any"
            )

    def fits(self, action: int, reward: float, final_state: int | None = None) -> bool:
        """Whether an episode with this last action, reward and final state ended in this way.

        >>> Ending("fell", reward=0.0, state=5).fits(1, 0.0, 5), Ending("fell", reward=0.0, state=5).fits(1, 0.0)
        (True, False)
        """
        paid = self.reward is None or math.isclose(self.reward, reward)
        return self.action in (None, action) and paid and self.state in (None, final_state)

    @property
    def conditional(self) -> bool:
        """Whether it is recognised by an action, a reward or a state: any episode fits an ending without conditions."""
        return (self.action, self.reward, self.state) != (None, None, None)


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

    state: int
    letter: str
    name: str  # what it is: "hole"
    closed: bool = False  # whether no action is ever taken here, so that missing experience is expected

    def __post_init__(self) -> None:
        whole("the state of a mark", self.state)
        for text in (self.letter, self.name):
            check_plain("the letter and the name of a mark", text)
