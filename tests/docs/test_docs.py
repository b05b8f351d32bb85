"""The pages show what a reader will get."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import whatfor as wf
from taxi_runs import START
from whatfor.explanations import Explanation  # noqa: F401  puts the questions on the list
from whatfor.question import QUESTIONS

ROOT = Path(__file__).parents[2]
QUESTION_PAGES = ROOT / "docs" / "questions"

sys.path.insert(0, str(ROOT / "docs"))
import fill_readme  # noqa: E402

PAGES = fill_readme.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_marked_places_are_filled(page):
    text = page.read_text()
    assert fill_readme.filled(text) == text, fill_readme.to_fill(page)


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_what_takes_minutes_was_printed_by_the_example_as_it_is(page):
    assert fill_readme.stale(page.read_text(), package=False) == [], fill_readme.to_fill(page, quick=False)


@pytest.mark.release  # any change of the package may change what an example prints
@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_what_takes_minutes_was_printed_by_the_package_as_it_is(page):
    assert fill_readme.stale(page.read_text()) == [], fill_readme.to_fill(page, quick=False)


def test_a_place_of_older_code_is_noticed(tmp_path, monkeypatch):
    package, what = tmp_path / "whatfor", "examples/taxi.py#why"
    (package / "explorer").mkdir(parents=True)
    (package / "words.py").write_text("GREETING = 'hello'")
    (package / "explorer" / "page.py").write_text("")
    files = fill_readme.sources(package)
    assert [file.name for file in files] == ["words.py"]
    monkeypatch.setattr(fill_readme, "sources", lambda: files)

    def place(mark):
        return f"<!-- slow: {what} -->\n{mark}\n<!-- end -->\n"

    mark = fill_readme.printed_by(ROOT / "examples" / "taxi.py")
    assert fill_readme.stale(place(mark)) == []
    assert fill_readme.stale(place("")) == fill_readme.stale(place(""), package=False) == [what]
    other_example = re.sub("by .{12}", "by 0123456789ab", mark)
    assert fill_readme.stale(place(other_example)) == fill_readme.stale(place(other_example), package=False) == [what]
    (package / "words.py").write_text("GREETING = 'good morning'")
    assert fill_readme.stale(place(mark)) == [what]
    assert fill_readme.stale(place(mark), package=False) == []


@pytest.mark.long
def test_examples_import_nothing_that_their_marks_leave_out():
    code = "import sys; sys.path.insert(0, 'examples'); import deep_acrobot, own_dqn_loop, whatfor as wf; wf.draw; wf.deep.BeliefCallback; print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('whatfor')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {Path(file).relative_to(Path(wf.__file__).parent) for file in done.stdout.split()}
    assert len(loaded) > 50
    package = Path(wf.__file__).parent
    assert loaded <= {file.relative_to(package) for file in fill_readme.sources(package)}


def test_code_is_an_examples_only_line_by_line_and_in_order():
    code = "import whatfor as wf\n\nprint(why)\n"
    assert fill_readme.of_an_example(code)
    assert not fill_readme.of_an_example("print(why)\nimport whatfor as wf\n")
    assert not fill_readme.of_an_example(code + "print(what)\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_a_page_links_to_exist(page):
    links = re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_prints_and_draws_what_it_shows(page, tmp_path):
    """Code of the examples has tests of its own."""
    text = page.read_text()
    if "<!-- prints:" not in text:
        assert fill_readme.run_page(text, tmp_path)
        return
    assert fill_readme.ROUNDING.sub("", fill_readme.filled(text, folder=tmp_path)) == fill_readme.ROUNDING.sub(
        "", text
    ), fill_readme.to_fill(page)
    drawn = {path.name for path in tmp_path.iterdir() if path.suffix in fill_readme.PICTURES}
    shown = set(re.findall(r"\]\((?:\.\./)?images/([^)]+)\)", text))
    assert drawn <= shown, "it shows what its code draws"
    if page.parent.name == "questions":
        assert drawn == shown, "its pictures are those that its code draws"


def test_the_calibration_says_what_the_page_says():
    result = json.loads((ROOT / "benchmarks" / "calibration.json").read_text())
    assert result["seeds"] == 100
    for name, row in result["settings"].items():
        assert row["differs"] <= result["rate"], name
        assert max(row["false_alarms"].values()) <= result["rate"], name
        assert row["judged"] >= 200
        named = sum(row["verdicts"].get(part, 0) for part in ("off-policy targets", "initial value"))
        assert f"% | {100 * named / row['judged']:.1f} % | " in fill_readme.calibration(
            ROOT / "benchmarks" / "calibration.json"
        )
        if row["rare"] > 100:
            assert row["rare_off"] < -2.0 * row["rare_error"], "too low on average"
    bias, buffers = result["bias"], result["buffers"]["all"]
    assert bias["Q-learning"]["rate"] >= 0.6
    assert max(row["rate"] for name, row in bias.items() if name.startswith("double")) <= 0.05
    assert buffers["recognised"]["rate"] >= 0.7
    judges = {"its table": buffers, **buffers["by_play"]}
    for judge, played in judges.items():
        rows = [
            row
            for right in played["false_alarms"].values()
            for row in right.values()
            if row["of"] >= fill_readme.MIN_STATES
        ]
        assert len(rows) >= 5, judge
        assert max(row["rate"] for row in rows) <= result["rate"], judge
    assert min(row["recognised"]["count"] for row in result["changes"].values()) >= 19
    wrong = [100 * row["differs"] for row in result["settings"].values()]
    assert f"measured: [{min(wrong):.1f} % to {max(wrong):.1f} %]" in (ROOT / "README.md").read_text()


@pytest.fixture
def related(monkeypatch):
    """The comparison with related methods, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("related")


