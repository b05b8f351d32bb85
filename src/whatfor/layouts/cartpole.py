"""CartPole: pole angle and swing, for every cart position and speed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from whatfor.labels import Axis, Labels
from whatfor.layouts.facets import all_facets
from whatfor.layouts.map import Map, named
from whatfor.layouts.shapes import Panels

NAMES = {"cart": "cart position", "speed": "cart speed", "pole": "pole angle", "swing": "pole swing"}
#: Laid out by two quantities, more grids can be read than one after the other.
MOST_FACETS = 36


def cartpole_panels(shown: Map) -> Panels:
    """A grid for every cart position (down) and speed (across); of many bins, a grid an action, carts summed up."""
    axes = cartpole_axes(shown.labels)
    if math.prod(shown.labels.shape[:2]) <= MOST_FACETS:
        return all_facets(shown, axes)
    unknown, marked = shown.unknown_states, None if shown.at is None else (shown.at[2], shown.at[3])
    grids = [
        shown.grid(
            shown.by_pair[..., action].sum(axis=(0, 1)),
            named(axes[2]),
            named(axes[3]),
            title=name,
            unknown=None if unknown is None else np.asarray(unknown.all(axis=(0, 1))),
            marked=marked,
        )
        for action, name in enumerate(shown.labels.actions)
    ]
    return Panels(shown.title, shown.caption, tuple(grids), len(grids), column_heads=shown.labels.actions)


def cartpole_axes(labels: Labels) -> tuple[Axis, ...]:
    """The axes under names that say what is measured."""
    return tuple(replace(axis, name=NAMES.get(axis.name, axis.name)) for axis in labels.axes)
