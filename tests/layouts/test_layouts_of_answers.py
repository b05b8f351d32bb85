"""The layout of each explanation."""

from dataclasses import replace

import numpy as np
import pytest

import whatfor as wf
from taxi_runs import START
from test_layouts import numbers_of
from whatfor.explanations import Explanation
from whatfor.layouts import Bars, Board, Grid, Lines, Panels
from whatfor.question import layout_of


@pytest.fixture(scope="module")
def taxi(taxi_5k):
    return taxi_5k


@pytest.fixture(scope="module")
def blackjack():
    return wf.train(wf.worlds.blackjack(), wf.QLearning(discount=1.0, exploration=0.3), episodes=5_000, seed=0)


@pytest.fixture(scope="module")
def cartpole():
    learner = wf.QLearning(discount=1.0, exploration=0.2)
    return wf.train(wf.worlds.cartpole(), learner, episodes=200, seed=0, time_limit="terminal")


@pytest.fixture(scope="module")
def chain():
    learner = wf.QLearning(step_size=1.0, discount=1.0, exploration=1.0)
    return wf.train(wf.worlds.chain(), learner, episodes=50, seed=0)


def test_taxi_is_shown_on_its_board(taxi):
    why = taxi.intention(START)
    board = layout_of(why)
    assert isinstance(board, Board)
    assert (board.piece, board.at) == ("taxi", (0, 3))
    assert {role: letter for letter, _, _, role in board.marks if role} == {"passenger": "Y", "destination": "R"}
    waiting, aboard = (np.array(layer.cells) for layer in board.layers)
    assert waiting.sum() + aboard.sum() == pytest.approx(why.visits.sum()), "nothing is lost, nothing is scaled"
    assert waiting[0, 3] == pytest.approx(1.0, abs=1e-3), "it is there now"
    assert aboard[4, 0] > 0, "the passenger gets in at Y"
    assert aboard[0, 0] > 0, "and out at R"
    assert waiting[4, 4] < 1e-3
    assert not np.any(board.unknown), "it has been everywhere"


def test_the_readmes_caption_is_true(taxi):
    """All but the route itself: less than 0.2 % of the expected visits."""
    visits = taxi.intention(START).visits
    route = np.sort(visits.ravel())[::-1][:13]
    assert 1 - route.sum() / visits.sum() < 0.002
    assert route.min() > 0.2


def test_walls_are_gymnasiums(taxi):
    """A wall on a cell's east side: moving east leaves the taxi where it is."""
    board = layout_of(taxi.intention(START))
    desc = taxi.playing.place().env.unwrapped.desc
    walls = {(row, column) for row in range(5) for column in range(4) if desc[1 + row, 2 * column + 2] == b"|"}
    assert set(board.walls) == walls
    locations = taxi.playing.place().env.unwrapped.locs
    assert [(row, column) for _, row, column, _ in board.marks] == locations


def test_cells_without_experience_are_unknown_not_zero(taxi):
    why = taxi.intention(START)
    assert np.all(layout_of(replace(why, tries_by_pair=np.zeros((500, 6), np.int64))).unknown)
    assert not np.any(layout_of(replace(why, tries_by_pair=np.ones((500, 6), np.int64))).unknown)
    assert layout_of(replace(why, tries_by_pair=None)).unknown is None


def test_a_world_of_one_axis_is_shown_by_its_most_expected_pairs(chain):
    bars = layout_of(chain.intention("the start", "up"))
    assert isinstance(bars, Bars)
    assert dict(zip(bars.names, bars.series[0].numbers, strict=True)) == {
        "the start: up": 1.0,
        "the upper node: up": 1.0,
    }


@pytest.mark.parametrize("world", ["taxi", "blackjack", "cartpole"])
def test_a_contrast_has_five_panels(world, request):
    run = request.getfixturevalue(world)
    why = run.contrast({"taxi": START, "blackjack": (10, 7, 0), "cartpole": 79}[world])
    five = layout_of(why)
    assert isinstance(five, Panels)
    assert five.shared, "one scale for all, or they could not be compared"
    one, two = (run.labels.actions[which.action] for which in (why.chosen, why.instead))
    assert [panel.title for panel in five.panels] == [
        f"{one} expects",
        f"{two} expects",
        f"only {one}",
        f"only {two}",
        "both",
    ]
    maps = [np.array(numbers_of(panel)) for panel in five.panels]
    expected = (why.chosen.visits, why.instead.visits, why.gained, why.lost, why.shared)
    assert [m.sum() for m in maps] == pytest.approx([m.sum() for m in expected])
    first, second, gained, lost, shared = maps
    assert gained + shared == pytest.approx(first)
    assert lost + shared == pytest.approx(second)
    if world == "taxi":
        assert all(isinstance(panel, Board) for panel in five.panels)


def test_a_contrast_of_bars_has_two_bars_per_pair(chain):
    bars = layout_of(chain.contrast("the start", "up", "down"))
    assert [series.name for series in bars.series] == ["up", "down"]
    by_name = dict(zip(bars.names, zip(*(series.numbers for series in bars.series), strict=True), strict=True))
    assert by_name["the upper node: up"] == (1.0, 0.0)
    assert by_name["the lower node: down"] == (0.0, 1.0)


