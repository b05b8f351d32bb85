"""Labels of grid worlds."""

from __future__ import annotations

from whatfor.axes import Axis, Ending, Mark
from whatfor.labels import Labels


def grid(
    rows: int, columns: int, actions: tuple[str, ...], endings: tuple[Ending, ...], marks: tuple[Mark, ...]
) -> Labels:
    """Labels by row and column."""
    axes, verbs = (Axis("row", int(rows)), Axis("column", int(columns))), tuple(f"moves {name}" for name in actions)
    return Labels(axes, actions, endings=endings, kind="grid", verbs=verbs, marks=marks)
