"""Files and folders that cannot be read or written give one line, and existing files are not lost (attack 18)."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import whatfor as wf
from whatfor.pictures import files

OLD = "an old file"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files") / "lake"
    wf.train("FrozenLake-v1", wf.QLearning(discount=0.9), episodes=300, seed=0).save(folder)
    return folder


def words(command, saved, out):
    """A command that writes to ``out``."""
    return {
        "train": ("train", "chain", "--episodes", "5", "--out", out),
        "draw": ("draw", saved, "--state", "0", "--out", f"{out}.png"),
        "gif": ("draw", saved, "--state", "0", "--out", f"{out}.gif"),
        "report": ("report", saved, "--episodes", "1", "--out", f"{out}.html"),
        "paper": ("paper", "--only", "2", "--out", out),
    }[command]


WRITING = ("train", "draw", "gif", "report", "paper")


def is_one_line(code, out, err):
    assert (code, out) == (2, "")
    assert err.startswith("whatfor: ")
    assert len(err.splitlines()) == 1, err


@pytest.mark.parametrize("command", WRITING)
def test_a_file_where_a_folder_should_be(whatfor, saved, tmp_path, command):
    (tmp_path / "file").write_text(OLD)
    is_one_line(*whatfor(*words(command, saved, tmp_path / "file" / "inside")))
    assert (tmp_path / "file").read_text() == OLD


@pytest.mark.parametrize("command", WRITING)
def test_a_folder_where_a_file_should_be(whatfor, saved, tmp_path, command):
    if command in ("train", "paper"):
        (tmp_path / "out").write_text(OLD)
    else:
        (tmp_path / f"out.{'html' if command == 'report' else 'gif' if command == 'gif' else 'png'}").mkdir()
    before = sorted(tmp_path.iterdir())
    is_one_line(*whatfor(*words(command, saved, tmp_path / "out")))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", ["draw", "gif", "report"])
def test_a_folder_that_is_missing(whatfor, saved, tmp_path, command):
    code, out, err = whatfor(*words(command, saved, tmp_path / "no" / "out"))
    is_one_line(code, out, err)
    assert f"mkdir -p {tmp_path / 'no'}" in err


@pytest.mark.parametrize("command", WRITING)
def test_a_read_only_folder_is_noticed_before_the_work(whatfor, saved, tmp_path, command, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)  # permissions do not bind root
    code, out, err = whatfor(*words(command, saved, tmp_path / "out"))
    is_one_line(code, out, err)
    assert f"{tmp_path} is not writable" in err
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_that_takes_no_folders_is_noticed_before_training(whatfor, tmp_path, monkeypatch):
    def refuse(*_arguments, **_more):
        raise OSError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    monkeypatch.setattr(wf, "train", lambda *_arguments, **_more: pytest.fail("training started"))
    code, out, err = whatfor("train", "FrozenLake-v1", "--out", tmp_path / "out")
    is_one_line(code, out, err)
    assert f"{tmp_path} is not writable; choose another folder" in err


def test_a_saved_run_is_no_environment(whatfor, saved, tmp_path):
    code, out, err = whatfor("train", saved, "--episodes", 50, "--out", tmp_path / "out")
    is_one_line(code, out, err)
    assert f"{saved} is a saved run; resume it in Python: wf.train(wf.load('{saved}'), episodes=50)" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
@pytest.mark.parametrize("command", WRITING)
def test_a_folder_without_permissions(whatfor, saved, tmp_path, command):
    (tmp_path / "closed").mkdir(mode=0o500)
    is_one_line(*whatfor(*words(command, saved, tmp_path / "closed" / "out")))
    assert list((tmp_path / "closed").iterdir()) == []


LIMITED = """
import os, resource, sys
os.environ["WHATFOR_COMPILE"] = "0"  # a full disk has no room for compiled code either, and a warning would say so
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from whatfor.cli import main
main()
"""


@pytest.mark.parametrize("command", ["train", "draw", "gif", "report"])
def test_a_full_disk_leaves_what_was_there(saved, tmp_path, command):
    out = tmp_path / "out"
    given = words(command, saved, out)
    if command == "train":
        shutil.copytree(saved, out)
        given = ("train", "chain", "--episodes", "200", "--out", out, "--replace")
    else:
        Path(given[-1]).write_text(OLD)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, given)], capture_output=True, text=True, check=False, timeout=120
    )
    is_one_line(done.returncode, done.stdout, done.stderr)
    assert str(given[-2] if command == "train" else given[-1]) in done.stderr
    assert "too large" in done.stderr
    if command == "train":
        assert len(wf.load(out).history) == 300
    else:
        assert [file.name for file in tmp_path.iterdir()] == [Path(given[-1]).name]
        assert Path(given[-1]).read_text() == OLD


READING = {
    "explain": ("--state", "0"),
    "draw": ("--state", "0", "--out", "{}/x.png"),
    "report": ("--out", "{}/x.html"),
    "explore": ("--no-browser", "--port", "0"),
}


def make_loop(run):
    shutil.rmtree(run)
    run.symlink_to(run)


def make_file(run):
    shutil.rmtree(run)
    run.write_text(OLD)


def make_manifest_a_folder(run):
    (run / "manifest.json").unlink()
    (run / "manifest.json").mkdir()


def make_a_file_a_folder(run):
    named = next(run.glob("arrays-*"))
    named.unlink()
    named.mkdir()


def forbid(run):
    run.chmod(0)


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize(
    "damage", [make_loop, make_file, make_manifest_a_folder, make_a_file_a_folder, shutil.rmtree, forbid]
)
def test_a_run_that_cannot_be_read(whatfor, saved, tmp_path, command, damage):
    if damage is forbid and os.geteuid() == 0:
        pytest.skip("permissions do not bind root")
    run = tmp_path / "run"
    shutil.copytree(saved, run)
    damage(run)
    is_one_line(*whatfor(command, run, *(word.format(tmp_path) for word in READING[command])))
    assert not [file for file in tmp_path.iterdir() if file.name != "run"]


def test_a_file_that_cannot_be_read_gets_one_line(whatfor, saved, monkeypatch):
    def fail(*_, **__):
        raise PermissionError(13, "Permission denied", "runs/lake/manifest.json")

    monkeypatch.setattr(wf, "load", fail, raising=False)
    code, out, err = whatfor("explain", saved, "--state", "0")
    is_one_line(code, out, err)
    assert "runs/lake/manifest.json cannot be read or written: Permission denied" in err


def test_long_names_can_be_written(saved, tmp_path):
    target = tmp_path / f"{'x' * 250}.png"
    files.save(wf.draw(wf.load(saved).intention(0)), target)
    assert target.stat().st_size > 1_000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ("--option", "map=8x8"),
            "FrozenLake-v1 has no option 'map'; its options are desc=None, map_name=4x4, is_slippery=True",
        ),
        (
            ("--option", "map_name=9x9"),
            "FrozenLake-v1 cannot be created with --option map_name=9x9 (its options are desc=None",
        ),
        (("--option", "render_mode=human"), "--option render_mode is not an option of an environment: leave it out"),
        (("--option", "max_episode_steps=9"), "add --max-steps instead"),
        (("--option", "=9"), "--option takes name=value, not '=9'"),
        (("--option", f"desc={'[' * 100_000}"), "FrozenLake-v1 cannot be created with --option desc="),
        (("--option", "is_slippery=maybe"), "--option is_slippery takes true or false, not 'maybe'"),
        (("--option", "is_slippery=2"), "--option is_slippery takes true or false, not 2"),
    ],
    ids=["name", "value", "render mode", "limit", "no name", "nested", "no flag", "number for a flag"],
)
def test_an_option_that_an_environment_does_not_take(whatfor, tmp_path, given, message):  # use.md
    code, out, err = whatfor("train", "FrozenLake-v1", *given, "--out", tmp_path / "run")
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()
