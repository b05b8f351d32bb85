"""A run folder is untrusted: limits, types and cross-references are checked on loading and before saving."""

import io
import json
import os
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest

import whatfor as wf
from saved import assert_same, small, through_disk, trained
from test_forgeries import check_rejected, contents, forge, forge_array, forge_document, put
from whatfor import folder as folders
from whatfor.labels import Axis, Ending
from whatfor.question import layout_of
from whatfor.testing import random_world

# -- limits ------------------------------------------------------------------------------------


def archived(arrays, **options):
    """Write an npz file with other options than NumPy's."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array)
            archive.writestr(f"{name}.npy", member.getvalue())
    return file.getvalue()


def test_a_compressed_archive_is_rejected(run_folder):
    """attack 9: 3.9 MB decompressed to 4 GB."""
    arrays = dict(np.load(io.BytesIO(contents(run_folder, "arrays"))))
    forge(run_folder, "arrays", archived(arrays))
    wf.load(run_folder)  # stored as it is, the same archive loads
    forge(run_folder, "arrays", archived(arrays, compression=zipfile.ZIP_DEFLATED))
    check_rejected(run_folder, "compressed or encrypted|larger than the file")


def test_a_header_that_claims_more_data_than_the_file_is_rejected(run_folder):
    data = contents(run_folder, "arrays")
    assert b"(1, 16, 4)" in data
    forge(run_folder, "arrays", data.replace(b"(1, 16, 4)", b"(9, 16, 4)"))
    check_rejected(run_folder, "does not hold as many numbers as its header says|Bad CRC-32")


def test_members_that_share_their_bytes_are_rejected(run_folder):
    """Many entries of an archive can point at the same bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        member = io.BytesIO()
        np.save(member, np.zeros(10_000))
        archive.writestr("tables.npy", member.getvalue())
        for number in range(40):
            twin = zipfile.ZipInfo(f"{number}.npy")
            one = archive.filelist[0]
            for name in ("header_offset", "compress_size", "file_size", "CRC"):
                setattr(twin, name, getattr(one, name))
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
        archive._didModify = True
    forge(run_folder, "arrays", file.getvalue())
    check_rejected(run_folder, "larger than the file|cannot be read")


