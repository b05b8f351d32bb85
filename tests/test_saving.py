"""A run on disk: it comes back whole, goes on as if it had never stopped, and nothing else is let in."""

import errno
import hashlib
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from itertools import count

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

import whatfor as wf
from sameness import CASES, LEARNERS, REPLAYS, assert_same_learning
from whatfor.testing import random_world
from whatfor.worlds.gymnasium import twin

SAVED = {"manifest.json", "run.json", "arrays.npz", "ledger.npz"}


def trained(world="FrozenLake-v1", learner="q", replay=None, **more):
    settings = {"episodes": 50, "seed": 7, "max_steps": 40, "replay": REPLAYS.get(replay), **more}
    return wf.train(world, LEARNERS[learner], **settings)


@pytest.fixture
def run():
    return trained()


@pytest.fixture
def kept(run, tmp_path):
    """The folder of a saved run."""
    run.save(tmp_path / "kept")
    return tmp_path / "kept"


def assert_same(one, other):
    """Everything that a run holds, to the last bit."""
    assert_same_learning(one, other)
    assert (one.labels, one.stopped) == (other.labels, other.stopped)
    assert json.dumps(one.settings) == json.dumps(other.settings)


def through_disk(run, folder):
    run.save(folder)
    return wf.load(folder)


def small(lines):
    """A run of an own loop: quickly saved."""
    ledger = wf.Ledger(n_states=2, n_actions=1)
    for _ in range(lines):
        ledger.record(0, 0, 1.0, 1, 0, step_size=0.5, discount=0.9)
    return wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)


def names(folder):
    """The files in a folder, without the hashes in their names."""
    return {file.name.partition("-")[0] + file.suffix if "-" in file.name else file.name for file in folder.iterdir()}


# -- there and back --------------------------------------------------------------------------


@pytest.mark.parametrize(("learner", "replay"), CASES)
def test_a_run_comes_back_whole(learner, replay, tmp_path):
    run = trained("Taxi-v4", learner, replay)
    again = through_disk(run, tmp_path / "run")
    assert_same(run, again)
    assert names(tmp_path / "run") == SAVED
    assert again.audit.residual == run.audit.residual
    assert str(again.intention(68)) == str(run.intention(68))


def test_an_own_loop_comes_back(tmp_path):
    ledger = wf.Ledger(n_states=2, n_actions=1, initial=[[0.5], [0.0]])
    ledger.record(0, 0, 1.0, 1, 0, step_size=0.5, discount=0.9)
    ledger.record(1, 0, 2.0, None, step_size=0.25, discount=0.9, ending="won")
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)
    again = through_disk(run, tmp_path / "run")
    assert_same(run, again)
    assert [update.ending for update in again.ledger] == [None, "won"]
    with pytest.raises(ValueError, match="own loop"):
        wf.train(again, episodes=1)


def test_a_run_without_a_ledger_comes_back_and_goes_on(tmp_path):
    half = through_disk(trained(record=False, episodes=25), tmp_path / "run")
    assert half.ledger is None
    assert_same(wf.train(half, episodes=25), trained(record=False))


def test_saving_again_replaces_the_run_and_its_files(run, kept):
    more = wf.train(run, episodes=5)
    more.save(kept)
    assert_same(wf.load(kept), more)
    assert names(kept) == SAVED
    assert len(list(kept.iterdir())) == 4


@pytest.mark.parametrize("number", [np.int64(7), np.uint8(7)])
def test_numpy_numbers_are_numbers(number, tmp_path):
    run = trained(seed=number, episodes=number, max_steps=number)
    assert_same(through_disk(run, tmp_path / "run"), trained(seed=7, episodes=7, max_steps=7))


def test_a_run_without_a_ledger_comes_back_too(tmp_path):
    """Blackjack's endings have names of their own, which the replay buffer holds."""
    world = wf.worlds.blackjack()
    run = wf.train(world, wf.QLearning(), episodes=50, seed=0, record=False, replay=wf.Replay())
    again = through_disk(run, tmp_path / "run")
    assert_same(wf.train(again, episodes=20), wf.train(run, episodes=20))


