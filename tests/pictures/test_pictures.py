"""Drawing uses a given axes or a new figure, shows no window, and draws the contents of the layout."""

import subprocess
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import whatfor as wf
from test_layouts import BLACKJACK, CARTPOLE, CLIFF, LAKE, TAXI, plain, some
from whatfor.axes import Axis
from whatfor.layouts import Bars, Grid, Lines, Panels, Series
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.pictures.scale import MAPS, Scale, scale_of

ONE = np.zeros((500, 6))
ONE[68, 2] = 1.0
HATCH = "////"
BARS = Bars("bars", "", ("one", "two", "unknown"), (Series("s", (0.5, -0.2, 0.3)),), "x", (False, False, True))
LINES = Lines(
    "lines", "", (0.0, 5.0), (Series("s", (0.0, 1.0), (0.0, 0.5), (0.5, 1.5)), Series("t", (1.0, 0.0))), "x", "y"
)


def rendered(figure):
    """Render the figure, so that the positions of texts are known."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    width, height = canvas.get_width_height()
    boxes = [box for box in (ax.get_tightbbox(canvas.get_renderer()) for ax in figure.axes) if box is not None]
    assert all(box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2 for box in boxes), "cut off"
    return figure


def texts(figure):
    return [text.get_text() for ax in figure.axes for text in [*ax.texts, ax.title]]


def hatched(ax):
    paths = [patch.get_path() for patch in ax.patches if patch.get_hatch() == HATCH]
    return [tuple(corner) for path in paths for corner in path.vertices[::5]]


@pytest.mark.parametrize(
    "labels",
    [TAXI, BLACKJACK, CARTPOLE, LAKE, CLIFF, plain(30), plain(2, 3, 4)],
    ids=lambda labels: f"{labels.kind}{labels.shape}",
)
@pytest.mark.parametrize("signed", [False, True])
def test_every_world_can_be_drawn(labels, signed):
    """Warnings are errors: a layout that does not fit its figure fails here."""
    state = labels.n_states // 3
    unknown = np.arange(labels.n_states * labels.n_actions).reshape(-1, labels.n_actions) % 97 < 20
    caption = labels.words(state)
    shown = map_of(
        Map(labels, some(labels) - 0.5 * signed, caption=caption, unknown=unknown, state=state, diverging=signed)
    )
    assert rendered(wf.draw(shown)).axes


@pytest.mark.parametrize("layout", [BARS, LINES, Panels("both", "", (BARS, LINES), 2, shared=False)])
def test_bars_and_lines_can_be_drawn(layout):
    assert rendered(wf.draw(layout)).axes


def test_drawing_uses_the_axes_it_is_given():
    board = map_of(Map(TAXI, ONE, state=68))
    figure = Figure()
    ax = figure.subplots()
    assert wf.draw(board, ax) is figure
    shown = [text.get_text() for text in ax.texts]
    assert {"R", "G", "Y", "B", "1.00"} <= set(shown)
    inner = Figure().subfigures(1, 2)[0]
    assert wf.draw(board, inner.subplots()) is inner.figure


@pytest.mark.parametrize("place", ["subplot", "free"])
def test_panels_stay_within_the_axes_they_are_given(place):
    figure = Figure(figsize=(12, 6))
    left, right = figure.subplots(1, 2)
    if place == "free":
        right.remove()
        right = figure.add_axes((0.55, 0.1, 0.4, 0.8))
    before, box = set(figure.axes), right.get_position()
    assert wf.draw(map_of(Map(BLACKJACK, some(BLACKJACK))), right) is figure
    new = [ax for ax in figure.axes if ax not in before]
    assert len(new) == 6, "a header, four grids and one colour bar for all"
    for ax in new:
        inside = ax.get_position()
        assert box.x0 - 1e-6 <= inside.x0 < inside.x1 <= box.x1 + 1e-6
        assert box.y0 - 1e-6 <= inside.y0 < inside.y1 <= box.y1 + 1e-6
    assert not left.images


def test_small_boards_have_no_numbers_and_large_ones_do():
    five = Panels("five", "", (map_of(Map(TAXI, ONE, state=3)),) * 5, 5)
    wide, narrow = Figure(figsize=(16, 4), layout="constrained"), Figure(figsize=(8, 4), layout="constrained")
    assert "1.00" in texts(wf.draw(five, wide.subplots()))
    assert "1.00" not in texts(wf.draw(five, narrow.subplots()))
    assert texts(narrow).count("R") == 5


def test_drawing_touches_nothing_global():
    before = dict(matplotlib.rcParams)
    wf.draw(map_of(Map(BLACKJACK, some(BLACKJACK))))
    assert dict(matplotlib.rcParams) == before
    code = "import sys, whatfor as wf\nfrom whatfor.layouts import Bars, Series\nwf.draw(Bars('', '', ('a',), (Series('', (1.0,)),), ''))\nprint('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


def test_unknown_cells_are_hatched_and_others_are_not():
    unknown = np.zeros((16, 4), bool)
    unknown[6] = True
    unknown[9, :3] = True
    (ax, _) = wf.draw(map_of(Map(LAKE, some(LAKE), unknown=unknown))).axes
    assert hatched(ax) == [(2 - 0.5, 1 - 0.5)]
    assert "hatched: no experience" in ax.get_xlabel()
    (ax, _) = wf.draw(map_of(Map(LAKE, some(LAKE)))).axes
    assert hatched(ax) == []
    assert "hatched" not in ax.get_xlabel()
    figure = wf.draw(BARS)
    assert [patch.get_hatch() for patch in figure.axes[0].patches[:3]] == [None, None, HATCH]


def test_colours_follow_the_numbers():
    numbers = some(LAKE)
    grid = map_of(Map(LAKE, numbers))
    (ax, bar) = wf.draw(grid).axes
    (image,) = ax.images
    assert np.array_equal(image.get_array(), grid.numbers)
    assert (image.norm.vmin, image.norm.vmax) == (0.0, np.max(grid.numbers))
    assert bar.get_ylabel() == "expected visits"
    lightness = [MAPS["blue"](x)[:3] @ np.array([0.3, 0.59, 0.11]) for x in np.linspace(0, 1, 9)]
    assert all(np.diff(lightness) < 0), "more is darker"


def test_signed_numbers_have_zero_in_the_middle_even_if_all_are_positive():
    (ax, _) = wf.draw(map_of(Map(LAKE, some(LAKE), diverging=True))).axes
    norm = ax.images[0].norm
    assert norm.vmin == -norm.vmax
    assert MAPS["signed"](0.5)[:3] == pytest.approx((1, 1, 1), abs=0.01)
    assert scale_of([map_of(Map(LAKE, some(LAKE) - 0.9))]).norm.vmin < 0, "negative numbers are not clipped"
    assert Scale(0.0, 0.0).norm(0.0) == 0.0


def test_panels_share_a_scale_and_labels():
    small = Grid("small", "", ("0",), ("0", "1"), "row", "column", ((0.0, 1.0),))
    large = replace(small, title="large", numbers=((0.0, 4.0),))
    figure = wf.draw(Panels("two", "", (small, large), 2))
    grids = [ax for ax in figure.axes if ax.images]
    assert [ax.images[0].norm.vmax for ax in grids] == [4.0, 4.0]
    assert [ax.get_ylabel() for ax in grids] == ["row", ""]
    assert [ax.get_title() for ax in grids] == ["small", "large"]
    apart = wf.draw(Panels("two", "", (small, large), 2, shared=False))
    assert [ax.images[0].norm.vmax for ax in apart.axes if ax.images] == [1.0, 4.0]
    assert [ax.get_ylabel() for ax in figure.axes].count("expected visits") == 1
    assert [ax.get_ylabel() for ax in apart.axes].count("expected visits") == 2, "a colour bar each"
    assert (
        len(rendered(wf.draw(Panels("", "", (BARS, map_of(Map(BLACKJACK, some(BLACKJACK)))), 2, shared=False))).axes)
        == 10
    )
    other = wf.draw(Panels("two", "", (small, replace(large, rows=("9",))), 2))
    assert [ax.get_ylabel() for ax in other.axes if ax.images] == ["row", "row"]


def test_without_matplotlib_the_error_names_the_extra():
    for call in ("wf.draw(None)", "from whatfor.layouts import Bars; wf.animate([Bars('', '', (), (), '')], 'x.gif')"):
        code = f"import sys; sys.modules['matplotlib'] = None\nimport whatfor as wf\n{call}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
        assert "pip install 'whatfor[plot]'" in done.stderr


def test_importing_whatfor_is_light():
    """Optional dependencies are imported only when they are used."""
    code = "import sys, whatfor; print([m for m in ('torch', 'matplotlib', 'numba', 'gymnasium', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_a_long_title_of_bars_with_long_names_is_not_cut_off():
    names = tuple(f"{'a long name of a state, ' * 3}{i}" for i in range(6))
    figure = wf.draw(Bars("a title, " * 14, "", names, (Series("visits", (1.0,) * 6),), "expected visits"))
    figure.draw_without_rendering()
    [ax] = figure.axes
    titles = (ax.title, ax._left_title, ax._right_title)
    boxes = [title.get_window_extent() for title in titles if title.get_text()]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 + 1 for box in boxes)


@pytest.mark.parametrize("letters", [60, 69, 90, 200, 400])
def test_a_long_title_of_a_board_is_not_cut_off(letters):
    """A MiniGrid's title, which made the figure wider, was cut by the width of the colour bar."""
    labels = wf.Labels((Axis("row", 5), Axis("column", 5)), ("go",))
    words = ("row 1, column 1, facing right; lava at row 1, column 2; " * 9)[:letters].strip()
    shown = map_of(Map(labels, np.ones((25, 1)), f"turn right: estimated return 0.7267\n{words}", state=3))
    figure = wf.draw(shown)
    rendered(figure)
    title = "".join(one.get_text() for ax in figure.axes for one in (ax.title, ax._right_title))
    assert "".join(title.split()) == "".join(shown.title.split()), "a long one is broken into lines"
