"""Concepts: predicates over states and endings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.checks import contents_of


@dataclass(frozen=True, eq=False)
class Concept:
    """A predicate: the states and endings of which it is true. ``Labels.where`` creates concepts.

    >>> one, two = Concept("left", np.array([True, False, False])), Concept("right", np.array([False, False, True]))
    >>> (one | two).name, (one | two).states.tolist(), (one & two).states.any().item()
    ('left or right', [True, False, True], False)
    """

    name: str
    states: NDArray[np.bool_]  # (S,)
    endings: tuple[str, ...] = ()  # names of endings, as in the ledger
    both: tuple[Concept, ...] = ()  # the concepts that it is the conjunction of

    def __or__(self, other: Concept) -> Concept:
        """True where either is."""
        endings = tuple(dict.fromkeys(self.endings + other.endings))
        return Concept(f"{self.name} or {other.name}", self.states | other.states, endings)

    def __and__(self, other: Concept) -> Concept:
        """True where both are."""
        endings = tuple(name for name in self.endings if name in other.endings)
        return Concept(f"{self.name} and {other.name}", self.states & other.states, endings, (self, other))

    def holds_at_end(
        self, final_states: NDArray[np.int64], endings: Sequence[str], which: NDArray[np.integer]
    ) -> NDArray[np.bool_]:
        """(n,) Whether it is true at the ends of episodes: of their final states (-1: unknown), or of ``endings[which]``.

        >>> concept = Concept("left", np.array([True, False]), ("won",))
        >>> concept.holds_at_end(np.array([0, 1, 1, -1]), ("won", "lost"), np.array([1, 1, 0, 1])).tolist()
        [True, False, True, False]
        """
        if self.both:
            one, other = (concept.holds_at_end(final_states, endings, which) for concept in self.both)
            return one & other
        there: NDArray[np.bool_] = (final_states >= 0) & self.states[final_states]
        named: NDArray[np.bool_] = np.array([name in self.endings for name in endings])[which]
        return there | named

    def same_as(self, other: Concept) -> bool:
        """Whether both have the same name, states and endings."""
        alike = self.name == other.name and set(self.endings) == set(other.endings)
        return alike and np.array_equal(self.states, other.states)


def states_where(condition: Callable[[Any], Any], observations: Iterable[Any]) -> NDArray[np.bool_]:
    """(S,) Whether a condition holds, for the observation of each state.

    >>> states_where(lambda observation: observation > 1, range(3)).tolist()
    [False, False, True]
    """
    answers = []
    for observation in observations:
        answer = condition(observation)
        if not isinstance(answer, (bool, np.bool_)):
            raise ValueError(f"the condition returns {answer!r} for {observation!r}; it must return True or False")
        answers.append(bool(answer))
    return np.array(answers, np.bool_)


def states_in(what: Any, n_states: int) -> NDArray[np.bool_]:
    """(S,) States given as an array of True and False, or as a list, set or array of indices.

    >>> states_in({0, 2}, 3).tolist()
    [True, False, True]
    """
    # A tuple is rejected: it may be meant as an observation.
    if not isinstance(what, (list, set, frozenset, range, np.ndarray)):
        index = int(what) if isinstance(what, int | np.integer) else "run.labels.index(observation)"
        raise ValueError(
            f"{what!r} is not an event: describe it in words, or pass a function of an observation, "
            f"an array of True and False for each state, or a list of state indices, e.g. [{index}]"
        )
    given = np.asarray(what if isinstance(what, np.ndarray) else list(what))
    if given.dtype == np.bool_:
        if given.shape != (n_states,):
            raise ValueError(
                f"an array of True and False needs one value for each of {n_states} states; its shape is {given.shape}"
            )
        return given.copy()
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"state indices must be whole numbers, not {contents_of(given)}")
    outside = given[(given < 0) | (given >= n_states)]
    if outside.size:
        raise ValueError(f"state {outside.flat[0]} is out of range: there are states 0 to {n_states - 1}")
    states = np.zeros(n_states, np.bool_)
    states[given.ravel().astype(np.int64)] = True
    return states
