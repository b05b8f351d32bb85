"""The README shows what a reader will get."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


sys.path.insert(0, str(ROOT / "docs"))
import fill_readme  # noqa: E402


def test_marked_places_are_what_the_commands_print():
    assert len(fill_readme.PLACE.findall(README)) == 4
    # How far rounding is off depends on the machine's vector width; everything else does not.
    rounding = re.compile(r"residual \d\.\de-1\d")
    assert rounding.sub("", fill_readme.filled(README)) == rounding.sub("", README), "run `make readme`"


def test_python_blocks_run(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 4
    own = [block for block in blocks if not fill_readme.of_an_example(block)]
    assert len(own) == 2, "the others are code of the examples, which have tests of their own"
    for block in own:
        (tmp_path / "out").mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-W", "error", "-c", block], check=True, cwd=tmp_path, timeout=120)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_python_blocks_of_the_pages_run(page, tmp_path):
    """The code is written to a file: dataclasses look their module up. Code of the examples has tests of its own."""
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)):
        script = tmp_path / f"block{i}.py"
        script.write_text(block)
        if not fill_readme.of_an_example(block):
            subprocess.run([sys.executable, "-W", "error", script], check=True, cwd=tmp_path, timeout=120)
    assert page.name in ("architecture.md", "gallery.md") or (tmp_path / "block0.py").exists(), (
        "a page of examples has examples"
    )


def test_shell_commands_run(tmp_path):
    commands = re.findall(r"^whatfor (.*)$", README, re.MULTILINE)
    assert len(commands) == 10
    # All of the paper's figures are tested in test_paper.py and, without minutes of training, in deep/test_paper_deep.py.
    commands = [command for command in commands if not command.startswith("paper --deep")]
    for command in [re.sub(r"^(paper [^#]*).*", r"\1 --only 2", command) for command in commands]:
        done = subprocess.run(
            f"{sys.executable} -m whatfor {command}",
            shell=True,
            check=True,
            cwd=tmp_path,
            timeout=120,
            capture_output=True,
            text=True,
        )
    assert "rather than 'east'" in done.stdout


def test_files_it_links_to_exist():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
