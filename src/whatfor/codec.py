"""The way from an observation, a key or the values of a state to its index, and back."""

from __future__ import annotations

import math
import numbers as numbers_abc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.states import not_met
from whatfor.structure import Structure, instead_of
from whatfor.text import count, either, one_line

if TYPE_CHECKING:
    from whatfor.labels import Labels
    from whatfor.states import DiscoveredStates

#: The kind of labels whose states are keys that MiniGrid's environments have, and their observations do not.
MINIGRID = "minigrid"
#: The longest an observation may be in an error message.
MAX_SHOWN = 200


def observation_of(labels: Labels, index: int) -> Any:
    """The observation of a state, or the key of a discovered one; for bins, their midpoints; for points, their positions."""
    if labels.points is not None:
        return labels.points.positions[labels.check_state(index)]
    if labels.structure is not None:
        if labels.states is not None:
            return labels.structure.build(labels.states.row(labels.check_state(index)))
        at = labels.values(index)
        return labels.structure.build([i + axis.start for axis, i in zip(labels.axes, at, strict=True)])
    at = labels.values(index)
    if labels.observed == "bins":
        return np.array([(axis.edges[i] + axis.edges[i + 1]) / 2 for axis, i in zip(labels.axes, at, strict=True)])
    if labels.observed == "index":
        return int(index) + (labels.axes[0].start if len(labels.axes) == 1 else 0)
    values = tuple(i + axis.start for axis, i in zip(labels.axes, at, strict=True))
    return np.array(values) if labels.observed == "array" else values


def index_of(labels: Labels, observation: Any) -> int:
    """The index of a state that is not given in words."""
    if labels.states is not None and labels.structure is not None:
        return _discovered_index(labels, labels.states, labels.structure, observation)
    if labels.structure is not None and not np.isscalar(observation):
        return _nested_index(labels, labels.structure, observation)
    if np.ndim(observation) == 0:
        if isinstance(observation, (bool, np.bool_)):
            raise ValueError(f"{observation!r} is not a state. {labels.example()}")
        _whole(labels, [observation])
        start = labels.axes[0].start if labels.observed == "index" and len(labels.axes) == 1 else 0
        if start and not start <= observation < start + labels.n_states:
            raise ValueError(
                f"state {observation} is out of range: observations are {start} to {start + labels.n_states - 1}"
            )
        return labels.check_state(int(observation) - start)
    numbers = list(np.asarray(observation).ravel())
    if len(numbers) != len(labels.axes):
        raise ValueError(
            f"{observation!r} has {count(len(numbers), 'number')}; a state has {len(labels.axes)}. {labels.example()}"
        )
    if labels.observed == "bins":
        if not all(isinstance(number, numbers_abc.Real) and not math.isnan(number) for number in numbers):
            raise ValueError(f"{observation!r} contains something that is not a number. {labels.example()}")
        return int(labels.indices(np.array([numbers]))[0])
    return _index_of_numbers(labels, numbers)


def _index_of_numbers(labels: Labels, numbers: Sequence[Any]) -> int:
    """The index of a state given as one number for each axis."""
    _whole(labels, numbers)
    at = [int(x) - axis.start for axis, x in zip(labels.axes, numbers, strict=True)]
    for axis, i in zip(labels.axes, at, strict=True):
        if not 0 <= i < axis.size:
            raise ValueError(
                f"{axis.name} {i + axis.start} is out of range: {axis.start} to {axis.start + axis.size - 1}"
            )
    return int(np.ravel_multi_index(at, labels.shape))


def _nested_index(labels: Labels, structure: Structure, observation: Any) -> int:
    """The index of a nested observation, or of one number for each axis."""
    try:
        numbers = list(structure.values(observation))
    except ValueError as error:
        numbers = [] if isinstance(observation, Mapping) else list(np.ravel(np.asarray(observation, dtype=object)))
        if len(numbers) != len(labels.axes):
            shown = one_line(repr(observation), MAX_SHOWN)
            raise ValueError(f"{shown} is not an observation: {error}. {labels.example()}") from None
    return _index_of_numbers(labels, numbers)


