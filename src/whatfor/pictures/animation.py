"""Animations: a sequence of explanations as a GIF."""

from __future__ import annotations

import os
from collections.abc import Iterable

from whatfor.explanations import Explanation
from whatfor.files import replacing
from whatfor.layouts import Layout
from whatfor.needed import need_matplotlib
from whatfor.pictures.files import ANIMATION_SUFFIXES, check_path
from whatfor.question import layout_of

GIF_DPI = 100


def animate(
    answers: Iterable[Explanation | Layout], path: str | os.PathLike[str], *, seconds_per_frame: float = 0.6
) -> None:
    """Write a GIF with one frame for every explanation or layout, all on one scale.

    All frames must be of one kind. The file is written atomically.

    >>> from tempfile import TemporaryDirectory
    >>> from whatfor.layouts import Bars, Series
    >>> frame = Bars("the hand", "", ("won", "lost"), (Series("stick", (0.4, 0.6)),), "chance")
    >>> with TemporaryDirectory() as folder:
    ...     animate([frame, frame], f"{folder}/hand.gif")
    ...     os.listdir(folder)
    ['hand.gif']
    """
    target = check_path(path, ANIMATION_SUFFIXES)
    layouts = [layout_of(one) if isinstance(one, Explanation) else one for one in answers]
    for layout in layouts:
        if not isinstance(layout, Layout):
            raise TypeError(f"animate() takes explanations or layouts, not {layout!r}")
    if not layouts:
        raise ValueError("no frames given: an animation needs at least one explanation or layout")
    kinds = sorted({type(layout).__name__ for layout in layouts})
    if len(kinds) != 1:
        raise ValueError(f"an animation needs frames of one kind; these are {', '.join(kinds)}")
    if not seconds_per_frame > 0:
        raise ValueError(f"seconds_per_frame is {seconds_per_frame}; it must be more than 0")
    need_matplotlib()
    from whatfor.pictures.frames import frames

    first, *rest = frames(layouts, GIF_DPI)
    with replacing(target) as fresh:
        first.save(
            fresh, format="GIF", save_all=True, append_images=rest, duration=round(1000 * seconds_per_frame), loop=0
        )
