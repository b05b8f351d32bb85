"""The compile cache in separate processes (attack 1, 11)."""

import os
import subprocess
import sys
import textwrap

FOLDER, MARKER = "whatfor-compiled", "CACHEDIR.TAG"


def in_process(script, **env):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        env={**os.environ, **{name: str(value) for name, value in env.items()}},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def snapshot(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if FOLDER not in path.parts
    }


def test_a_checkout_in_the_cache_folder_survives(tmp_path):
    """attack 1: with ``NUMBA_CACHE_DIR=~/code`` and a checkout at ``~/code/whatfor``, importing deleted ``.git``."""
    for name in (".git", "src", "tests", "docs", "examples", "benchmarks", "notes", *(f"old-{n}" for n in range(9))):
        (tmp_path / "whatfor" / name).mkdir(parents=True)
        (tmp_path / "whatfor" / name / "file").write_text(name)
    before = snapshot(tmp_path)
    script = """
        import numpy as np
        import whatfor as wf
        from whatfor.kernels import tables
        assert tables.first_above(np.array([0.5, 1.0]), 0, 2, 0.7) == 1
    """
    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        in_process(script, **{"NUMBA_CACHE_DIR": "", variable: tmp_path})
        assert snapshot(tmp_path) == before
    assert b"written by whatfor" in (tmp_path / FOLDER / MARKER).read_bytes()
    assert list((tmp_path / FOLDER).glob("kernels-*/*first_above*.kernel"))


def test_importing_writes_and_deletes_nothing(tmp_path):
    for number in range(20):
        (tmp_path / FOLDER / f"kernels-{number:016x}").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    in_process("import whatfor, whatfor.trainer, whatfor.beliefs", NUMBA_CACHE_DIR=tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_damaged_cache_changes_no_result(tmp_path):
    """attack 11: any damaged file in the cache stopped training with "UnpicklingError ... in episode 0"."""
    script = """
        import warnings
        import whatfor as wf
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ledger = wf.Ledger(n_states=2, n_actions=1)
            ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9)
            ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
            print(ledger.values().tolist(), len(caught))
    """
    right = "[[[0.225], [0.5]]]"
    assert in_process(script, NUMBA_CACHE_DIR=tmp_path) == f"{right} 0"
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file() and path.name != MARKER)
    damages = (
        lambda content: content[: len(content) // 2],
        lambda content: content[:-9] + bytes([content[-9] ^ 4]) + content[-8:],
        lambda content: b"",
        lambda content: b"garbage" * 100,
    )
    for number, file in enumerate(files):
        file.write_bytes(damages[number % len(damages)](file.read_bytes()))
    assert in_process(script, NUMBA_CACHE_DIR=tmp_path) == f"{right} 1"
    assert in_process(script, NUMBA_CACHE_DIR=tmp_path) == f"{right} 0"


def test_a_limit_on_file_size_changes_no_result(tmp_path):
    script = """
        import resource, warnings
        from whatfor.kernels import jit
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kernel = jit.jit(lambda x: x + x, "test")
            print(kernel(21), kernel(1.25), len(caught), caught[0].message)
    """
    assert in_process(script, NUMBA_CACHE_DIR=tmp_path).startswith("42 2.5 1 compiled code cannot be cached in")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [MARKER]


def test_the_cache_keeps_bounds_checks(tmp_path):
    """Numba's own cache would load the unchecked code; also: errors can be raised without its memory management."""
    script = """
        import numpy as np
        from whatfor.kernels.tables import first_above
        try:
            print(first_above(np.array([0.5, 1.0])[:0], 0, 1, 0.7))
        except IndexError as error:
            print(error)
    """
    in_process(script.replace("[:0]", ""), NUMBA_CACHE_DIR=tmp_path, NUMBA_BOUNDSCHECK="0")
    assert "out of bounds" in in_process(script, NUMBA_CACHE_DIR=tmp_path, NUMBA_BOUNDSCHECK="1")


def test_processes_can_share_an_empty_cache(tmp_path):
    script = "import warnings; warnings.simplefilter('error')\nfrom whatfor.kernels import recursion\nprint(recursion.moved(2.0, 6.0, 0.25))"
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    working = [subprocess.Popen([sys.executable, "-c", script], env=env, stdout=-1, stderr=-1) for _ in range(4)]
    assert [process.communicate(timeout=200) for process in working] == [(b"3.0\n", b"")] * 4
