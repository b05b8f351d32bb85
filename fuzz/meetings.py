"""Processes that meet in one folder: two savers, or a saver and a reader."""

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

#: What a folder may hold besides the files that its manifest names.
BESIDE = {MANIFEST, ".lock"}


def in_child(work: Callable[[], Any]) -> tuple[int, int]:
    """Start a process that does some work: its number, and where to read what it returns, as JSON."""
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
    """What a process returned; None where it died."""
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def run_of(lines: int) -> wf.Run:
    """A run of a custom training loop, told apart by how many updates it has."""
    ledger = wf.Ledger(n_states=2, n_actions=1)
    for _ in range(lines):
        ledger.record(0, 0, 1.0, 1, 0, step_size=0.5, discount=0.9)
    return wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)


def left_behind(folder: Path) -> list[str]:
    """Files that no manifest names."""
    named = {entry["file"] for entry in json.loads((folder / MANIFEST).read_bytes())["files"].values()}
    return sorted({file.name for file in folder.iterdir()} - named - BESIDE)


def two_savers(folder: Path, times: int) -> Counter[str]:
    """Two processes save to the same folder at the same moment, again and again.

    Each must succeed or raise ``FolderError``; afterwards the folder holds one of the two runs, and it is one whose save succeeded.
    """
    runs, came = {10: run_of(10), 2_000: run_of(2_000)}, Counter[str]()
    for run in runs.values():
        run.save(folder / "warm")
    for at in range(times):
        target, start = folder / str(at // 4), time.monotonic() + 0.02  # in a new folder, then three times over a run

        def save(run: wf.Run, target: Path = target, start: float = start) -> str:
            time.sleep(max(0.0, start - time.monotonic()))
            try:
                run.save(target)
            except wf.FolderError as error:
                return f"refused: {error}"
            return "saved"

        children = {lines: in_child(partial(save, run)) for lines, run in runs.items()}
        answers = {lines: finished(*child) for lines, child in children.items()}
        saved = [lines for lines, answer in answers.items() if answer == "saved"]
        for answer in answers.values():
            came[
                "saves"
                if answer == "saved"
                else "refused with a message"
                if str(answer).startswith("refused")
                else f"WRONG: {answer}"
            ] += 1
        try:
            found = len(wf.load(target).ledger or ())
            came["readable afterwards" if found in (saved or runs) else "WRONG: not a run that was saved"] += 1
            came["WRONG: left behind"] += bool(left_behind(target))
        except (wf.FolderError, OSError):
            came["WRONG: unreadable afterwards" + (", both saved" if len(saved) == 2 else "")] += 1
    return +came


def savers_and_readers(folder: Path, seconds: float) -> Counter[str]:
    """One process saves two runs in turn, another loads what is there; every load must give one of them."""
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
    came: Counter[str] = Counter()
    while time.monotonic() < end:
        try:
            whole = len(wf.load(target).ledger or ()) in (10, 2_000)
            came["loads" if whole else "WRONG: neither run"] += 1
        except Exception as error:
            came[f"WRONG: failed loads ({type(error).__name__})"] += 1
    answer = finished(*child)
    if isinstance(answer, int):
        came["saves"] = answer
    else:
        came[f"WRONG: the saver stopped, {answer}"] += 1
    return came
