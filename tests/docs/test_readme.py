"""The README shows what a reader will get."""

import re
import runpy
import shlex
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


sys.path.insert(0, str(ROOT / "docs"))
import fill_readme  # noqa: E402


@pytest.mark.long
def test_marked_places_are_what_the_commands_print():
    assert len(fill_readme.PLACE.findall(README)) == 4
    # How far rounding is off depends on the machine's vector width; everything else does not.
    rounding = re.compile(r"residual \d\.\de-1\d")
    assert rounding.sub("", fill_readme.filled(README)) == rounding.sub("", README), "run `make readme`"


def run_block(block: str, folder: Path, monkeypatch) -> None:
    """Run code as a script, with warnings as errors; it is written to a file: dataclasses look their module up."""
    monkeypatch.chdir(folder)
    (folder / "block.py").write_text(block)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path("block.py", run_name="block")


def test_python_blocks_run(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 4
    own = [block for block in blocks if not fill_readme.of_an_example(block)]
    assert len(own) == 2, "the others are code of the examples, which have tests of their own"
    (tmp_path / "out").mkdir()
    for block in own:
        run_block(block, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_python_blocks_of_the_pages_run(page, tmp_path, monkeypatch):
    """Code of the examples has tests of its own."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks or page.name in ("architecture.md", "gallery.md"), "a page of examples has examples"
    for block in blocks:
        if not fill_readme.of_an_example(block):
            run_block(block, tmp_path, monkeypatch)


@pytest.mark.long
def test_shell_commands_run(whatfor, tmp_path, monkeypatch):
    commands = re.findall(r"^whatfor (.*)$", README, re.MULTILINE)
    assert len(commands) == 10
    # All of the paper's figures are tested in test_paper.py and, without minutes of training, in deep/test_paper_deep.py.
    commands = [command for command in commands if not command.startswith("paper --deep")]
    monkeypatch.chdir(tmp_path)
    for command in [re.sub(r"^(paper [^#]*).*", r"\1 --only 2", command) for command in commands]:
        code, told, wrong = whatfor(*shlex.split(command))
        assert (code, wrong) == (0, ""), command
    assert "rather than 'east'" in told


def test_files_it_links_to_exist():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
