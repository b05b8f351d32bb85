"""What beliefs of a deep agent are over: cells, each a set of observations that are told apart no further."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.axes import Axis, Ending
from whatfor.deep.document import CellsKind
from whatfor.labels import NO_ACTION, Labels
from whatfor.worlds.bins import interval_words
from whatfor.worlds.gymnasium import action_names, labels_of
from whatfor.worlds.making import binned

#: More cells than this are refused: a map of them says nothing any more.
MOST_CELLS = 20_000
#: Combinations of more bits than this are not counted: an index is an int64.
MOST_BITS = 62
#: What reads as an index or an observation, not as words.
NUMBERS = re.compile(r"[\s\d.,()\[\]-]+")

Seen = NDArray[Any]  # one observation
Predicate = Callable[[Seen], Any]
#: A concept: a condition; or a function with the names of what it says; or one with the edges of its bins.
Concept = Predicate | tuple[Predicate, Sequence[str]] | tuple[Predicate, Sequence[float]]


class Strides(NamedTuple):
    """Cells of countable observations: the sum of (number - start) * step."""

    start: NDArray[np.int64]
    step: NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """Cells of one environment's observations, ready for use."""

    labels: Labels  # of cells, as states; of actions, and of endings
    space: spaces.Space[Any]  # of the observations
    index: Callable[[NDArray[Any]], NDArray[np.int64]]  # (B, ...) observations -> (B,) cells
    stands_for: Callable[[int], Any]  # an observation that stands for a cell; None: there is none
    whole: bool  # whether a cell is all that the agent sees
    kind: CellsKind
    endings: Mapping[str, Predicate] = field(default_factory=dict)  # how episodes end, by the last observation
    strides: Strides | None = None  # of countable observations
    arrays: Mapping[str, NDArray[Any]] = field(
        default_factory=dict
    )  # what clusters are built from, by its name in a file

    def ended(self, observation: Seen, action: int, reward: float) -> int:
        """The place of an ending's name among ``ending_names``."""
        return self.ending_names.index(self.ending(observation, action, reward) or "terminated")

    def ending(self, observation: Seen, action: int, reward: float) -> str | None:
        """The name of an episode's end, where there is one."""
        told = next((name for name, holds in self.endings.items() if _said(name, holds, observation)), None)
        return self.labels.ending(action, reward) if told is None else told

    @property
    def ending_names(self) -> tuple[str, ...]:
        """All ways to end that have a name, and the one that has none."""
        return ("terminated", *dict.fromkeys([*self.endings, *self.labels.ending_names]))


