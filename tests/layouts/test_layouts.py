"""Layouts of every kind of world: no number is lost, scaled or in the wrong place."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import whatfor as wf
from whatfor.axes import Axis
from whatfor.labels import Labels
from whatfor.layouts import Bars, Board, Grid, Lines, Panels, Series
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.worlds.blackjack import LABELS as BLACKJACK
from whatfor.worlds.gymnasium import labels_of
from whatfor.worlds.making import make_env
from whatfor.worlds.taxi import ABOARD
from whatfor.worlds.taxi import LABELS as TAXI

CARTPOLE = wf.worlds.cartpole().labels
LAKE = labels_of(make_env("FrozenLake-v1", {}))
CLIFF = labels_of(make_env("CliffWalking-v1", {}))


def numbers_of(layout):
    """All numbers of a layout."""
    if isinstance(layout, Panels):
        return [number for panel in layout.panels for number in numbers_of(panel)]
    if isinstance(layout, Board):
        return list(np.ravel([layer.cells for layer in layout.layers]))
    if isinstance(layout, Grid):
        return list(np.ravel(layout.numbers))
    return [number for series in layout.series for number in series.numbers]


def some(labels, seed=0):
    return np.random.default_rng(seed).random((labels.n_states, labels.n_actions))


def at_one(labels, state, action=0, number=2.5):
    numbers = np.zeros((labels.n_states, labels.n_actions))
    numbers[state, action] = number
    return numbers


def plain(*sizes, actions=2):
    return Labels(tuple(Axis(f"x{i}", n) for i, n in enumerate(sizes)), tuple(f"a{i}" for i in range(actions)))


@pytest.mark.parametrize(
    "labels",
    [TAXI, CARTPOLE, LAKE, CLIFF, plain(30), plain(3, 4), plain(2, 3, 4), plain(2, 2, 2, 3), plain(9, 9, 2, 2)],
    ids=lambda labels: f"{labels.kind}{labels.shape}",
)
@pytest.mark.parametrize("signed", [False, True])
def test_nothing_is_lost_and_nothing_is_scaled(labels, signed):
    numbers = 40 * (some(labels) - 0.5 * signed)
    assert sum(numbers_of(map_of(Map(labels, numbers, diverging=signed)))) == pytest.approx(numbers.sum())


def test_blackjack_shows_every_possible_hand():
    numbers = some(BLACKJACK)
    shown = map_of(Map(BLACKJACK, numbers))
    hands = [BLACKJACK.index((total, card, 0)) for total in range(4, 22) for card in range(1, 11)]
    hands += [BLACKJACK.index((total, card, 1)) for total in range(12, 22) for card in range(1, 11)]
    assert sum(numbers_of(shown)) == pytest.approx(numbers[hands].sum())
    assert (shown.columns, shown.column_heads, shown.row_heads) == (
        2,
        ("stick", "hit"),
        ("no usable ace", "usable ace"),
    )
    assert [len(grid.rows) for grid in shown.panels] == [18, 18, 10, 10]


@pytest.mark.parametrize(
    ("total", "card", "ace", "action"), [(4, 1, 0, 0), (21, 10, 0, 1), (12, 5, 1, 1), (21, 7, 1, 0)]
)
def test_a_hand_is_where_its_sum_and_card_are(total, card, ace, action):
    state = BLACKJACK.index((total, card, ace))
    shown = map_of(Map(BLACKJACK, at_one(BLACKJACK, state, action), state=state))
    grid = shown.panels[2 * ace + action]
    row, column = grid.rows.index(str(total)), grid.columns.index("A" if card == 1 else str(card))
    assert grid.numbers[row][column] == 2.5 == sum(numbers_of(shown))
    assert grid.marked == (row, column)
    assert [panel.marked is not None for panel in shown.panels] == [ace == 0, ace == 0, ace == 1, ace == 1]


@pytest.mark.parametrize("bins", [(3, 3, 6, 3), (1, 2, 4, 5), (6, 6, 2, 2)])
def test_a_pole_is_in_the_facet_of_its_cart(bins):
    labels = wf.worlds.cartpole(bins=bins).labels
    state = labels.n_states * 3 // 5
    cart, speed, pole, swing = labels.values(state)
    shown = map_of(Map(labels, at_one(labels, state, 1), state=state))
    assert (len(shown.panels), shown.columns) == (bins[0] * bins[1], bins[1])
    grid = shown.panels[cart * bins[1] + speed]
    assert grid.numbers[pole][swing] == 2.5
    assert [panel.marked for panel in shown.panels if panel.marked] == [(pole, swing)]
    assert grid.marked == (pole, swing)
    assert (grid.row_axis, grid.column_axis) == ("pole angle", "pole swing")
    assert (grid.rows, grid.columns) == (labels.axes[2].values, labels.axes[3].values)
    assert shown.row_heads[cart] == f"cart position\n{labels.axes[0].word(cart)}"
    assert shown.column_heads[speed] == f"cart speed\n{labels.axes[1].word(speed)}"


def test_many_cart_bins_are_summed_up():
    labels = wf.worlds.cartpole(bins=(7, 7, 4, 3)).labels
    numbers = some(labels)
    shown = map_of(Map(labels, numbers, state=labels.n_states // 2))
    expected = numbers.reshape(*labels.shape, 2).sum(axis=(0, 1))
    assert [grid.title for grid in shown.panels] == list(labels.actions)
    assert np.allclose([grid.numbers for grid in shown.panels], np.moveaxis(expected, -1, 0))


def test_facets_here_show_the_present_cart_by_action():
    numbers, state = some(CARTPOLE), 79
    shown = map_of(Map(CARTPOLE, numbers, state=state, caption="now"), facets="here")
    cart, speed, pole, swing = CARTPOLE.values(state)
    by_axes = numbers.reshape(*CARTPOLE.shape, 2)
    assert shown.column_heads == CARTPOLE.actions
    for action, grid in enumerate(shown.panels):
        assert np.array_equal(grid.numbers, by_axes[cart, speed, :, :, action])
        assert grid.marked == (pole, swing)
    assert shown.caption == "now\nonly cart position -0.8 to 0.8; cart speed -0.83 to 0.83", "the fixed axes are named"
    with pytest.raises(ValueError, match="needs a state"):
        map_of(Map(CARTPOLE, numbers), facets="here")
    with pytest.raises(ValueError, match="three axes"):
        map_of(Map(LAKE, some(LAKE), state=0), facets="here")


@pytest.mark.parametrize("labels", [LAKE, CLIFF], ids=["lake", "cliff"])
def test_grid_worlds_are_grids(labels):
    rows, columns = labels.shape
    numbers = some(labels)
    grid = map_of(Map(labels, numbers, state=columns + 2))
    assert isinstance(grid, Grid)
    assert np.allclose(grid.numbers, numbers.sum(axis=1).reshape(rows, columns))
    assert (grid.row_axis, grid.column_axis, grid.marked) == ("row", "column", (1, 2))
    assert (len(grid.rows), len(grid.columns)) == (rows, columns)


def test_other_worlds_are_laid_out_by_their_axes():
    assert isinstance(map_of(Map(plain(5), some(plain(5)))), Bars)
    assert isinstance(map_of(Map(plain(5, 3), some(plain(5, 3)))), Grid)
    shown = map_of(Map(plain(4, 4, 3, 2), some(plain(4, 4, 3, 2))))
    assert (len(shown.panels), shown.columns) == (16, 4)
    assert shown.panels[6].title == "x0 1, x1 2"
    assert len(map_of(Map(plain(2, 2, 2, 2, 3), some(plain(2, 2, 2, 2, 3)))).panels) == 8
    assert isinstance(map_of(Map(plain(17, 2, 2), some(plain(17, 2, 2)))), Bars), "too many grids to compare"


def test_an_axis_name_is_not_repeated_in_its_value():
    """A facet of the axis "fast" is "not fast", not "fast not fast"; other values follow the name of their axis."""
    sides = (Axis("swinging", 2, ("left", "right")), Axis("tip", 3))
    labels = Labels((Axis("fast", 2, ("not fast", "fast")), *sides), ("a",))
    assert [panel.title for panel in map_of(Map(labels, some(labels))).panels] == ["not fast", "fast"]
    labels = Labels((Axis("speed", 2, ("low", "high")), *sides), ("a",))
    assert [panel.title for panel in map_of(Map(labels, some(labels))).panels] == ["speed low", "speed high"]


def test_bins_are_labelled_on_the_axes():
    run = wf.train("MountainCar-v0", wf.QLearning(), episodes=2, seed=0, bins=(4, 3))
    grid = map_of(Map(run.labels, some(run.labels)))
    assert grid.rows == run.labels.axes[0].values
    assert grid.columns == run.labels.axes[1].values


def test_bars_show_the_largest_numbers_and_the_rest():
    labels = plain(30)
    numbers = some(labels) - 0.3
    bars = map_of(Map(labels, numbers, quantity="worth"))
    order = np.argsort(-np.abs(numbers), axis=None)
    assert bars.names[0] == f"x0 {order[0] // 2}: a{order[0] % 2}"
    assert np.allclose(bars.series[0].numbers[:-1], numbers.ravel()[order[:12]])
    assert bars.names[-1] == "at 48 other places"
    assert bars.series[0].numbers[-1] == pytest.approx(numbers.ravel()[order[12:]].sum())
    assert map_of(Map(labels, 0 * numbers)).names == ()


def test_a_board_without_a_state_has_no_taxi():
    board = map_of(Map(TAXI, some(TAXI)))
    assert (board.at, {role for *_, role in board.marks}) == (None, {""})


@pytest.mark.parametrize(
    "labels",
    [LAKE, CARTPOLE, BLACKJACK, plain(3, 4), plain(2, 3, 4)],
    ids=lambda labels: f"{labels.kind}{labels.shape}",
)
def test_only_states_without_any_experience_are_unknown(labels):
    """A state is known after one action; unknown states are marked, not left out."""
    state = labels.index((13, 4, 0)) if labels is BLACKJACK else labels.n_states // 2
    unknown = np.ones((labels.n_states, labels.n_actions), bool)
    unknown[state, -1] = False
    shown = map_of(Map(labels, some(labels), unknown=unknown, state=state))
    grids = shown.panels if isinstance(shown, Panels) else [shown]
    known = {(at, grid.marked) for at, grid in enumerate(grids) if grid.marked}
    found = {
        (at, (row, column))
        for at, grid in enumerate(grids)
        for row, column in product(range(len(grid.rows)), range(len(grid.columns)))
        if not grid.unknown[row][column]
    }
    closed = {(0, divmod(mark.state, labels.shape[-1])) for mark in labels.marks if mark.closed}
    assert found == known | closed
    without = map_of(Map(labels, some(labels)))
    assert all(grid.unknown is None for grid in (without.panels if isinstance(without, Panels) else [without]))


def test_a_cell_of_the_board_is_known_only_from_the_same_passenger_and_destination():
    state = TAXI.index((0, 3, 2, 0))
    for experienced, knows in [
        ((4, 1, 2, 0), True),  # on the way to this passenger
        ((4, 1, ABOARD, 0), True),  # with it aboard
        ((4, 1, 1, 0), False),  # another passenger
        ((4, 1, ABOARD, 3), False),  # another destination
    ]:
        unknown = np.ones((500, 6), bool)
        unknown[TAXI.index(experienced), 2] = False
        board = map_of(Map(TAXI, some(TAXI), unknown=unknown, state=state))
        expected = np.ones((5, 5), bool)
        expected[4, 1] = not knows
        assert np.array_equal(board.unknown, expected), experienced
        anywhere = map_of(Map(TAXI, some(TAXI), unknown=unknown))
        assert (not anywhere.unknown[4][1], sum(map(sum, anywhere.unknown))) == (True, 24)


def test_a_wrong_map_is_rejected():
    with pytest.raises(ValueError, match=r"numbers has shape \(3, 2\); a map of these labels has shape \(16, 4\)"):
        map_of(Map(LAKE, np.zeros((3, 2))))
    with pytest.raises(ValueError, match="unknown has shape"):
        map_of(Map(LAKE, some(LAKE), unknown=np.zeros(16, bool)))
    with pytest.raises(ValueError, match="finite"):
        map_of(Map(LAKE, np.full((16, 4), np.nan)))


def listed(value):
    """What JSON makes of it: lists for tuples."""
    if isinstance(value, dict):
        return {name: listed(one) for name, one in value.items()}
    return [listed(one) for one in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize(
    ("kind", "layout"),
    [
        ("board", map_of(Map(TAXI, some(TAXI), unknown=np.ones((500, 6)), state=3))),
        ("grid", map_of(Map(LAKE, some(LAKE), unknown=np.ones((16, 4)), state=3))),
        ("panels", map_of(Map(BLACKJACK, some(BLACKJACK), state=3))),
        ("bars", Bars("t", "c", ("a",), (Series("s", (1.0,), (0.5,), (1.5,)),), "x", (True,))),
        ("lines", Lines("t", "c", (0.0, 1.0), (Series("s", (1.0, 2.0)),), "x", "y")),
        ("panels", Panels("t", "c", (map_of(Map(CARTPOLE, some(CARTPOLE))),), 1)),
    ],
    ids=["board", "grid", "blackjack", "bars", "lines", "nested"],
)
def test_layouts_go_through_json(kind, layout):
    data = layout.to_json()
    again = json.loads(json.dumps(data, allow_nan=False))
    assert again == listed(data)
    assert again["layout"] == kind
    if kind == "panels":
        assert [panel["layout"] for panel in again["panels"]] == [type(p).__name__.lower() for p in layout.panels]
        assert again["panels"] == [listed(panel.to_json()) for panel in layout.panels]
    if kind == "grid":
        assert np.array_equal(again["numbers"], layout.numbers)


TWO = Series("s", (1.0, 2.0))
BOARD = map_of(Map(TAXI, some(TAXI), unknown=np.ones((500, 6)), state=3))
WRONG_LENGTHS = {
    "low": (lambda: Series("s", (1.0, 2.0), low=(1.0,)), "low of series 's' has length 1; there are 2 numbers"),
    "high": (lambda: Series("s", (1.0,), high=()), "high of series 's' has length 0; there are 1 numbers"),
    "bars": (lambda: Bars("t", "c", ("a",), (TWO,), "x"), "series 's' has length 2; there are 1 names: give one for each"),
    "unknown bars": (lambda: Bars("t", "c", ("a", "b"), (TWO,), "x", (True,)), "unknown has length 1; there are 2 names"),
    "lines": (lambda: Lines("t", "c", (0.0, 1.0, 2.0), (TWO,), "x", "y"), "series 's' has length 2; there are 3 values of x"),
    "rows": (lambda: Grid("", "", ("0", "1"), ("0",), "row", "column", ((1.0,),)), "numbers has length 1; there are 2 rows"),
    "columns": (lambda: Grid("", "", ("0", "1"), ("0",), "row", "column", ((1.0,), (1.0, 2.0))), "row 1 of numbers has length 2; there are 1 columns"),
    "beside": (lambda: Grid("", "", ("0",), ("0",), "row", "column", ((1.0,),), beside=TWO), "series 's' has length 2; there are 1 rows"),
    "unknown cells": (lambda: Grid("", "", ("0",), ("0",), "row", "column", ((1.0,),), unknown=((True, False),)), "row 0 of unknown has length 2"),
    "board": (lambda: replace(BOARD, rows=4), "layer '.*' has length 5; there are 4 rows"),
    "board columns": (lambda: replace(BOARD, layers=(), columns=4), "row 0 of unknown has length 5; there are 4 columns"),
    "column heads": (lambda: Panels("", "", (BOARD, BOARD), 2, column_heads=("a",)), "column_heads has length 1; there are 2 columns"),
    "row heads": (lambda: Panels("", "", (BOARD, BOARD), 1, row_heads=("a",)), "row_heads has length 1; there are 2 rows of panels"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "message"), WRONG_LENGTHS.values(), ids=WRONG_LENGTHS)
def test_unequal_lengths_are_rejected_before_anything_is_drawn(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("world", ["FrozenLake-v1", "CliffWalking-v1"])
def test_marks_are_in_the_right_cells_and_final_states_are_not_hatched(world):
    """From the environment's own table: no action is taken in a hole, at the goal, or on the cliff."""
    env = make_env(world, {}).unwrapped
    labels = labels_of(env)
    entered = {to for by in env.P.values() for entries in by.values() for _, to, _, ended in entries if not ended}
    closed = set(range(labels.n_states)) - entered
    unknown = np.ones((labels.n_states, labels.n_actions), bool)
    assert np.all(map_of(Map(labels, some(labels), unknown=unknown)).unknown), (
        "without any experience, every state is unknown"
    )
    starts = np.flatnonzero(env.initial_state_distrib).tolist()
    unknown[starts] = False
    grid = map_of(Map(labels, some(labels), unknown=unknown))
    assert {int(at) for at in np.flatnonzero(~np.array(grid.unknown))} == closed | {*starts}
    marked = {row * len(grid.columns) + column: name for _, row, column, name in grid.marks}
    assert {at for at, name in marked.items() if name != "start"} == closed
    assert [at for at, name in marked.items() if name == "start"] == starts
    if world == "FrozenLake-v1":
        assert "".join(letter for letter, *_ in grid.marks).encode() == env.desc.tobytes().replace(b"F", b"")


def test_the_picture_of_a_state_names_no_action():
    from whatfor.maps import picture_of

    state = BLACKJACK.index("player 19, dealer 6, no usable ace")
    picture, places = picture_of(BLACKJACK, state)
    assert picture.title == "no usable ace"
    assert places[picture.marked[0]][picture.marked[1]] == state
