"""Pictures are tested as data: what a layout holds; and that drawing takes an axes and shows nothing."""

import json
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import whatfor as wf
from whatfor.layouts import Bars, Board, layout_of
from whatfor.pictures.board import draw_board

START = "taxi at row 0, column 3; passenger at Y; destination R"


@pytest.fixture(scope="module")
def taxi():
    learner = wf.QLearning(step_size=0.4, discount=0.9, exploration=wf.linear(1.0, 0.1, episodes=250))
    return wf.train("Taxi-v4", learner, episodes=5_000, seed=0)


def test_taxi_is_shown_on_its_board(taxi):
    why = taxi.intention(START)
    board = layout_of(why)
    assert isinstance(board, Board)
    assert (board.taxi, board.passenger, board.destination) == ((0, 3), "Y", "R")
    waiting, aboard = (np.array(layer.cells) for layer in board.layers)
    assert waiting.sum() + aboard.sum() == pytest.approx(why.visits.sum()), "nothing is lost, nothing is scaled"
    assert waiting[0, 3] == pytest.approx(1.0, abs=1e-3), "it is there now"
    assert aboard[4, 0] > 0, "the passenger gets in at Y"
    assert aboard[0, 0] > 0, "and out at R"
    assert waiting[4, 4] < 1e-3
    assert json.loads(json.dumps(board.to_json()))["layout"] == "board"


def test_the_readmes_caption_is_true(taxi):
    """All but the route itself: less than 0.2 % of the weight."""
    visits = taxi.intention(START).visits
    route = np.sort(visits.ravel())[::-1][:13]
    assert 1 - route.sum() / visits.sum() < 0.002
    assert route.min() > 0.2


def test_walls_are_gymnasiums(taxi):
    """A wall on a cell's east side: moving east leaves the taxi where it is."""
    board = layout_of(taxi.intention(START))
    desc = taxi._placed().env.unwrapped.desc
    walls = {(row, column) for row in range(5) for column in range(4) if desc[1 + row, 2 * column + 2] == b"|"}
    assert set(board.walls) == walls
    locations = taxi._placed().env.unwrapped.locs
    assert [(row, column) for _, row, column in board.marks] == locations


def test_other_worlds_are_shown_by_their_most_expected_states():
    run = wf.train(wf.worlds.chain(), wf.QLearning(step_size=1.0, discount=1.0, exploration=1.0), episodes=50, seed=0)
    bars = layout_of(run.intention("the start", "up"))
    assert isinstance(bars, Bars)
    assert bars.names == ("the upper node: up",)
    assert bars.numbers == (1.0,)


def test_drawing_uses_the_axes_it_is_given(taxi, tmp_path):
    why = taxi.intention(START)
    figure = Figure()
    ax = figure.subplots()
    assert wf.draw(why, ax) is figure
    shown = [text.get_text() for text in ax.texts]
    assert "1.00" in shown
    assert {"R", "G", "Y", "B"} <= set(shown)
    assert draw_board(layout_of(why), Figure().subplots()) is not None
    path = tmp_path / "board.png"
    wf.draw(why).savefig(path)
    assert path.stat().st_size > 10_000
    assert wf.draw(layout_of(taxi.intention(START, "north"))).axes


def test_without_matplotlib_the_error_names_the_extra():
    code = "import sys; sys.modules['matplotlib'] = None\nimport whatfor as wf\nwf.draw(None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "pip install 'whatfor[plot]'" in done.stderr


def test_importing_whatfor_is_light():
    """Nobody pays for what they do not ask for."""
    code = "import sys, whatfor; print([m for m in ('torch', 'matplotlib', 'numba', 'gymnasium', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