def test_a_run_above_a_limit_is_rejected_with_the_variable_to_set(run, run_folder, monkeypatch):
    size = sum(entry["bytes"] for entry in json.loads((run_folder / "manifest.json").read_text())["files"].values())
    monkeypatch.setenv("WHATFOR_MAX_BYTES", str(size - 1))
    check_rejected(run_folder, f"needs {size:,} bytes.*WHATFOR_MAX_BYTES={size}")
    monkeypatch.setenv("WHATFOR_MAX_BYTES", str(size))
    wf.load(run_folder)
    monkeypatch.setenv("WHATFOR_MAX_BYTES", "lots")
    check_rejected(run_folder, "set it to a whole number")
    monkeypatch.delenv("WHATFOR_MAX_BYTES")
    monkeypatch.setenv("WHATFOR_MAX_STATES", "1")
    check_rejected(run_folder, "was not loaded: .*WHATFOR_MAX_STATES=16$")
    with pytest.raises(wf.FolderError, match=r"cannot be saved: .*WHATFOR_MAX_STATES=16$"):
        run.save(run_folder)
    with pytest.raises(ValueError, match="this environment needs 48 states"):
        wf.train("CliffWalking-v1", wf.QLearning(), episodes=1, seed=0)
    monkeypatch.setenv("WHATFOR_MAX_STATES", "16")
    code = "import sys, whatfor as wf; print(wf.load(sys.argv[1]).labels.n_states, wf.worlds.__name__)"
    output = subprocess.run([sys.executable, "-c", code, run_folder], capture_output=True, text=True, check=True).stdout
    assert output == "16 whatfor.worlds\n", "the labels of the built-in worlds are larger, and created on import"
    for nonsense in ("lots", "1" * 5_000):
        monkeypatch.setenv("WHATFOR_MAX_STATES", nonsense)
        check_rejected(run_folder, f"was not loaded: WHATFOR_MAX_STATES is '{nonsense[:30]}'")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["settings"].update(max_steps=10**15), "WHATFOR_MAX_STEPS"),
        (lambda d: d["settings"]["world"].update(bins=[3, 3, 6, 300_000_000]), "WHATFOR_MAX_STATES"),
        (lambda d: d["settings"]["world"].update(bins=[2**62] * 200_000), "length <= 63"),
        (lambda d: d["labels"].update(axes=[{**d["labels"]["axes"][0], "size": 2**62}] * 200_000), "200,000 axes"),
        (lambda d: d["settings"]["world"].update(bounds=[[1.0, 1.0]]), "low must be less than high"),
        (lambda d: d["ledger"].update(n_tables=30_000_000), "WHATFOR_MAX_STATES"),
        (lambda d: d["labels"]["axes"][0].update(size=10**9), "WHATFOR_MAX_STATES"),
        (lambda d: d["settings"]["world"].update(options={"desc": ["S" * 3_000] * 3_000}), "longer than 100,128 bytes"),
    ],
)
def test_forged_settings_do_not_hang_or_exhaust_memory(run_folder, change, message):
    """attack 14."""
    forge_document(run_folder, change)
    check_rejected(run_folder, message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"render_mode": "human"},
            "render_mode= to gymnasium.make, which is not allowed: pass the environment of the run as env=",
        ),
        ({"disable_env_checker": True}, "disable_env_checker= to gymnasium.make, which is not allowed"),
        ({"reward_schedule": ["a"]}, "cannot be created here .*list index out of range"),
        ({"unknown": 1}, "cannot be created here .*unexpected keyword argument"),
    ],
)
def test_environment_options_that_would_only_fail_in_gymnasium(run_folder, options, message):
    """attack 16: options in a file cannot make gymnasium.make open a window; they fail with ValueError."""
    forge_document(run_folder, lambda document: document["settings"]["world"].update(options=options))
    with pytest.raises(ValueError, match=message):
        wf.train(wf.load(run_folder), episodes=1)


# -- types and cross-references ----------------------------------------------------------------


def renamed(document):
    document["labels"]["actions"][0] = "go\x1b[31m"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["labels"]["axes"][0].update(size=4.5), "Expected `int`, got `float`"),
        (lambda d: d["labels"]["axes"][0].update(values=["one"]), "one name to each"),
        (lambda d: d["labels"].update(actions=[1, 2, 3, 4]), "Expected `str`"),
        (lambda d: d["labels"].update(actions=[]), "at least one axis and one action"),
        (lambda d: d["labels"].update(observed="bins"), "bins need edges"),
        (lambda d: d["labels"]["endings"][0].update(action=9), "has action 9"),
        (lambda d: d["labels"]["marks"][0].update(state=99), "state 99 is out of range"),
        (renamed, "one line of plain text"),
        (lambda d: d["labels"]["axes"][0].update(name="x" * 10_001), "10,001 characters; write it in at most 10,000"),
        (lambda d: d["ledger"].update(endings=[]), "endings of its ledger are not those of its labels|out of range"),
        (lambda d: d["ledger"].update(endings=["timed out"]), "same name"),
        (lambda d: d["ledger"].update(order="sideways"), "Invalid enum value 'sideways'"),
        (lambda d: d["ledger"].update(surprise=1), "unknown field `surprise`"),
        (lambda d: d["settings"].update(seed=-1), "seed"),
        (lambda d: d["settings"]["learner"].update(discount="0.9"), "discount"),
        (lambda d: d["settings"]["world"].update(kind="submarine"), "Invalid value 'submarine'"),
        (lambda d: d["snapshot"]["agent"]["tape"]["state"].update(inc=2), "not a valid state of a random generator"),
        (lambda d: d["snapshot"]["agent"]["tape"].update(bit_generator="MT19937"), "bit_generator"),
        (lambda d: d["snapshot"].update(cuts=-1), "cuts"),
    ],
)
def test_every_field_of_a_document_has_a_type(run_folder, change, message):
    """attack 16, and 2 as a forgery (``endings=[]``)."""
    forge_document(run_folder, change)
    check_rejected(run_folder, f"not a run that whatfor wrote: .*({message})")


