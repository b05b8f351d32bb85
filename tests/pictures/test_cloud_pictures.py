"""Clouds and fans as pictures."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

import whatfor as wf
from whatfor.density import Density
from whatfor.layouts import Cloud, Lines, Panels, Series, clouds
from whatfor.pictures.cloud import NOTHING
from whatfor.pictures.sizes import LINE, header_height
from whatfor.points import Points

rng = np.random.default_rng(0)
POINTS = Points(("$x$", "y"), rng.normal(size=(100, 2)), spread=np.ones(2), width=0.3)
DENSITY = Density.of(POINTS, rng.random(100))


def cloud(**more: object) -> Cloud:
    (drawn,) = clouds({"a cloud": DENSITY}).panels
    assert isinstance(drawn, Cloud)
    return Cloud(**{**vars(drawn), "marked": 3, **more})


def test_a_cloud_has_every_point_two_contours_a_ring_and_a_colour_bar() -> None:
    figure = wf.draw(cloud())
    ax, bar = figure.axes
    dots = [len(one.get_offsets()) for one in ax.collections[:2]]
    assert sum(dots) == 100
    assert (ax.get_title(), bar.get_ylabel()) == ("a cloud", "probability")
    assert "ring: now · lines enclose 50 % and 90 %" in ax.get_xlabel()
    assert "$x$" in ax.get_xlabel()
    assert len(ax.collections) == 5  # dots of nothing, dots, two contours, the ring


def test_a_signed_cloud_has_zero_in_the_middle_of_its_colours() -> None:
    numbers = tuple(rng.normal(size=100).tolist())
    figure = wf.draw(cloud(numbers=numbers, full=2.0, diverging=True, contours=None))
    assert figure.axes[1].get_ylim() == (-2.0, 2.0)


@pytest.mark.parametrize("contours", [None, cloud().contours])
def test_a_cloud_of_nothing_is_drawn(contours: object) -> None:
    figure = wf.draw(cloud(numbers=(0.0,) * 100, full=0.0, contours=contours))
    figure.canvas.draw()
    (dots,) = [one for one in figure.axes[0].collections if len(one.get_offsets()) == 100]  # all are there
    assert to_hex(dots.get_facecolor()[0]) == to_hex(NOTHING)


def test_clouds_side_by_side_share_a_colour_bar() -> None:
    figure = wf.draw(clouds({"left": DENSITY, "right": DENSITY}, title="each action"))
    assert sum(ax.get_ylabel() == "probability" for ax in figure.axes) == 1


def test_the_key_has_room_above_clouds_without_a_title() -> None:
    untitled = clouds({"left": DENSITY, "right": DENSITY})
    assert header_height(untitled, 0) >= LINE
    assert header_height(untitled, 1) < LINE  # the key is that of the whole picture


def test_a_fan_does_not_begin_at_zero_and_names_its_bands() -> None:
    band = Series("90 %", (5.0, 6.0), (4.0, 5.0), (6.0, 7.0))
    fan = Lines("when", "", (0.0, 1.0), (Series("50 %", (5.0, 6.0), (4.5, 5.5), (5.5, 6.5)), band), "steps ahead", "x", nested=True)  # fmt: skip
    (ax,) = wf.draw(fan).axes
    assert ax.get_ylim()[0] > 3.0
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["median", "50 %", "90 %"]
    wf.draw(Panels("when", "", (fan, fan), 2, shared=False)).canvas.draw()