@pytest.mark.parametrize("world", ["taxi", "blackjack"])
def test_the_parts_of_a_gap_are_one_signed_map(world, request):
    why = request.getfixturevalue(world).contrast({"taxi": START, "blackjack": (10, 7, 0)}[world])
    parts = layout_of(why, show="parts")
    leaves = parts.panels if isinstance(parts, Panels) else [parts]
    assert all(leaf.diverging for leaf in leaves)
    assert sum(numbers_of(parts)) + why.initial_part == pytest.approx(why.gap)


def test_a_contrast_here_names_the_fixed_axes(cartpole):
    five = layout_of(cartpole.contrast(79), facets="here")
    assert "only cart position -0.8 to 0.8" in five.caption
    assert all(len(panel.panels) == 2 for panel in five.panels)


def test_outcomes_are_bars_with_the_unknown_share_marked(blackjack):
    why = blackjack.outcomes((10, 7, 0), "hit")
    bars = layout_of(why)
    chances = dict(zip(bars.names, bars.series[0].numbers, strict=True))
    assert chances.pop("unknown") == why.unknown
    assert chances == why.chances
    assert bars.unknown == (*[False] * len(why.chances), True)
    many = replace(why, chances={f"end {i}": 0.01 for i in range(30)}, unknown=0.7)
    bars = layout_of(many)
    assert bars.names[-2:] == ("20 other endings", "unknown")
    assert sum(bars.series[0].numbers) == pytest.approx(1.0)


@pytest.mark.parametrize("world", ["taxi", "cartpole"])
def test_a_timeline_is_a_grid_of_steps(world, request):
    why = request.getfixturevalue(world).timeline({"taxi": START, "cartpole": 79}[world], horizon=9)
    grid = layout_of(why)
    assert isinstance(grid, Grid)
    assert grid.columns == tuple(map(str, range(9)))
    assert np.sum(grid.numbers, axis=0) == pytest.approx(why.visits.sum(axis=(1, 2)))
    assert sum(grid.beside.numbers) == pytest.approx(why.remainder.sum())
    named = [row for row in grid.numbers[:-1] if max(row) > 5e-3]
    peaks = [int(np.argmax(row)) for row in named]
    assert peaks == sorted(peaks), "in the order in which they are expected"
    assert peaks[0] == 0
    assert grid.numbers[0][0] == pytest.approx(1.0, abs=1e-3)


def test_a_timeline_without_experience_is_empty(taxi):
    grid = layout_of(taxi.as_of(0).timeline(START, "south"))
    assert grid.rows == ("0 others",)
    assert not np.any(grid.numbers)


def test_provenance_shows_episodes_and_the_course_of_training(blackjack):
    why = blackjack.provenance((10, 7, 0))
    bars, lines = layout_of(why).panels
    assert isinstance(bars, Bars)
    assert isinstance(lines, Lines)
    most_influential = why.most_influential(10)
    assert bars.names[0] == f"episode {most_influential[0][0]:,}"
    assert bars.series[0].numbers == tuple(-amount for _, amount in most_influential)
    gathered = lines.series[0].numbers
    assert gathered[-1] == pytest.approx(why.weights.sum())
    assert list(gathered) == sorted(gathered)
    assert len(lines.x) == 300
    at = int(lines.x[150])
    assert gathered[150] == pytest.approx(why.weights[why.episodes <= at].sum())
    empty = layout_of(blackjack.as_of(0).provenance((10, 7, 0)))
    assert (empty.names, empty.axis) == ((), "no experience")


def test_a_pair_that_was_never_tried_is_unknown_everywhere(taxi):
    """A zero would mean that the agent expects nothing; its expectation is unknown."""
    early = taxi.as_of(0)
    assert np.all(layout_of(early.intention(START, "south")).unknown)
    why = early.comparison(START, "south", rollouts=10)
    believed, actual = layout_of(why).panels
    assert np.all(believed.unknown)
    assert actual.unknown is None
    difference = layout_of(why, show="difference")
    assert np.all(difference.unknown)
    assert not np.any([layer.cells for layer in difference.layers])
    assert [series.name for series in layout_of(why, show="endings").series] == ["actual"]


def test_a_timeline_ends_where_nothing_more_is_expected(taxi):
    why = taxi.timeline(START, horizon=60)
    grid = layout_of(why)
    steps = len(grid.columns)
    assert steps < 60
    assert why.visits[steps - 1].max() >= 5e-4 > why.visits[steps:].max()


def test_an_explanation_without_a_question_has_no_layout():
    class Guess(Explanation):
        sentences = numbers = lambda self: []

    with pytest.raises(TypeError, match="Guess is not the answer to a question; the questions are intention, contrast"):
        layout_of(Guess())


def test_no_episode_is_drawn_if_none_is_influential():
    """A certain outcome, learned many times: removing one episode would change nothing."""
    run = wf.train("CliffWalking-v1", wf.QLearning(), episodes=500, seed=0)
    why = run.provenance(36)
    assert not why.most_influential(10)
    assert isinstance(layout_of(why), Lines)
    assert all(one["deletion"] == 0.0 for one in why.by_episode(60))