def test_a_kind_that_its_axes_do_not_fit_is_drawn_by_its_axes(run_folder):
    forge_document(run_folder, lambda document: document["labels"].update(kind="taxi"))
    assert layout_of(wf.load(run_folder).intention(0)).to_json()["layout"] == "grid"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("table_chance", put(0, -0.5), "do not sum to 1"),
        ("table_start", put(-1, 7.0), "do not sum to 1"),
        ("returns", put(0, np.nan), "returns contains NaN"),
        ("lengths", put(0, -3), "lengths has numbers out of range"),
        ("snapshot_counters", put(1, -1), "does not fit its ledger"),
    ],
)
def test_numbers_that_would_only_fail_later_are_rejected(tmp_path, name, change, message):
    trained(random_world(3)).save(tmp_path / "run")
    forge_array(tmp_path / "run", "arrays", name, change)
    check_rejected(tmp_path / "run", message)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:200] + b"\xff" * 40 + data[240:],
        lambda data: data.replace(b"PK\x01\x02", b"PK\x01\x09", 1),
        lambda data: _flagged(data, 0x1),  # encrypted
        lambda data: _flagged(data, 0x20),  # patched
        lambda data: data + b"PK\x05\x06" + b"\xff" * 18,
        lambda data: data[:-22],
    ],
)
def test_a_damaged_archive_is_a_folder_error(run_folder, damage):
    """attack 15: zipfile and NumPy raise errors of many kinds."""
    forge(run_folder, "arrays", damage(contents(run_folder, "arrays")))
    check_rejected(run_folder, "cannot be read|not a run that whatfor wrote")


def _flagged(data, flag):
    """The same archive with a flag set in the central directory's first entry and in the member's own header."""
    changed = bytearray(data)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        changed[data.index(signature) + at] |= flag
    return bytes(changed)


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_links_pipes_and_folders_are_rejected_without_blocking(run_folder, kind):
    file = run_folder / json.loads((run_folder / "manifest.json").read_text())["files"]["arrays"]["file"]
    file.unlink()
    os.mkfifo(file) if kind == "fifo" else file.mkdir()
    check_rejected(run_folder, "not a regular file|cannot be read")


# -- what cannot be loaded is not saved --------------------------------------------------------


def test_a_diverged_run_is_not_saved_and_the_earlier_one_stays(run, run_folder):
    """attack 10."""
    diverged = wf.Run(labels=run.labels, values=np.full((16, 4), np.nan))
    with pytest.raises(
        wf.FolderError, match=r"this run cannot be saved: tables contains NaN.*diverged.*smaller step size"
    ):
        diverged.save(run_folder)
    assert_same(wf.load(run_folder), run)


def test_numpy_numbers_in_settings_are_saved_as_numbers(tmp_path):
    run = wf.Run(labels=wf.Labels.plain(1, 1), values=[[0.5]], settings={"alpha": np.float32(0.5), "n": np.int64(3)})
    assert through_disk(run, tmp_path / "run").settings == {"alpha": 0.5, "n": 3}


def test_settings_that_json_cannot_represent_are_not_saved(tmp_path):
    labels, values = wf.Labels.plain(1, 1), [[0.5]]
    for settings in (
        {"seed": -1},
        {"max_steps": 0},
        {"alpha": np.nan},
        {"learner": {"name": "two\nlines"}},
        {"learner": {"name": object()}},
    ):
        with pytest.raises(wf.FolderError, match="this run cannot be saved"):
            wf.Run(labels=labels, values=values, settings=settings).save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


