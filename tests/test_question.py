"""The list of questions: Run, shell, page, report and docs read it, so a new question appears in all of them."""

import importlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import whatfor as wf
from saved import trained
from whatfor import asking, explanations
from whatfor.explanation import Explanation
from whatfor.explorer.desk import Desk
from whatfor.explorer.report import build_payload
from whatfor.question import QUESTIONS, layout_of, question

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def lead():
    """The toy question, on the list for one test."""
    import toy_question

    module = importlib.reload(toy_question)
    asking.shared_flags.cache_clear()
    yield module
    del QUESTIONS["lead"]
    asking.shared_flags.cache_clear()


def test_a_toy_question_is_answered_by_a_run(lead):
    run = trained()
    values = sorted(run.values[0])
    why = run.ask("lead", 0, times=3)
    assert why.lead == 3 * (values[-1] - values[-2])
    assert layout_of(why).names == ("lead",)
    one = wf.Run(labels=wf.Labels.plain(1, 1), values=[[0.0]], beliefs=run.beliefs)
    with pytest.raises(ValueError, match="lead needs two actions: there is only one action"):
        one.ask("lead", 0, times=3)


def test_a_toy_question_is_answered_in_the_shell(lead, whatfor, run_folder, tmp_path):
    code, output, _ = whatfor("explain", run_folder, "--state", 0, "--question", "lead", "--times", 3, "--json")
    assert (code, json.loads(output)["lead"]) == (0, wf.load(run_folder).ask("lead", 0, times=3).lead)
    code, _, error = whatfor("explain", run_folder, "--state", 0, "--question", "lead")
    assert (code, error) == (
        2, "whatfor: --question lead needs --times: what the lead is multiplied by, e.g. --times 1\n",
    )  # fmt: skip
    code, _, error = whatfor("explain", run_folder, "--state", 0, "--times", 2)
    assert (code, "--times needs" in error or "--times is for --question lead" in error) == (2, True)
    assert (
        whatfor("draw", run_folder, "--state", 0, "--question", "lead", "--times", 3, "--out", tmp_path / "a.png")[0]
        == 0
    )


def test_a_toy_question_is_on_the_page_and_in_a_report(lead):
    desk = Desk(trained())
    about = desk.ask("run", {})["questions"]["lead"]
    assert (about["clickable"], about["first"]) == ([False], False)
    assert (about["title"], [one["name"] for one in about["parameters"]]) == ("how far it leads", ["times"])
    answer = desk.ask("answer", {"question": "lead", "state": "0", "times": "2"})
    assert answer["answer"]["lead"] == desk.run.ask("lead", 0, times=2).lead
    assert [picture["layout"] for picture in answer["pictures"]] == ["bars"]
    for given, message in (
        ({"times": "two"}, "times is a whole number"),
        ({"horizon": "2"}, "is for question=timeline, not"),
    ):
        with pytest.raises(ValueError, match=message):
            desk.ask("answer", {"question": "lead", "state": "0", **given})
    payload = build_payload(desk.run, states=[0])
    assert all(f"&question=lead&state=0&times={times}" in payload for times in (1, 2))


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_is_a_method_and_documented(name):
    question = QUESTIONS[name]
    assert getattr(wf.Run, name) is question.ask
    assert question.answer.__name__ == name.capitalize()
    assert question.summary
    assert f"run.{name}(" in (DOCS / "questions" / f"{name}.md").read_text()
    assert all(re.fullmatch(r"[a-z].*[^.]", one.help) for one in question.parameters), "it follows a colon"


def test_every_question_is_in_the_order_of_the_list():
    assert [*QUESTIONS][:2] == ["intention", "contrast"]
    assert [one.place for one in QUESTIONS.values()] == sorted(one.place for one in QUESTIONS.values())


def test_one_question_comes_first_and_clickable_pictures_have_the_cells_of_the_map():
    """The page reads which cells lead to a state from the state's map, so a clickable picture must have its form."""
    assert [one.name for one in QUESTIONS.values() if one.first] == ["intention"]
    run = wf.train("FrozenLake-v1", episodes=300, seed=0)
    desk = Desk(run)
    rows = desk.ask("state", {"state": "6"})["map"]
    found = []
    for name, about in desk.ask("run", {})["questions"].items():
        needed = {one["name"]: one["suggestions"][0] for one in about["parameters"] if one["required"]}
        pictures = desk.ask("answer", {"question": name, "state": "6", **needed})["pictures"]
        assert len(pictures) == len(about["clickable"])
        for clickable, picture in zip(about["clickable"], pictures, strict=True):
            if clickable:
                found.append(name)
                assert [len(row) for row in picture["numbers"]] == [len(row) for row in rows]
    assert found == ["intention", "contrast", "comparison", "change", "simulation"]


def test_every_answer_is_exported():
    """The API page lists what the package exports."""
    assert {one.answer.__name__ for one in QUESTIONS.values()} <= {*explanations.__all__}


def test_an_answer_without_what_the_page_reads_is_rejected():
    @dataclass(frozen=True)
    class Half(Explanation):
        labels: object
        state: int
        best: int
        residual: None = None

        def sentences(self):
            return []

        def numbers(self):
            return {}

    with pytest.raises(TypeError, match="Half, has no action: add it to its fields"):
        question("half", "half an answer", answer=Half, layout=lambda answer: None)(
            lambda run, state, action=None: None
        )
