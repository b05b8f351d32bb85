"""The compile cache: only its own files are deleted, and a damaged cache changes no result (attack 1, 11)."""

import errno
import os
import warnings
from pathlib import Path

import numba
import pytest

from whatfor.kernels import cache, jit
from whatfor.kernels.cache import FOLDER, MARKER, MARKER_TEXT, MAX_VERSIONS, CacheFolder

#: Versions of Numba whose private names are known to be as ``kernels/jit.py`` uses them.
TRIED = ("0.61.0", "0.62.1", "0.63.1", "0.64.0", "0.65.1", "0.66.0", "0.67.0", "0.68.1")


def double(x):
    return x + x


@pytest.fixture
def parent(tmp_path, monkeypatch):
    """An empty cache, and the state of a new process."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    anew(monkeypatch)
    yield tmp_path
    jit._folder.cache_clear()


def anew(monkeypatch):
    """Reset the state of the process."""
    jit._folder.cache_clear()
    monkeypatch.setattr(cache, "_state", {"warned": False, "cleaned": False})


def loaded_or_compiled():
    """Whether the code came from the cache, and how many warnings there were."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel = jit.jit(double, "test")
        assert kernel(21) == 42
        assert kernel(1.25) == 2.5
    assert all(warning.category is RuntimeWarning for warning in caught)
    return sum(kernel.stats.cache_hits.values()), [str(warning.message) for warning in caught]


def files(parent):
    return sorted((parent / FOLDER).glob("kernels-*/*.kernel"))


def test_code_is_loaded_by_the_next_process_without_a_warning(parent, monkeypatch):
    assert loaded_or_compiled() == (0, [])
    assert len(files(parent)) == 2
    anew(monkeypatch)
    assert loaded_or_compiled() == (2, [])


def test_private_names_of_numba_exist():
    """``_nrt``, ``_cache``, ``_reduce`` and ``_rebuild``, which ``kernels/jit.py`` uses; tested with ``TRIED``."""
    kernel = numba.njit(_nrt=False, forceinline=True)(double)
    assert kernel(2) == 4
    result = kernel.overloads[kernel.signatures[0]]
    assert callable(result._reduce), f"Numba {numba.__version__}, not one of {TRIED}"
    assert callable(type(result)._rebuild), f"Numba {numba.__version__}, not one of {TRIED}"
    assert {"load_overload", "save_overload", "cache_path"} <= set(dir(kernel._cache))
    assert result.library.has_dynamic_globals is False
    assert isinstance(result.codegen.magic_tuple(), tuple)


# -- damage: attack 11 --------------------------------------------------------------------


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


