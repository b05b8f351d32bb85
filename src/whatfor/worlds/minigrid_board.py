"""MiniGrid: its board, with one panel for what is carried and how the doors are."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.labels import Labels
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import WALL, Grid, Layout, Panels
from whatfor.worlds.adapter import Look, Places, cells_of

AXES = ("row", "column", "facing", "carrying", "doors", "things", "layout", "mission")
ROW, COLUMN, FACING, CARRYING, DOORS, THINGS, LAYOUT, MISSION = range(len(AXES))
NOTHING = "nothing"
#: The letters of what never moves, as in a layout.
NAMES = {"W": "wall", "D": "door", "G": "goal", "L": "lava"}
#: Cells in which no action is ever taken: missing experience is expected there.
NEVER_ACTED_IN = "WGL"
#: The most panels.
MAX_SCENES = 4


def place_of_thing(text: str) -> tuple[str, int, int]:
    """Name, row and column of a thing, as a key has them."""
    found = re.fullmatch(r"(\S.*) at row (\d{1,4}), column (\d{1,4})", text)
    if found is None:
        raise ValueError(f"{text!r} is not a thing of a MiniGrid world and its place")
    return found[1], int(found[2]), int(found[3])


@dataclass(frozen=True)
class Scene:
    """The states with one layout and mission in which the same is carried and the doors are the same."""

    title: str
    carrying: int
    states: NDArray[np.int64]


class Scenes:
    """The board on which a state is, and its scenes."""

    def __init__(self, labels: Labels, state: int | None) -> None:
        assert labels.states is not None
        self.labels, self.at = labels, labels.states.positions[0 if state is None else state]
        self.positions = labels.states.positions
        here = np.flatnonzero((self.positions[:, [LAYOUT, MISSION]] == self.at[[LAYOUT, MISSION]]).all(axis=1))
        kinds, first = np.unique(self.positions[here][:, [CARRYING, DOORS]], axis=0, return_index=True)
        own = (kinds == self.at[[CARRYING, DOORS]]).all(axis=1)
        order = sorted(np.lexsort((first, ~own))[:MAX_SCENES].tolist(), key=lambda i: int(first[i]))
        of_kind = [here[(self.positions[here][:, [CARRYING, DOORS]] == kinds[i]).all(axis=1)] for i in order]
        self.scenes = [
            Scene(self._title(kinds[i]), int(kinds[i][0]), states) for i, states in zip(order, of_kind, strict=True)
        ]
        self.own = order.index(int(np.flatnonzero(own)[0]))
        self.rows = str(labels.states.values[LAYOUT][self.at[LAYOUT]]).split("/")
        self.shape = len(self.rows), len(self.rows[0]) // 2
        rows, columns = self.cells(here)
        fits = all(len(row) == 2 * self.shape[1] for row in self.rows) and min(rows.min(), columns.min()) >= 0
        if not fits or rows.max() >= self.shape[0] or columns.max() >= self.shape[1]:
            raise ValueError("the layout of this state is not that of a MiniGrid world")

    def _title(self, kind: NDArray[np.int32]) -> str:
        """What is carried and how the doors are, if it varies; short, since many are drawn side by side."""
        words = [self.labels.axes[place].word(int(at)) for place, at in zip((CARRYING, DOORS), kind, strict=True)]
        doors = words[1] if self.labels.axes[DOORS].size > 1 else ""
        doors = f"door {doors}" if doors and "," not in doors else doors
        carried = f"the {words[0].split(' with ')[0]}" if words[0] != NOTHING else NOTHING if not doors else ""
        carried = f"carrying {carried}" if carried else ""
        return "\n".join(part for part in (carried, doors) if part)

    def cells(self, states: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row and column of states; the numbers of an axis may start above 0."""
        starts = [self.labels.axes[place].start for place in (ROW, COLUMN)]
        return self.positions[states, ROW] + starts[0], self.positions[states, COLUMN] + starts[1]

    def marks(self, scene: Scene) -> tuple[tuple[str, int, int, str], ...]:
        """Walls, doors, goals, lava, and the things in the state asked about, where the same is carried."""
        found = [
            (WALL if letter == "W" else letter, row, column, NAMES[letter])
            for row, text in enumerate(self.rows)
            for column in range(self.shape[1])
            if (letter := text[2 * column]) in NAMES
        ]
        assert self.labels.states is not None
        things = str(self.labels.states.values[THINGS][self.at[THINGS]])
        moved = things == NOTHING or scene.carrying != self.at[CARRYING]
        for thing in [] if moved else things.split("; "):
            name, row, column = place_of_thing(thing)
            found.append((name.split()[-1][0].upper(), row, column, name))
        return tuple(found)

    def grid(self, shown: Map, scene: int, numbers: NDArray[np.float64], title: str, caption: str = "") -> Grid:
        """The board of one scene; ``numbers`` (S,), summed over the directions that the agent faces."""
        states, summed = self.scenes[scene].states, np.zeros(self.shape)
        np.add.at(summed, self.cells(states), numbers[states])
        unknown = np.array(
            [[text[2 * column] not in NEVER_ACTED_IN for column in range(self.shape[1])] for text in self.rows]
        )
        known = states if shown.unknown is None else states[~shown.unknown[states].all(axis=1)]
        unknown[self.cells(known)] = False
        words = tuple(tuple(str(i) for i in range(length)) for length in self.shape)
        at = self.at[[ROW, COLUMN]] + [self.labels.axes[place].start for place in (ROW, COLUMN)]
        marked = (int(at[0]), int(at[1])) if shown.state is not None and scene == self.own else None
        return shown.grid(summed, ("row", words[0]), ("column", words[1]), title=title, caption=caption, unknown=unknown, marked=marked, marks=self.marks(self.scenes[scene]))  # fmt: skip


def board(shown: Map) -> Layout:
    """One grid for every scene, summed over actions and over the directions that the agent faces."""
    plan, numbers = Scenes(shown.labels, shown.state), shown.numbers.sum(axis=1)
    if len(plan.scenes) == 1:
        return plan.grid(shown, 0, numbers, shown.title, shown.caption)
    grids = tuple(plan.grid(shown, i, numbers, scene.title) for i, scene in enumerate(plan.scenes))
    return Panels(shown.title, shown.caption, grids, columns=min(3, math.ceil(math.sqrt(len(grids)))))


def board_here(shown: Map) -> Layout:
    """A grid for every action, in the scene of the state asked about."""
    plan = Scenes(shown.labels, shown.state)
    grids = tuple(
        plan.grid(shown, plan.own, shown.numbers[:, action], name) for action, name in enumerate(shown.labels.actions)
    )
    return Panels(shown.title, shown.caption, grids, len(grids), column_heads=shown.labels.actions)


def places(labels: Labels, state: int) -> Places:
    """The state behind every cell of each grid: the one that has most in common with the state asked about."""
    plan = Scenes(labels, state)
    found: list[Any] = []
    for scene in plan.scenes:
        cells = np.full(plan.shape, -1)
        alike = (plan.positions[scene.states][:, [FACING, THINGS]] == plan.at[[FACING, THINGS]]).sum(axis=1)
        order = scene.states[np.argsort(alike, kind="stable")]  # the last one written stays
        cells[plan.cells(order)] = order
        found.append(cells_of(cells))
    return found[0] if len(found) == 1 else tuple(found)


LOOK = Look(dict.fromkeys(AXES), board, places, here=board_here)