# -- writers and readers at once ---------------------------------------------------------------


def test_a_save_waits_for_another_one_up_to_a_time_limit(run, run_folder, monkeypatch):
    """attack 7."""
    monkeypatch.setattr(folders, "LOCK_SECONDS", 0.2)
    later = wf.train(run, episodes=5)
    with folders._lock(run_folder), pytest.raises(wf.FolderError, match=r"another save to .* wait for it"):
        later.save(run_folder)
    assert_same(wf.load(run_folder), run)
    later.save(run_folder)
    assert_same(wf.load(run_folder), later)


@pytest.mark.parametrize("name", [folders.MANIFEST_PART, folders.JOURNAL, folders.LOCK])
def test_links_and_pipes_in_a_folder_are_not_written_through(run_folder, tmp_path, name):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for put_there in (lambda file: file.symlink_to(precious), os.mkfifo):
        (run_folder / name).unlink(missing_ok=True)
        put_there(run_folder / name)
        if name == folders.LOCK:
            with pytest.raises(wf.FolderError, match="is not a regular file: delete it"):
                small(5).save(run_folder)
        else:
            small(5).save(run_folder)
            assert len(wf.load(run_folder).ledger) == 5
        assert precious.read_text() == "precious"


def test_a_message_is_one_line_of_bounded_length(run_folder):
    forge_document(run_folder, lambda d: d["labels"].update(axes=[{"name": "x" * 9_000, "size": 1}] * 63))
    with pytest.raises(wf.FolderError) as raised:
        wf.load(run_folder)
    assert len(str(raised.value)) <= 1_000


def test_only_files_that_a_manifest_or_journal_named_are_deleted(run_folder):
    """attack 7: the files of another save have similar names."""
    planted = [run_folder / name for name in ("ledger-0123456789abcdef.npz", "run-0123456789abcdef.json", "notes.txt")]
    for file in planted:
        file.write_text("precious")
    small(5).save(run_folder)
    assert all(file.read_text() == "precious" for file in planted)
    assert len(wf.load(run_folder).ledger) == 5


def test_a_reader_tries_again_if_the_run_is_replaced(tmp_path, monkeypatch):
    """attack 7: 27 % of the loads during a save failed."""
    small(3).save(tmp_path / "run")
    real, replaced = folders._contents, []

    def interrupted(folder, manifest):
        if not replaced:  # the files of the manifest just read are deleted before they are opened
            replaced.append(small(4).save(folder))
        return real(folder, manifest)

    monkeypatch.setattr(folders, "_contents", interrupted)
    assert len(wf.load(tmp_path / "run").ledger) == 4


def test_savers_and_readers_side_by_side(tmp_path):
    """Two savers and a reader in threads: every save succeeds, every load is one of the runs."""
    target, found, stop = tmp_path / "run", set(), threading.Event()
    small(3).save(target)

    def read():
        while not stop.is_set():
            found.add(len(wf.load(target).ledger))

    def write(lines):
        for _ in range(15):
            small(lines).save(target)

    reader, *writers = (threading.Thread(target=read), *(threading.Thread(target=write, args=(n,)) for n in (4, 5)))
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert found <= {3, 4, 5}
    assert len(wf.load(target).ledger) in (4, 5)
    assert sorted(file.name.partition("-")[0] for file in target.iterdir()) == [
        ".lock",
        "arrays",
        "ledger",
        "manifest.json",
        "run",
    ]


def test_numpy_numbers_in_labels_are_saved(tmp_path):
    labels = wf.Labels((Axis("x", np.int64(2)),), ("go",), endings=(Ending("won", np.int32(0), np.float64(1.0)),))
    again = through_disk(wf.Run(labels=labels, values=np.zeros((2, 1))), tmp_path / "run")
    assert again.labels == labels
