"""Boards: two axes that are rows and columns, one grid for each value of the others."""

import numpy as np
import pytest

import whatfor as wf
from own_worlds import LAVA, NAMES, START, Home, trained
from whatfor.axes import Axis, Mark
from whatfor.labels import Labels
from whatfor.layouts import Bars, Grid, Panels
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import WALL
from whatfor.maps import map_of, picture_of, places_of


def labels_with(*axes, **more):
    return Labels(tuple(axes), ("go", "stay"), observed="tuple", **more)


def numbers_of(labels):
    """A different number for every pair."""
    return np.arange(1.0, 2 * labels.n_states + 1).reshape(-1, 2)


ROW, COLUMN = Axis("row", 3), Axis("column", 4)


@pytest.mark.parametrize(
    "axes",
    [(ROW, COLUMN, Axis("key", 2)), (Axis("key", 2), ROW, COLUMN), (COLUMN, Axis("key", 2), ROW)],
    ids=["first", "last", "turned"],
)
def test_each_cell_of_a_board_has_the_states_of_its_place(axes):
    labels = labels_with(*axes)
    state = labels.n_states - 1
    layout, places = map_of(Map(labels, numbers_of(labels), state=state)), places_of(labels, state)
    assert isinstance(layout, Panels)
    assert len(layout.panels) == len(places) == 2
    for grid, cells in zip(layout.panels, places, strict=True):
        assert (len(grid.rows), len(grid.columns), grid.row_axis) == (3, 4, "row")
        for row in range(3):
            for column in range(4):
                there = cells[row][column]
                at = dict(zip([axis.name for axis in axes], labels.values(there), strict=True))
                assert (at["row"], at["column"]) == (row, column)
                assert grid.title == f"key {at['key']}"
                assert grid.numbers[row][column] == numbers_of(labels)[there].sum()
    marked = [grid.marked for grid in layout.panels]
    assert marked == [None, (2, 3)]


@pytest.mark.parametrize("names", [("row", "column"), ("Row", "Col"), ("y", "x"), ("robot row", "robot column")])
def test_axes_that_are_named_so_are_rows_and_columns(names):
    labels = labels_with(Axis(names[0], 3), Axis(names[1], 4), Axis("key", 2))
    assert labels.board_axes == (0, 1)


def test_the_first_thing_with_a_row_and_a_column_is_on_the_board():
    axes = [Axis(f"{thing} {name}", 3) for thing in ("robot", "parcel") for name in ("y", "x")]
    assert labels_with(*axes).board_axes == (0, 1)
    assert labels_with(Axis("robot row", 3), Axis("parcel column", 3)).board_axes is None
    assert labels_with(*axes, ROW, COLUMN).board_axes == (4, 5), "axes without a thing come first"


def test_other_axes_are_said_to_be_rows_and_columns():
    plain = labels_with(Axis("north", 3), Axis("east", 4), Axis("torch", 20))
    assert plain.board_axes is None
    assert isinstance(map_of(Map(labels_with(Axis("torch", 20), *plain.axes[:2]), numbers_of(plain))), Bars)
    board = wf.Names(board=("north", "east")).applied_to(plain)
    assert board.board_axes == (0, 1)
    assert Labels.from_json(board.to_json()) == board


def test_many_values_of_other_axes_are_two_boards():
    labels = labels_with(ROW, COLUMN, Axis("torch", 20))
    state, numbers = labels.index((1, 2, 7)), numbers_of(labels)
    here, elsewhere = map_of(Map(labels, numbers, state=state)).panels
    assert (here.title, elsewhere.title, here.marked, elsewhere.marked) == ("torch 7", "elsewhere", (1, 2), None)
    by_cell = numbers.sum(axis=1).reshape(labels.shape)
    assert np.array_equal(here.numbers, by_cell[..., 7])
    assert np.array_equal(elsewhere.numbers, by_cell.sum(axis=2) - by_cell[..., 7])
    assert places_of(labels, state)[0][1][2] == state
    whole = map_of(Map(labels, numbers))
    assert isinstance(whole, Grid)
    assert np.array_equal(whole.numbers, by_cell.sum(axis=2))


def test_states_that_do_not_exist_leave_their_cells_empty():
    """Labels that list the states that exist have fewer than the product of their axes."""

    class Sparse(Labels):
        n_states = 3
        positions = np.array([[0, 0, 0], [2, 3, 1], [2, 3, 0]])

        def values(self, index):
            return tuple(self.positions[index].tolist())

    labels = Sparse((ROW, COLUMN, Axis("key", 2)), ("go",), observed="tuple")
    unknown = np.array([[False], [True], [False]])
    one, two = map_of(Map(labels, np.array([[1.0], [2.0], [4.0]]), state=1, unknown=unknown)).panels
    assert (one.numbers[0][0], one.numbers[2][3], two.numbers[2][3], np.sum(two.numbers)) == (1.0, 4.0, 2.0, 2.0)
    assert two.unknown[2][3]
    assert not two.unknown[0][0]
    assert (two.marked, one.marked) == ((2, 3), None)
    first, second = places_of(labels, 1)
    assert (first[0][0], first[2][3], second[2][3], second[0][0]) == (0, 2, 1, -1)


