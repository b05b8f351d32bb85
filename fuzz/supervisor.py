"""Distributes cases to workers, and replaces a worker that crashes, hangs or uses too much memory."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fuzz.worker import MAX_MEMORY

#: The limit on a load or an answer in seconds of processor time, and of wall time.
MAX_SECONDS = 10.0
MAX_WAIT = 30.0
#: A worker's start imports PyTorch and may compile all kernels.
START_SECONDS = 300.0
ROOT = Path(__file__).resolve().parent.parent

#: The environment variables of a process under test: bounds checks, and small limits.
ENVIRONMENT = {
    "NUMBA_BOUNDSCHECK": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "WHATFOR_MAX_BYTES": str(256 << 20), "WHATFOR_MAX_STATES": "1000000", "WHATFOR_MAX_STEPS": "1000000", "WHATFOR_MAX_ROLLOUTS": "10000",
}  # fmt: skip


def environment() -> dict[str, str]:
    """The environment variables of every process."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)}


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder to work in, in memory if possible; deleted afterwards."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="whatfor-fuzz-", dir=memory if os.access(memory, os.W_OK) else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Process:
    """A worker, and the case it works on."""

    def __init__(self, module: str, kind: str, corpus: Path, room: Path) -> None:
        room.mkdir(exist_ok=True)
        self.log = room.with_suffix(".log")
        command = [sys.executable, "-m", module, kind, str(corpus), str(room), str(self.log)]
        with room.with_suffix(".err").open("w") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment(), cwd=room
            )
        self.order: Any = None
        self.step: dict[str, Any] = {"step": "start"}
        self.since, self.used, self.unread, self.baseline, self.ready = time.monotonic(), 0.0, b"", 0, False

    def give(self, order: Any) -> None:
        """Send the next case: a number, or the name of a run without mutations."""
        assert self.process.stdin is not None
        self.order, self.baseline = order, self.memory()
        self.begin({"step": "build"})
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, step: dict[str, Any]) -> None:
        """Start the clock for the next step."""
        self.step, self.since, self.used = step, time.monotonic(), self.processor()

    def processor(self) -> float:
        """Processor time in seconds."""
        try:
            user, system = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        except (OSError, ValueError):
            return 0.0
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def messages(self) -> list[dict[str, Any]] | None:
        """The output of the worker; None if it has ended."""
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        if not data:
            return None
        *lines, self.unread = (self.unread + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def memory(self) -> int:
        """Memory in megabytes."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE") >> 20

    def overdue(self) -> dict[str, str] | None:
        """Whether it hangs or uses too much memory."""
        waited, compiles = time.monotonic() - self.since, not self.ready or isinstance(self.order, str)
        if waited > START_SECONDS or (
            not compiles and (waited > MAX_WAIT or self.processor() - self.used > MAX_SECONDS)
        ):
            return {
                "class": "hang",
                "at": self.step["step"],
                "what": f"no answer in {MAX_SECONDS:.0f} s{self.traced()}",
            }
        if self.ready and self.memory() - self.baseline > MAX_MEMORY:
            return {
                "class": "memory",
                "at": self.step["step"],
                "what": f"{self.memory() - self.baseline} MB{self.traced()}",
            }
        return None

    def traced(self) -> str:
        """The lines of whatfor that the worker is in."""
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(0.3)
        return self.place()

    def place(self) -> str:
        """The last position of the worker, by its log."""
        lines = [line.strip() for line in self.log.read_text().splitlines() if "/whatfor/" in line]
        return f" in {lines[0].split('/whatfor/')[-1]}" if lines else ""

    def end(self) -> int:
        """Kill the worker; returns its exit code."""
        self.process.kill()
        with suppress(BrokenPipeError):
            self.process.communicate()
        return self.process.returncode


def supervise(
    kind: str, orders: Iterable[Any], *, room: Path, workers: int = 2, module: str = "fuzz.worker"
) -> Iterator[dict[str, Any]]:
    """The result of every case, as they come: ``order``, ``run``, ``mutations``, ``wrong``, and how it loaded and answered.

    The first worker trains the runs to start from; the others start when there is something to share.
    """
    queue = iter(orders)
    selector = selectors.DefaultSelector()
    running: set[Process] = set()

    def start(name: str) -> None:
        process = Process(module, kind, room / "corpus", room / name)
        running.add(process)
        selector.register(process.process.stdout, selectors.EVENT_READ, process)  # type: ignore[arg-type]

    def stop(process: Process) -> int:
        selector.unregister(process.process.stdout)  # type: ignore[arg-type]
        running.discard(process)
        return process.end()

    def feed(process: Process) -> None:
        order = next(queue, None)
        if order is None:
            stop(process)
        else:
            process.give(order)

    def died(process: Process, wrong: dict[str, str]) -> dict[str, Any]:
        if not process.ready:
            raise RuntimeError(f"a worker did not start: {process.log.with_suffix('.err').read_text()[-2000:]}")
        start(process.log.stem)
        known = {"run": "?", "mutations": [], "kinds": []} | process.step
        return {**known, "order": process.order, "load": "wrong", "wrong": [wrong]}

    start(f"{kind} 0")
    waiting = [f"{kind} {number}" for number in range(1, workers)]
    try:
        while running:
            for key, _ in selector.select(0.1):
                process: Process = key.data
                messages = process.messages()
                if messages is None:
                    code = stop(process)
                    error = process.log.with_suffix(".err").read_text()[-300:] if code > 0 else ""
                    wrong = {
                        "class": "crash",
                        "at": process.step["step"],
                        "what": f"exit code {code}{process.place()} {error}",
                    }
                    yield died(process, wrong)
                    continue
                for message in messages:
                    if "done" in message:
                        yield {"order": process.order, **message["done"]}
                        feed(process)
                    elif "ready" in message:
                        process.ready = True
                        feed(process)
                        while waiting:
                            start(waiting.pop())
                    else:
                        process.begin(message)
            for process in list(running):
                wrong_now = process.overdue()
                if wrong_now is not None:
                    stop(process)
                    yield died(process, wrong_now)
    finally:
        for process in list(running):
            stop(process)
