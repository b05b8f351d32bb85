"""A process that builds, loads and questions cases: it reads numbers and writes lines of JSON.

It may crash, hang or be killed at any moment; the supervisor starts another one.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.cases import Case, case_of
from fuzz.folders import read_corpus
from fuzz.manifests import VICTIM
from fuzz.watching import Watch, forget_peak, memory

#: Megabytes that a case may use in addition to the process before it.
MAX_MEMORY = 1024
#: Questions per case, of 19.
ASKED = 6


class Worker:
    """Works on one kind of cases, "tabular" or "deep", in its own folder."""

    def __init__(self, kind: str, corpus: Path, room: Path, send: Callable[[dict[str, Any]], None]) -> None:
        import whatfor as wf
        from fuzz.corpus import build
        from fuzz.questions import QUESTIONS

        if not corpus.exists():
            build(kind, corpus)
        self.wf, self.questions, self.send = wf, QUESTIONS, send
        self.kind, self.corpus, self.room = kind, read_corpus(corpus), room
        self.given: dict[str, Any] = {}
        if kind == "deep":
            from fuzz.deep_corpus import CELLS

            self.given = {"cells": CELLS}
        wf.load(next(corpus.iterdir()), **self.given)  # PyTorch creates folders at its first use
        os.chdir(room)
        (room / VICTIM).write_text("must stay")
        (room / "bait.py").write_text("")  # an environment "bait:..." would import it; the watch detects it
        sys.path.append(str(room))
        self.watch = Watch(room / "case", room / "again", cache_folder())

    def work(self, number: int) -> dict[str, Any]:
        """Build, load and question one case."""
        rng = random.Random(f"questions {self.kind} {number}")
        asked = rng.sample(list(self.questions), ASKED)
        if rng.random() < 0.5 and "resume" not in asked:
            asked.append("resume")  # resuming reaches the most compiled code
        return self.examined(case_of(self.kind, number, self.corpus), asked, rng)

    def untouched(self, run: str) -> dict[str, Any]:
        """Ask a run of the corpus, without mutations, all questions."""
        case = Case(run, [], [], self.corpus[run].copy())
        return self.examined(case, list(self.questions), random.Random(run))

    def examined(self, case: Case, asked: list[str], rng: random.Random) -> dict[str, Any]:
        """The result of a case: answers, refusals and errors."""
        for name in ("case", "again", "elsewhere"):
            shutil.rmtree(self.room / name, ignore_errors=True) if (self.room / name).is_dir() else (
                self.room / name
            ).unlink(missing_ok=True)
        folder = self.room / "case"
        case.folder.write(folder)
        present = {path.name for path in self.room.iterdir()} | {"again"}
        result: dict[str, Any] = {
            "run": case.run,
            "kinds": case.kinds,
            "mutations": case.mutations,
            "wrong": [],
            "warned": [],
        }
        forget_peak()
        before = memory()["now"]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run, result["load"] = self._step(result, "load", lambda: self.wf.load(folder, **self.given))
            if run is not None:
                outcomes = [
                    self._step(result, name, lambda ask=self.questions[name]: ask(run, rng, folder))[1]
                    for name in asked
                ]
                result["answered"], result["refused"] = outcomes.count("ok"), outcomes.count("ValueError")
        result["warned"] = sorted({f"{w.category.__name__} {Path(w.filename).name}:{w.lineno}" for w in caught})
        result["memory"] = memory()["peak"] - before
        if result["memory"] > MAX_MEMORY:
            result["wrong"].append({"class": "memory", "at": "case", "what": f"{result['memory']} MB"})
        after = {path.name for path in self.room.iterdir()}
        if after - present or VICTIM not in after or (self.room / VICTIM).read_text() != "must stay":
            result["wrong"].append(
                {"class": "outside", "at": "case", "what": f"new: {sorted(after - present)}, victim: {VICTIM in after}"}
            )
            (self.room / VICTIM).write_text("must stay")
        return result

    def _step(self, result: dict[str, Any], name: str, work: Any) -> tuple[Any, str]:
        """Load, or ask one question; returns the result, and "ok", "FolderError" or "ValueError"."""
        self.send({"step": name, "mutations": result["mutations"], "run": result["run"], "kinds": result["kinds"]})
        self.watch.found, self.watch.on = [], True
        answer, outcome, begun = None, "ok", time.perf_counter()
        try:
            answer = work()
        except self.wf.FolderError as error:
            outcome = "FolderError"
            result["wrong"] += out_of_bounds(error, name) + unreadable(error, name)
        except ValueError as error:
            outcome = "ValueError"
            result["wrong"] += out_of_bounds(error, name)
        except Exception as error:
            outcome = "wrong"
            bounds = out_of_bounds(error, name)
            diverged = type(error).__name__ == "TrainingStopped" and isinstance(
                error.__cause__, OverflowError | ValueError
            )
            if bounds or not diverged:
                result["wrong"] += bounds or [{"class": "exception", "at": name, "what": described(error)}]
            else:
                outcome = "ValueError"
        finally:
            self.watch.on = False
        result["wrong"] += [{"class": "outside", "at": name, "what": found} for found in self.watch.found]
        result["slowest"] = max(result.get("slowest", 0.0), time.perf_counter() - begun)
        return answer, "ValueError" if outcome == "FolderError" and name != "load" else outcome


def out_of_bounds(error: BaseException | None, at: str) -> list[dict[str, str]]:
    """Whether an error, or one of its causes, is an access out of bounds in a kernel."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    found = [
        one
        for one in chain
        if isinstance(one, IndexError) and "is out of bounds" in str(one) and "axis" not in str(one)
    ]
    return [{"class": "out of bounds", "at": at, "what": described(one)} for one in found[:1]]