# -- going on --------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compiled", "python"])
@pytest.mark.parametrize(("learner", "replay"), CASES)
def test_going_on_is_the_same_as_never_having_stopped(learner, replay, engine, tmp_path):
    whole = trained("FrozenLake-v1", learner, replay, engine=engine)
    half = trained("FrozenLake-v1", learner, replay, engine=engine, episodes=20)
    assert_same(wf.train(half, episodes=30), whole)
    assert_same(wf.train(through_disk(half, tmp_path / "run"), episodes=30), whole)


WORLDS = {
    "taxi": (lambda: "Taxi-v4", {}),
    "taxi, stepped": (lambda: "Taxi-v4", {"engine": "python"}),
    "rainy taxi, stepped": (lambda: gym.make("Taxi-v4", is_rainy=True), {"engine": "python"}),
    "blackjack, stepped": (lambda: gym.make("Blackjack-v1", sab=False), {"engine": "python"}),
    "fickle taxi": (lambda: gym.make("Taxi-v4", fickle_passenger=True), {}),
    "time limit by hand": (lambda: TimeLimit(gym.make("CliffWalking-v1"), 9), {}),
    "mountain car": (lambda: "MountainCar-v0", {"bins": (4, 5), "bounds": [(-1.2, 0.6), (-0.07, 0.07)]}),
    "cartpole by id": (lambda: "CartPole-v1", {"bins": 3, "bounds": [(-2, 2), (-2, 2), (-0.2, 0.2), (-2, 2)]}),
    "cartpole": (lambda: wf.worlds.cartpole(max_steps=30), {}),
    "blackjack": (wf.worlds.blackjack, {}),
    "chain": (wf.worlds.chain, {}),
    "table": (lambda: random_world(3), {}),
    "table, stepped": (lambda: random_world(3), {"engine": "python"}),
    "lake as a table": (lambda: twin(gym.make("FrozenLake-v1")), {}),
    "a map of one's own": (lambda: gym.make("FrozenLake-v1", desc=["SF", "HG"], reward_schedule=(5, -1, 0)), {}),
}


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_can_be_made_again(name, tmp_path):
    make, settings = WORLDS[name]
    whole = trained(make(), **settings)
    half = through_disk(trained(make(), **settings, episodes=20), tmp_path / "run")
    assert_same(wf.train(half, episodes=30), whole)
    assert np.array_equal(half.evaluate(5).returns, trained(make(), **settings, episodes=20).evaluate(5).returns)


def test_evaluating_in_between_changes_nothing(tmp_path):
    for engine in ("compiled", "python"):
        half = trained(engine=engine, episodes=20)
        half.evaluate(10)
        assert_same(wf.train(half, episodes=30), trained(engine=engine))


def changed_lake():
    env = gym.make("FrozenLake-v1")
    env.unwrapped.P[0][0] = [(1.0, 15, 3.0, True)]
    return env


def moon():
    env = gym.make("CartPole-v1")
    env.unwrapped.gravity = 1.6
    return env


def implicit():
    env = gym.make("CartPole-v1")
    env.unwrapped.kinematics_integrator = "semi-implicit euler"
    return env


