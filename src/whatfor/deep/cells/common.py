"""What all kinds of cells share: the partition they make, and how many cells there may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.deep.document import CellsKind
from whatfor.labels import Labels
from whatfor.worlds.gymnasium import action_names

#: More cells than this are refused: a map of them is unreadable.
MAX_CELLS = 20_000
#: The name of an ending that has no other name.
UNNAMED_ENDING = "terminated"

Predicate = Callable[[NDArray[Any]], Any]  # a condition on one observation


class Strides(NamedTuple):
    """Cells of countable observations: the sum of (number - start) * step."""

    start: NDArray[np.int64]
    step: NDArray[np.int64]


class Centres(NamedTuple):
    """Cells of continuous observations: the centre nearest to an observation divided by the spread."""

    scaled: NDArray[np.float64]  # (n, D) divided by the spread
    spread: NDArray[np.float64]  # (D,)


@dataclass(frozen=True)
class Partition:
    """The observations of one environment, divided into cells."""

    labels: Labels  # of cells (as states), actions and endings
    space: spaces.Space[Any]  # of the observations
    index: Callable[[NDArray[Any]], NDArray[np.int64]]  # (B, ...) observations -> (B,) cells
    representative: Callable[[int], Any]  # an observation that represents a cell; None: there is none
    whole: bool  # whether the cell is all that the agent observes
    kind: CellsKind
    endings: Mapping[str, Predicate] = field(default_factory=dict)  # by name, conditions on the last observation
    strides: Strides | None = None  # of countable observations
    centres: Centres | None = None  # of clusters and anchors
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # what these are built from, by name in a file

    def __post_init__(self) -> None:
        step = next((ending for ending in self.labels.endings if ending.reads_step), None)
        if step is not None:
            raise ValueError(
                f"the ending {step.name!r} has a condition on the whole last step; those of deep agents are conditions on "
                "the last observation: give a function of one argument"
            )

    @property
    def n_pairs(self) -> int:
        """The number of pairs of a cell and an action."""
        return self.labels.n_states * self.labels.n_actions

    @property
    def ending_names(self) -> tuple[str, ...]:
        """The names of all endings; the first is for an ending without a name."""
        return (UNNAMED_ENDING, *dict.fromkeys([*self.endings, *self.labels.ending_names]))

    def ending_name(self, observation: NDArray[Any], action: int, reward: float) -> str | None:
        """The name of the ending of an episode with this last step; None: it has none."""
        for name, condition in self.endings.items():
            if evaluate_condition(name, condition, observation):
                return name
        final_state = int(self.index(observation[None])[0]) if any(e.reads_final for e in self.labels.endings) else None
        return self.labels.ending(action, reward, final_state)

    def ending_index(self, observation: NDArray[Any], action: int, reward: float) -> int:
        """The index of an episode's ending in ``ending_names``."""
        return self.ending_names.index(self.ending_name(observation, action, reward) or UNNAMED_ENDING)


class CellKind(Protocol):
    """A way to divide observations into cells, once the environment is known."""

    def partition(self, space: spaces.Space[Any], env: gym.Env[Any, Any] | None, visited: NDArray[Any]) -> Partition:
        """The cells of an environment's observations; ``visited``: (n, ...) observations from experience."""


def evaluate_condition(name: str, condition: Predicate, observation: NDArray[Any]) -> bool:
    """The result of a condition; ``ValueError`` unless it is True or False."""
    result = condition(observation)
    if isinstance(result, np.ndarray) and result.size == 1:
        result = result.item()
    if not isinstance(result, (bool, np.bool_)):
        raise ValueError(f"{name!r} returns {result!r} for {observation!r}; it must return True or False")
    return bool(result)


def check_cell_count(labels: Labels) -> Labels:
    """Labels of cells; ``ValueError`` if there are too many."""
    if labels.n_states > MAX_CELLS:
        raise ValueError(
            f"there would be {labels.n_states:,} cells; the maximum is {MAX_CELLS:,}: name fewer concepts or bins, "
            "or join several conditions in one function with names"
        )
    return labels


def names_of_actions(env: gym.Env[Any, Any] | None, n_actions: int = 1) -> tuple[str, ...]:
    """The environment's names of actions; numbered ones where it is unknown."""
    if env is not None and isinstance(env.action_space, spaces.Discrete):
        return action_names(env)
    return tuple(f"action {a}" for a in range(n_actions))


class SpaceOnlyEnv(gym.Env[Any, Any]):
    """Replaces an environment of which only the observation space is known."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = space, spaces.Discrete(1)
