"""Draw a cloud: a dot for every point, and contours."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from whatfor.layouts import Cloud
from whatfor.pictures.cells import titled
from whatfor.pictures.plain import PLAIN
from whatfor.pictures.scale import MAPS, Scale, mappable
from whatfor.pictures.walk import Position, legend_of

#: The area of the dot of the largest number, in square points, by depth; a dot of nothing has this share of it.
AREA, EMPTY = (60.0, 40.0, 25.0), 0.05
NOTHING, CONTOUR, NOW = "#d9d9d9", "#333333", "#c4161c"
#: Contours from the narrowest to the widest.
STYLES = ("solid", "dashed", "dotted")


def draw_cloud(cloud: Cloud, ax: Axes, scale: Scale, place: Position) -> None:
    """Draw a cloud on an axes: dots by size and colour, the largest on top."""
    x, y, numbers = (np.array(row) for row in (cloud.x, cloud.y, cloud.numbers))
    seen = np.array([not scale.is_faint(number) for number in cloud.numbers], np.bool_)
    area = AREA[place.depth]
    ax.scatter(x[~seen], y[~seen], s=EMPTY * area, color=NOTHING, linewidths=0)
    order = np.argsort(np.abs(numbers[seen]), kind="stable")
    sizes = area * np.clip(np.abs(numbers[seen]) / scale.size, EMPTY, 1.0)
    ax.scatter(
        x[seen][order], y[seen][order], s=sizes[order], c=numbers[seen][order],
        cmap=MAPS["signed" if cloud.diverging else "blue"], norm=scale.norm, edgecolors="#888888", linewidths=0.2,
    )  # fmt: skip
    if cloud.contours is not None:
        levels = dict(zip(cloud.contours.levels, STYLES, strict=False))
        for level, style in levels.items():
            ax.contour(
                cloud.contours.x, cloud.contours.y, cloud.contours.cells,
                levels=[level], colors=CONTOUR, linewidths=0.9, linestyles=style,
            )  # fmt: skip
    if cloud.marked is not None:
        ax.scatter(x[cloud.marked], y[cloud.marked], s=2.5 * area, facecolors="none", edgecolors=NOW, linewidths=1.6)
    size = (9, 8, 7)[place.depth]
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5))
    ax.tick_params(labelsize=size - 1)
    ax.set_ylabel(cloud.y_axis, fontsize=size, **PLAIN)
    key = legend_of(cloud) if place.depth == 0 else ""
    ax.set_xlabel("\n".join(line for line in (cloud.x_axis, key) if line), fontsize=size, **PLAIN)
    ax.spines[["top", "right"]].set_visible(False)
    titled(ax, cloud.title, cloud.caption, place.depth)
    if place.alone and place.depth == 0:
        bar = ax.figure.colorbar(
            mappable(cloud, scale, "blue"), ax=ax, pad=0.02, aspect=28, extend="both" if cloud.diverging else "max"
        )
        bar.set_label(cloud.quantity, fontsize=8, **PLAIN)
        bar.ax.tick_params(labelsize=7)
