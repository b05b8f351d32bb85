"""The README shows what a reader will get."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


sys.path.insert(0, str(ROOT / "docs"))
import fill_readme  # noqa: E402


@pytest.mark.long
def test_marked_places_are_what_the_commands_print():
    assert len(fill_readme.PLACE.findall(README)) == 3
    # How far rounding is off depends on the machine's vector width; everything else does not.
    rounding = re.compile(r"(residual:? )\d[\d.]*(e-1\d)?")
    assert rounding.sub("", fill_readme.filled(README)) == rounding.sub("", README), fill_readme.to_fill(
        ROOT / "README.md"
    )


def test_the_table_of_questions_is_that_of_the_package():
    (table,) = [place for place in fill_readme.PLACE.finditer(README) if place[2] == "questions"]
    assert table[4] == fill_readme.questions(ROOT / table[3]), fill_readme.to_fill(ROOT / "README.md")


def test_it_is_short_and_its_code_is_the_examples():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(README.splitlines()) <= 200
    assert [fill_readme.of_an_example(block) for block in blocks] == [True], "which has a test of its own"


@pytest.mark.long
def test_shell_commands_run(whatfor, tmp_path, monkeypatch):
    pages = [ROOT / "docs" / name for name in ("quickstart.md", "paper.md")]
    commands = [command for page in pages for command in fill_readme.commands(page)]
    assert len(commands) == 10
    # All of the paper's figures are tested in test_paper.py and, without minutes of training, in deep/test_paper_deep.py.
    commands = [command for command in commands if not command.startswith("paper --deep")]
    monkeypatch.chdir(tmp_path)
    for command in [re.sub(r"^(paper [^#]*).*", r"\1 --only 2", command) for command in commands]:
        code, told, wrong = whatfor(*shlex.split(command))
        assert (code, wrong) == (0, ""), command
        if "--instead east" in command:
            assert "over 'east'" in told


def test_files_it_links_to_exist():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_counts_the_papers_claims_as_they_were_measured():
    """Those of tabular agents, and those of deep ones."""
    for file, form in (
        ("paper.json", r"measures (\d+) of them on (\d+) agents each\. (\d+) are reproduced, (\d+) are not .*?, (\d+) are unclear"),
        ("paper_deep.json", r"Of (\d+) claims about deep agents, measured on (\d+) agents each, (\d+) are reproduced, (\d+) is not, (\d+) is unclear"),
    ):  # fmt: skip
        rows = json.loads((ROOT / "benchmarks" / file).read_text())
        counts = [sum(row["status"] == one for row in rows) for one in ("reproduced", "not reproduced", "unclear")]
        stated = re.search(form, " ".join(README.split()))
        assert stated is not None
        assert [*map(int, stated.groups())] == [len(rows), min(row["seeds"] for row in rows), *counts]


def test_the_counts_of_claims_stand_at_the_top_of_the_papers_page():
    top = (ROOT / "docs" / "paper.md").read_text().split("```sh")[0]
    for file in ("paper.json", "paper_deep.json"):
        rows = json.loads((ROOT / "benchmarks" / file).read_text())
        for status in ("reproduced", "not reproduced", "unclear"):
            assert f"**{sum(row['status'] == status for row in rows)} {status}**" in top
