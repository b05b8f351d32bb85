"""Names of axes, their values, actions and states."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from whatfor.axes import Axis, check_distinct
from whatfor.labels import Labels
from whatfor.naming.given import texts
from whatfor.text import check_plain, count

#: ``words=`` is asked for every state, up to this many.
MAX_WORDED_STATES = 100_000
#: A number of values; a word for each value; a function from a value to its word; or None: as they are.
AxisNames = int | Sequence[str] | Callable[[int], str] | None


def with_axes(labels: Labels, given: Mapping[str, AxisNames] | Sequence[str]) -> Labels:
    """Labels with other names of axes and words for their values; a state that is one number may be split.

    >>> with_axes(Labels.plain(6, 1), {"row": 2, "side": ("left", "middle", "right")}).words(4)
    'row 1, side middle'
    """
    before = labels.axes
    if isinstance(given, Mapping):
        named = list(given.items())
    elif isinstance(given, str) or not isinstance(given, Sequence):
        raise ValueError(
            f"axes is a list of names, e.g. ('row', 'column'), or a dictionary from names to the words for their values, not {given!r}"
        )
    else:
        named = [(name, None) for name in given]
    names = [name for name, _ in named]
    for name in names:
        check_plain("the name of an axis", name)
    check_distinct("the axes", names)
    known = [axis.name for axis in before]
    if isinstance(given, Mapping) and all(name in known for name in names):  # by name, and not all of them
        axes = tuple(_axis(axis, axis.name, given.get(axis.name), labels) for axis in before)
    elif len(before) == 1 and len(named) > 1 and labels.observed == "index":
        axes = _split(before[0], named)
        return replace(labels, axes=axes, template=_plain_template(axes, ", "), milestones=())
    elif len(named) == len(before):
        moved = [name for name, axis in zip(names, before, strict=True) if name in known and name != axis.name]
        if moved:
            raise ValueError(
                f"axes are named in the order of the environment's observations, {', '.join(known)}, and {moved[0]!r} is not where "
                "it is there: name them in this order, or some of them by name in a dictionary, e.g. "
                f"axes={{{moved[0]!r}: ('no', 'yes')}}"
            )
        axes = tuple(_axis(axis, name, words, labels) for axis, (name, words) in zip(before, named, strict=True))
    else:
        raise ValueError(
            f"axes names {len(named)} ({', '.join(names)}); the states of this environment have "
            f"{len(before)}: {', '.join(f'{axis.name} ({axis.size} values)' for axis in before)}. Name them in this order"
        )
    new = {old.name: axis.name for old, axis in zip(before, axes, strict=True)}

    def renamed(text: str) -> str:
        return re.sub(r"{([^{}]*)}", lambda found: f"{{{new.get(found[1], found[1])}}}", text)

    gaps = [gap for gap in (", ", "; ") if labels.template in ("", _plain_template(before, gap))]
    return replace(
        labels,
        axes=axes,
        template=""
        if not labels.template
        else _plain_template([axis for axis in axes if axis.size > 1 or not labels.discovered], gaps[0])
        if gaps
        else renamed(labels.template),
        milestones=tuple(replace(one, axis=new[one.axis], phrase=renamed(one.phrase)) for one in labels.milestones),
        endings=tuple(replace(one, phrase=renamed(one.phrase)) for one in labels.endings),
        board=None if labels.board is None else (new[labels.board[0]], new[labels.board[1]]),
    )


def _plain_template(axes: Sequence[Axis], gap: str) -> str:
    """A template by the axes."""
    return gap.join(f"{axis.name} {{{axis.name}}}" for axis in axes)


def _axis(axis: Axis, name: str, words: AxisNames, labels: Labels) -> Axis:
    """An axis with another name and words for its values."""
    if words is None:
        return replace(axis, name=name)
    if callable(words):
        values = tuple(words(at + axis.start) for at in range(axis.size))
        return replace(axis, name=name, values=values, repeats=True)
    size, values = _sized(name, words)
    if labels.discovered and not axis.values and axis.start >= 0 and axis.start + axis.size <= size:
        values = values[axis.start : axis.start + axis.size]  # of all values, those that were met
    elif size != axis.size:
        raise ValueError(
            f"axis {name!r} has {size} values in axes={{...}}, and {axis.size} in the environment's observations "
            f"({axis.name}: {axis.word(0)} to {axis.word(axis.size - 1)})"
        )
    return replace(axis, name=name, values=values or axis.values, repeats=axis.repeats and not values)


def _sized(name: str, words: Any) -> tuple[int, tuple[str, ...]]:
    """The size of an axis, and its words."""
    if isinstance(words, int) and not isinstance(words, bool):
        return words, ()
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise ValueError(
            f"axis {name!r} has {words!r} for its values: pass a word for each, their number, a function from a value to its word, or None"
        )
    return len(words), tuple(words)


def _split(axis: Axis, named: Sequence[tuple[str, AxisNames]]) -> tuple[Axis, ...]:
    """The axes of a state that is observed as one number: the last axis changes fastest."""
    if any(words is None or callable(words) for _, words in named):
        raise ValueError(
            f"a state of this environment is one number from {axis.word(0)} to {axis.word(axis.size - 1)}: to split it, give each axis "
            'its size or the words for its values, e.g. axes={"row": 6, "column": 6}'
        )
    if axis.start:
        raise ValueError(f"states start at {axis.start}, so they cannot be split into several axes")
    axes = tuple(Axis(name, *_sized(name, words)) for name, words in named)
    product = 1
    for one in axes:
        product *= one.size
    if product != axis.size:
        sizes = " x ".join(f"{one.name} {one.size}" for one in axes)
        raise ValueError(f"axes names {sizes} = {product:,} states; this environment has {axis.size:,}")
    return axes


def actions_of(labels: Labels, given: Any) -> tuple[str, ...]:
    """Names for all actions."""
    names = texts("actions", given)
    if len(names) != labels.n_actions:
        raise ValueError(
            f"actions has {count(len(names), 'name')} ({', '.join(names)}); this environment has {count(labels.n_actions, 'action')}"
        )
    return names


def verbs_of(labels: Labels, given: Any) -> tuple[str, ...]:
    """A verb phrase for each action, or for those that a dictionary names.

    >>> verbs_of(Labels.plain(1, 2), {"action 1": "waits"})
    ("takes 'action 0'", 'waits')
    """
    if isinstance(given, Mapping):
        verbs = {labels.action(action): verb for action, verb in given.items()}
        return tuple(verbs.get(a) or f"takes {name!r}" for a, name in enumerate(labels.actions))
    return texts("verbs", given)


def template_of(labels: Labels, given: str) -> str:
    """A template with the names of axes in it."""
    wrong = [name for name in re.findall(r"{([^{}]*)}", given) if name not in {axis.name for axis in labels.axes}]
    if wrong:
        raise ValueError(
            f"the template has {{{wrong[0]}}}, which is no axis; the axes are {', '.join(axis.name for axis in labels.axes)}"
        )
    return given


def state_words_of(labels: Labels, words: Callable[[Any], str]) -> tuple[str, ...]:
    """Words for every state; they are kept as data."""
    if labels.n_states > MAX_WORDED_STATES:
        raise ValueError(
            f"words= is asked for every state, up to {MAX_WORDED_STATES:,}, and there are {labels.n_states:,}: name axes and their values"
        )
    given = []
    for state in range(labels.n_states):
        observation = labels.observation(state)
        try:
            text = words(observation)
        except Exception as error:
            raise ValueError(f"words= failed for {observation!r}: {type(error).__name__}: {error}") from error
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"words= returns {text!r} for {observation!r}; it must return a text")
        given.append(text)
    return tuple(given)
