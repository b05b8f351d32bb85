"""The list of questions: Run, shell, page, report and docs read it, so a new question appears in all of them."""

import json
from dataclasses import dataclass, replace

import pytest

import whatfor as wf
from saved import trained
from steps_of_a_question import steps_left
from whatfor.explanation import Explanation
from whatfor.explorer.desk import Desk
from whatfor.explorer.report import build_payload
from whatfor.question import QUESTIONS, Parameter, first_question, layout_of, question


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
def test_every_question_is_part_of_the_project(name):
    left = steps_left(QUESTIONS[name])
    assert left == [], "\n".join(["to do:", *left])


def test_what_a_new_question_lacks_is_said_with_what_to_do(lead):
    assert steps_left(QUESTIONS["lead"]) == [
        "export Lead in src/whatfor/explanations/__init__.py",
        "add `lead = lead.ask` in src/whatfor/explanations/methods.py",
        "write docs/questions/lead.md",
        "add lead to the toctree at the end of docs/questions/index.md",
        "run .venv/bin/python docs/fill_readme.py --quick README.md docs/questions/index.md",
        "run .venv/bin/python tests/words/make_corpus.py, and read the difference",
    ]


def test_the_class_of_a_question_of_two_words_has_two_capitals():
    step, *_ = steps_left(replace(QUESTIONS["outcomes"], name="final_states"))
    assert step == "call the class of the answer FinalStates, like the question, not Outcomes"


def test_every_question_is_in_the_order_of_the_list():
    assert [*QUESTIONS][:2] == ["intention", "contrast"]
    assert [one.place for one in QUESTIONS.values()] == sorted(one.place for one in QUESTIONS.values())


def test_one_question_comes_first_and_clickable_pictures_have_the_cells_of_the_map():
    """The page reads which cells lead to a state from the state's map, so a clickable picture must have its form."""
    assert first_question().name == "intention"
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
    assert {"intention", "contrast", "comparison", "change", "simulation"} <= {*found}


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
        question("half", "half an answer", answer=Half, layout=lambda answer: None, place=1_001)(
            lambda run, state, action=None: None
        )


def ask_weighed(run, state, action=None, *, front=1, back=None, event=""):
    """Weigh it."""


def register(ask=ask_weighed, *parameters, name="weighed", title="how heavy it is", **more):
    """Try to register a question that has one fault."""
    answer = QUESTIONS["outcomes"].answer
    question(name, title, **{"answer": answer, "layout": lambda why: None, "parameters": parameters, "place": 1_001, **more})(ask)  # fmt: skip


def ask_about_a_share(run, state, action=None, *, share=0.5):
    """Ask about a share."""


def ask_without_words(run, state, action=None):
    pass


HELP = "what it is weighed with"
FAULTS = {
    "no argument": ({"parameters": [Parameter("rear", HELP)]}, TypeError, "parameter 'rear' of question 'weighed': its function has no keyword argument rear"),
    "the state": ({"parameters": [Parameter("state", HELP)]}, TypeError, "no keyword argument state"),
    "kind": ({"parameters": [Parameter("front", HELP, "share")]}, ValueError, "'front' .* is of kind 'share'; write one of 'number', 'words', 'action'"),
    "fraction": ({"ask": ask_about_a_share, "parameters": [Parameter("share", HELP, "number")]}, TypeError, "'share' .*: its default is 0.5; a number is a whole number"),
    "text": ({"parameters": [Parameter("event", HELP, "number")]}, TypeError, "'event' .*: its default is ''"),
    "full stop": ({"parameters": [Parameter("front", "what it is.")]}, ValueError, "'front' .*: its help follows a colon.*without a capital and a full stop"),
    "capital": ({"parameters": [Parameter("front", "What it is")]}, ValueError, "'front' .*: its help follows a colon"),
    "example": ({"parameters": [Parameter("front", HELP, needed=True)]}, ValueError, "'front' .* is needed: give an example"),
    "need": ({"needs": ["ledger"]}, ValueError, "'weighed' needs 'ledger'; a question may need 'beliefs', "),
    "title": ({"title": "what it expects"}, ValueError, "has the title of 'intention'"),
    "place": ({"place": 30}, ValueError, "has the place of 'outcomes', 30"),
    "name": ({"name": "outcomes"}, ValueError, "there is a question 'outcomes' already, in whatfor.explanations.outcomes"),
    "docstring": ({"ask": ask_without_words}, ValueError, "'weighed': its function needs a docstring"),
    "clickable": ({"clickable": ["parts"]}, ValueError, "clickable names 'parts'; its pictures are ''"),
    "spelling": ({"evry_action": True}, TypeError, "question.. has no argument 'evry_action'"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "kind", "message"), FAULTS.values(), ids=FAULTS)
def test_a_question_with_a_fault_is_rejected_when_it_is_registered(given, kind, message):
    before = dict(QUESTIONS)
    with pytest.raises(kind, match=message):
        register(**given)
    assert before == QUESTIONS


def test_a_question_without_a_place_is_rejected():
    with pytest.raises(TypeError, match=r"say where it is listed; place=\d+ is the end"):
        question("weighed", "how heavy it is", answer=QUESTIONS["outcomes"].answer, layout=lambda why: None)(ask_weighed)  # fmt: skip


def test_a_question_with_all_kinds_of_parameters_is_registered():
    try:
        register(ask_weighed, Parameter("front", HELP, "number"), Parameter("back", HELP, "number"), Parameter("event", HELP))  # fmt: skip
        assert [*QUESTIONS][-1] == "weighed"
    finally:
        QUESTIONS.pop("weighed", None)


def test_a_number_is_whole_everywhere(lead, whatfor, run_folder):
    run = wf.load(run_folder)
    for times in (2.5, True):
        with pytest.raises(ValueError, match=r"times is .*; it must be a whole number"):
            run.ask("lead", 0, times=times)
    with pytest.raises(ValueError, match=r"times is a whole number, not '2\.5'"):
        Desk(run).ask("answer", {"question": "lead", "state": "0", "times": "2.5"})
    assert whatfor("explain", run_folder, "--state", 0, "--question", "lead", "--times", 2.5)[0] == 2