CONTENTS = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "header only": lambda content: content[:17],
    "header and checksum": lambda content: content[:49],
    "half": lambda content: content[: len(content) // 2],
    "last byte missing": lambda content: content[:-1],
    "one byte more": lambda content: content + b"\0",
    "twice": lambda content: content * 2,
    "garbage": lambda content: bytes(range(256)) * 20,
    "zeros": lambda content: bytes(len(content)),
    "text": lambda content: b"<html>disk quota exceeded</html>",
    "other header": lambda content: b"whatfor kernel 2\n" + content[17:],
    "a bare pickle": lambda content: content[49:],
    "bit in the header": lambda content: flipped(content, 3),
    "bit in the checksum": lambda content: flipped(content, 20),
    "bit at the start": lambda content: flipped(content, 50),
    "bit in the machine code": lambda content: flipped(content, len(content) // 2),
    "bit at the end": lambda content: flipped(content, len(content) - 1),
}


def to_folder(path):
    path.unlink()
    path.mkdir()


def to_full_folder(path):
    to_folder(path)
    (path / "note").write_text("not ours")


def to_link(path):
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def to_loop(path):
    path.unlink()
    path.symlink_to(path.name)


def to_pipe(path):
    path.unlink()
    os.mkfifo(path)


PLACES = {"folder": to_folder, "full folder": to_full_folder, "link": to_link, "loop": to_loop, "pipe": to_pipe}


@pytest.mark.parametrize("damage", [*CONTENTS, *PLACES])
def test_a_damaged_file_is_compiled_again_with_one_warning(damage, parent, monkeypatch):
    loaded_or_compiled()
    for file in files(parent):
        PLACES[damage](file) if damage in PLACES else file.write_bytes(CONTENTS[damage](file.read_bytes()))
    anew(monkeypatch)
    hits, messages = loaded_or_compiled()
    assert (hits, len(messages)) == (0, 1)
    assert "was damaged; it is compiled again" in messages[0]
    anew(monkeypatch)
    hits, messages = loaded_or_compiled()
    assert (hits, len(messages)) == ((0, 1) if damage == "full folder" else (2, 0))  # that one is left alone


def test_a_checked_file_of_another_kind_is_compiled_again(parent, monkeypatch):
    loaded_or_compiled()
    folder = CacheFolder(parent, files(parent)[0].parent.name)
    for file in files(parent):
        folder.write(file.stem, b"not a pickle")
    anew(monkeypatch)
    assert loaded_or_compiled()[0] == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
@pytest.mark.parametrize("call", ["write_bytes", "mkdir"])
def test_a_full_or_read_only_cache_changes_no_result(call, number, parent, monkeypatch):
    def fails(*args, **options):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as broken:
        broken.setattr(Path, call, fails)
        hits, messages = loaded_or_compiled()
    assert (hits, len(messages)) == (0, 1)
    assert os.strerror(number) in messages[0]
    assert not list(parent.rglob("*.part"))


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_can_only_be_read_is_read(parent, monkeypatch):
    loaded_or_compiled()
    files(parent)[0].parent.chmod(0o500)
    anew(monkeypatch)
    assert loaded_or_compiled() == (2, [])


def test_without_a_home_there_is_one_warning(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    anew(monkeypatch)
    hits, messages = loaded_or_compiled()
    assert (hits, len(messages)) == (0, 1)
    assert messages[0].startswith("there is no home directory")
    jit._folder.cache_clear()


# -- whose folder: attack 1 ---------------------------------------------------------------


def make_versions(root, count):
    root.mkdir(mode=0o700, exist_ok=True)
    (root / MARKER).write_bytes(MARKER_TEXT)
    made = [root / f"kernels-{number:016x}" for number in range(count)]
    for age, folder in enumerate(made):
        folder.mkdir()
        (folder / "one.kernel").write_bytes(b"x")
        os.utime(folder, (1e9 - age, 1e9 - age))
    return made


def test_only_the_oldest_versions_are_deleted_and_nothing_else(parent):
    root = parent / FOLDER
    versions = make_versions(root, 12)
    (versions[11] / "notes.txt").write_text("not ours")
    os.utime(versions[11], (0, 0))
    others = ["kernels-xyz", "kernels-0123456789ABCDEF", "kernels-0123456789abcdef.bak", "old"]
    for name in others:
        (root / name).mkdir()
        os.utime(root / name, (0, 0))
    (parent / "elsewhere").mkdir()
    (parent / "elsewhere" / "one.kernel").write_text("not ours")
    (root / "kernels-ffffffffffffffff").symlink_to(parent / "elsewhere")
    os.utime(root / "kernels-ffffffffffffffff", (0, 0), follow_symlinks=False)
    assert loaded_or_compiled() == (0, [])
    assert [folder.exists() for folder in versions] == [True] * (MAX_VERSIONS - 1) + [False] * 4 + [True]
    assert [path.name for path in versions[11].iterdir()] == ["notes.txt"]
    assert all((root / name).is_dir() for name in others)
    assert (parent / "elsewhere" / "one.kernel").read_text() == "not ours"
    assert (root / "kernels-ffffffffffffffff").is_symlink()


def no_marker(root):
    root.mkdir(mode=0o700)
    (root / "thesis.tex").write_text("mine")


def other_marker(root):
    root.mkdir(mode=0o700)
    (root / MARKER).write_text("Signature: 8a477f597d28d172789f06886806bc55\n")


def linked(root):
    (root.parent / "real").mkdir(mode=0o700)
    (root.parent / "real" / MARKER).write_bytes(MARKER_TEXT)
    root.symlink_to("real")


def a_file(root):
    root.write_text("mine")


def for_all(root):
    make_versions(root, 9)
    root.chmod(0o777)


def for_the_group(root):
    make_versions(root, 9)
    root.chmod(0o770)


@pytest.mark.parametrize("made", [no_marker, other_marker, linked, a_file, for_all, for_the_group])
def test_a_shared_or_foreign_folder_is_not_used(made, parent):
    made(parent / FOLDER)
    before = sorted((path, path.lstat().st_mtime) for path in parent.rglob("*"))
    hits, messages = loaded_or_compiled()
    assert (hits, len(messages)) == (0, 1)
    assert "not cached there" in messages[0]
    assert sorted((path, path.lstat().st_mtime) for path in parent.rglob("*")) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_used(parent):
    make_versions(parent / FOLDER, 9)
    os.chown(parent / FOLDER, 65534, 65534)
    hits, messages = loaded_or_compiled()
    assert (hits, len(messages)) == (0, 1)
    assert "other users can write" in messages[0]


def test_an_unfinished_marker_does_not_stop_another_process(parent):
    (parent / FOLDER).mkdir(mode=0o700)
    (parent / FOLDER / f"{MARKER}.0123456789abcdef.part").write_bytes(b"")
    assert loaded_or_compiled() == (0, [])
    assert len(files(parent)) == 2


# -- versions --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE"])
def test_settings_of_numba_that_change_the_code_have_separate_folders(name, parent, monkeypatch):
    loaded_or_compiled()
    monkeypatch.setattr(numba.config, name, 0 if getattr(numba.config, name) else 1)
    assert loaded_or_compiled() == (0, [])
    assert len({file.parent for file in files(parent)}) == 2