def unreadable(error: Exception, at: str) -> list[dict[str, str]]:
    """Whether a refusal is not one line of at most 2,000 characters."""
    text = str(error)
    odd = len(text) > 2_000 or "\n" in text or not text.isprintable()
    return [{"class": "message", "at": at, "what": f"{len(text)} characters: {described(error)}"}] if odd else []


def described(error: BaseException) -> str:
    """An exception, and the line of whatfor that raised it."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "whatfor" in f.filename and "fuzz" not in Path(f.filename).parts[-2:]
    ]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
    cause = f" < {type(error.__cause__).__name__}" if error.__cause__ is not None else ""
    return f"{type(error).__name__}{cause} in {place}: {str(error)[:160]!r}"


def cache_folder() -> Path:
    """The folder of compiled code, which every process may write to."""
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return Path(given) if given else Path.home() / ".cache"


def check_bounds_are_checked() -> None:
    """Exit unless bounds checks work: without them fuzzing shows nothing."""
    import numpy as np

    from whatfor.kernels.tables import first_above

    try:
        first_above(np.zeros(1), 1, 2, 0.5)
    except IndexError:
        return
    sys.exit("the kernels were not compiled with NUMBA_BOUNDSCHECK=1: they come from a cache that ignores this setting")


def main() -> None:
    """Read and process cases until there are no more."""
    kind, corpus, room, log = sys.argv[1:]
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discard output of the library

    def send(message: dict[str, Any]) -> None:
        os.write(answers, json.dumps(message).encode() + b"\n")

    trace = open(log, "w", encoding="utf-8")  # noqa: SIM115
    faulthandler.enable(trace)
    faulthandler.register(signal.SIGUSR1, trace, all_threads=True)
    worker = Worker(kind, Path(corpus), Path(room), send)
    check_bounds_are_checked()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (6 << 30),) * 2)  # a last resort, to protect the machine
    send({"ready": True})
    for line in sys.stdin:
        order = json.loads(line)
        send({"done": worker.untouched(order) if isinstance(order, str) else worker.work(order)})


if __name__ == "__main__":
    main()