class Over(Protocol):
    """A way to make cells, once the environment is known."""

    def over(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Cells:
        """The cells of an environment's observations; ``visited``: (n, ...) some that were seen."""


@dataclass(frozen=True)
class States:
    """Every countable observation is a cell of its own.

    ``labels`` names them where the environment's own names are hidden behind a wrapper.

    >>> cells = States().over(spaces.Discrete(3), None, np.zeros(0))
    >>> cells.index(np.array([2, 0])).tolist(), cells.whole
    ([2, 0], True)
    """

    labels: Labels | None = None

    def over(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Cells:
        """The cells of an environment's observations."""
        sizes, start = _sizes(space)
        labels = self.labels or _named(space, env)
        if labels.n_states != math.prod(sizes):
            raise ValueError(f"the labels name {labels.n_states} states; {space} has {math.prod(sizes)}")
        check_few(labels)  # before strides, which more than an int64 counts would not fit in

        strides = Strides(start, np.array([math.prod(sizes[i + 1 :]) for i in range(len(sizes))], np.int64))

        def index(seen: NDArray[Any]) -> NDArray[np.int64]:
            numbers = np.asarray(seen).reshape(len(seen), len(sizes)).astype(np.int64)
            return np.asarray((numbers - start) @ strides.step, np.int64)

        def stands_for(cell: int) -> Any:
            numbers = np.array(np.unravel_index(cell, sizes)) + start
            return np.int64(numbers[0]) if isinstance(space, spaces.Discrete) else numbers.astype(space.dtype)

        return Cells(labels, space, index, stands_for, True, "states", strides=strides)


@dataclass(frozen=True)
class Bins:
    """Gymnasium's own bins of a continuous observation.

    >>> cells = Bins((2, 3), bounds=[(0.0, 1.0), (-1.0, 1.0)]).over(spaces.Box(-9, 9, (2,)), None, np.zeros(0))
    >>> cells.index(np.array([[0.2, 0.9]])).tolist(), cells.labels.words(2)
    ([2], 'x0 0 to 0.5; x1 0.33 to 1')
    """

    bins: int | Sequence[int]
    bounds: Sequence[tuple[float, float]] | None = None

    def over(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Cells:
        """The cells of an environment's observations."""
        labels = labels_of(binned(env if env is not None else _Shown(space), self.bins, self.bounds))
        return from_bins(check_few(labels), space)


def from_bins(labels: Labels, space: spaces.Space[Any]) -> Cells:
    """Cells from labels whose axes have edges."""
    bins = isinstance(space, spaces.Box) and len(labels.axes) == math.prod(space.shape)
    rising = all(len(axis.edges) == axis.size + 1 and (np.diff(axis.edges) > 0.0).all() for axis in labels.axes)
    if not bins or not rising or labels.observed != "bins":
        raise ValueError(f"the labels are not of bins of {space}")

    def stands_for(cell: int) -> Any:
        return np.asarray(labels.observation(cell), space.dtype)

    return Cells(labels, space, labels.indices, stands_for, False, "bins")


@dataclass(frozen=True)
class Clusters:
    """So many clusters of the observations that the agent came to, by scikit-learn's KMeans, each number scaled by its spread."""

    n: int
    seed: int = 0

    def over(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Cells:
        """The cells of an environment's observations."""
        from whatfor.needed import need

        if self.n < 1:
            raise ValueError(f"Clusters({self.n}): ask for at least one")
        need("sklearn", "scikit-learn", "deep")
        from sklearn.cluster import KMeans

        size = math.prod(space.shape or ())  # -1 would not do where there are none
        seen = np.asarray(visited, np.float64).reshape(len(visited), size)
        different = len(np.unique(seen, axis=0))
        if different < self.n:
            raise ValueError(
                f"{self.n} clusters need at least as many different observations; the agent has seen {different}: "
                "ask for fewer, or start learning later (learning_starts=); in an own loop, give some (visited=)"
            )
        spread = np.maximum(seen.std(axis=0), 1e-12)
        found = KMeans(self.n, random_state=self.seed, n_init=1).fit(seen / spread)
        centres = found.cluster_centers_ * spread
        nearest = [int((((seen - centre) / spread) ** 2).sum(axis=1).argmin()) for centre in centres]
        return from_centres(centres, spread, np.asarray(visited)[nearest], space, _actions(env, None))


def from_centres(
    centres: NDArray[np.float64],
    spread: NDArray[np.float64],
    examples: NDArray[Any],
    space: spaces.Space[Any],
    actions: tuple[str, ...],
) -> Cells:
    """Cells of what is nearest to each centre; ``examples``: the observation that stands for each."""
    shape = space.shape or ()
    size, finite = math.prod(shape), np.isfinite(centres).all() and np.isfinite(spread).all()
    if centres.shape != (len(examples), size) or spread.shape != (size,) or examples.shape[1:] != shape or not finite:
        raise ValueError(f"the centres of clusters do not fit observations of {space}")
    if (spread <= 0.0).any():
        raise ValueError("the spread of clusters must be above zero")
    scaled, lengths = centres / spread, ((centres / spread) ** 2).sum(axis=1)

    def index(seen: NDArray[Any]) -> NDArray[np.int64]:
        try:
            with np.errstate(over="raise", invalid="raise"):
                flat = np.asarray(seen, np.float64).reshape(len(seen), -1) / spread
                return np.asarray((lengths - 2.0 * flat @ scaled.T).argmin(axis=1), np.int64)
        except FloatingPointError:
            raise ValueError("an observation is too far from every cluster to say which is the nearest") from None

    words = tuple(f"{n} around ({', '.join(f'{x:.2g}' for x in centre[:6])})" for n, centre in enumerate(centres))
    labels = Labels((Axis("cluster", len(centres), words),), actions)
    arrays = {"centres": centres, "spread": spread, "examples": examples}
    return Cells(labels, space, index, lambda cell: examples[cell], False, "clusters", arrays=arrays)


@dataclass(frozen=True)
class Concepts:
    """Named concepts of an observation; every combination of them is a cell.

    A concept is a condition (``lambda seen: seen[2] < 0``), a function with the names of what it may say
    (``(side, ("left", "right"))``), or a function with the edges of its bins (``(height, (-0.5, 0.0, 0.5))``).

    >>> over = Concepts({"left": lambda seen: seen[0] < 0.0, "speed": (lambda seen: seen[1], (0.0, 1.0))})
    >>> cells = over.over(spaces.Box(-9, 9, (2,)), None, np.zeros(0))
    >>> [cells.labels.words(cell) for cell in cells.index(np.array([[-1.0, 0.5], [1.0, 2.0]]))]
    ['left; speed 0 to 1', 'not left; speed above 1']
    """

    concepts: Mapping[str, Concept]

    def over(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Cells:
        """The cells of an environment's observations."""
        if not self.concepts:
            raise ValueError('cells={} names no concept; give some, e.g. {"moving left": lambda seen: seen[1] < 0}')
        _named_apart(list(self.concepts))
        axes, read, template = [], [], []
        for name, concept in self.concepts.items():
            axis, reader, said = _axis(name, concept)
            axes.append(axis)
            read.append(reader)
            template.append(said)
        labels = Labels(tuple(axes), _actions(env, None), "; ".join(template), observed="tuple")
        shape, names = labels.shape, list(self.concepts)

        def index(seen: NDArray[Any]) -> NDArray[np.int64]:
            numbers = [[_heard(name, reader, one) for one in seen] for name, reader in zip(names, read, strict=True)]
            return np.asarray(np.ravel_multi_index(tuple(np.array(numbers, np.int64)), shape), np.int64)

        return Cells(check_few(labels), space, index, lambda _: None, False, "concepts")


def cells_of(
    given: Any,
    space: spaces.Space[Any],
    env: gym.Env[Any, Any] | None,
    visited: NDArray[Any],
    *,
    n_actions: int,
    actions: Sequence[str] | None = None,
    endings: Mapping[str, Predicate] | None = None,
) -> Cells:
    """Cells from whatever names them: nothing (countable observations), a dictionary of concepts, or a way to make them."""
    way = States() if given is None else Concepts(given) if isinstance(given, Mapping) else given
    if isinstance(given, type) or not hasattr(way, "over"):
        raise ValueError(
            f"cells={given!r} is not understood: give a dictionary of concepts, Bins(...), Clusters(n), or nothing where "
            "observations are countable"
        )
    cells: Cells = way.over(space, env, visited)
    if isinstance(cells.labels.actions, tuple) and len(cells.labels.actions) != n_actions:
        cells = replace(cells, labels=replace(cells.labels, actions=_actions(env, n_actions), verbs=()))
    if actions is not None:
        if len(actions) != n_actions:
            raise ValueError(f"actions names {len(actions)} actions; the agent has {n_actions}")
        cells = replace(cells, labels=replace(cells.labels, actions=tuple(actions), verbs=()))
    if endings:
        if not isinstance(endings, Mapping):
            raise ValueError(f'endings={endings!r}; give a dictionary, e.g. {{"fell": lambda seen: seen[2] > 0.2}}')
        if "terminated" in endings:
            raise ValueError(
                "'terminated' is what an end is called that has no name; choose another name for this ending"
            )
        twice = [name for name in endings if isinstance(given, Mapping) and name in given]
        if twice:
            raise ValueError(f"{twice[0]!r} is the name of a concept and of an ending; choose two names")
        added = tuple(Ending(name, NO_ACTION) for name in endings if name not in cells.labels.ending_names)
        cells = replace(
            cells, endings=dict(endings), labels=replace(cells.labels, endings=(*cells.labels.endings, *added))
        )
    return cells


def _axis(name: str, concept: Concept) -> tuple[Axis, Callable[[Seen], int], str]:
    """An axis of cells, what reads it off an observation, and how it is said."""
    if callable(concept):
        holds = concept
        return Axis(name, 2, (f"not {name}", name)), lambda seen: int(_said(name, holds, seen)), f"{{{name}}}"
    if not isinstance(concept, tuple) or len(concept) != 2 or not callable(concept[0]):
        raise ValueError(
            f"the concept {name!r} is {concept!r}; give a condition, (function, names) or (function, edges of its bins)"
        )
    function, given = concept
    values = list(given) if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) else []
    if not values:
        raise ValueError(
            f'the concept {name!r} has {given!r} for its names or edges; write e.g. ("left", "right") or (0.0, 1.0)'
        )
    if all(isinstance(value, str) for value in values):
        names = tuple(str(value) for value in values)
        odd = next((said for said in names if not _plain(said)), None)
        if odd is not None:
            raise ValueError(f"the concept {name!r} says {odd!r}; write words with one space between them")
        twice = _twice(names)
        if twice is not None:
            raise ValueError(
                f"the concept {name!r} says {twice!r} twice; write every name once, small letters or large"
            )

        def named(seen: Seen) -> int:
            said = function(seen)
            if said not in names:
                raise ValueError(f"the concept {name!r} says {said!r}; its names are {', '.join(names)}")
            return names.index(said)

        return Axis(name, len(names), names), named, f"{name} {{{name}}}"
    try:
        edges = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        edges = np.zeros(0)  # no numbers: refused with all that are no edges
    if edges.ndim != 1 or not len(edges) or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise ValueError(
            f"the edges of {name!r} are {values!r}; they must be finite numbers, each above the one before"
        )
    words = (f"below {edges[0]:g}", *(interval_words(edges) if len(edges) > 1 else ()), f"above {edges[-1]:g}")
    bounds = edges.tolist()  # of a single number, bisect is ten times as quick as NumPy

    def bin_of(seen: Seen) -> int:
        said = float(function(seen))
        if math.isnan(said):
            raise ValueError(f"the concept {name!r} says NaN of {seen!r}; it must say a number")
        return bisect_right(bounds, said)

    return Axis(name, len(edges) + 1, words), bin_of, f"{name} {{{name}}}"


def _named_apart(names: Sequence[Any]) -> None:
    """Refuse names of concepts that could not be read out of a text again: states are asked for by their words."""
    for name in names:
        if not isinstance(name, str) or not _plain(name) or re.search("[{}]", name) or NUMBERS.fullmatch(name):
            raise ValueError(
                f"the concept {name!r} needs another name: words with one space between them, no braces and not only "
                'a number, e.g. "moving left"'
            )
    twice = _twice(names)
    if twice is not None:
        raise ValueError(f"two concepts have the name {twice!r}, small letters or large; choose two names")


def _twice(names: Sequence[str]) -> str | None:
    """The first name that was there before; small letters and large are the same, as they are when words are read."""
    lower = [name.lower() for name in names]
    return next((name for at, name in enumerate(names) if name.lower() in lower[:at]), None)


def _plain(text: str) -> bool:
    """Whether a text is words with one space between them; spaces are not told apart when words are read."""
    return bool(text) and text == " ".join(text.split())


def _heard(name: str, reader: Callable[[Seen], int], seen: Seen) -> int:
    """What a concept says; what goes wrong in it is told with its name."""
    try:
        return reader(seen)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"the concept {name!r} failed on {seen!r}: {type(error).__name__}: {error}") from error


def _said(name: str, holds: Predicate, seen: Seen) -> bool:
    """What a condition says, if it is yes or no."""
    answer = holds(seen)
    if isinstance(answer, np.ndarray) and answer.size == 1:
        answer = answer.item()
    if not isinstance(answer, (bool, np.bool_)):
        raise ValueError(f"{name!r} says {answer!r} of {seen!r}; it must say True or False")
    return bool(answer)


def check_few(labels: Labels) -> Labels:
    """Labels of cells, if there are not too many."""
    if labels.n_states > MOST_CELLS:
        raise ValueError(
            f"there would be {labels.n_states:,} cells, and at most {MOST_CELLS:,} make sense: name fewer concepts or bins, "
            "or join several conditions in one function with names"
        )
    return labels


def _sizes(space: spaces.Space[Any]) -> tuple[tuple[int, ...], NDArray[np.int64]]:
    if isinstance(space, spaces.Discrete):
        return (int(space.n),), np.array([space.start], np.int64)
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return tuple(int(n) for n in space.nvec), np.asarray(space.start, np.int64)
    if isinstance(space, spaces.MultiBinary) and isinstance(space.n, int | np.integer) and space.n <= MOST_BITS:
        return (2,) * int(space.n), np.zeros(int(space.n), np.int64)
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.integer) and len(space.shape) == 1:
        sizes = tuple(int(n) for n in space.high.astype(np.int64) - space.low.astype(np.int64) + 1)
        if math.prod(sizes) <= MOST_CELLS:
            return sizes, space.low.astype(np.int64)
    raise ValueError(
        f"observations are not countable ({space}), so say what the beliefs are over: cells= a dictionary of concepts "
        '(e.g. {"moving left": lambda seen: seen[1] < 0}), Bins(...) or Clusters(n) of whatfor.deep'
    )


def _named(space: spaces.Space[Any], env: gym.Env[Any, Any] | None) -> Labels:
    try:
        return labels_of(env if env is not None else _Shown(space))
    except ValueError:
        sizes, start = _sizes(space)
        axes = tuple(Axis(f"x{i}", n, start=int(start[i])) for i, n in enumerate(sizes))
        return Labels(axes, _actions(env, None), observed="array")


def _actions(env: gym.Env[Any, Any] | None, n_actions: int | None) -> tuple[str, ...]:
    if env is not None and isinstance(env.action_space, spaces.Discrete):
        return action_names(env)
    return tuple(f"action {a}" for a in range(n_actions or 1))


class _Shown(gym.Env[Any, Any]):
    """Stands in for an environment of which only the observations are known."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = space, spaces.Discrete(1)
