"""Several processes in one folder: two that save, or one that saves and one that loads."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import whatfor as wf
from fuzz.folders import MANIFEST

#: Files that a folder may contain besides those in its manifest.
OTHER_FILES = {MANIFEST, ".lock"}


def in_child(work: Callable[[], Any]) -> tuple[int, int]:
    """Start a process: its id, and the file descriptor of its result as JSON."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = work()
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    return child, reading


def finished(child: int, reading: int) -> Any:
    """The result of a process; None if it died."""
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def run_of(lines: int) -> wf.Run:
    """A run of a custom training loop, identified by its number of updates."""
    ledger = wf.Ledger(n_states=2, n_actions=1)
    for _ in range(lines):
        ledger.record(0, 0, 1.0, 1, 0, step_size=0.5, discount=0.9)
    return wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)


def left_behind(folder: Path) -> list[str]:
    """Files that are not in the manifest."""
    named = {entry["file"] for entry in json.loads((folder / MANIFEST).read_bytes())["files"].values()}
    return sorted({file.name for file in folder.iterdir()} - named - OTHER_FILES)


def two_savers(folder: Path, times: int) -> Counter[str]:
    """Two processes save to the same folder at the same moment, again and again.

    Each must succeed, or say that it waited too long for the other; afterwards the folder holds one of the two runs, and it is one whose save succeeded.
    """
    runs, results = {10: run_of(10), 2_000: run_of(2_000)}, Counter[str]()
    for run in runs.values():
        run.save(folder / "warm")
    for at in range(times):
        target, start = folder / str(at // 4), time.monotonic() + 0.02  # in a new folder, then three times over a run

        def save(run: wf.Run, target: Path = target, start: float = start) -> str:
            time.sleep(max(0.0, start - time.monotonic()))
            try:
                run.save(target)
            except wf.FolderError as error:
                return f"refused ({error})".replace(str(target), "...")
            return "saved"

        children = {lines: in_child(partial(save, run)) for lines, run in runs.items()}
        answers = {lines: finished(*child) for lines, child in children.items()}
        saved = [lines for lines, answer in answers.items() if answer == "saved"]
        for answer in answers.values():
            known = answer == "saved" or "another save to ... has not finished" in str(answer)
            results[answer if known else f"WRONG: {answer}"] += 1
        try:
            found = len(wf.load(target).ledger or ())
            results["readable afterwards" if found in (saved or runs) else "WRONG: not a run that was saved"] += 1
            results["WRONG: left behind"] += bool(left_behind(target))
        except (wf.FolderError, OSError):
            results["WRONG: unreadable afterwards" + (", both saved" if len(saved) == 2 else "")] += 1
    return +results


def savers_and_readers(folder: Path, seconds: float) -> Counter[str]:
    """One process saves two runs in turn, another one loads; every load must give one of the two."""
    runs, target, end = [run_of(10), run_of(2_000)], folder / "run", time.monotonic() + seconds
    for run in runs:
        run.save(target)

    def save() -> int:
        count = 0
        while time.monotonic() < end:
            runs[count % 2].save(target)
            count += 1
        return count

    child = in_child(save)
    results: Counter[str] = Counter()
    while time.monotonic() < end:
        try:
            whole = len(wf.load(target).ledger or ()) in (10, 2_000)
            results["loads" if whole else "WRONG: neither run"] += 1
        except Exception as error:
            results[f"WRONG: failed loads ({type(error).__name__})"] += 1
    answer = finished(*child)
    if isinstance(answer, int):
        results["saves"] = answer
    else:
        results[f"WRONG: the saver stopped, {answer}"] += 1
    return results