CHANGED = {
    "random map": (lambda: gym.make("FrozenLake-v1", desc=None, map_name=None), {}),
    "changed table": (changed_lake, {}),
    "changed table, stepped": (changed_lake, {"engine": "python"}),
    "another planet": (moon, {"bins": 3, "bounds": [(-2, 2)] * 4}),
    "another integrator": (implicit, {"bins": 3, "bounds": [(-2, 2)] * 4}),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_world_that_cannot_be_made_again_is_asked_for(name, tmp_path):
    """A loaded run never goes on in a world other than the one it learned in."""
    make, settings = CHANGED[name]
    env = make()
    half = through_disk(trained(env, **settings, episodes=20), tmp_path / "run")
    with pytest.raises(ValueError, match="env="):
        wf.train(half, episodes=30)
    assert_same(wf.train(half, env=env, episodes=30), trained(env, **settings))


class Own(gym.Env):
    """An environment that only its owner can make."""

    observation_space, action_space = gym.spaces.Discrete(3), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return int(self.np_random.integers(3)), float(action), bool(self.np_random.random() < 0.2), False, {}


def test_somebodys_environment_is_asked_for_and_taken(tmp_path):
    half = through_disk(trained(Own(), episodes=20), tmp_path / "run")
    with pytest.raises(ValueError, match=r"Own is not registered.*env="):
        wf.train(half, episodes=30)
    assert_same(wf.train(half, env=Own(), episodes=30), trained(Own()))


def test_branches_leave_the_run_and_each_other_alone(tmp_path):
    for learner, replay in (("q", None), ("monte carlo", None), ("double q by step", "ring")):
        base = trained("FrozenLake-v1", learner, replay, episodes=20)
        before = through_disk(base, tmp_path / "before")
        one, other = wf.train(base, episodes=30), wf.train(base, episodes=10)
        further = wf.train(other, episodes=20)
        assert_same(base, before)
        assert_same(one, trained("FrozenLake-v1", learner, replay))
        assert_same(other, trained("FrozenLake-v1", learner, replay, episodes=30))
        assert_same(further, one)


def test_an_exploration_that_no_file_can_hold_is_asked_for(tmp_path):
    learner = wf.QLearning(exploration=lambda episode: 1 / (1 + episode))
    whole = wf.train("FrozenLake-v1", learner, episodes=50, seed=1)
    half = through_disk(wf.train("FrozenLake-v1", learner, episodes=20, seed=1), tmp_path / "run")
    with pytest.raises(ValueError, match="pass the learner again"):
        wf.train(half, episodes=30)
    more = wf.train(half, learner, episodes=30)
    assert np.array_equal(more.tables, whole.tables)


# -- what is not let in ----------------------------------------------------------------------


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def contents(folder, name):
    return (folder / manifest(folder)["files"][name]["file"]).read_bytes()


def forge(folder, name, data):
    """Put other contents into a run, with a checksum that fits."""
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


def refused(folder, message):
    with pytest.raises(wf.FolderError, match=message):
        wf.load(folder)


@pytest.mark.parametrize("name", ["run", "arrays", "ledger"])
def test_a_tampered_file_is_refused(kept, name):
    file = kept / manifest(kept)["files"][name]["file"]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    refused(kept, f"{file.name} is not what was saved")


@pytest.mark.parametrize("name", ["run", "arrays", "ledger"])
def test_a_truncated_file_is_refused(kept, name):
    file = kept / manifest(kept)["files"][name]["file"]
    file.write_bytes(file.read_bytes()[:-100])
    refused(kept, f"{file.name} is .* bytes long instead of .*: it was cut off or changed")


@pytest.mark.parametrize("name", ["run", "arrays", "ledger"])
def test_a_missing_file_is_refused(kept, name):
    file = kept / manifest(kept)["files"][name]["file"]
    file.unlink()
    refused(kept, f"incomplete: {file.name} is missing")


def test_a_link_is_refused(kept, tmp_path):
    file = kept / manifest(kept)["files"]["arrays"]["file"]
    shutil.move(file, tmp_path / "elsewhere.npz")
    file.symlink_to(tmp_path / "elsewhere.npz")
    refused(kept, file.name)


def test_a_folder_without_a_run_is_refused(tmp_path):
    refused(tmp_path / "nothing", "there is no run at .*nothing: no such folder")
    refused(tmp_path, "there is no run at .*: no manifest.json in it")


def test_a_newer_format_is_refused_and_says_what_to_do(kept):
    listed = manifest(kept)
    (kept / "manifest.json").write_text(json.dumps({**listed, "format": listed["format"] + 1}))
    refused(kept, "newer whatfor .*pip install --upgrade whatfor")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[]", "not a run's manifest"),
        ('{"format": "1"}', "not a run's manifest"),
        ('{"format": 1, "files": {}}', "not a run that whatfor wrote"),
        ('{"format": 1, "files": {"run": 3}}', "not a file of a run"),
        ('{"format": 1, "files": {"run": {"file": "../../etc/passwd"}}}', "not a file of a run"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_manifest_that_is_none_is_refused(kept, text, message):
    (kept / "manifest.json").write_text(text)
    refused(kept, message)


@pytest.mark.parametrize("text", [b"{nope", b"[]", b"1", b"null", b"\xff\xfe", b"[" * 100_000, b"{}"])
def test_a_document_that_is_none_is_refused(kept, text):
    forge(kept, "run", text)
    refused(kept, "is not JSON|is not a run that whatfor wrote")


class Trap:
    """Fails the test when somebody unpickles it."""

    def __reduce__(self):
        return pytest.fail, ("code from a pickle was run",)


@pytest.mark.parametrize("group", ["arrays", "ledger"])
def test_a_pickle_is_refused_and_not_run(kept, group):
    arrays = dict(np.load(io.BytesIO(contents(kept, group))))
    first = next(iter(arrays))
    forge(kept, group, packed(**{**arrays, first: np.array([Trap()], dtype=object)}))
    refused(kept, "contains a pickle.*refused")
    forge(kept, group, pickle.dumps(Trap()))
    refused(kept, "contains a pickle.*refused")


def test_files_that_are_not_archives_are_refused(kept):
    plain = io.BytesIO()
    np.save(plain, np.zeros(3))
    for data in (b"", b"PK\x03\x04 and no more", plain.getvalue(), packed()):
        forge(kept, "arrays", data)
        refused(kept, "cannot be read|not a run that whatfor wrote")


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
        ("ledger", "reward", put(3, np.nan), "reward holds NaN"),
        ("ledger", "step_size", put(0, 1.5), "step_size has wrong numbers"),
        ("ledger", "discount", put(0, np.nan), "discount has wrong numbers"),
        ("ledger", "breaks", put(0, -1), "episodes are out of order"),
        ("arrays", "tables", put((0, 0, 0), np.inf), "tables holds NaN or infinite"),
        ("arrays", "snapshot_values", put(0, np.nan), "values holds NaN or infinite"),
        ("arrays", "snapshot_counters", put(0, 10**6), "does not fit its ledger"),
        ("arrays", "snapshot_counters", put(4, 7), "does not fit its ledger"),
    ],
)
def test_numbers_out_of_range_are_refused(tmp_path, group, name, change, message):
    folder = tmp_path / "run"
    trained(max_steps=5).save(folder)
    forge_array(folder, group, name, change)
    refused(folder, message)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("snapshot_pair", put(3, 64), "pair has numbers out of range"),
        ("snapshot_next_state", put(3, 16), "next_state has numbers out of range"),
        ("snapshot_reward", put(3, np.nan), "reward holds NaN"),
        ("snapshot_ending", put(3, 5), "ending has numbers out of range"),
    ],
)
def test_experience_out_of_range_is_refused(tmp_path, name, change, message):
    folder = tmp_path / "run"
    trained(replay="ring").save(folder)
    forge_array(folder, "arrays", name, change)
    refused(folder, message)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("table_next_state", put(2, 5), "next_state has numbers out of range"),
        ("table_first", put(1, 10**6), "table is out of order"),
        ("table_ending", put(2, -50), "ending has numbers out of range"),
        ("table_reward", put(2, np.inf), "reward holds NaN"),
    ],
)
def test_a_table_out_of_range_is_refused(tmp_path, name, change, message):
    folder = tmp_path / "run"
    trained(random_world(3)).save(folder)
    forge_array(folder, "arrays", name, change)
    refused(folder, message)


