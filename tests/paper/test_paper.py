"""The paper's tabular figures: every check is met by the trained agents, and by no untrained agent."""

import re
from functools import cache

import pytest
from PIL import Image

from whatfor.beliefs import value_iteration
from whatfor.paper import FIGURES, reproduce, taxi
from whatfor.paper.agents import Agents
from whatfor.paper.taxi import PRINTED_VALUES, value_after

#: Claims of the paper that these agents do not meet, each with a note on the page.
DEVIATIONS = {
    "1": ["all seeds from 2,000 experiences"],
    "S6": ["distance between expected and simulated visits"],
    "S9": [
        "which action is better",
        "share of expected visits at the edges, after the other action and after the better one",
    ],
}
#: Figures that need many agents, or a search through all states.
LONG = ("1", "7")


@pytest.fixture(scope="module")
def agents():
    return Agents()


@pytest.fixture(scope="module")
def untrained():
    return Agents(trained=False)


def test_all_tabular_figures_are_there():
    assert list(FIGURES) == ["1", "2", "3", "4", "5", "7", *(f"S{n}" for n in range(1, 11)), "A5"]


@pytest.mark.parametrize("id", [pytest.param(id, marks=pytest.mark.long if id in LONG else ()) for id in FIGURES])
def test_the_papers_claims_are_met(agents, id, monkeypatch):
    monkeypatch.setattr(taxi, "search", cache(taxi.search))
    figure = FIGURES[id](agents)
    assert figure.id == id
    assert figure.claim
    assert figure.pictures
    assert figure.checks
    assert [check.what.split(":")[0] for check in figure.checks if not check.met] == DEVIATIONS.get(id, [])
    if id == "7":  # here, since searching all states takes a while
        assert_cases_are_what_they_are_called(agents.taxi)


@pytest.mark.parametrize("id", FIGURES)
def test_no_check_is_met_by_an_untrained_agent(untrained, id):
    assert [check for check in FIGURES[id](untrained).checks if check.met] == []


def assert_cases_are_what_they_are_called(run):
    found = taxi.search(run)
    assert {kind: len(cases) > 0 for kind, cases in found.items()} == dict.fromkeys(PRINTED_VALUES, True)
    table = run.playing.place().env.unwrapped.P
    for case in found["failure"]:
        assert table[case.state][case.instead.action][0][1] == case.state, "the action leaves the taxi where it is"
    for case in found["bounce"]:
        away = table[case.state][case.instead.action][0][1]
        assert away != case.state
        assert table[away][run.best(away)][0][1] == case.state, "from there its best action leads back"
    best = value_iteration("Taxi-v4", discount=0.9)
    for case in found["ambiguity"]:
        values = best[case.state, [case.chosen.action, case.instead.action]]
        assert values == pytest.approx([best[case.state].max()] * 2), "both are optimal"
    assert [round(value_after(n), 4) for n in (5, 3, 13)] == [7.7147, 11.87, -2.3744]


def test_reproduce_writes_pictures_and_a_page(tmp_path, agents):
    figures = reproduce(tmp_path / "new" / "paper", ["2", "s4", "A5"], agents=agents, progress=False)
    folder = tmp_path / "new" / "paper"
    assert [figure.id for figure in figures] == ["2", "S4", "A5"]
    page = (folder / "index.html").read_text()
    pictures = re.findall(r"<img src='([^']+)'", page)
    assert sorted(pictures) == sorted(file.name for file in folder.iterdir() if file.suffix in (".png", ".gif"))
    for figure in figures:
        assert f"Figure {figure.id}: " in page
        for check in figure.checks:
            assert check.what in page
    with Image.open(folder / "A5-episode.gif") as moving:
        assert moving.n_frames == len(agents.taxi.episode("taxi at row 0, column 3; passenger at Y; destination R"))
    assert "http" not in page, "nothing is loaded from elsewhere"


def test_an_unknown_figure_gets_a_list(tmp_path):
    with pytest.raises(ValueError, match="there is no tabular figure '8'; the figures are 1, 2, 3, 4, 5, 7, S1"):
        reproduce(tmp_path / "paper", ["8"])
    with pytest.raises(ValueError, match="figure 6 shows deep agents: add --deep"):
        reproduce(tmp_path / "paper", ["6"])
    assert not (tmp_path / "paper").exists()


def test_the_command(whatfor, tmp_path):
    code, said, _ = whatfor("paper", "--only", "2", "--out", tmp_path)
    assert code == 0
    assert said.splitlines()[-1] == f"3 of 3 checks met; see {tmp_path / 'index.html'}"
    (tmp_path / "file").touch()
    code, _, error = whatfor("paper", "--only", "2", "--out", tmp_path / "file")
    assert code == 2
    assert "choose another folder" in error
    code, _, error = whatfor("paper", "--only", "S11", "--out", tmp_path)
    assert code == 2
    assert "figure S11 shows deep agents: add --deep" in error
