"""Ctrl-C and SIGTERM end the server at once, whatever it is doing, without a traceback and without leaving a process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from processes import SLOW, ask, children, connect, explorer, reply, runs, wait_until

from whatfor.runs import Run

#: In seconds: about two are promised; a busy machine must not fail this.
SOON = 10.0


@pytest.fixture(scope="module")
def folder(taxi: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ending") / "run"
    taxi.save(path)
    return path


@pytest.mark.parametrize(
    ("how", "doing"),
    [
        (signal.SIGINT, "computing"),
        (signal.SIGTERM, "computing"),
        (signal.SIGINT, "many waiting"),
        (signal.SIGTERM, "half requests"),
        (signal.SIGINT, "an answer that is not read"),
    ],
)
def test_it_ends_at_once(folder: Path, how: signal.Signals, doing: str) -> None:
    """attack 8: signals were ignored while an answer was computed."""
    with ExitStack() as held, explorer(folder, first=SLOW) as (server, port):
        assert reply(ask(port, "/api/run")).startswith("HTTP/1.1 200")
        worker = children(server.pid)
        if doing == "computing":
            held.enter_context(ask(port, "/api/episodes"))  # the interpreter is held
        elif doing == "many waiting":
            for path in ("/api/episode?key=past:1", *(f"/api/state?state={state}" for state in range(20))):
                held.enter_context(ask(port, path))
        elif doing == "half requests":
            for text in ("", "GET / HT", "GET / HTTP/1.1\r\n"):
                held.enter_context(connect(port, text))
        else:
            page = f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"
            held.enter_context(connect(port, page * 200))
        time.sleep(0.5)
        os.killpg(server.pid, how)  # as a terminal does
        began = time.monotonic()
        assert server.wait(SOON) == 0, f"after {time.monotonic() - began:.1f} s"
        assert server.stdout.read() == "ended\n"
        assert server.stderr.read() == ""
        wait_until(lambda: not any(map(runs, worker)))


def test_it_ends_however_many_signals_it_gets(folder: Path) -> None:
    with explorer(folder, first=SLOW) as (server, port), ask(port, "/api/episodes"):
        time.sleep(0.3)
        for _ in range(50):
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGINT)
                time.sleep(0.005)
        code = server.wait(SOON)
        assert (code, server.stdout.read(), server.stderr.read()) == (0, "ended\n", "")


def test_it_serves_and_ends_without_an_output(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    explore = [sys.executable, "-m", "whatfor", "explore", str(folder), "--no-browser", "--port", str(port)]
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *explore]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            wait_until(lambda: answers(port) or server.poll() is not None)
            server.send_signal(signal.SIGINT)
            assert (server.wait(SOON), server.stderr.read()) == (0, "")
        finally:
            server.kill()


def answers(port: int) -> bool:
    try:
        return reply(ask(port, "/api/run")).startswith("HTTP/1.1 200")
    except ConnectionError:
        return False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", [0.5, 1.5])
def test_it_ends_while_it_starts(folder: Path, how: signal.Signals, after: float) -> None:
    command = [sys.executable, "-m", "whatfor", "explore", str(folder), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        time.sleep(after)
        server.send_signal(how)
        assert server.wait(SOON) in (0, -how, 128 + signal.SIGINT)
        assert server.stdout.read().splitlines()[-1:] in ([], ["ended"])
        assert "Traceback" not in server.stderr.read()
