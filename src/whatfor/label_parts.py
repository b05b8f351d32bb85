"""Parts of labels: checks of endings, milestones, marks, the board and words, filled templates, and the axes that states differ on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from whatfor.axes import Axis, Ending
from whatfor.boards import check_board
from whatfor.states import DiscoveredStates
from whatfor.text import check_plain, normalized

if TYPE_CHECKING:
    from whatfor.labels import Labels

#: The action of an ending that is not recognised by action and reward.
NO_ACTION = -1


def check_parts(labels: Labels) -> None:
    """Raise ``ValueError`` unless endings, milestones, marks, walls and words fit the states and actions of labels."""
    for ending in labels.endings:
        steps = ending.last_steps or ()
        for action in (ending.action, *(step.action for step in steps)):
            if action is not None and not NO_ACTION <= action < len(labels.actions):
                raise ValueError(
                    f"ending {ending.name!r} has action {action}; the actions are 0 to {len(labels.actions) - 1}"
                )
        for state in (ending.state, *(at for step in steps for at in (step.state, step.final_state))):
            if state is not None:
                labels.check_state(state)
    check_endings_apart(labels.endings)
    names = [axis.name for axis in labels.axes]
    for milestone in labels.milestones:
        if milestone.axis not in names:
            raise ValueError(f"a milestone is about {milestone.axis!r}; the axes are {', '.join(names)}")
    for mark in labels.marks:
        if mark.state is not None:
            labels.check_state(mark.state)
    check_board(labels.axes, labels.board, labels.walls, labels.marks)
    if labels.state_words and len(labels.state_words) != labels.n_states:
        raise ValueError(f"there are words for {len(labels.state_words):,} states, and {labels.n_states:,} states")
    for words in labels.state_words:
        check_plain("the words for a state", words)
    if labels.points is not None and len(labels.points) != labels.n_states:
        raise ValueError(f"there are points for {len(labels.points):,} states, and {labels.n_states:,} states")


def check_endings_apart(endings: Sequence[Ending]) -> None:
    """Raise ``ValueError`` if two endings are the same, or one can never be met since another is recognised by the same.

    Different endings may have one name: the episode then ends in this way if one of them fits. Endings by function are
    not compared.

    >>> check_endings_apart([Ending("won", reward=1.0), Ending("lost", reward=1.0)])
    Traceback (most recent call last):
    ValueError: the endings 'won' and 'lost' are recognised by the same: give each another condition, or leave one out
    """
    first: dict[Ending, Ending] = {}
    for ending in endings:
        by_others = ending.action == NO_ACTION  # a function recognises it, which labels do not keep
        if type(ending) is not Ending or ending.last_steps is not None or by_others:
            continue
        rule = replace(ending, name="any" if ending.conditional else ending.name, phrase="", bad=False, by_pay=False)
        before = first.setdefault(rule, ending)
        if before is not ending and before.name == ending.name:
            raise ValueError(f"ending {ending.name!r} is given twice: leave one out")
        if before is not ending:
            raise ValueError(
                f"the endings {before.name!r} and {ending.name!r} are recognised by the same: give each another condition, or leave one out"
            )


def fill(text: str, axes: Sequence[Axis], values: Sequence[int]) -> str:
    """Replace each {axis} in a text by the word for its value; the name before it goes if the word contains it.

    >>> loaded, key = Axis("loaded", 2, ("empty", "loaded")), Axis("key", 2, ("without key", "with key"))
    >>> fill("loaded {loaded}, key {key}", (loaded, key), (1, 0)), fill("loaded {loaded}", (loaded,), (0,))
    ('loaded, without key', 'loaded empty')
    """
    words = {axis.name: axis.word(at) for axis, at in zip(axes, values, strict=True)}
    for axis, word in zip(axes, words.values(), strict=True):
        if f" {axis.name} ".lower() in f" {word} ".lower() and not _is_two_values(axis, word):
            text = re.sub(rf"(?<!\w){re.escape(axis.name)} (?={re.escape(f'{{{axis.name}}}')})", "", text)
    return re.sub(r"{([^{}]*)}", lambda found: words.get(found[1], found[0]), text)


def _is_two_values(axis: Axis, word: str) -> bool:
    """Whether a word is a value of an axis, and its name with another value: "door open" beside "open"."""
    return normalized(word).removeprefix(f"{normalized(axis.name)} ") in {normalized(one) for one in axis.values} - {
        normalized(word)
    }


def worded_axes(labels: Labels) -> Sequence[Axis]:
    """The axes that words name: all, or of discovered states those on which they differ."""
    return [axis for axis in labels.axes if axis.size > 1 or not labels.discovered] or labels.axes


def varying_of(labels: Labels) -> Labels:
    """The same states without the axes on which all discovered states are alike, but for those of the board."""
    kept = [i for i, axis in enumerate(labels.axes) if axis.size > 1 or i in (labels.board_axes or ())] or [0]
    if labels.states is None or len(kept) == len(labels.axes):
        return labels
    states = DiscoveredStates(labels.states.positions[:, kept], [labels.states.values[i] for i in kept])
    axes = tuple(labels.axes[i] for i in kept)
    milestones = tuple(one for one in labels.milestones if one.axis in {axis.name for axis in axes})
    return replace(labels, axes=axes, states=states, structure=None, template="", milestones=milestones)
