"""Clouds and fans: layouts of states that are points."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import whatfor as wf
from whatfor.density import Density
from whatfor.layouts import Bars, Cloud, Contours, Lines, Panels, clouds
from whatfor.layouts.clouds import cloud_of, fans
from whatfor.layouts.map import Map
from whatfor.maps import map_of, picture_of, places_of
from whatfor.points import Points

rng = np.random.default_rng(0)
POINTS = Points(("x", "y", "z"), rng.normal(size=(200, 3)), spread=np.ones(3), width=0.3)
LABELS = replace(wf.Labels.plain(200, 2), points=POINTS)
VISITS = rng.random((200, 2))


def shown(**more: object) -> Map:
    return Map(LABELS, VISITS, title="a map", state=7, **more)  # type: ignore[arg-type]


def test_a_map_over_points_is_a_cloud_over_the_first_two_axes() -> None:
    cloud = map_of(shown())
    assert isinstance(cloud, Cloud)
    assert (cloud.x_axis, cloud.y_axis, cloud.marked) == ("x", "y", 7)
    assert cloud.numbers == pytest.approx(VISITS.sum(axis=1), rel=1e-3)
    assert cloud.full == pytest.approx(np.quantile(VISITS.sum(axis=1), 0.99), rel=1e-3)
    assert json.loads(json.dumps(cloud.to_json()))["contours"]["shares"] == [0.5, 0.9]


def test_contours_enclose_their_share_of_the_probability() -> None:
    contours = cloud_of(shown(), POINTS).contours
    assert contours is not None
    cells = np.array(contours.cells)
    assert cells.sum() == pytest.approx(1.0, abs=5e-3)  # three widths beyond the outermost points
    for level, share in zip(contours.levels, contours.shares, strict=True):
        assert cells[cells >= level].sum() == pytest.approx(share, abs=0.01)
    # the cells are where the density is: the mean of their middles is that of the points
    middle = cells.sum(axis=0) @ np.array(contours.x), cells.sum(axis=1) @ np.array(contours.y)
    expected = VISITS.sum(axis=1) / VISITS.sum() @ POINTS.positions[:, :2]
    assert middle == pytest.approx(expected, abs=0.02)


def test_signed_and_empty_maps_have_no_contours() -> None:
    assert cloud_of(shown(diverging=True), POINTS).contours is None
    empty = cloud_of(Map(LABELS, np.zeros((200, 2))), POINTS)
    assert (empty.contours, empty.full) == (None, 0.0)
    unknown = cloud_of(shown(unknown=np.ones((200, 2), np.bool_)), POINTS)
    assert set(unknown.numbers) == {0.0}


def test_each_action_has_a_cloud_of_its_own() -> None:
    panels = map_of(shown(), facets="here")
    assert isinstance(panels, Panels)
    assert [panel.title for panel in panels.panels] == ["action 0", "action 1"]
    for action, panel in enumerate(panels.panels):
        assert isinstance(panel, Cloud)
        assert panel.numbers == pytest.approx(VISITS[:, action], rel=1e-3)
    rare = np.column_stack([np.ones(200), np.full(200, 1e-3)])
    alone = map_of(Map(LABELS, rare), facets="here")
    assert [panel.contours is None for panel in alone.panels] == [False, True]  # type: ignore[union-attr]


def test_densities_are_side_by_side_over_chosen_axes() -> None:
    one, other = (Density.of(POINTS, VISITS[:, action]) for action in range(2))
    panels = clouds({"left": one, "right": other}, axes=("z", "x"), title="both")
    assert [(cloud.title, cloud.x_axis, cloud.y_axis) for cloud in panels.panels] == [
        ("left", "z", "x"),
        ("right", "z", "x"),
    ]  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="there is no axis 'w'"):
        clouds({"left": one}, axes=("w", "x"))


def test_points_on_one_axis_are_no_cloud() -> None:
    labels = replace(LABELS, points=POINTS.over(["x"]))
    assert isinstance(map_of(Map(labels, VISITS)), Bars)


def test_fans_are_the_quantiles_of_each_axis() -> None:
    steps = [Density.of(POINTS, VISITS[:, 0]), Density.of(POINTS, VISITS[:, 1])]
    drawn = fans("when", "here", steps)
    assert isinstance(drawn, Panels)
    fan = drawn.panels[2]
    assert isinstance(fan, Lines)
    assert (fan.nested, fan.y_axis, fan.x) == (True, "z", (0.0, 1.0))
    inner, outer = fan.series
    assert (inner.name, outer.name) == ("50 %", "90 %")
    ends = [steps[1].quantiles("z", [0.05, 0.25, 0.5, 0.75, 0.95])]
    found = [row[1] for row in (outer.low, inner.low, inner.numbers, inner.high, outer.high) if row]
    assert found == pytest.approx(ends[0], rel=1e-3)
    alone = fans("when", "here", [step.marginal("x") for step in steps])
    assert (type(alone), alone.title) == (Lines, "when")


def test_the_state_of_the_page_is_its_place_among_the_points() -> None:
    layout, places = picture_of(LABELS, 7)
    assert isinstance(layout, Cloud)
    assert (layout.marked, places, places_of(LABELS, 7)) == (7, None, None)


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="numbers has length 1; there are 2 values of x"):
        Cloud("", "", (0.0, 1.0), (0.0, 1.0), "x", "y", (1.0,), 1.0)
    with pytest.raises(ValueError, match="row 0 of cells has length 1"):
        Contours((0.0, 1.0), (0.0,), ((1.0,),), (0.5,), (0.5,))


def test_axes_are_for_states_that_are_points() -> None:
    run = wf.train("FrozenLake-v1", episodes=5, seed=0)
    with pytest.raises(ValueError, match=r"axes= is for states that are points .*: leave it out"):
        wf.draw(run.intention(0), axes=("x", "y"))
