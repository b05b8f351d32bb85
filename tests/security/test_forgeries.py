"""Run folders that were truncated, changed or forged are rejected."""

import hashlib
import io
import json
import pickle
import shutil

import numpy as np
import pytest

import whatfor as wf
from saved import in_a_child, trained
from whatfor.testing import random_world


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def contents(folder, name):
    return (folder / manifest(folder)["files"][name]["file"]).read_bytes()


def forge(folder, name, data):
    """Replace the contents of a run, with a matching checksum."""
    listed = manifest(folder)
    entry = listed["files"][name]
    (folder / entry["file"]).write_bytes(data)
    entry.update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
    (folder / "manifest.json").write_text(json.dumps(listed))


def packed(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def forge_array(folder, group, name, change):
    arrays = dict(np.load(io.BytesIO(contents(folder, group))))
    change(arrays[name])
    forge(folder, group, packed(**arrays))


def forge_document(folder, change):
    document = json.loads(contents(folder, "run"))
    change(document)
    forge(folder, "run", json.dumps(document).encode())


def check_rejected(folder, message):
    with pytest.raises(wf.FolderError, match=message):
        wf.load(folder)


@pytest.mark.parametrize("name", ["run", "arrays", "ledger"])
def test_a_tampered_file_is_rejected(run_folder, name):
    file = run_folder / manifest(run_folder)["files"][name]["file"]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    check_rejected(run_folder, f"{file.name} has changed since it was saved")


@pytest.mark.parametrize("name", ["run", "arrays", "ledger"])
def test_a_truncated_file_is_rejected(run_folder, name):
    file = run_folder / manifest(run_folder)["files"][name]["file"]
    file.write_bytes(file.read_bytes()[:-100])
    check_rejected(run_folder, f"{file.name} is .* bytes long instead of .*: it was truncated or changed")


@pytest.mark.parametrize("name", ["run", "arrays", "ledger"])
def test_a_missing_file_is_rejected(run_folder, name):
    file = run_folder / manifest(run_folder)["files"][name]["file"]
    file.unlink()
    check_rejected(run_folder, f"incomplete: {file.name} is missing")


def test_a_link_is_rejected(run_folder, tmp_path):
    file = run_folder / manifest(run_folder)["files"]["arrays"]["file"]
    shutil.move(file, tmp_path / "elsewhere.npz")
    file.symlink_to(tmp_path / "elsewhere.npz")
    check_rejected(run_folder, file.name)


def test_a_folder_without_a_run_is_rejected(tmp_path):
    check_rejected(tmp_path / "nothing", "there is no run at .*nothing: no such folder")
    check_rejected(tmp_path, "there is no run at .*: no manifest.json in it")


def test_a_newer_format_is_rejected_with_advice(run_folder):
    listed = manifest(run_folder)
    (run_folder / "manifest.json").write_text(json.dumps({**listed, "format": listed["format"] + 1}))
    check_rejected(run_folder, "newer whatfor .*update whatfor")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[]", "not a run's manifest"),
        ('{"format": "1"}', "not a run's manifest"),
        ('{"format": 6, "files": {}}', "not a run that whatfor wrote"),
        ('{"format": 1, "files": {}}', "older whatfor .* train it again"),
        ('{"format": 6, "files": {"run": 3}}', "not a file of a run"),
        ('{"format": 6, "files": {"run": {"file": "../../etc/passwd"}}}', "not a file of a run"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_an_invalid_manifest_is_rejected(run_folder, text, message):
    (run_folder / "manifest.json").write_text(text)
    check_rejected(run_folder, message)


@pytest.mark.parametrize("text", [b"{nope", b"[]", b"1", b"null", b"\xff\xfe", b"[" * 100_000, b"{}"])
def test_an_invalid_document_is_rejected(run_folder, text):
    forge(run_folder, "run", text)
    check_rejected(run_folder, "is not JSON|is not a run that whatfor wrote")


class Trap:
    """Fails the test if it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("code from a pickle was run",)


@pytest.mark.parametrize("group", ["arrays", "ledger"])
def test_a_pickle_is_rejected_and_not_run(run_folder, group):
    arrays = dict(np.load(io.BytesIO(contents(run_folder, group))))
    first = next(iter(arrays))
    forge(run_folder, group, packed(**{**arrays, first: np.array([Trap()], dtype=object)}))
    check_rejected(run_folder, "contains a pickle.*rejected")
    forge(run_folder, group, pickle.dumps(Trap()))
    check_rejected(run_folder, "not a zip file")


def test_files_that_are_not_archives_are_rejected(run_folder):
    plain = io.BytesIO()
    np.save(plain, np.zeros(3))
    for data in (b"", b"PK\x03\x04 and no more", plain.getvalue(), packed()):
        forge(run_folder, "arrays", data)
        check_rejected(run_folder, "cannot be read|not a run that whatfor wrote")


def put(at, value):
    def change(array):
        array[at] = value

    return change


@pytest.mark.parametrize(
    ("group", "name", "change", "message"),
    [
        ("ledger", "cell", put(3, 64), "cell has numbers out of range"),
        ("ledger", "cell", put(3, -1), "cell has numbers out of range"),
        ("ledger", "source", put(3, 64), "source has numbers out of range"),
        ("ledger", "source", put(3, -1000), "source has numbers out of range"),
        ("ledger", "reward", put(3, np.nan), "reward contains NaN"),
        ("ledger", "step_size", put(0, 1.5), "step_size has the wrong length or numbers outside 0 to 1"),
        ("ledger", "discount", put(0, np.nan), "discount has the wrong length or numbers outside 0 to 1"),
        ("ledger", "breaks", put(0, -1), "breaks has numbers out of range"),
        ("ledger", "finals", put((0, 1), 99), "finals has numbers out of range"),
        ("ledger", "finals", put((0, 0), -1), "finals has numbers out of range"),
        ("arrays", "tables", put((0, 0, 0), np.inf), "tables contains NaN or infinite"),
        ("arrays", "snapshot_values", put(0, np.nan), "values contains NaN or infinite"),
        ("arrays", "snapshot_counters", put(0, 10**6), "does not fit its ledger"),
        ("arrays", "snapshot_counters", put(4, 7), "does not fit its ledger"),
    ],
)
def test_numbers_out_of_range_are_rejected(tmp_path, group, name, change, message):
    folder = tmp_path / "run"
    trained(max_steps=5).save(folder)
    forge_array(folder, group, name, change)
    check_rejected(folder, message)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("snapshot_pair", put(3, 64), "pair has numbers out of range"),
        ("snapshot_next_state", put(3, 16), "next_state has numbers out of range"),
        ("snapshot_reward", put(3, np.nan), "reward contains NaN"),
        ("snapshot_ending", put(3, 5), "ending has numbers out of range"),
    ],
)
def test_experience_out_of_range_is_rejected(tmp_path, name, change, message):
    folder = tmp_path / "run"
    trained(replay="ring").save(folder)
    forge_array(folder, "arrays", name, change)
    check_rejected(folder, message)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("table_next_state", put(2, 5), "next_state has numbers out of range"),
        ("table_first", put(1, 10**6), "table is out of order"),
        ("table_ending", put(2, -50), "ending has numbers out of range"),
        ("table_reward", put(2, np.inf), "reward contains NaN"),
    ],
)
def test_a_table_out_of_range_is_rejected(tmp_path, name, change, message):
    folder = tmp_path / "run"
    trained(random_world(3)).save(folder)
    forge_array(folder, "arrays", name, change)
    check_rejected(folder, message)


def spots(data, path=()):
    """Every position in a JSON document."""
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data[:3]) if isinstance(data, list) else ()
    for key, value in items:
        yield from spots(value, (*path, key))


def test_a_document_changed_anywhere_is_rejected_or_harmless(run_folder):
    """A wrong value at any position in the document raises nothing but FolderError."""
    original = json.loads(contents(run_folder, "run"))
    wrong = np.array([None, -1, 10**12, "x", [], {}, 1.5, True, float("nan"), [[1]]], dtype=object)
    dice, refusals = np.random.default_rng(0), 0
    for path in 3 * [*spots(original)]:
        document, value = json.loads(json.dumps(original)), dice.choice(wrong)
        spot = document
        for key in path[:-1]:
            spot = spot[key]
        if path:
            spot[path[-1]] = value
        forge(run_folder, "run", json.dumps(document if path else value).encode())
        try:
            wf.load(run_folder)
        except wf.FolderError:
            refusals += 1
    assert refusals > 50


FORGERIES = {
    "numbers below zero": (None, lambda d: d["snapshot"]["agent"]["tape"].update(ahead=[-1e7] * 20_000)),
    "numbers above one": ("ring", lambda d: d["snapshot"]["agent"]["tape"].update(ahead=[1e7] * 20_000)),
    "a smaller buffer": ("ring", lambda d: d["settings"]["replay"].update(capacity=3)),
    "more tables": (None, lambda d: d["settings"]["learner"].update(name="DoubleQLearning")),
    "counted step sizes": (
        None,
        lambda d: d["settings"]["learner"].update(step_size={"kind": "VisitCount", "power": 1.0}),
    ),
    "another step size": (None, lambda d: d["settings"]["learner"].update(step_size=0.1)),
    "another order": (None, lambda d: d["settings"]["learner"].update(name="MonteCarlo")),
    "a larger world": (None, lambda d: d["settings"]["world"].update(id="Taxi-v4", options={})),
    "no replay": ("ring", lambda d: d["settings"].update(replay=None)),
}


def test_a_forged_run_never_reaches_compiled_code(tmp_path):
    """Resuming from a forged document raises an error instead of corrupting memory."""
    for name, (replay, change) in FORGERIES.items():
        trained(replay=replay).save(tmp_path / name)
        forge_document(tmp_path / name, change)
    came = in_a_child(
        """
        wf.train("FrozenLake-v1", wf.QLearning(), episodes=1, replay=wf.Replay()).audit.residual  # compiled before it forks
        def work(folder):
            run = wf.train(wf.load(folder), episodes=300)
            return ["went on", float(wf.Audit(run.ledger, values=run.tables).residual)]
        print(json.dumps({name: outcome(lambda: work(os.path.join(sys.argv[1], name))) for name in os.listdir(sys.argv[1])}))
        """,
        tmp_path,
    )
    assert set(came) == set(FORGERIES)
    rejected = {name for name, (_, said) in came.items() if str(said).startswith(("FolderError", "ValueError"))}
    harmless = {name for name, (_, said) in came.items() if said and said[0] == "went on" and said[1] < 1e-9}
    assert set(came) == rejected | harmless, came
    assert len(rejected) >= 6


@pytest.fixture
def parts_folder(tmp_path):
    """A run with recorded parts of its rewards, and experiences to replay."""
    folder = tmp_path / "parts"
    trained(replay="ring", reward_parts=["prob"]).save(folder)
    return folder


@pytest.mark.parametrize(
    ("group", "name", "changed", "message"),
    [
        ("ledger", "parts", lambda parts: np.full_like(parts, np.nan), "parts contains NaN"),
        ("ledger", "parts", lambda parts: parts[1:], "unlike any run's"),
        ("ledger", "parts", lambda parts: np.hstack([parts, parts]), "does not fit its ledger"),
        ("ledger", "parts", lambda parts: parts.astype(np.float32), "unlike any run's"),
        ("ledger", "parts", lambda parts: parts[:, 0], "unlike any run's"),
        ("arrays", "snapshot_parts", lambda parts: parts[1:], "unlike any run's"),
        ("arrays", "snapshot_parts", lambda parts: parts * np.inf, "parts contains NaN"),
    ],
)
def test_forged_parts_of_rewards_are_rejected(parts_folder, group, name, changed, message):
    arrays = dict(np.load(io.BytesIO(contents(parts_folder, group))))
    arrays[name] = changed(arrays[name])
    forge(parts_folder, group, packed(**arrays))
    check_rejected(parts_folder, message)


@pytest.mark.parametrize(
    ("parts", "message"),
    [(["rest"], "cannot be called 'rest'"), (["a", "a"], "'a' is twice"), (["a", "b"], "does not fit"), (["p"] * 101, "twice")],
)  # fmt: skip
def test_forged_names_of_parts_are_rejected(parts_folder, parts, message):
    forge_document(parts_folder, lambda document: document["ledger"].update(parts=parts))
    check_rejected(parts_folder, message)


def test_a_ledger_without_its_parts_is_rejected(parts_folder):
    arrays = dict(np.load(io.BytesIO(contents(parts_folder, "ledger"))))
    del arrays["parts"]
    forge(parts_folder, "ledger", packed(**arrays))
    check_rejected(parts_folder, "it has no parts")


def test_a_run_whose_settings_name_other_parts_cannot_be_resumed(parts_folder):
    forge_document(parts_folder, lambda document: document["settings"].update(reward_parts={"p": "prob"}))
    with pytest.raises(ValueError, match="not those of its settings"):
        wf.train(wf.load(parts_folder), episodes=1)


CHANGED = [
    ("reward_pair", lambda pair: pair.__setitem__(0, 10**9), "reward_pair has numbers out of range"),
    ("reward_pair", lambda pair: pair.__setitem__(slice(None), pair[::-1].copy()), "changed rewards are out of order"),
    ("reward_paid", lambda paid: paid.__setitem__(0, np.nan), "reward_paid contains NaN"),
    ("reward_instead", lambda new: new.__setitem__(0, np.inf), "reward_instead contains NaN or infinite"),
]


@pytest.fixture
def repriced_folder(tmp_path):
    trained().repriced(lambda state, action, reward: 2.0 * reward).save(tmp_path / "repriced")
    return tmp_path / "repriced"


@pytest.mark.parametrize(("name", "change", "message"), CHANGED)
def test_forged_rewards_of_a_counterfactual_run_are_rejected(repriced_folder, name, change, message):
    forge_array(repriced_folder, "arrays", name, change)
    check_rejected(repriced_folder, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"repriced": 3}, "reward_pair is int64 of shape"),
        ({"repriced": -1}, "repriced"),
        ({"premise": None}, "not a counterfactual run"),
        ({"own_values": True}, "not a counterfactual run"),
        ({"factors": {"reward +1": 2.0}}, "a factor is on 'reward \\+1', which is no recorded part"),
        ({"factors": {"rest": "2"}}, "factors"),
    ],
    ids=str,
)
def test_a_forged_document_of_changed_rewards_is_rejected(repriced_folder, change, message):
    forge_document(repriced_folder, lambda document: document.update(change))
    check_rejected(repriced_folder, message)


@pytest.fixture
def states_folder(tmp_path):
    """A run that discovered its states, with values of every kind."""
    folder = tmp_path / "states"
    trained(state_of=lambda at: (at % 4, f"{at // 4}", at / 2 if at % 3 else None, at > 7, bytes([at]))).save(folder)
    wf.load(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("positions", lambda rows: rows + 1, "are not within the axes"),
        ("positions", lambda rows: -rows, "are not within the axes"),
        ("positions", lambda rows: rows[1:], "are not within the axes"),
        ("positions", lambda rows: np.repeat(rows[:1], len(rows), axis=0), "two of its discovered states are the same"),
        ("positions", lambda rows: rows.astype(np.int64), "unlike any run's"),
        ("positions", lambda rows: rows.ravel(), "unlike any run's"),
        ("whole", lambda values: values[1:], "have other values than its axes"),
        ("whole", lambda values: values * 0, "two values of an axis"),
        ("real", lambda values: values * np.nan, "is not a finite number"),
        ("real", lambda values: np.append(values, 1.0), "have other values than its axes"),
        ("text", lambda text: text[1:], "out of order"),
        ("text", lambda text: text * 0 + 255, "is not a run|codec can't decode"),
        ("ends", lambda ends: ends[::-1].copy(), "out of order"),
        ("ends", lambda ends: ends[:-1], "out of order"),
    ],
)
def test_forged_states_are_rejected(states_folder, name, changed, message):
    arrays = dict(np.load(io.BytesIO(contents(states_folder, "states"))))
    arrays[name] = changed(arrays[name])
    forge(states_folder, "states", packed(**arrays))
    check_rejected(states_folder, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.update(states=None), "do not fit together"),
        (lambda document: document["labels"].update(discovered=0), "do not fit together"),
        (lambda document: document["labels"].update(discovered=10**15), "the limit is 10,000,000"),
        (lambda document: document["labels"].update(discovered=3), "are not within the axes"),
        (lambda document: document["labels"].update(structure=None), "do not fit the axes"),
        (lambda document: document["labels"]["structure"].update(kind="array", shape=[10**9, 10**9]), "values, and there are 5 axes"),
        (lambda document: document["labels"]["structure"].update(kind="dict"), "one name for each part"),
        (lambda document: document["states"]["kinds"].pop(), "do not fit the axes"),
        (lambda document: document["states"].update(nones=[True] * 5), "have other values than its axes"),
        (lambda document: document["labels"]["axes"][0].update(size=10**9), "have other values than its axes"),
    ],
)  # fmt: skip
def test_forged_labels_of_states_are_rejected(states_folder, change, message):
    forge_document(states_folder, change)
    check_rejected(states_folder, message)


def test_states_on_top_of_a_run_that_discovered_none_are_rejected(run_folder, states_folder):
    forged = json.loads(contents(states_folder, "run"))["states"]
    forge_document(run_folder, lambda document: document.update(states=forged))
    check_rejected(run_folder, "do not fit together")
