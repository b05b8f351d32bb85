"""Taxi on its board."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.layouts.map import Map, mask_of, rows_of
from whatfor.layouts.shapes import Board, Layer
from whatfor.worlds.taxi import ABOARD, LANDMARKS, WALLS


def taxi_board(shown: Map) -> Board:
    """Two layers: the taxi before it has picked the passenger up, and with it aboard."""
    rows, columns = shown.labels.shape[:2]
    waiting = shown.by_state[:, :, :ABOARD].sum(axis=(2, 3))
    aboard = shown.by_state[:, :, ABOARD].sum(axis=2)
    taxi, passenger, destination = None, None, None
    if shown.at is not None:
        row, column, place, goal = shown.at
        taxi, destination = (row, column), LANDMARKS[goal][0]
        passenger = None if place == ABOARD else LANDMARKS[place][0]
    return Board(
        title=shown.title,
        caption=shown.caption,
        rows=rows,
        columns=columns,
        walls=WALLS,
        marks=LANDMARKS,
        taxi=taxi,
        passenger=passenger,
        destination=destination,
        layers=(
            Layer("before pick-up", "yellow", rows_of(waiting)),
            Layer("passenger aboard", "green", rows_of(aboard)),
        ),
        quantity=shown.quantity,
        diverging=shown.diverging,
        unknown=mask_of(_unknown(shown)),
    )


def _unknown(shown: Map) -> NDArray[np.bool_] | None:
    # A cell stands for twenty states. The agent knows it if it has been there on this very job: with the passenger
    # still waiting where it waits now, or aboard to the present destination. Other jobs tell nothing about this one.
    states = shown.unknown_states
    if states is None or shown.at is None:
        return None if states is None else np.asarray(states.all(axis=(2, 3)))
    *_, place, goal = shown.at
    there: NDArray[np.bool_] = states[:, :, place, goal] & states[:, :, ABOARD, goal]
    return there
