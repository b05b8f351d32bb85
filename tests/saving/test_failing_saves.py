"""Saves that fail: the earlier run stays, and nothing is left behind."""

import errno
import os
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import whatfor as wf
from saved import assert_same, in_a_child, small, through_disk


def test_a_folder_with_other_files_is_left_alone(run, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(
        wf.FolderError, match=r"contains files but no run .*thesis.tex.*choose an empty or a new folder"
    ):
        run.save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_foreign_manifest_is_left_alone(run, tmp_path):
    text = '{"name": "my web page", "icons": []}'
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(wf.FolderError, match="choose an empty or a new folder"):
        run.save(tmp_path)
    assert (tmp_path / "manifest.json").read_text() == text
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_is_not_a_folder(run, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(wf.FolderError, match="is not a valid folder name"):
        run.save("a\0b")
    with pytest.raises(wf.FolderError, match="is a file; choose a folder"):
        run.save(tmp_path / "file")


@pytest.mark.parametrize("earlier", [True, False])
@pytest.mark.parametrize(("step", "stage"), [*(("fsync", stage) for stage in range(5)), ("replace", 0)])
def test_a_full_disk_is_reported_and_leaves_nothing_behind(tmp_path, monkeypatch, step, stage, earlier):
    """The disk is full at each file in turn (the journal, three files and the manifest)."""
    run, later, folder, calls = small(3), small(5), tmp_path / "run", count()
    if earlier:
        run.save(folder)
    before = {file.name for file in folder.iterdir()} if earlier else set()
    real = getattr(os, step)

    def full(*arguments):
        if next(calls) == stage:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(
            wf.FolderError,
            match=r"could not save to .*: No space left on device.*Free some space or choose another folder, and save again",
        ):
            later.save(folder)
    assert {file.name for file in folder.iterdir()} == before | {".lock"}
    if earlier:
        assert_same(wf.load(folder), run)
    assert_same(through_disk(later, folder), later)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_save_that_is_interrupted_leaves_nothing_behind(run, run_folder, monkeypatch, error):
    before = {file.name for file in run_folder.iterdir()}

    def broken(*_, **__):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", broken)
        with pytest.raises(error):
            wf.train(run, episodes=5).save(run_folder)
    assert {file.name for file in run_folder.iterdir()} == before
    assert_same(wf.load(run_folder), run)


def test_an_interrupt_just_after_the_switch_leaves_the_new_run(tmp_path, monkeypatch):
    """Ctrl-C may come between any two steps, even after the manifest names the new files."""
    run, later, folder, calls, real = small(3), small(5), tmp_path / "run", count(), os.replace
    run.save(folder)

    def interrupted(*arguments):
        real(*arguments)
        if next(calls) == 0:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            later.save(folder)
    assert_same(wf.load(folder), later)


def test_a_limit_on_file_size_of_the_operating_system(tmp_path):
    """The operating system refuses to write more than 4,000 bytes to a file."""
    code, said, left, length = in_a_child(
        """
        import resource
        run = wf.train("FrozenLake-v1", episodes=10, seed=0)
        run.save(sys.argv[1])
        before = sorted(os.listdir(sys.argv[1]))
        more = wf.train(run, episodes=500)
        def work():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
            more.save(sys.argv[1])
        result = outcome(work)
        print(json.dumps([*result, sorted(os.listdir(sys.argv[1])) == before, len(wf.load(sys.argv[1]).history)]))
        """,
        tmp_path / "run",
    )
    assert code == 0
    assert said.startswith("FolderError: could not save to")
    assert "the run saved there before is untouched" in said
    assert (left, length) == (True, 10)


def test_a_save_killed_at_any_moment_leaves_the_earlier_run_or_the_new_one(tmp_path):
    """Killed before and after every step of a save, over an earlier run and in a new folder; then it is saved again."""
    came = in_a_child(
        """
        import shutil, signal
        from itertools import count
        def small(lines):
            ledger = wf.Ledger(n_states=2, n_actions=1)
            for _ in range(lines):
                ledger.record(0, 0, 1.0, 1, 0, step_size=0.5, discount=0.9)
            return wf.Run(labels=wf.Labels.plain(2, 1), values=np.full((2, 1), lines), ledger=ledger)

        run, more = small(10), small(20)
        root, came = sys.argv[1], []

        def dies(name, stage, after, calls):
            module = {"savez": np, "replace": os, "fsync": os, "unlink": os}[name]
            real = getattr(module, name)
            def step(*arguments, **options):
                here = next(calls) == stage
                if here and not after:
                    if name == "savez":
                        arguments[0].write(b"PK half of it")
                        arguments[0].flush()
                    os.kill(os.getpid(), signal.SIGKILL)
                done = real(*arguments, **options)
                if here:
                    os.kill(os.getpid(), signal.SIGKILL)
                return done
            setattr(module, name, step)
            more.save(folder)
            return "saved"

        for earlier in (True, False):
            for name, stages in (("savez", 2), ("fsync", 6), ("replace", 1), ("unlink", 4)):
                for stage, after in ((stage, after) for stage in range(stages) for after in (False, True)):
                    if name == "unlink" and not earlier:
                        continue
                    folder = os.path.join(root, f"{earlier} {name} {stage} {after}")
                    if earlier:
                        run.save(folder)
                    code, said = outcome(lambda: dies(name, stage, after, count()))
                    try:
                        found = len(wf.load(folder).ledger)
                    except wf.FolderError as error:
                        found = str(error)
                    try:
                        more.save(folder)
                        again = [len(wf.load(folder).ledger), len(os.listdir(folder))]
                    except wf.FolderError as error:
                        again = str(error)
                    came.append([earlier, name, stage, after, code, said, found, again])
        print(json.dumps(came))
        """,
        tmp_path,
    )
    assert len(came) == 2 * 2 * (2 + 6 + 1) + 2 * 4
    for earlier, *what, code, said, found, again in came:
        assert (code, said) == (-9, None), what
        switched = what in (["replace", 0, True], ["fsync", 5, False], ["fsync", 5, True]) or what[0] == "unlink"
        assert again == [20, 5], what  # three files, the manifest and the lock
        if switched:
            assert found == 20, what
        elif earlier:
            assert found == 10, what
        else:
            assert "there is no run at" in found, what


def test_a_folder_where_another_process_saves_its_first_run_can_be_saved_to(tmp_path, monkeypatch):
    """The other run appears while the folder is checked; in the stress test this happened once in 400 saves."""
    one, other, folder, calls, real = small(3), small(5), tmp_path / "run", count(), Path.iterdir
    folder.mkdir()

    def listed(path):
        if path == folder and next(calls) == 0:
            other.save(folder)
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", listed)
        one.save(folder)
    assert_same(wf.load(folder), one)


def test_space_is_only_named_where_it_is_the_cause(run, tmp_path, monkeypatch):
    def refuse(*_arguments, **_more):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(wf.FolderError, match=r"Read-only file system\. Choose another folder, and save again"):
        run.save(tmp_path / "new")
