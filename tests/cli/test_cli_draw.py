"""The draw command: a file of the right format, or a one-line error."""

import subprocess
import sys

import pytest
from PIL import Image

import whatfor as wf
from whatfor.pictures import files


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("draw") / "lake"
    wf.train("FrozenLake-v1", wf.QLearning(discount=0.9), episodes=300, seed=0).save(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "start"), [("why.png", b"\x89PNG"), ("why.svg", b"<?xml"), ("why.pdf", b"%PDF"), ("WHY.PNG", b"\x89PNG")]
)
def test_the_suffix_decides_the_format(whatfor, run_folder, tmp_path, name, start):
    code, said, errors = whatfor("draw", run_folder, "--state", 0, "--out", tmp_path / name)
    assert (code, said, errors) == (0, f"drawn to {tmp_path / name}\n", "")
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("flags", "drawn"),
    [
        ((), lambda run: run.intention(0)),
        (("--action", "down"), lambda run: run.intention(0, "down")),
        (("--action", "down", "--instead", "up"), lambda run: run.contrast(0, "down", "up")),
        (("--question", "contrast"), lambda run: run.contrast(0)),
        (("--question", "contrast", "--instead", "up"), lambda run: run.contrast(0, None, "up")),
        (("--question", "outcomes"), lambda run: run.outcomes(0)),
        (("--question", "timeline", "--action", "up"), lambda run: run.timeline(0, "up")),
        (("--question", "provenance"), lambda run: run.provenance(0)),
        (("--as-of", "50"), lambda run: run.as_of(50).intention(0)),
    ],
)
def test_flags_select_the_layout(whatfor, run_folder, tmp_path, flags, drawn):
    code, _, errors = whatfor("draw", run_folder, "--state", 0, *flags, "--out", tmp_path / "asked.png")
    assert (code, errors) == (0, "")
    files.save(wf.draw(drawn(wf.load(run_folder))), tmp_path / "expected.png")
    with Image.open(tmp_path / "asked.png") as asked, Image.open(tmp_path / "expected.png") as expected:
        assert asked.size == expected.size
        assert asked.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (("--out", "{}/why.bmp"), "why.bmp must end in .png, .svg, .pdf or .gif"),
        (("--out", "{}/why"), "why must end in .png, .svg, .pdf or .gif"),
        (("--out", "{}/no/why.png"), "there is no folder"),
        (
            ("--out", "{}/why.png", "--instead", "up", "--question", "outcomes"),
            "--instead selects the question contrast",
        ),
        (("--out", "{}/why.png", "--action", "jump"), "jump"),
        (("--out", "{}/why.png", "--as-of", "999"), "999"),
    ],
)
def test_wrong_flags_give_one_line(whatfor, run_folder, tmp_path, flags, error):
    given = [flag.format(tmp_path) for flag in flags]
    code, said, errors = whatfor("draw", run_folder, "--state", 0, *given)
    assert (code, said) == (2, "")
    assert error in errors
    assert len(errors.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_instead_of_a_file_is_reported(whatfor, run_folder, tmp_path):
    (tmp_path / "why.png").mkdir()
    code, _, errors = whatfor("draw", run_folder, "--state", 0, "--out", tmp_path / "why.png")
    assert code == 2
    assert "is a folder" in errors


def test_a_picture_that_fails_leaves_the_old_one(run_folder, tmp_path, monkeypatch):
    path = tmp_path / "why.png"
    path.write_bytes(b"old")
    figure = wf.draw(wf.load(run_folder).intention(0))

    def half(fresh, **_):
        fresh.write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(figure, "savefig", half)
    with pytest.raises(OSError, match="no space"):
        files.save(figure, path)
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["why.png"]


def test_without_matplotlib_the_command_names_the_extra(run_folder, tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None\nfrom whatfor.cli import main\n"
        f"sys.argv = ['whatfor', 'draw', {str(run_folder)!r}, '--state', '0', '--out', {str(tmp_path / 'why.png')!r}]\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "whatfor: this needs Matplotlib: pip install 'whatfor[plot]'\n"
