"""The tutorials run, and show what they print."""

import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import fill_notebooks  # noqa: E402
from fill_readme import ROUNDING  # noqa: E402

NOTEBOOKS = fill_notebooks.notebooks()


def texts(notebook):
    return [ROUNDING.sub("", text) for text in fill_notebooks.texts(notebook)]


def shown(path):
    return nbformat.read(path, as_version=4)


def test_there_are_three_tutorials():
    assert [path.stem for path in NOTEBOOKS] == ["episode", "hover", "minigrid"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_prints_what_it_shows(path, tmp_path):
    assert texts(fill_notebooks.executed(path, tmp_path)) == texts(shown(path)), "run `make readme`"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_is_short_and_has_outputs_pictures_and_no_warnings(path):
    code = [cell for cell in shown(path).cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert 5 <= len(code) <= 9
    assert sum(bool(cell.outputs) for cell in code) >= len(code) - 1, "the first cell may define the world"
    assert any("image/png" in output.get("data", {}) for output in outputs), "wf.draw shows itself"
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    assert path.stat().st_size < 300_000


def test_the_tutorials_find_what_they_are_about():
    """What their prose says, beside what is printed."""
    said = {path.stem: " ".join(texts(shown(path))) for path in NOTEBOOKS}
    assert "'up' pays +0.8 each time, and the agent loops for it without a recorded end" in said["hover"].replace(
        "&#x27;", "'"
    )
    assert said["hover"].index("ending 'timed out'") < said["hover"].index("ending 'landed'")
    assert "lake: 'over the ice' instead of 'around'" in said["episode"]
    assert "to open the door 2 steps later and to reach the goal 4 steps later" in said["minigrid"]