@pytest.mark.parametrize("name", ["Taxi", "FrozenLake", "CliffWalking", "Blackjack", "random world"])
def test_related_methods_on_the_agents_own_updates_are_the_same_recursion(related, name):
    found = related.compare(name, scale=100)
    assert found["off_parts"] < 1e-12
    assert found["off_timeline"] < 1e-12
    assert found["methods"]["SR on the agent's updates (belief map)"]["off_account"] < 1e-12
    assert all(found["methods"][method]["off_value"] < 1e-12 for method in ("reward decomposition", "temporal decomposition", "whatfor"))  # fmt: skip
    assert found["methods"]["SR of the behaviour, own step sizes"]["off_account"] > 0.01, "another estimate"


def test_the_page_on_related_work_says_what_was_measured():
    agents = json.loads((ROOT / "benchmarks" / "related.json").read_text())["agents"]
    off = {name: {method: row.get("off_exact") for method, row in agent["methods"].items()} for name, agent in agents.items()}  # fmt: skip
    assert all(
        row["300 rollouts"] <= min(far for far in row.values() if far is not None) + 1e-12 for row in off.values()
    )
    better = [name for name, row in off.items() if row["SR of the greedy policy, own step sizes"] < row["whatfor"]]
    assert better == ["Blackjack"], "a successor representation can be better than the agent's own belief (Blackjack)"
    assert max(off[name]["one rollout"] for name in ("Taxi", "CliffWalking")) < 1e-9, (
        "one is enough where the environment is deterministic"
    )
    adds_up = {name: agent["methods"]["SR on the agent's updates (belief map)"]["off_value"] < 1e-9 for name, agent in agents.items()}  # fmt: skip
    assert [name for name, so in adds_up.items() if so] == ["Taxi", "CliffWalking"], (
        "where the reward depends on the pair alone"
    )
    sizes = {name: agent["costs"] for name, agent in agents.items()}
    assert sizes["FrozenLake"]["SR"]["bytes"] < 0.1 * sizes["FrozenLake"]["whatfor"]["bytes"], "far smaller"
    assert agents["FrozenLake"]["n_parts"] == 1
    reasons = agents["CliffWalking"]["reasons"]
    assert reasons["state-action pairs"] > 10 * reasons["parts of the reward"], "one stands for many"