def spots(data, path=()):
    """Every place in a JSON document."""
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data[:3]) if isinstance(data, list) else ()
    for key, value in items:
        yield from spots(value, (*path, key))


def test_a_document_changed_anywhere_is_refused_or_harmless(kept):
    """Wrong values in every place of the document: nothing but FolderError ever comes out."""
    original = json.loads(contents(kept, "run"))
    wrong = np.array([None, -1, 10**12, "x", [], {}, 1.5, True, float("nan"), [[1]]], dtype=object)
    dice, refusals = np.random.default_rng(0), 0
    for path in 3 * [*spots(original)]:
        document, value = json.loads(json.dumps(original)), dice.choice(wrong)
        spot = document
        for key in path[:-1]:
            spot = spot[key]
        if path:
            spot[path[-1]] = value
        forge(kept, "run", json.dumps(document if path else value).encode())
        try:
            wf.load(kept)
        except wf.FolderError:
            refusals += 1
    assert refusals > 50


CHILD = """
import json, os, sys
import numpy as np
import whatfor as wf

def outcome(work):
    "What becomes of a child that does some work: its exit code (negative: a signal), and what it said."
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, json.dumps(said, default=str).encode())
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    return os.waitstatus_to_exitcode(status), json.loads(text) if text else None
"""


