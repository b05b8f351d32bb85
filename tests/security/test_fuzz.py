"""The fuzzer, and a short run of it: mutated folders load and answer, or are rejected."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import supervisor
from fuzz.cases import LAST, MUTATIONS, RUNS, WEIGHTS, case_of
from fuzz.corpus import TABULAR, build
from fuzz.folders import RunFolder, read_corpus

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """The folder of the runs that are mutated."""
    folder = tmp_path_factory.mktemp("fuzz")
    build("tabular", folder / "corpus")
    return folder


@pytest.fixture(scope="module")
def corpus(room):
    return read_corpus(room / "corpus")


def test_every_run_and_every_mutation_is_known():
    assert list(TABULAR) == RUNS["tabular"]
    for kind in RUNS:
        assert {*WEIGHTS[kind], *LAST[kind]} <= set(MUTATIONS)
    assert set(MUTATIONS) == {name for kind in RUNS for name in (*WEIGHTS[kind], *LAST[kind])}


def test_a_case_is_always_the_same(corpus, tmp_path):
    for number in range(20):
        for name in ("one", "two"):
            case_of("tabular", number, corpus).folder.write(tmp_path / f"{name} {number}")
        one, two = (
            {file.name: file.read_bytes() for file in (tmp_path / f"{name} {number}").iterdir() if file.is_file()}
            for name in ("one", "two")
        )
        assert one == two


def test_cases_change_the_folder(corpus, tmp_path):
    """Every mutation occurs, and nearly all change the folder."""
    kinds, changed = set(), 0
    for number in range(400):
        case = case_of("tabular", number, corpus)
        kinds |= set(case.kinds)
        changed += case.folder.files != corpus[case.run].files or bool(
            case.folder.manifest_changes or case.folder.damage
        )
    assert kinds == {*WEIGHTS["tabular"], *LAST["tabular"]}
    assert changed > 380


def test_forged_checksums_fit(corpus, tmp_path):
    case = corpus["lake"].copy()
    case.files["run"] = b"{}"
    case.write(tmp_path / "run")
    assert RunFolder.read(tmp_path / "run").files["run"] == b"{}"
    assert json.loads((tmp_path / "run" / "manifest.json").read_bytes())["files"]["run"]["bytes"] == 2


def test_the_supervisor_notices(monkeypatch, room):
    """``planted_worker`` misbehaves on purpose, in one way for each number."""
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")])
    )
    monkeypatch.setattr(supervisor, "MAX_SECONDS", 1.0)
    monkeypatch.setattr(supervisor, "MAX_MEMORY", 150)
    results = list(supervisor.supervise("tabular", range(8), room=room, workers=1, module="planted_worker"))
    found = {result["order"]: {wrong["class"] for wrong in result["wrong"]} for result in results}
    assert found == {
        0: set(),
        1: {"crash"},
        2: {"hang"},
        3: {"memory"},
        4: {"outside"},
        5: {"out of bounds"},
        6: {"exception"},
        7: {"message"},
    }
    assert all(wrong["at"] == "load" for result in results for wrong in result["wrong"])


def run_module(*arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# attack 9, 10, 14, 15, 16
def test_mutated_tabular_folders_load_and_answer_or_are_rejected():
    assert "300 tabular folders" in run_module("fuzz", "--tabular", "300", "--deep", "0", "--workers", "1")


# attack 5, 15
def test_mutated_deep_folders_load_and_answer_or_are_rejected():
    assert "40 deep folders" in run_module("fuzz", "--tabular", "0", "--deep", "40", "--workers", "1")


# attack 7, 12
def test_savers_readers_and_kills_lose_nothing():
    counts = ("--savers", "12", "--seconds", "2", "--kills", "16", "--train-kills", "6", "--json")
    came = json.loads(run_module("fuzz.stress", *counts))
    assert came["two savers"]["readable afterwards"] == 12
    assert came["a saver and a reader"]["loads"] > 10
    assert sum(came["killed while saving"].values()) == 16
    assert sum(came["killed while training"].values()) == 6
