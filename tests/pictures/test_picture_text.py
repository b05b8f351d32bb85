"""Names in pictures are text: never mathtext, never LaTeX, never left out (attack 17)."""

import matplotlib.figure
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

import whatfor as wf
from whatfor.axes import Axis
from whatfor.labels import Labels
from whatfor.layouts import Bars, Board, Grid, Layer, Lines, Panels, Series
from whatfor.pictures.frames import frames

COSTS, BROKEN, HIDDEN = "from $5 to $10", r"$\frac{ and $2", "_private"
NAMES = (COSTS, BROKEN, HIDDEN)
SERIES = tuple(Series(name, (1.0, 0.5, -0.25)) for name in NAMES)

BARS = Bars(COSTS, BROKEN, NAMES, SERIES, COSTS)
LINES = Lines(COSTS, BROKEN, (0.0, 5.0, 9.0), SERIES, COSTS, BROKEN)
GRID = Grid(
    COSTS, BROKEN, NAMES, (BROKEN, COSTS), COSTS, BROKEN, ((1.0, 0.5), (0.1, 0.2), (0.3, 0.0)),
    quantity=COSTS, marks=(("$a$", 0, 0, COSTS),), beside=Series(COSTS, (1.0, 2.0, 3.0)),
)  # fmt: skip
BOARD = Board(
    COSTS, BROKEN, 2, 2, (), (("$a$", 0, 1, COSTS),), COSTS, (0, 0),
    (Layer(COSTS, "yellow", ((1.0, 0.5), (0.1, 0.2))), Layer(BROKEN, "green", ((0.0, 0.5), (0.1, 0.2)))), roles=(COSTS,), quantity=COSTS,
)  # fmt: skip
LAYOUTS = {
    "bars": BARS,
    "lines": LINES,
    "grid": GRID,
    "board": BOARD,
    "panels": Panels(COSTS, BROKEN, (GRID, GRID), 2, column_heads=(COSTS, BROKEN), row_heads=(COSTS,)),
    "boards": Panels(COSTS, BROKEN, (BOARD, BOARD), 2),
    "mixed": Panels(COSTS, BROKEN, (BARS, LINES, GRID, BOARD), 2, shared=False),
}


def words_of(figure):
    """Every text of a figure, after drawing, since ticks are created then."""
    FigureCanvasAgg(figure).draw()
    return [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_dollar_sign_is_a_dollar_sign(name):
    shown = words_of(wf.draw(LAYOUTS[name]))
    named = [text for text in shown if "$" in text.get_text() or "_" in text.get_text()]
    assert {COSTS, BROKEN} <= {line for text in named for line in text.get_text().split("\n")}
    assert not [text.get_text() for text in named if text.get_parse_math() or text.get_usetex()]


@pytest.mark.parametrize("name", LAYOUTS)
def test_drawing_on_a_given_axes(name):
    """Its title and labels exist before drawing."""
    figure = matplotlib.figure.Figure(figsize=(9, 7))
    wf.draw(LAYOUTS[name], figure.subplots())
    assert not [text.get_text() for text in words_of(figure) if "$" in text.get_text() and text.get_parse_math()]


def test_animations_are_plain_too():
    assert len(frames([GRID, GRID], 40)) == 2


@pytest.mark.parametrize("layout", [BARS, LINES], ids=["bars", "lines"])
def test_legends_name_every_series(layout):
    legend = wf.draw(layout).axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == list(NAMES)


def test_every_answer_about_a_run_with_dollar_signs_is_drawn():
    labels = Labels((Axis("price", 3, NAMES),), (COSTS, BROKEN))
    rng = np.random.default_rng(0)
    ledger = wf.Ledger(3, 2)
    values = np.zeros((3, 2))
    for episode in range(60):
        state, action, after = int(rng.integers(3)), int(rng.integers(2)), int(rng.integers(3))
        last, best = episode % 3 == 0, int(values[after].argmax())
        target = 1.0 + (0.0 if last else 0.9 * values[after, best])
        values[state, action] += 0.5 * (target - values[state, action])
        ledger.record(state, action, 1.0, None if last else after, best, step_size=0.5, discount=0.9)
    run = wf.Run(labels=labels, values=values, ledger=ledger)
    asked = (run.intention(0), run.contrast(0), run.outcomes(0), run.timeline(0), run.provenance(0), run.parts(0))
    for answer in asked:
        shown = words_of(wf.draw(answer))
        assert not [text.get_text() for text in shown if "$" in text.get_text() and text.get_parse_math()]
