"""Helpers for the tests of saving."""

import json
import subprocess
import sys
import textwrap

import whatfor as wf
from sameness import LEARNERS, REPLAYS, assert_same_learning

SAVED = {".lock", "manifest.json", "run.json", "arrays.npz", "ledger.npz"}


def trained(world="FrozenLake-v1", learner="q", replay=None, **more):
    settings = {"episodes": 50, "seed": 7, "max_steps": 40, "replay": REPLAYS.get(replay), **more}
    return wf.train(world, LEARNERS[learner], **settings)


def assert_same(one, other):
    """Assert that two runs are bit-for-bit identical."""
    assert_same_learning(one, other)
    assert (one.labels, one.stopped) == (other.labels, other.stopped)
    assert json.dumps(one.settings) == json.dumps(other.settings)


def through_disk(run, folder):
    run.save(folder)
    return wf.load(folder)


def small(lines):
    """A run of a custom loop, which is saved quickly."""
    ledger = wf.Ledger(n_states=2, n_actions=1)
    for _ in range(lines):
        ledger.record(0, 0, 1.0, 1, 0, step_size=0.5, discount=0.9)
    return wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)


def names(folder):
    """The files in a folder, without the hashes in their names."""
    return {file.name.partition("-")[0] + file.suffix if "-" in file.name else file.name for file in folder.iterdir()}


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
    """Run code in a child process, which may die; returns its output, parsed as JSON."""
    script = CHILD + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
