"""Of maps with many facets, those that matter are shown, and what is left out is counted."""

import numpy as np
import pytest

import whatfor as wf
from whatfor.axes import Axis
from whatfor.layouts import Panels
from whatfor.layouts.beside import without_empty
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.question import layout_of

#: Two rows and columns, and eight colours: one board each.
LABELS = wf.Labels((Axis("colour", 8), Axis("row", 2), Axis("column", 2)), ("go", "stay"))


def numbers_in(*colours):
    numbers = np.zeros((LABELS.n_states, 2))
    for colour, number in colours:
        numbers[4 * colour, 0] = number
    return numbers


@pytest.fixture
def walker():
    """From colour 0 it goes on to colour 1 or to colour 2."""
    ledger = wf.Ledger(n_states=32, n_actions=2)
    for action, state in ((0, 4), (1, 8)):
        ledger.record(state, 0, 1.0 + action, None, step_size=1.0, discount=0.9)
        ledger.record(0, action, 0.0, state, 0, step_size=1.0, discount=0.9)
    return wf.Run(labels=LABELS, values=ledger.values(), ledger=ledger)


def test_a_contrast_has_a_row_for_each_facet_that_is_visited(walker):
    why = walker.contrast(0)
    layout = layout_of(why)
    assert layout.row_heads == ("colour 0", "colour 1", "colour 2")
    assert layout.column_heads == ("stay expects", "go expects", "only stay", "only go", "both")
    assert "5 empty boards left out" in layout.caption
    shown = [float(np.sum(panel.numbers)) for panel in layout.panels]
    assert sum(shown[::5]) == pytest.approx(why.chosen.visits.sum())
    assert layout.panels[0].marked == (0, 0)
    assert wf.draw(why).axes


def test_one_map_is_drawn_without_empty_facets_and_laid_out_with_them(walker):
    shown = map_of(Map(LABELS, numbers_in((0, 1.0), (3, 0.5)), "it", "here", state=4))
    assert len(shown.panels) == 8, "a page finds the state behind each cell by the number of the panel"
    drawn = without_empty(shown)
    assert [panel.title for panel in drawn.panels] == ["colour 0", "colour 1", "colour 3"], "colour 1: asked about"
    assert drawn.caption == "here\n5 empty boards left out"
    assert wf.draw(walker.intention(0)).axes


def test_what_is_left_out_is_weighed():
    shown = map_of(Map(LABELS, numbers_in(*((colour, 1.0) for colour in range(8)))))
    drawn = without_empty(shown)
    assert isinstance(drawn, Panels)
    assert len(drawn.panels) == 6
    assert drawn.caption == "2 boards with 25 % of the total left out"
    assert without_empty(drawn) == drawn


@pytest.mark.parametrize(
    ("names", "board"), [(("row", "column"), None), (("depth", "width"), ("depth", "width"))], ids=["named", "declared"]
)
def test_several_maps_of_four_boards_have_a_row_for_each_board(names, board):
    """A contrast of two states of a door and two of a key was 20 boards in one row of five maps."""
    axes = (
        Axis("door", 2, ("closed", "open")),
        Axis("key", 2, ("without key", "with key")),
        *(Axis(name, 2) for name in names),
    )
    labels, ledger = wf.Labels(axes, ("go", "stay"), board=board), wf.Ledger(n_states=16, n_actions=2)
    for action in (0, 1):
        ledger.record(4 + 8 * action, 0, 1.0 + action, None, step_size=1.0, discount=0.9)
        ledger.record(0, action, 0.0, 4 + 8 * action, 0, step_size=1.0, discount=0.9)
    run = wf.Run(labels=labels, values=ledger.values(), ledger=ledger)
    layout = layout_of(run.contrast(0))
    assert layout.row_heads == ("door closed\nwithout key", "door closed\nwith key", "door open\nwith key")
    assert len(layout.column_heads) == 5
    assert "1 empty board left out" in layout.caption
    assert len(layout_of(run.intention(0)).panels) == 4, "one map keeps its four boards"
