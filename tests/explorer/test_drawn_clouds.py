"""Clouds and fans on the page: dots, contours and bands are where the layout's numbers say."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_agents import train_agent

from whatfor.deep import Anchors
from whatfor.layouts import Cloud, Panels
from whatfor.question import layout_of
from whatfor.runs import Run

UPRIGHT = np.array([0.0, 0.0, 0.01, 0.0], np.float32)
#: Of every dot: its place and its colour; and the paths of contours, and the ring.
DOTS = """(svg) => [...svg.querySelectorAll('circle > title')].map(({ parentNode: dot }) => ({
    x: Number(dot.getAttribute('cx')), y: Number(dot.getAttribute('cy')), radius: Number(dot.getAttribute('r')),
}))"""
CONTOURS = """(svg) => [...svg.querySelectorAll('path')].map((path) => path.getAttribute('d'))"""
BANDS = """(svg) => [...svg.querySelectorAll('polygon')].map((one) => one.getAttribute('points'))"""


@cache
def run() -> Run:
    """CartPole over anchors."""
    return train_agent("CartPole-v1", Anchors(40), steps=800)[1].run


@pytest.fixture(scope="module")
def carts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("anchors") / "carts.html"
    run().report(path, episodes=1, states=[UPRIGHT])
    return path


@pytest.fixture
def page(carts: Path, opened: Any) -> Any:
    return opened(carts.as_uri())


def straight(pixels: list[float], numbers: tuple[float, ...]) -> float:
    """How many pixels a number takes, if all are drawn on one scale."""
    slope, start = np.polyfit(numbers, pixels, 1)
    np.testing.assert_allclose(np.asarray(numbers) * slope + start, pixels, atol=0.5)
    return float(slope)


def test_the_dots_and_contours_of_a_cloud_are_at_their_places(page: Any) -> None:
    cloud = layout_of(run().intention(UPRIGHT))
    assert isinstance(cloud, Cloud)
    assert cloud.contours is not None
    svg = page.locator("#answer-intention figure svg").first
    dots = svg.evaluate(DOTS)
    order = np.argsort(np.abs(cloud.numbers), kind="stable")  # the largest on top
    assert len(dots) == len(order) == 40
    across = straight([dot["x"] for dot in dots], tuple(cloud.x[at] for at in order))
    up = straight([dot["y"] for dot in dots], tuple(cloud.y[at] for at in order))
    assert across > 0.0 > up
    assert [dot["radius"] for dot in dots] == sorted(dot["radius"] for dot in dots)
    contours = [path for path in svg.evaluate(CONTOURS) if path.count("M") > 1]
    assert len(contours) == len(cloud.contours.levels)
    assert svg.locator("circle:not(:has(title))").count() == 1  # the ring


def test_fans_have_a_band_for_each_interval(page: Any) -> None:
    fans = layout_of(run().timeline(UPRIGHT))
    assert isinstance(fans, Panels)
    bands = page.locator("#answer-timeline figure svg").first.evaluate(BANDS)
    steps = len(fans.panels[0].x)  # type: ignore[union-attr]
    assert [len(points.split(" ")) for points in bands] == [2 * steps] * (2 * len(fans.panels))
