"""Eight clients at once: no error, bounded memory, the same answers as one by one. A minute; `make bench` runs it."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from processes import children

from whatfor.explorer.desk import QUESTIONS, Desk
from whatfor.runs import Run

CLIENTS = 8
#: What the server may need beyond what it has after its first answer: kept answers, earlier runs, and what answers are made of.
MAX_MORE_MB = 250.0


@pytest.mark.load
@pytest.mark.timeout(600)
def test_eight_clients_at_once(taxi: Run, tmp_path: Path) -> None:
    seconds = float(os.environ.get("WHATFOR_LOAD_SECONDS", "60"))
    taxi.save(tmp_path / "run")
    command = [sys.executable, "-m", "whatfor", "explore", str(tmp_path / "run"), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://\S+", server.stdout.readline())
            assert address is not None
            found = asked_at_once(address[0], server.pid, seconds)
        finally:
            server.terminate()
        assert server.wait(10) == 0
    assert found["errors"] == []
    assert found["answers"] > 2 * seconds
    assert found["more_mb"] < MAX_MORE_MB
    desk = Desk(taxi, name="run")
    for request, body in found["bodies"].items():
        assert body == _plainly(desk, request)
    measured = {name: found[name] for name in ("answers", "more_mb", "median_ms", "slowest_ms")} | {"seconds": seconds}
    if out := os.environ.get("WHATFOR_LOAD_OUT"):
        Path(out).write_text(json.dumps(measured))


def asked_at_once(address: str, pid: int, seconds: float) -> dict[str, Any]:
    bodies: dict[tuple[tuple[str, str], ...], Any] = {}
    errors: list[str] = []
    times: list[float] = []
    with httpx.Client(base_url=address, timeout=60.0) as client:
        client.get("api/answer", params={"state": "68"})
    before, end = _peak_mb(pid), time.monotonic() + seconds

    def ask(seed: int) -> None:
        dice = random.Random(seed)
        with httpx.Client(base_url=address, timeout=60.0) as client:
            while time.monotonic() < end:
                request = (("question", dice.choice(list(QUESTIONS))), ("state", str(dice.choice(range(500)))))
                if dice.random() < 0.3:
                    request = (*request, ("as_of", str(dice.choice((100, 500, 1_000)))))
                began = time.monotonic()
                try:
                    reply = client.get("api/answer", params=dict(request))
                except httpx.HTTPError as error:
                    errors.append(repr(error))
                    continue
                times.append(time.monotonic() - began)
                if reply.status_code not in (200, 400):
                    errors.append(f"{request}: {reply.status_code}")
                bodies.setdefault(request, reply.json())
                if bodies[request] != reply.json():
                    errors.append(f"{request}: two answers")

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    return {
        "bodies": bodies, "errors": errors, "answers": len(times), "more_mb": _peak_mb(pid) - before,
        "median_ms": 1e3 * times[len(times) // 2], "slowest_ms": 1e3 * times[-1],
    }  # fmt: skip


def _plainly(desk: Desk, request: tuple[tuple[str, str], ...]) -> Any:
    try:
        return json.loads(json.dumps(desk.ask("answer", dict(request))))
    except ValueError as error:
        return {"error": str(error)}


def _peak_mb(pid: int) -> float:
    """Of the server and of the process that computes its answers."""
    statuses = [Path(f"/proc/{one}/status").read_text() for one in (pid, *children(pid))]
    return sum(int(peak) / 1e3 for text in statuses for peak in re.findall(r"VmHWM:\s+(\d+)", text))