def _discovered_index(labels: Labels, states: DiscoveredStates, structure: Structure, given: Any) -> int:
    """The index of a discovered state, given as its key, as an observation, or as an index."""
    whole = isinstance(given, numbers_abc.Integral) and not isinstance(given, bool)
    if whole and not (structure.kind == "value" and isinstance(states.values[0][0], int | float)):
        return labels.check_state(given)
    state = _find(states, structure, given)
    if state is None and states.state_of is not None:
        try:
            key = states.state_of(given)
        except Exception:  # it is no observation: then it was meant as a key
            key = None
        state = _find(states, structure, key)
    if state is None:
        shown = one_line(repr(given), MAX_SHOWN)
        try:
            hash(given)
        except TypeError:
            if labels.kind == MINIGRID and len(labels.axes) > 1 and labels.axes[-1].name == "mission":
                raise ValueError(
                    f"{shown} is an observation, which does not show the whole state of a MiniGrid world: for the state that an environment "
                    f"is in, pass whatfor.worlds.minigrid.key_of(env). {labels.example()}"
                ) from None
            if states.state_of is None:
                raise ValueError(
                    f"{shown} is an observation, and the function state_of= is not saved with a run: pass the key of the state, "
                    f"or load the run with whatfor.load(path, state_of=...). For a key, {instead_of(given)}"
                ) from None
        raise ValueError(not_met(len(states), shown, labels.example()))
    return state


def _find(states: DiscoveredStates, structure: Structure, key: Any) -> int | None:
    try:
        return states.find(list(structure.values(key)))
    except ValueError:
        return None


def indices_of(labels: Labels, observations: NDArray[Any]) -> NDArray[np.int64]:
    """(B,) The indices of continuous observations (B, ...), from the edges of the axes."""
    flat = np.asarray(observations).reshape(len(observations), -1)
    if flat.shape[1] != len(labels.axes):
        raise ValueError(
            f"an observation has {count(flat.shape[1], 'number')}; a state has {len(labels.axes)}. {labels.example()}"
        )
    bins = [edges.searchsorted(flat[:, i], side="right") for i, edges in enumerate(labels.inner_edges)]
    return np.asarray(np.ravel_multi_index(tuple(bins), labels.shape), np.int64)


def _whole(labels: Labels, numbers: Sequence[Any]) -> None:
    """Reject numbers that are not whole; floats with a whole value pass, since text is parsed to floats."""
    for number in numbers:
        if not isinstance(number, (numbers_abc.Real, np.bool_, np.ndarray)):
            raise ValueError(f"{number!r} is not a state. {labels.example()}")
        if isinstance(number, (float, np.floating, np.ndarray)) and not float(number).is_integer():
            raise ValueError(f"{number} is not a whole number. {labels.example()}")


def example(labels: Labels) -> str:
    """A hint how to write a state."""
    some = labels.n_states * 2 // 3
    observation = labels.observation(some)
    if isinstance(observation, np.ndarray):
        continuous = labels.observed == "bins" or labels.points is not None
        observation = [float(f"{x:.6g}") if continuous else int(x) for x in observation.ravel()]
    written = [repr(labels.words(some)), one_line(str(_without_arrays(observation)))]
    if labels.structure is not None and labels.states is None:  # the command line does not read nested observations
        numbers = [i + axis.start for axis, i in zip(labels.axes, labels.values(some), strict=True)]
        written[1] = either(written[1], str(tuple(numbers)))
    ways = dict.fromkeys(one for one in written if len(one) <= MAX_SHOWN) or {str(some): None}
    return f"Write it like this: {' or '.join(ways)}"


def _without_arrays(observation: Any) -> Any:
    """A nested observation with lists in place of arrays, which cannot be typed as they are printed."""
    if isinstance(observation, Mapping):
        return {key: _without_arrays(one) for key, one in observation.items()}
    if isinstance(observation, tuple):
        return tuple(_without_arrays(one) for one in observation)
    return observation.tolist() if isinstance(observation, np.ndarray) else observation