def in_a_child(code, *arguments):
    """Run code in a Python of its own, which may die; what it printed, as JSON."""
    script = CHILD + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
    """Going on from a forged document ends in an error that can be caught, not in somebody else's memory."""
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
    refused = {name for name, (_, said) in came.items() if str(said).startswith(("FolderError", "ValueError"))}
    harmless = {name for name, (_, said) in came.items() if said and said[0] == "went on" and said[1] < 1e-9}
    assert set(came) == refused | harmless, came
    assert len(refused) >= 6


# -- saves that fail -------------------------------------------------------------------------


def test_a_folder_with_other_things_is_left_alone(run, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(wf.FolderError, match=r"holds other things .*thesis.tex.*choose an empty or a new folder"):
        run.save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_somebody_elses_manifest_is_left_alone(run, tmp_path):
    text = '{"name": "my web page", "icons": []}'
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(wf.FolderError, match="choose an empty or a new folder"):
        run.save(tmp_path)
    assert (tmp_path / "manifest.json").read_text() == text
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_is_not_a_folder(run, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(wf.FolderError, match="is a file; choose a folder"):
        run.save(tmp_path / "file")


@pytest.mark.parametrize("earlier", [True, False])
@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_is_told_and_leaves_nothing_behind(tmp_path, monkeypatch, step, stage, earlier):
    """The disk is full at each file in turn (three files and the manifest)."""
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
        with pytest.raises(wf.FolderError, match=r"could not save to .*: No space left on device.*save again"):
            later.save(folder)
    assert {file.name for file in folder.iterdir()} == before
    if earlier:
        assert_same(wf.load(folder), run)
    assert_same(through_disk(later, folder), later)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_save_that_is_interrupted_leaves_nothing_behind(run, kept, monkeypatch, error):
    before = {file.name for file in kept.iterdir()}

    def broken(*_, **__):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", broken)
        with pytest.raises(error):
            wf.train(run, episodes=5).save(kept)
    assert {file.name for file in kept.iterdir()} == before
    assert_same(wf.load(kept), run)


def test_an_interrupt_just_after_the_switch_leaves_the_new_run(tmp_path, monkeypatch):
    """Ctrl-C may come between any two steps, also when the manifest already names the new files."""
    run, later, folder, calls, real = small(3), small(5), tmp_path / "run", count(), os.replace
    run.save(folder)

    def interrupted(*arguments):
        real(*arguments)
        if next(calls) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            later.save(folder)
    assert_same(wf.load(folder), later)


def test_a_disk_that_is_really_full(tmp_path):
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
        told = outcome(work)
        print(json.dumps([*told, sorted(os.listdir(sys.argv[1])) == before, len(wf.load(sys.argv[1]).history)]))
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
            for name, stages in (("savez", 2), ("fsync", 5), ("replace", 4), ("unlink", 3)):
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
    assert len(came) == 2 * 2 * (2 + 5 + 4) + 2 * 3
    for earlier, *what, code, said, found, again in came:
        assert (code, said) == (-9, None), what
        switched = what in (["replace", 3, True], ["fsync", 4, False], ["fsync", 4, True]) or what[0] == "unlink"
        assert again == [20, 4], what
        if switched:
            assert found == 20, what
        elif earlier:
            assert found == 10, what
        else:
            assert "there is no run at" in found, what
