"""Taxi: names, compiled twin and board."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis, Ending, Milestone
from whatfor.labels import Labels
from whatfor.layouts.map import Map, mask_of, rows_of
from whatfor.layouts.shapes import Board, Layer
from whatfor.worlds.adapter import Adapter, Look, NoTwin, Places, cells_of
from whatfor.worlds.table import enter_by_index, enter_by_observation, table_twin
from whatfor.worlds.world import World

#: Landmarks by letter, row and column, and the cells with a wall on their east side.
LANDMARKS = (("R", 0, 0), ("G", 0, 4), ("Y", 4, 0), ("B", 4, 3))
WALLS = ((0, 1), (1, 1), (3, 0), (4, 0), (3, 2), (4, 2))
ABOARD = 4  # the index of the passenger's place after the four landmarks

LABELS = Labels(
    axes=(
        Axis("row", 5),
        Axis("column", 5),
        Axis("passenger", 5, (*(f"at {letter}" for letter, _, _ in LANDMARKS), "aboard")),
        Axis("destination", 4, tuple(letter for letter, _, _ in LANDMARKS)),
    ),
    actions=("south", "north", "east", "west", "pick up", "drop off"),
    template="taxi at row {row}, column {column}; passenger {passenger}; destination {destination}",
    endings=(Ending("delivered", phrase="deliver at {destination}"),),
    kind="taxi",
    verbs=("moves south", "moves north", "moves east", "moves west", "picks up", "drops off"),
    milestones=(Milestone("passenger", "aboard", "pick up the passenger {passenger}"),),
)

#: A fickle passenger may get off elsewhere than the state says.
FICKLE_LABELS = replace(LABELS, endings=(Ending("delivered", phrase="deliver the passenger"),))

FICKLE = (
    "this taxi's passenger may change the destination (fickle_passenger=True): the environment's table P does not contain that, "
    "and the future depends on more than the state. It has no compiled or exact twin; engine='python' trains on it"
)


def twin(core: Any, labels: Labels, limit: int | None) -> World:
    """The twin of its table; ``NoTwin`` for a fickle passenger."""
    if core.fickle_passenger:
        raise NoTwin(FICKLE)
    return table_twin(core, labels, limit)


def board(shown: Map) -> Board:
    """Two layers: before the passenger is picked up, and with the passenger aboard."""
    rows, columns = shown.labels.shape[:2]
    waiting = shown.by_state[:, :, :ABOARD].sum(axis=(2, 3))
    aboard = shown.by_state[:, :, ABOARD].sum(axis=2)
    taxi, roles = None, dict.fromkeys((letter for letter, _, _ in LANDMARKS), "")
    if shown.at is not None:
        row, column, place, goal = shown.at
        taxi = (row, column)
        roles[LANDMARKS[goal][0]] = "destination"
        if place != ABOARD:
            roles[LANDMARKS[place][0]] = "passenger"
    return Board(
        title=shown.title,
        caption=shown.caption,
        rows=rows,
        columns=columns,
        walls=WALLS,
        marks=tuple((letter, row, column, roles[letter]) for letter, row, column in LANDMARKS),
        piece="taxi",
        roles=("passenger", "destination"),
        at=taxi,
        layers=(
            Layer("before pick-up", "yellow", rows_of(waiting)),
            Layer("passenger aboard", "green", rows_of(aboard)),
        ),
        quantity=shown.quantity,
        diverging=shown.diverging,
        unknown=mask_of(_unknown(shown)),
    )


def _unknown(shown: Map) -> NDArray[np.bool_] | None:
    # A cell contains twenty states. It is known if the agent has been there for this destination, with the passenger
    # either at its present place or aboard. Visits with other passengers or destinations do not count.
    states = shown.unknown_states
    if states is None or shown.at is None:
        return None if states is None else np.asarray(states.all(axis=(2, 3)))
    *_, place, goal = shown.at
    there: NDArray[np.bool_] = states[:, :, place, goal] & states[:, :, ABOARD, goal]
    return there


def places(labels: Labels, state: int) -> Places:
    """The states of other positions: with the same passenger, and with the passenger aboard."""
    states, at = np.arange(labels.n_states).reshape(labels.shape), labels.values(state)
    return cells_of(states[:, :, at[2], at[3]]), cells_of(states[:, :, ABOARD, at[3]])


ADAPTER = Adapter(
    "TaxiEnv",
    LABELS.actions,
    labels=lambda core: FICKLE_LABELS if core.fickle_passenger else LABELS,
    twin=twin,
    enter=enter_by_index,
    enter_observation=enter_by_observation,
    kind=LABELS.kind,
    look=Look({axis.name: axis.size for axis in LABELS.axes}, board, places),
)
