"""A run folder is untrusted: limits, types and cross-references, each checked when it is loaded and before it is saved."""

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
from test_forgeries import check_refused, contents, forge, forge_array, forge_document, put
from whatfor import folder as folders
from whatfor.labels import Axis, Ending
from whatfor.question import layout_of
from whatfor.testing import random_world

# -- limits ------------------------------------------------------------------------------------


def archived(arrays, **options):
    """An npz file written with other options than NumPy's."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array)
            archive.writestr(f"{name}.npy", member.getvalue())
    return file.getvalue()


def test_a_compressed_archive_is_refused(kept):
    """attack 9: 3.9 MB unfolded to 4 GB."""
    arrays = dict(np.load(io.BytesIO(contents(kept, "arrays"))))
    forge(kept, "arrays", archived(arrays))
    wf.load(kept)  # stored as it is, the same archive loads
    forge(kept, "arrays", archived(arrays, compression=zipfile.ZIP_DEFLATED))
    check_refused(kept, "compressed or encrypted|larger than the file")


def test_a_header_that_promises_more_than_the_file_holds_is_refused(kept):
    data = contents(kept, "arrays")
    assert b"(1, 16, 4)" in data
    forge(kept, "arrays", data.replace(b"(1, 16, 4)", b"(9, 16, 4)"))
    check_refused(kept, "does not hold as many numbers as its header says|Bad CRC-32")


def test_members_that_share_their_bytes_are_refused(kept):
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
    forge(kept, "arrays", file.getvalue())
    check_refused(kept, "larger than the file|cannot be read")


def test_a_run_above_a_limit_is_refused_with_the_way_to_allow_it(run, kept, monkeypatch):
    size = sum(entry["bytes"] for entry in json.loads((kept / "manifest.json").read_text())["files"].values())
    monkeypatch.setenv("WHATFOR_MAX_BYTES", str(size - 1))
    check_refused(kept, f"needs {size:,} bytes.*WHATFOR_MAX_BYTES={size}")
    monkeypatch.setenv("WHATFOR_MAX_BYTES", str(size))
    wf.load(kept)
    monkeypatch.setenv("WHATFOR_MAX_BYTES", "lots")
    check_refused(kept, "set it to a whole number")
    monkeypatch.delenv("WHATFOR_MAX_BYTES")
    monkeypatch.setenv("WHATFOR_MAX_STATES", "1")
    check_refused(kept, "is not loaded: .*WHATFOR_MAX_STATES=16$")
    with pytest.raises(wf.FolderError, match=r"cannot be saved: .*WHATFOR_MAX_STATES=16$"):
        run.save(kept)
    with pytest.raises(ValueError, match="this environment needs 48 states"):
        wf.train("CliffWalking-v1", wf.QLearning(), episodes=1, seed=0)
    monkeypatch.setenv("WHATFOR_MAX_STATES", "16")
    code = "import sys, whatfor as wf; print(wf.load(sys.argv[1]).labels.n_states, wf.worlds.__name__)"
    told = subprocess.run([sys.executable, "-c", code, kept], capture_output=True, text=True, check=True).stdout
    assert told == "16 whatfor.worlds\n", "the labels of whatfor's own worlds are larger, and made on import"
    for nonsense in ("lots", "1" * 5_000):
        monkeypatch.setenv("WHATFOR_MAX_STATES", nonsense)
        check_refused(kept, f"is not loaded: WHATFOR_MAX_STATES is '{nonsense[:30]}'")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["settings"].update(max_steps=10**15), "WHATFOR_MAX_STEPS"),
        (lambda d: d["settings"]["world"].update(bins=[3, 3, 6, 300_000_000]), "WHATFOR_MAX_STATES"),
        (lambda d: d["settings"]["world"].update(bins=[2**62] * 200_000), "length <= 63"),
        (lambda d: d["labels"].update(axes=[{**d["labels"]["axes"][0], "size": 2**62}] * 200_000), "200,000 axes"),
        (lambda d: d["settings"]["world"].update(bounds=[[1.0, 1.0]]), "low side below its high side"),
        (lambda d: d["ledger"].update(n_tables=30_000_000), "WHATFOR_MAX_STATES"),
        (lambda d: d["labels"]["axes"][0].update(size=10**9), "WHATFOR_MAX_STATES"),
        (lambda d: d["settings"]["world"].update(options={"desc": ["S" * 3_000] * 3_000}), "longer than 100,128 bytes"),
    ],
)
def test_forged_settings_do_not_hang_or_eat_memory(kept, change, message):
    """attack 14."""
    forge_document(kept, change)
    check_refused(kept, message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"render_mode": "human"}, "render_mode=, which is not one of its options: pass env="),
        ({"disable_env_checker": True}, "disable_env_checker=, which is not one of its options"),
        ({"reward_schedule": ["a"]}, "cannot be made here .*list index out of range"),
        ({"unknown": 1}, "cannot be made here .*unexpected keyword argument"),
    ],
)
def test_options_of_an_environment_that_only_gymnasium_would_trip_over(kept, options, message):
    """attack 16: what a file gives to gymnasium.make opens no window, and fails as ValueError."""
    forge_document(kept, lambda document: document["settings"]["world"].update(options=options))
    with pytest.raises(ValueError, match=message):
        wf.train(wf.load(kept), episodes=1)


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
        (lambda d: d["labels"].update(observed="bins"), "bins have edges"),
        (lambda d: d["labels"]["endings"][0].update(action=9), "is of action 9"),
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
        (lambda d: d["snapshot"]["agent"]["tape"]["state"].update(inc=2), "no state of a random generator"),
        (lambda d: d["snapshot"]["agent"]["tape"].update(bit_generator="MT19937"), "bit_generator"),
        (lambda d: d["snapshot"].update(cuts=-1), "cuts"),
    ],
)
def test_every_word_of_a_document_has_a_type(kept, change, message):
    """attack 16, and 2 as a forgery (``endings=[]``)."""
    forge_document(kept, change)
    check_refused(kept, f"not a run that whatfor wrote: .*({message})")


def test_a_kind_that_its_axes_do_not_fit_is_drawn_by_its_axes(kept):
    forge_document(kept, lambda document: document["labels"].update(kind="taxi"))
    assert layout_of(wf.load(kept).intention(0)).to_json()["layout"] == "grid"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("table_chance", put(0, -0.5), "do not sum to 1"),
        ("table_start", put(-1, 7.0), "do not sum to 1"),
        ("returns", put(0, np.nan), "returns holds NaN"),
        ("lengths", put(0, -3), "lengths has numbers out of range"),
        ("snapshot_counters", put(1, -1), "does not fit its ledger"),
    ],
)
def test_numbers_that_only_later_code_would_trip_over_are_refused(tmp_path, name, change, message):
    trained(random_world(3)).save(tmp_path / "run")
    forge_array(tmp_path / "run", "arrays", name, change)
    check_refused(tmp_path / "run", message)


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
def test_a_damaged_archive_is_a_folder_error(kept, damage):
    """attack 15: zipfile and NumPy raise errors of many kinds."""
    forge(kept, "arrays", damage(contents(kept, "arrays")))
    check_refused(kept, "cannot be read|not a run that whatfor wrote")


def _flagged(data, flag):
    """The same archive with a flag set in the central directory's first entry and in the member's own header."""
    changed = bytearray(data)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        changed[data.index(signature) + at] |= flag
    return bytes(changed)


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_file_is_refused_and_does_not_block(kept, kind):
    file = kept / json.loads((kept / "manifest.json").read_text())["files"]["arrays"]["file"]
    file.unlink()
    os.mkfifo(file) if kind == "fifo" else file.mkdir()
    check_refused(kept, "not a regular file|cannot be read")


# -- what cannot be loaded is not saved --------------------------------------------------------


def test_a_diverged_run_is_not_saved_and_the_earlier_one_stays(run, kept):
    """attack 10."""
    diverged = wf.Run(labels=run.labels, values=np.full((16, 4), np.nan))
    with pytest.raises(
        wf.FolderError, match=r"this run cannot be saved: tables holds NaN.*diverged.*smaller step size"
    ):
        diverged.save(kept)
    assert_same(wf.load(kept), run)


def test_numpy_numbers_in_settings_are_saved_as_numbers(tmp_path):
    run = wf.Run(labels=wf.Labels.plain(1, 1), values=[[0.5]], settings={"alpha": np.float32(0.5), "n": np.int64(3)})
    assert through_disk(run, tmp_path / "run").settings == {"alpha": 0.5, "n": 3}


def test_settings_that_a_document_cannot_hold_are_not_saved(tmp_path):
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


def test_a_save_waits_for_another_one_and_says_so_when_it_takes_too_long(run, kept, monkeypatch):
    """attack 7."""
    monkeypatch.setattr(folders, "LOCK_SECONDS", 0.2)
    later = wf.train(run, episodes=5)
    with folders._locked(kept), pytest.raises(wf.FolderError, match=r"another save to .* wait for it to end"):
        later.save(kept)
    assert_same(wf.load(kept), run)
    later.save(kept)
    assert_same(wf.load(kept), later)


@pytest.mark.parametrize("name", [folders.MANIFEST_PART, folders.JOURNAL, folders.LOCK])
def test_links_and_pipes_in_a_folder_are_not_written_through(kept, tmp_path, name):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for put_there in (lambda file: file.symlink_to(precious), os.mkfifo):
        (kept / name).unlink(missing_ok=True)
        put_there(kept / name)
        if name == folders.LOCK:
            with pytest.raises(wf.FolderError, match="is not a plain file: delete it"):
                small(5).save(kept)
        else:
            small(5).save(kept)
            assert len(wf.load(kept).ledger) == 5
        assert precious.read_text() == "precious"


def test_a_message_is_one_line_of_bounded_length(kept):
    forge_document(kept, lambda d: d["labels"].update(axes=[{"name": "x" * 9_000, "size": 1}] * 63))
    with pytest.raises(wf.FolderError) as raised:
        wf.load(kept)
    assert len(str(raised.value)) <= 1_000


def test_only_files_that_a_manifest_or_journal_named_are_deleted(kept):
    """attack 7: files of another save look just like ours."""
    planted = [kept / name for name in ("ledger-0123456789abcdef.npz", "run-0123456789abcdef.json", "notes.txt")]
    for file in planted:
        file.write_text("precious")
    small(5).save(kept)
    assert all(file.read_text() == "precious" for file in planted)
    assert len(wf.load(kept).ledger) == 5


def test_a_reader_starts_again_when_the_run_is_replaced_meanwhile(tmp_path, monkeypatch):
    """attack 7: 27 % of the loads beside a saver failed."""
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
