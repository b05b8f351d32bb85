"""Taxi's board and words."""

from __future__ import annotations

from whatfor.labels import Axis, Ending, Labels, Milestone

#: Landmarks by letter, row and column, and the cells with a wall on their east side.
LANDMARKS = (("R", 0, 0), ("G", 0, 4), ("Y", 4, 0), ("B", 4, 3))
WALLS = ((0, 1), (1, 1), (3, 0), (4, 0), (3, 2), (4, 2))
ABOARD = 4  # the passenger's place after the four landmarks

LABELS = Labels(
    axes=(
        Axis("row", 5),
        Axis("column", 5),
        Axis("passenger", 5, (*(f"at {letter}" for letter, _, _ in LANDMARKS), "aboard")),
        Axis("destination", 4, tuple(letter for letter, _, _ in LANDMARKS)),
    ),
    actions=("south", "north", "east", "west", "pick up", "drop off"),
    template="taxi at row {row}, column {column}; passenger {passenger}; destination {destination}",
    endings=(Ending("delivered", said="deliver at {destination}"),),
    kind="taxi",
    verbs=("moves south", "moves north", "moves east", "moves west", "picks up", "drops off"),
    milestones=(Milestone("passenger", "aboard", "pick up the passenger {passenger}"),),
)