def test_the_page_on_related_work_names_every_question():
    text = (ROOT / "docs" / "related-work.md").read_text().partition("## Who asked first")[2].partition("\n## ")[0]
    named = re.findall(r"^\| \[(\w+)\]", text, re.MULTILINE)
    assert named == [name for name in QUESTIONS if name in named], "in their order"
    assert len(named) >= 10


def keys_of(name):
    """The keys that a page of questions explains."""
    return re.findall(r"^\| `(\w+)` \|", text_about(name).partition("## Its JSON")[2], re.M)


def text_about(name):
    """The page of a question."""
    page = QUESTION_PAGES / f"{name}.md"
    assert page.exists(), f"write docs/questions/{name}.md"
    return page.read_text()


def keys_to_document(name, own, keys, common):
    """What to change in the table of a question's page, one line each."""
    table = f'the table under "Its JSON" in docs/questions/{name}.md'
    wrong = [(f"add `{key}` to {table}", key in keys - common - {*own}) for key in sorted(keys)]
    wrong += [(f"remove `{key}` from {table}: the answer has no such key", key not in keys) for key in own]
    wrong += [(f"remove `{key}` from {table}: docs/questions/index.md explains it", key in common) for key in own]
    return [line for line, so in wrong if so]


def test_what_is_wrong_with_a_table_of_keys_names_page_and_table():
    assert keys_to_document("risk", ["chance", "residual", "old"], {"risk", "chance", "residual"}, {"residual"}) == [
        'add `risk` to the table under "Its JSON" in docs/questions/risk.md',
        'remove `old` from the table under "Its JSON" in docs/questions/risk.md: the answer has no such key',
        'remove `residual` from the table under "Its JSON" in docs/questions/risk.md: docs/questions/index.md explains it',
    ]


def test_the_json_form_is_as_documented(taxi_2k):
    common = set(re.findall(r"^\| `(\w+)` \|", (QUESTION_PAGES / "index.md").read_text(), re.MULTILINE))
    seen = []
    for name, question in QUESTIONS.items():
        needed = {one.name: int(one.example) if one.kind == "number" else one.example for one in question.parameters if one.needed}  # fmt: skip
        form = taxi_2k.ask(name, START, **needed).to_json()
        own = keys_of(name)
        if name == "change":
            own += [key for key in keys_of("contrast") if key not in ("chosen", "instead")]
        assert form["question"] == name
        assert keys_to_document(name, own, set(form), common) == []
        seen += form
    assert all(seen.count(key) > 1 for key in common)


def test_every_question_has_a_page_that_shows_it():
    listed = re.findall(r"^\w+$", (QUESTION_PAGES / "index.md").read_text().partition("{toctree}")[2], re.MULTILINE)
    assert listed == [*QUESTIONS], f"write the toctree of docs/questions/index.md in this order: {', '.join(QUESTIONS)}"
    for name in QUESTIONS:
        text = text_about(name)
        headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert [one for one in headings if one != "How it adds up"][:2] == ["Example", "How to ask"]
        assert f"run.{name}(" in text.partition("## How to ask")[0]
        assert f"<!-- question: {name} -->" in text


def test_what_the_deep_page_says_of_costs_was_measured():
    page = (ROOT / "docs" / "deep.md").read_text()
    rows = json.loads((ROOT / "benchmarks" / "results.json").read_text())["sections"]["deep"]
    ratios = {
        how: [row["value"] for row in rows if how in row["what"]]
        for how in ("an update at every step", "in an update every 4 steps", "all defaults")
    }
    least, most = min(ratios["an update at every step"]), max(ratios["an update at every step"])
    assert f"only {least:.1f} to {most:.1f} times as fast" in page
    assert all(2.0 <= ratio < 3.2 for ratio in ratios["in an update every 4 steps"]), "two to three times"
    assert all(ratio < 2.0 for ratio in ratios["all defaults"]), "less than double"
    larger = {
        row["what"].split(",")[0]: row["detail"]["beside"]["belief"] / row["detail"]["beside"]["agent"]
        for row in rows
        if "paper nets" in row["what"]
    }
    assert f"{larger['Taxi']:.0f} (Taxi) to {larger['CartPole']:.0f} times (CartPole) as large as Q's" in page
