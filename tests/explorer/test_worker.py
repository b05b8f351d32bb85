"""Answers are computed in a process that can be stopped, and whatever happens to it, the next answer comes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from browsing import serving
from processes import SLOW, ask, children, connect, explorer, reply, runs, wait_until

from whatfor.explorer.worker import FORKS, ForkedWorker, ThreadWorker, Unanswered, Worker, make_worker
from whatfor.runs import Run

forking = pytest.mark.skipif(not FORKS, reason="processes cannot be forked here")


class Desk:
    """Does what a request says."""

    def encode(self, what: str, parameters: dict[str, str]) -> bytes:
        if what == "hold":  # nothing else runs in this interpreter, no signal handler either
            re.match("(a+)+$", "a" * 60 + "b")
        if what == "sleep":
            time.sleep(600)
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "exit":
            sys.exit(3)
        if what == "leave":
            os._exit(3)
        if what == "wrong":
            raise ValueError("there is no state 'ä'; ask for another")
        if what == "fail":
            raise RuntimeError("/home/user/secret")
        if what == "threads":
            return str(sys.modules["torch"].threads).encode()
        return json.dumps([what, parameters, os.getpid()]).encode() + b" " * int(parameters.get("size", 0))


def run_async(work: Any) -> Any:
    """Run a coroutine in a thread of its own: the browser of other tests has a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def asked(worker: Worker, *requests: str) -> list[Any]:
    """What comes of requests, one after the other: answers and errors."""

    async def all_of_them() -> list[Any]:
        found: list[Any] = []
        for what in requests:
            try:
                found.append(json.loads(await worker.answer(what, {})))
            except (ValueError, Unanswered) as error:
                found.append(error)
        worker.close()
        return found

    return run_async(all_of_them())


@forking
@pytest.mark.parametrize("how", ["hold", "sleep"])
def test_an_answer_that_takes_too_long_is_stopped(how: str) -> None:
    """attack 8."""
    before, late, after = asked(ForkedWorker(Desk(), 1), "first", how, "next")  # type: ignore[arg-type]
    assert isinstance(late, Unanswered)
    assert late.status == 504
    assert str(late).startswith("this answer was stopped after 1 s. To allow more time,")
    assert "WHATFOR_MAX_SECONDS=10" in str(late)
    assert (before[0], after[0]) == ("first", "next")
    assert before[2] != after[2]
    assert not runs(before[2])
    assert not runs(after[2])


@forking
@pytest.mark.parametrize(("how", "words"), [("die", "SIGKILL"), ("leave", "status 3")])
def test_a_process_that_ends_is_one_error(how: str, words: str, caplog: pytest.LogCaptureFixture) -> None:
    failed, after = asked(ForkedWorker(Desk(), 60), how, "next")  # type: ignore[arg-type]
    assert isinstance(failed, Unanswered)
    assert (failed.status, str(failed)) == (500, f"the process that computes answers ended ({words}); ask again")
    assert words in caplog.text
    assert after[0] == "next"


