"""Connections that send half a request, too many connections, and too few file descriptors."""

from __future__ import annotations

import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from browsing import serving
from processes import ask, connect, explorer, reply, wait_until
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from whatfor.explorer import serving as limits
from whatfor.explorer.server import build_server
from whatfor.runs import Run


def closes(connection: socket.socket, drip: str = "", seconds: float = 15.0) -> bool:
    """Whether the other side closes a connection, though something comes now and then."""
    connection.settimeout(0.1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if drip:
                connection.sendall(drip.encode())
            if not connection.recv(65_536):
                return True
        except TimeoutError:
            continue
        except (ConnectionError, BrokenPipeError):
            return True
    return False


def port_of(address: str) -> int:
    return int(address.rstrip("/").rsplit(":", 1)[1])


def test_half_requests_time_out(taxi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """attack 22. A connection that drips its headers gets no more time than one that is silent."""
    assert limits.HEADER_SECONDS == 10.0
    monkeypatch.setattr(limits, "HEADER_SECONDS", 1.0)
    with serving(taxi) as address:
        port = port_of(address)
        whole = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        for begun in ("", "GET / HT", whole[:-2], whole + "GET / HTTP/1.1\r\n"):
            with connect(port, begun) as silent:
                assert closes(silent)
        with connect(port, "GET / HTTP/1.1\r\nX: ") as dripping:
            assert closes(dripping, "x")
        with connect(port) as kept_alive:
            for _ in range(4):  # it stays open as long as requests come
                kept_alive.sendall(whole.replace("/", "/nothing", 1).encode())
                time.sleep(0.2)
                assert kept_alive.recv(65_536).startswith(b"HTTP/1.1 404")
            assert closes(kept_alive, "G")
        with connect(port, whole[:-2] + "Content-Length: 1000000\r\n\r\n") as body:
            assert closes(body, "b")
        assert httpx.get(address).status_code == 200


def test_an_answer_may_take_longer_than_a_request(taxi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from whatfor.explorer.desk import Desk

    def slow(*_: Any) -> dict[str, Any]:
        time.sleep(1.5)
        return {}

    monkeypatch.setattr(limits, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(Desk, "_episodes", slow)
    with serving(taxi) as address:
        assert httpx.get(f"{address}api/episodes", timeout=30.0).json() == {}


def test_the_names_of_uvicorn_that_we_use_are_there() -> None:
    """They are not documented. Where one is gone, explorer/serving.py does not close connections or does not end."""
    for kind, names in {
        H11Protocol: ("connection_made", "connection_lost", "on_response_complete"),
        uvicorn.Server: ("startup", "shutdown", "capture_signals"),
    }.items():
        assert [name for name in names if name not in vars(kind)] == [], uvicorn.__version__
    assert "response_complete" in RequestResponseCycle.__init__.__code__.co_names
    assert {"connections", "cycle", "loop", "transport"} <= {*H11Protocol.__init__.__code__.co_names}


def test_there_is_a_bound_on_connections(taxi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CONNECTIONS", 5)
    with serving(taxi) as address:
        held = [connect(port_of(address)) for _ in range(5)]
        time.sleep(0.5)
        with connect(port_of(address)) as one_more:
            assert closes(one_more)
        for one in held:
            one.close()
        wait_until(lambda: answers(address))


def answers(address: str) -> bool:
    try:
        return httpx.get(address, timeout=20.0).status_code == 200
    except httpx.HTTPError:
        return False


def test_running_out_of_file_descriptors_is_reported_once(taxi: Run, tmp_path: Path) -> None:
    """attack 22: it wrote megabytes of log."""
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    taxi.save(tmp_path / "run")
    few = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))"
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    with explorer(tmp_path / "run", first=few) as (server, port):
        assert reply(ask(port, "/api/run")).startswith("HTTP/1.1 200")
        held = []
        for _ in range(min(300, soft // 3)):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
            held.append(one)
        time.sleep(3.0)
        for one in held:
            one.close()
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/"))
        assert reply(ask(port, "/api/state?state=68")).startswith("HTTP/1.1 200")
        server.terminate()
        log = server.communicate(timeout=20)[1]
        assert server.returncode == 0
    assert len(log) < 10_000, log[:2_000]
    assert "Traceback" not in log


@pytest.mark.parametrize("ends", [True, False])
def test_accepting_again_on_a_closed_socket_is_no_error_at_the_end(
    taxi: Run, caplog: pytest.LogCaptureFixture, ends: bool
) -> None:
    """asyncio does so a second after it ran out of descriptors, 32 times, each with a traceback."""
    server = build_server(taxi)
    server.should_exit = ends

    async def accept_again() -> None:
        loop: Any = asyncio.get_running_loop()
        loop.set_exception_handler(server._report)
        closed = socket.socket()
        closed.close()
        loop.call_soon(loop._start_serving, asyncio.Protocol, closed)
        await asyncio.sleep(0.01)

    def run() -> None:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(accept_again())

    with ThreadPoolExecutor(1) as thread:  # a browser's driver may run a loop in this one
        thread.submit(run).result()
    assert bool(caplog.records) != ends
