"""Names: what the states, actions and endings of an environment are called, given by its author."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from whatfor.axes import Ending, Mark, Milestone
from whatfor.labels import Labels
from whatfor.naming.axes import AxisNames, actions_of, state_words_of, template_of, verbs_of, with_axes
from whatfor.naming.board import marks_of, walls_of
from whatfor.naming.endings import endings_of, milestones_of
from whatfor.naming.given import check_keys, pair


@dataclass(frozen=True)
class Names:
    """Names for the states, actions and endings of an environment; a dictionary with the same keys does as well.

    ``axes``: their names in order, or a dictionary from names to the words for their values. ``actions``, ``verbs``: a name
    and a verb phrase for each action. ``endings``: a dictionary from names to conditions: a function of the last
    observation, a function of (observation, action, reward, last observation), the last reward, or a dictionary with
    ``when``, ``action``, ``reward``, ``state``, ``phrase`` and ``bad``. ``milestones``: from phrases to {axis: value}.
    ``board``: the axes that are rows and columns; ``marks``: from names to cells, or to a dictionary with
    ``at``, ``letter`` and ``closed``; ``walls``: cells, or pairs of cells with a wall between them; a cell is
    two numbers, in the order in which the two axes occur in ``axes``. ``template``: the words for a state, with {axis} for
    values; or ``words``, a function from an observation to words, which may repeat.

    >>> names = Names(axes={"row": 2, "column": 2}, actions=("left", "right"), endings={"won": 1.0})
    >>> names.applied_to(Labels.plain(4, 2)).words(2)
    'row 1, column 0'
    """

    axes: Mapping[str, AxisNames] | Sequence[str] | None = None
    actions: Sequence[str] | None = None
    verbs: Sequence[str] | Mapping[str, str] | None = None
    endings: Mapping[str, Any] | Sequence[Ending] | None = None
    milestones: Mapping[str, Mapping[str, str]] | Sequence[Milestone] | None = None
    marks: Mapping[str, Any] | Sequence[Mark] | None = None
    walls: Sequence[Any] | None = None
    board: tuple[str, str] | None = None
    template: str | None = None
    words: Callable[[Any], str] | None = None

    @classmethod
    def of(cls, given: Names | Mapping[str, Any] | None) -> Names:
        """Names from what was passed; ``ValueError`` for a key that does not exist.

        >>> Names.of({"endngs": {}})
        Traceback (most recent call last):
        ValueError: names has no key 'endngs'. Did you mean 'endings'? The keys are axes, actions, verbs, endings, milestones, marks, walls, board, template, words
        """
        if given is None or isinstance(given, Names):
            return given or cls()
        if not isinstance(given, Mapping):
            raise ValueError(
                f"names is a dictionary or a whatfor.Names, e.g. names={{'actions': [...]}}, not {given!r}"
            )
        check_keys("names", given, [one.name for one in fields(cls)])
        return cls(**given)

    @property
    def before_discovery(self) -> Names:
        """The names that fit before any state is known: those of actions."""
        return Names(actions=self.actions, verbs=self.verbs)

    def over(self, earlier: Names) -> Names:
        """These names, and the earlier ones of what has no name here."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(earlier, **{name: value for name, value in given.items() if value is not None})

    def applied_to(self, labels: Labels) -> Labels:
        """Labels with these names; ``ValueError`` says what does not fit."""
        if self.axes is not None:
            labels = with_axes(labels, self.axes)
        if self.actions is not None:
            labels = replace(labels, actions=actions_of(labels, self.actions), verbs=())
        if self.verbs is not None:
            labels = replace(labels, verbs=verbs_of(labels, self.verbs))
        if self.template is not None:
            labels = replace(labels, template=template_of(labels, self.template), state_words=())
        if self.board is not None:
            labels = replace(labels, board=pair("board", self.board))
        if self.endings is not None:
            labels = replace(labels, endings=endings_of(labels, self.endings))
        if self.milestones is not None:
            labels = replace(labels, milestones=milestones_of(labels, self.milestones))
        if self.marks is not None or self.walls is not None:
            marks = labels.marks if self.marks is None else marks_of(labels, self.marks)
            walls = labels.walls if self.walls is None else walls_of(labels, self.walls)
            labels = replace(labels, marks=marks, walls=walls)
        if self.words is not None:
            labels = replace(labels, state_words=state_words_of(labels, self.words))
        return labels