@pytest.mark.parametrize("kind", [pytest.param(ForkedWorker, marks=forking), ThreadWorker])
def test_errors_are_sentences(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    worker = kind(Desk(), 60) if kind is ForkedWorker else kind(Desk())
    wrong, failed, left, after = asked(worker, "wrong", "fail", "exit", "next")
    assert type(wrong) is ValueError
    assert str(wrong) == "there is no state 'ä'; ask for another"
    assert (failed.status, str(failed)) == (
        500,
        "this request failed (RuntimeError); the terminal of the server has the traceback",
    )
    assert "secret" in caplog.text  # for the person who runs the server
    assert (left.status, str(left)) == (
        500,
        "this request failed (SystemExit); the terminal of the server has the traceback",
    )
    assert after[0] == "next"


@pytest.mark.parametrize("kind", [pytest.param(ForkedWorker, marks=forking), ThreadWorker])
def test_closing_gives_up_what_is_being_computed(kind: Any) -> None:
    worker = kind(Desk(), 60) if kind is ForkedWorker else kind(Desk())

    async def close_soon() -> Unanswered:
        answer = asyncio.ensure_future(worker.answer("sleep", {}))
        await asyncio.sleep(0.5)
        worker.close()
        with pytest.raises(Unanswered) as error:
            await asyncio.wait_for(answer, 20)
        return error.value

    ended = run_async(close_soon())
    assert (ended.status, str(ended)) == (503, "the explorer has ended; start it again")


@forking
def test_large_answers_arrive_whole() -> None:
    worker = ForkedWorker(Desk(), 60)  # type: ignore[arg-type]

    async def large() -> list[int]:
        found = [len(await worker.answer("x", {"size": str(size)})) for size in (1, 70_000, 9_000_000, 2)]
        worker.close()
        return found

    sizes = run_async(large())
    assert sizes[2] - sizes[1] in range(9_000_000 - 70_000, 9_000_000 - 70_000 + 9)


@forking
def test_pytorch_runs_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads of the parent's pool are not forked; PyTorch would wait for them for ever."""
    fake = SimpleNamespace(threads=8)
    fake.set_num_threads = lambda n: setattr(fake, "threads", n)
    monkeypatch.setitem(sys.modules, "torch", fake)  # type: ignore[arg-type]
    assert asked(ForkedWorker(Desk(), 60), "threads") == [1]  # type: ignore[arg-type]
    assert fake.threads == 8


def test_where_nothing_can_be_forked_a_thread_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whatfor.explorer.worker.FORKS", False)
    worker = make_worker(Desk(), 1)  # type: ignore[arg-type]
    assert isinstance(worker, ThreadWorker)
    assert asked(worker, "next")[0][2] == os.getpid()


@forking
def test_connections_are_closed_though_a_process_was_forked_beside_them(taxi: Run) -> None:
    """The process inherits the sockets; a connection is closed for the other side once no process has it open."""
    with serving(taxi) as address:
        port = int(address.rstrip("/").rsplit(":", 1)[1])
        early = connect(port, f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n")
        time.sleep(0.3)  # it is accepted
        assert httpx.get(f"{address}api/run", timeout=60.0).status_code == 200  # by a process that was forked now
        early.sendall(b"Connection: close\r\n\r\n")
        assert reply(early).startswith("HTTP/1.1 200")  # and does not wait for the end in vain


@forking
def test_the_server_goes_on_after_an_answer_was_stopped(taxi: Run, tmp_path: Path) -> None:
    """attack 8: one request froze the server."""
    taxi.save(tmp_path / "run")
    with explorer(tmp_path / "run", first=SLOW, WHATFOR_MAX_SECONDS="4") as (server, port):
        late = ask(port, "/api/episodes")
        assert reply(ask(port, "/")).startswith("HTTP/1.1 200")  # while it computes
        got = reply(late)
        assert got.startswith("HTTP/1.1 504")
        assert "WHATFOR_MAX_SECONDS" in got
        assert reply(ask(port, "/api/state?state=68")).startswith("HTTP/1.1 200")
        server.terminate()
        assert server.wait(20) == 0


@forking
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("request_path", ["/api/episodes", "/api/episode?key=past:1"])
def test_a_process_does_not_outlive_a_server_that_was_killed(taxi: Run, tmp_path: Path, request_path: str) -> None:
    taxi.save(tmp_path / "run")
    with explorer(tmp_path / "run", first=SLOW, WHATFOR_MAX_SECONDS="1") as (server, port), ask(port, request_path):
        wait_until(lambda: children(server.pid))
        (child,) = children(server.pid)
        time.sleep(0.3)
        server.kill()
        wait_until(lambda: not runs(child))


def test_a_wrong_limit_is_reported_before_anything_is_served(taxi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from whatfor.explorer.server import build_server

    monkeypatch.setenv("WHATFOR_MAX_SECONDS", "soon")
    with pytest.raises(ValueError, match="WHATFOR_MAX_SECONDS is 'soon'"):
        build_server(taxi)
