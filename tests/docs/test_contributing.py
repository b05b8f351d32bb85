"""CONTRIBUTING.md: its code works when it is pasted where it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = {
    section.split("\n", 1)[0]: re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
}


def path_of(block):
    """Where a block belongs, by its first line; None: it is a script."""
    found = re.match(r"# ((?:src|tests)/\S+\.py)\n", block)
    return found and found[1]


@pytest.fixture
def tree(tmp_path):
    """A copy of the source tree, and a way to run Python with it."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": "src", "MPLBACKEND": "agg", "NUMBA_DISABLE_JIT": "1"},  # compiling would take longer
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return tmp_path, run


def paste(tree, section):
    """Put the files of a section in their places, and run its scripts and tests; what they print."""
    folder, run = tree
    said = []
    for block in SECTIONS[section]:
        path = path_of(block)
        script = folder / (path or "script.py")
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(block, encoding="utf-8")
        if path is None:
            said.append(run("-W", "error", "script.py"))
        elif path.startswith("tests/"):
            said.append(run("-m", "pytest", "-q", "--rootdir", ".", "-p", "no:cacheprovider", path))
    return said


def test_every_kind_of_extension_has_its_example():
    assert [name for name in SECTIONS if name.startswith("Add ")] == [
        "Add a question", "Add a learner", "Add a world", "Add a source of beliefs",
    ]  # fmt: skip
    assert all(any(map(path_of, blocks)) for name, blocks in SECTIONS.items() if name.startswith("Add "))


def test_the_question_is_answered_in_python_and_in_the_shell(tree):
    folder, run = tree
    answer, tested = paste(tree, "Add a question")
    assert answer.startswith("In 'row 2, column 1', the estimated return of ")
    assert len(answer.splitlines()) == 3
    assert "2 passed" in tested
    assert (folder / "stakes.png").stat().st_size > 1_000
    asked = ("explain", "lake", "--state", "row 2, column 1", "--question", "stakes", "--worst", "2")
    assert run("-m", "whatfor", *asked) == answer
    assert "how much depends on it" in run("-c", "import whatfor.asking as a; print(a.QUESTIONS['stakes'].title)")


def test_the_learner_keeps_the_contract(tree):
    (said,) = paste(tree, "Add a learner")
    assert said.startswith("In 'row 3, column 0', it ")


def test_the_worlds_have_names(tree):
    lift, car = paste(tree, "Add a world")
    assert "delivered" in lift
    assert car.startswith("position ")


def test_the_source_answers(tree):
    (said,) = paste(tree, "Add a source of beliefs")
    assert "terminated" in said
