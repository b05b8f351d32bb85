"""Layouts of simulations, comparisons, changes, chances and parts, as data."""

import numpy as np
import pytest

import whatfor as wf
from taxi_runs import START
from test_layouts import numbers_of
from whatfor.layouts import Bars, Board
from whatfor.question import layout_of

HAND = "player 10, dealer 7, no usable ace"


@pytest.fixture(scope="module")
def taxi(taxi_2k):
    return taxi_2k


@pytest.fixture(scope="module")
def blackjack():
    learner = wf.QLearning(step_size=wf.visit_count(0.8), discount=1.0, exploration=0.2)
    return wf.train(wf.worlds.blackjack(), learner, episodes=100_000, seed=0)


def total(layout):
    return float(np.sum(numbers_of(layout)))


def test_a_simulation_is_the_map_of_its_visits(taxi):
    played = taxi.simulation(START)
    board = layout_of(played)
    assert isinstance(board, Board)
    assert total(board) == pytest.approx(played.visits.sum())
    assert "1,000 rollouts" in board.title


def test_belief_and_reality_are_side_by_side(blackjack):
    comparison = blackjack.comparison(HAND)
    panels = layout_of(comparison)
    assert [panel.title for panel in panels.panels] == ["believed", "actual"]
    assert panels.shared, "one scale, or they could not be compared"
    assert total(panels.panels[0]) == pytest.approx(comparison.believed.visits.sum())
    assert total(panels.panels[1]) == pytest.approx(comparison.exact.sum())
    apart, difference = layout_of(comparison, show="difference"), comparison.believed.visits - comparison.exact
    seen = np.abs(difference) >= 5e-3  # smaller numbers are drawn as zero
    assert 0 < seen.sum() < np.count_nonzero(difference)
    assert total(apart) == pytest.approx(difference[seen].sum())
    assert apart.panels[0].diverging
    assert comparison.verdict in panels.title


def test_endings_have_error_bars_of_the_sampling_error(blackjack):
    comparison = blackjack.comparison(HAND)
    bars = layout_of(comparison, show="endings")
    assert isinstance(bars, Bars)
    assert set(bars.names) == {"won", "drew", "lost", "bust"}
    believed, actual = bars.series
    by_name = {measure.name: measure for measure in comparison.measures}
    for name, number, low, high, real in zip(
        bars.names, believed.numbers, believed.low, believed.high, actual.numbers, strict=True
    ):
        measure = by_name[name]
        assert (number, real) == (measure.believed, measure.actual)
        assert low == max(0.0, measure.believed - measure.tolerance)
        assert high == min(1.0, measure.believed + measure.tolerance)


def test_a_change_has_five_panels(taxi):
    change = taxi.change(START, since=300)
    panels = layout_of(change)
    assert [panel.title for panel in panels.panels] == [
        "south now expects", "east before expects", "only south now", "only east before", "both",
    ]  # fmt: skip
    sums = [total(panel) for panel in panels.panels]
    assert sums[0] == pytest.approx(sums[2] + sums[4])
    assert sums[1] == pytest.approx(sums[3] + sums[4])


def test_chances_and_parts_are_bars_of_all_numbers(taxi):
    chance = layout_of(taxi.chance(START, event="passenger aboard", before="row 4"))
    assert chance.names[0] == "passenger aboard first"
    assert sum(chance.series[0].numbers) == pytest.approx(1.0)
    assert chance.unknown[-1]
    parts = layout_of(taxi.parts(START))
    assert sum(parts.series[0].numbers) == pytest.approx(taxi.parts(START).value)


def test_worlds_without_a_map_are_compared_by_bars():
    run = wf.train(wf.worlds.chain(), wf.QLearning(step_size=1.0, discount=1.0, exploration=1.0), episodes=100, seed=0)
    bars = layout_of(run.comparison("the start", "up"))
    assert isinstance(bars, Bars)
    assert [series.name for series in bars.series] == ["believed", "actual"]


def test_options_of_other_layouts_are_rejected(taxi):
    with pytest.raises(ValueError, match="intention has only one picture: leave out show="):
        layout_of(taxi.intention(START), show="parts")
    with pytest.raises(ValueError, match="show='endings': the layout of contrast takes visits, parts"):
        layout_of(taxi.contrast(START), show="endings")