def test_walls_and_marks_are_on_every_board():
    run = trained(names=NAMES, episodes=100)
    layout = map_of(Map(run.labels, np.zeros((32, 4)), state=0, unknown=np.ones((32, 4), bool)))
    for grid in layout.panels:
        assert grid.walls == ((3, 0, 3, 1),)
        assert grid.marks == ((WALL, 1, 1, "wall"), ("L", 1, 2, "lava"), ("*", 3, 3, "home"))
    untried = np.ones((32, 4), bool)
    untried[0] = False
    hatched = map_of(Map(run.labels, np.zeros((32, 4)), state=0, unknown=untried)).panels[0].unknown
    assert hatched[3][3]
    assert not hatched[LAVA[0]][LAVA[1]]  # closed: nothing is ever tried there
    assert not hatched[1][1]  # a wall


def test_marks_of_states_are_on_the_board_of_their_state():
    labels = labels_with(ROW, COLUMN, Axis("key", 2), marks=(Mark(3, "K", "key"), Mark(None, "G", "goal", cell=(2, 3))))
    one, two = map_of(Map(labels, numbers_of(labels))).panels
    assert [letter for letter, *_ in one.marks] == ["G"]
    assert two.marks == (("K", 0, 1, "key"), ("G", 2, 3, "goal"))


@pytest.mark.parametrize("given", [{"cell": None, "state": None}, {"cell": (0, 0), "state": 1}])
def test_a_mark_is_of_a_state_or_of_a_cell(given):
    with pytest.raises(ValueError, match="give one of state= and cell="):
        Mark(given["state"], "K", "key", cell=given["cell"])


def test_cells_are_counted_as_the_environment_counts_them():
    labels = wf.Names(marks={"door": (5, 7)}, walls=[((4, 7), (5, 7))]).applied_to(
        labels_with(Axis("row", 3, start=4), Axis("column", 2, start=6))
    )
    assert labels.marks[0].cell == (1, 1)
    assert labels.walls == ((0, 1, 1, 1),)


def test_cells_have_the_order_of_the_axes():
    """Where x comes before y, a cell is (x, y), for cells and for walls between two of them."""
    given = wf.Names(marks={"door": (3, 7)}, walls=[(2, 5), ((0, 5), (1, 5))])
    labels = given.applied_to(labels_with(Axis("x", 4), Axis("key", 2), Axis("y", 3, start=5)))
    assert labels.marks[0].cell == (2, 3)
    assert labels.walls == ((0, 2), (0, 0, 0, 1))
    with pytest.raises(ValueError, match="is at x 4 and y 5; the board has x 0 to 3 and y 5 to 7"):
        wf.Names(walls=[(4, 5)]).applied_to(labels)
    named = wf.Names(board=("b", "a"), walls=[(3, 1)]).applied_to(labels_with(Axis("a", 4), Axis("b", 2)))
    assert named.walls == ((1, 3),)


def test_a_wall_in_which_the_agent_acted_is_reported(recwarn):
    names = {**NAMES, "axes": {"y": 4, "x": 4, "key": 2}, "milestones": {}}
    run = trained(names=names, episodes=50)
    assert not recwarn
    with pytest.warns(
        UserWarning, match=r"a wall at y 3, x 0, and the agent acted there .* order of the axes, \(y, x\)"
    ):
        trained(names={**names, "walls": [(3, 0)]}, episodes=50)
    with pytest.warns(UserWarning, match="acted there"):
        run.named(walls=[(1, 1), (3, 0)])
    run.named(actions=("a", "b", "c", "d"))


def test_an_answer_is_drawn_on_the_board():
    run = trained(names=NAMES, episodes=100)
    figure = wf.draw(run.intention(START))
    titles = [ax.get_title() for ax in figure.axes]
    assert {"without key", "with key"} <= set(titles)
    here = wf.draw(run.intention(START), facets="here")
    assert [ax.get_title() for ax in here.axes if ax.get_title() in NAMES["actions"]] == list(NAMES["actions"])
    picture, places = picture_of(run.labels, run.labels.index(START))
    assert (picture.title, picture.marked, places[3][0]) == ("without key", (3, 0), run.labels.index(START))
    assert picture.walls


def test_labels_of_an_environment_that_is_no_grid_have_no_board():
    assert wf.Labels.of(Home()).board_axes is None
