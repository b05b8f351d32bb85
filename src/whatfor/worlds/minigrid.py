"""MiniGrid: the key of a state, names, and how to enter a state.

A key has everything that decides what can happen: where the agent is, what it carries, the state of every door, where
movable things are, what never moves (walls, doors, goals, lava), and the mission. The number of steps so far is not part of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whatfor.axes import Axis, Ending, Milestone
from whatfor.labels import Labels
from whatfor.states import DiscoveredStates
from whatfor.structure import Structure
from whatfor.worlds.adapter import Adapter, Enter
from whatfor.worlds.discovering import Discovery, not_yet_discovered
from whatfor.worlds.minigrid_board import AXES, CARRYING, DOORS, LAYOUT, LOOK, NAMES, NOTHING, place_of_thing

ACTIONS = ("turn left", "turn right", "forward", "pick up", "drop", "toggle", "done")
VERBS = ("turns left", "turns right", "moves forward", "picks up", "drops", "toggles", "is done")
FACING = ("right", "down", "left", "up")
DOOR_STATES = ("open", "closed", "locked")
#: What never moves, as it is written in a layout: a letter and the first letter of its colour.
LETTERS = {"wall": "W", "floor": "F", "door": "D", "goal": "G", "lava": "L"}
#: The longest words for a layout.
MAX_LAYOUT_WORDS = 60
#: How often a world is reset in search of one with the layout and the mission of a state.
MAX_RESETS = 1_000


def key_of(env: Any) -> tuple[Any, ...]:
    """The key of the state that an environment is in: ``run.intention(key_of(env))`` asks about it."""
    core = env.unwrapped
    doors, things, layout = [], [], []
    for at, thing in enumerate(core.grid.grid):
        kind = None if thing is None else thing.type
        layout.append(".." if kind not in LETTERS else LETTERS[kind] + thing.color[0])
        if kind == "door":
            doors.append(DOOR_STATES[thing.encode()[2]])
        elif thing is not None and kind not in LETTERS:
            row, column = divmod(at, core.width)
            things.append(f"{_name(thing)} at row {row}, column {column}")
    column, row = (int(x) for x in core.agent_pos)
    rows = ("".join(layout[at : at + core.width]) for at in range(0, len(layout), core.width))
    carrying, door, thing = _name(core.carrying), ", ".join(doors) or NOTHING, "; ".join(things) or NOTHING
    return row, column, FACING[int(core.agent_dir)], carrying, door, thing, "/".join(rows), str(core.mission)


def _name(thing: Any) -> str:
    """A thing with its colour, and what is in it."""
    if thing is None:
        return NOTHING
    inside = getattr(thing, "contains", None)
    return f"{thing.color} {thing.type}" + (f" with {_name(inside)}" if inside is not None else "")


def discovery(env: Any, actions: tuple[str, ...]) -> Discovery:
    """How the states of a MiniGrid world are discovered and named."""
    core = env.unwrapped
    if core.carrying is None and core.agent_pos is None:
        core.reset(seed=0)  # to see what is in it; training resets it with its own seed
    kinds = {thing.type for thing in core.grid.grid if thing is not None}
    named = actions == ACTIONS
    before = not_yet_discovered(
        actions, endings=_endings(type(core).__name__, kinds), kind="minigrid", verbs=VERBS if named else ()
    )

    def name(states: DiscoveredStates, structure: Structure) -> Labels:
        words: list[Any] = [None] * len(AXES)
        layouts: list[Any] = list(states.values[LAYOUT])
        words[LAYOUT] = dict(zip(layouts, _layout_words(layouts), strict=True)).__getitem__
        axes = states.axes(AXES, words)
        more: dict[str, Any] = {"template": _template(axes), "milestones": tuple(_milestones(axes))}
        return Labels(axes, actions, endings=before.endings, kind=before.kind, verbs=before.verbs, observed="nested", structure=structure, states=states, **more)  # fmt: skip

    return Discovery("environment", lambda _: key_of(core), before, name)


def _endings(world: str, kinds: set[str]) -> tuple[Ending, ...]:
    """A success pays between 0 and 1, the less the later; anything else that ends an episode pays nothing, or -1 for a collision."""
    lava, goal = "lava" in kinds, "goal" in kinds
    failed = Ending("walked into lava" if lava else "failed", None, 0.0, "walk into lava" if lava else "fail", bad=True)
    collided = Ending("hit an obstacle", None, -1.0, "hit an obstacle", bad=True)
    reached = Ending("reached the goal" if goal else "succeeded", phrase="reach the goal" if goal else "succeed")
    return (failed, collided, reached) if world == "DynamicObstaclesEnv" else (failed, reached)


def _template(axes: tuple[Axis, ...]) -> str:
    """Only what varies, in a readable order."""
    before = {"carrying": "carrying ", "doors": "door " if _one_door(axes) else "doors ", "things": "around: ", "mission": "mission: "}  # fmt: skip
    if axes[LAYOUT].word(0).isdecimal():
        before["layout"] = "layout "
    parts = [f"{before.get(axis.name, '')}{{{axis.name}}}" for axis in axes[CARRYING:] if axis.size > 1]
    return "; ".join(["row {row}, column {column}, facing {facing}", *parts])


def _one_door(axes: tuple[Axis, ...]) -> bool:
    return set(axes[DOORS].values) <= {*DOOR_STATES}


def _layout_words(layouts: list[str]) -> list[str]:
    """Layouts by where their doors, goals and lava are, as far as these differ; numbers if that does not tell them apart."""
    cells = [[(text[at : at + 2], divmod(at // 2, width)) for at in range(0, len(text), 2)] for text, width in ((one.replace("/", ""), one.index("/") // 2) for one in layouts)]  # fmt: skip
    by_kind = {
        letter: [[f"row {row}, column {column}" for (cell, (row, column)) in one if cell[0] == letter] for one in cells]
        for letter in NAMES
        if letter != "W"
    }
    varying = {letter: places for letter, places in by_kind.items() if any(one != places[0] for one in places)}
    words = [
        ", ".join(f"{NAMES[letter]} at {' and '.join(places[i])}" for letter, places in varying.items())
        for i in range(len(layouts))
    ]
    short = all(0 < len(word) <= MAX_LAYOUT_WORDS for word in words)
    return words if short and len(set(words)) == len(words) else [str(at) for at in range(len(words))]


def _milestones(axes: tuple[Axis, ...]) -> list[Milestone]:
    """Picking something up, and changes of a door."""
    carried = [word for word in axes[CARRYING].values if word != NOTHING]
    found = [Milestone("carrying", word, f"pick up the {word}") for word in carried]
    if _one_door(axes) and "open" in axes[DOORS].values:
        found.append(Milestone("doors", "open", "open the door"))
    return found


def enter(_: Any, labels: Labels) -> Enter | None:
    """Enter a state by its key: in a world that was reset to the same layout and mission."""
    if labels.states is None or tuple(axis.name for axis in labels.axes) != AXES:
        return None

    def put(env: Any, state: int, generator: np.random.Generator) -> None:
        key = labels.observation(state)
        for _ in range(MAX_RESETS):
            if key_of(env)[LAYOUT:] == key[LAYOUT:] and _arrange(env.unwrapped, key):
                return
            env.reset(seed=int(generator.integers(2**31)))
        raise ValueError(
            f"{MAX_RESETS:,} resets gave no world with the layout and the things of {labels.words(state)!r}: its worlds differ from "
            "episode to episode. Wrap it in minigrid.wrappers.ReseedWrapper for a few that come back"
        )

    return put


def _arrange(core: Any, key: tuple[Any, ...]) -> bool:
    """Arrange agent, doors and things as in a key; False: there are other things in this world."""
    row, column, facing, carrying, doors, things = key[:LAYOUT]
    grid = core.grid.grid
    movable = {at: thing for at, thing in enumerate(grid) if thing is not None and thing.type not in LETTERS}
    wanted = [place_of_thing(one) for one in things.split("; ")] if things != NOTHING else []
    names = [name for name, _, _ in wanted] + ([carrying] if carrying != NOTHING else [])
    if sorted(names) != sorted(map(_name, movable.values())):
        return False
    for at in movable:
        grid[at] = None
    waiting = list(movable.values())
    for name, at_row, at_column in wanted:
        thing = _take(waiting, name)
        grid[at_row * core.width + at_column] = thing
        thing.cur_pos = (at_column, at_row)
    core.carrying = _take(waiting, carrying) if carrying != NOTHING else None
    for door, word in zip((one for one in grid if one is not None and one.type == "door"), doors.split(", "), strict=False):  # fmt: skip
        door.is_open, door.is_locked = word == DOOR_STATES[0], word == DOOR_STATES[2]
    core.agent_pos, core.agent_dir = (column, row), FACING.index(facing)
    return True


def _take(things: list[Any], name: str) -> Any:
    """Take the first thing with this name out of a list."""
    return things.pop(next(i for i, thing in enumerate(things) if _name(thing) == name))


ADAPTER = Adapter("MiniGridEnv", ACTIONS, discovery=discovery, enter=enter, kind="minigrid", look=LOOK)
