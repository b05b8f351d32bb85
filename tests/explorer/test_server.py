"""The server answers its own page only."""

from __future__ import annotations

import errno
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing import START, as_text, serving, until

import whatfor as wf
from whatfor.explorer.guard import Guard
from whatfor.explorer.server import build_server, explore
from whatfor.folder import FORMAT
from whatfor.labels import Axis, Ending
from whatfor.runs import Run


@pytest.fixture(scope="module")
def client(live: str) -> Any:
    with httpx.Client(base_url=live, timeout=20.0) as client:
        yield client


def raw(live: str, request: bytes) -> str:
    """What is answered to bytes as they are."""
    host, port = live.removeprefix("http://").rstrip("/").split(":")
    got = b""
    with socket.create_connection((host, int(port)), timeout=10) as sent:
        try:
            sent.sendall(request)
            sent.shutdown(socket.SHUT_WR)
            while more := sent.recv(65536):
                got += more
        except OSError as error:
            if error.errno not in (errno.ENOTCONN, errno.ECONNRESET, errno.EPIPE):  # it may hang up before the end
                raise
    return got.decode(errors="replace")


def test_answers_are_the_runs_own(client: httpx.Client, taxi: Run) -> None:
    got = client.get("api/answer", params={"question": "intention", "state": START, "action": "south"}).json()
    assert got["answer"] == json.loads(json.dumps(taxi.intention(START, "south").to_json()))
    got = client.get("api/answer", params={"question": "contrast", "state": "68", "instead": "2"}).json()
    assert got["answer"] == json.loads(json.dumps(taxi.contrast(68, instead=2).to_json()))
    got = client.get("api/answer", params={"question": "comparison", "state": "68", "as_of": "300"}).json()
    assert got["answer"] == json.loads(json.dumps(taxi.as_of(300).comparison(68, rollouts=300).to_json()))
    assert client.get("api/state", params={"state": "68"}).json()["values"] == taxi.values[68].tolist()
    steps = client.get("api/episode", params={"key": "past:7"}).json()["steps"]
    assert taxi.ledger is not None
    assert [int(step["state"]) for step in steps] == [update.state for update in taxi.ledger.episode(7)][: len(steps)]


@pytest.mark.parametrize(
    ("path", "params", "error"),
    [
        ("api/answer", {"question": "intention"}, "state= is missing"),
        ("api/answer", {"question": "why", "state": "0"}, "there is no question 'why'"),
        ("api/answer", {"state": "9999"}, "out of range"),
        ("api/answer", {"state": "0", "action": "fly"}, "there is no action 'fly'"),
        ("api/answer", {"state": "0", "action": "99"}, "there is no action 99"),
        (
            "api/answer",
            {"state": "0", "instead": "1"},
            "instead= is for question=contrast or question=parts, not for intention",
        ),
        ("api/answer", {"state": "0", "as_of": "-1"}, "as_of is a whole number, not '-1': write as_of=100"),
        ("api/answer", {"state": "0", "as_of": "999999999999"}, "the run has 2,000 episodes"),
        (
            "api/answer",
            {"state": "0", "rollouts": "1000000000"},
            "rollouts= is for question=comparison or question=simulation",
        ),
        ("api/answer", {"state": "[" * 1000}, "the row is missing"),
        ("api/answer", {"state": "[1e999]"}, "inf is not a whole number"),
        ("api/answer", {"state": "\u00b2"}, "the row is missing"),
        ("api/episode", {"key": "past:999999"}, "episode 999,999 does not exist; episodes are 0 to"),
        ("api/episode", {"key": "../../etc/passwd"}, "an episode is"),
        ("api/episode", {}, "an episode is"),
        ("api/secrets", {}, "there is no request 'secrets'"),
    ],
)
def test_errors_name_what_is_wrong(client: httpx.Client, path: str, params: dict[str, str], error: str) -> None:
    reply = client.get(path, params=params)
    assert reply.status_code == 400
    assert error in reply.json()["error"]


def test_a_parameter_is_given_once(client: httpx.Client) -> None:
    assert client.get("api/state?state=1&state=2").status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/api/../../etc/passwd",
        "/assets/script/main.js",
        "//etc/passwd",
        "/api/",
        "/run.json",
        "/manifest.json",
        "/api/a/b",
        "/\\..\\x",
    ],
)
def test_nothing_else_is_served(live: str, path: str) -> None:
    got = raw(live, f"GET {path} HTTP/1.1\r\nHost: {live.split('/')[2]}\r\nConnection: close\r\n\r\n".encode())
    assert got.split()[1] in ("404", "400")
    assert "root:" not in got


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1", "localhost.evil"]
)
def test_foreign_hosts_are_refused(live: str, host: str) -> None:
    got = raw(live, f"GET /api/run HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert got.split()[1] in ("403", "400")
    assert "actions" not in got


def test_this_machine_is_known_by_its_names() -> None:
    guard = Guard(None, ("127.0.0.1",))  # type: ignore[arg-type]
    assert guard.knows("LOCALHOST:8642")  # attack 22: the names of hosts have no case
    assert all(guard.knows(host) for host in ("localhost", "localhost:8642", "127.0.0.1:1", "[::1]:8642", "[::1]"))
    assert not any(guard.knows(host) for host in ("192.168.0.7:8642", "a.example", "[2001:db8::1]"))
    assert Guard(None, ("0.0.0.0",)).knows("192.168.0.7:8642")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},  # another server of this machine
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_sites_are_refused(client: httpx.Client, headers: dict[str, str]) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        reply = client.request(method, "api/run", headers=headers)
        assert reply.status_code == 403
        assert "access-control-allow-origin" not in reply.headers


def test_a_link_to_the_page_can_be_followed(client: httpx.Client) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("", headers=headers).status_code == 200
    assert client.get("api/run", headers=headers).status_code == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(client: httpx.Client, method: str) -> None:
    assert client.request(method, "api/run").status_code == 405


def test_long_and_broken_requests_are_refused(live: str, client: httpx.Client) -> None:
    assert client.get("api/state", params={"state": "x" * 5_000}).status_code == 414
    assert client.request("GET", "api/run", content=b"x" * 100_000).status_code == 413
    host = live.split("/")[2].encode()
    for request in (
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + host + b"\r\nHost: " + host + b"\r\n\r\n",
        b"\x00\xff" * 50 + b"\r\n\r\n",
        b"GET /" + b"a" * 200_000,
    ):
        got = raw(live, request)
        assert got == "" or got.split()[1].startswith(("4", "5"))
    assert client.get("api/run").status_code == 200


def test_headers_lock_the_page_in(client: httpx.Client) -> None:
    reply = client.get("")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["cache-control"] == "no-store"
    assert client.get("api/run").headers["cross-origin-resource-policy"] == "same-origin"


def test_a_full_queue_answers_503(taxi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whatfor.explorer.server.MAX_WAITING", 0)  # all places are taken
    with serving(taxi) as address:
        reply = httpx.get(f"{address}api/run")
    assert reply.status_code == 503
    assert "ask again" in reply.json()["error"]


def test_a_place_among_those_that_wait_is_given_back(taxi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whatfor.explorer.server.MAX_WAITING", 2)
    with serving(taxi) as address, httpx.Client(base_url=address, timeout=20.0) as client:
        for state in range(5):  # each is asked for the first time, so that it waits for its turn
            assert client.get("api/state", params={"state": str(state)}).status_code == 200
        for _ in range(5):
            assert client.get("api/state", params={"state": "nowhere"}).status_code == 400


def test_the_reply_to_a_failure_reveals_nothing(taxi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from whatfor.explorer import desk

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("/home/user/secret")

    monkeypatch.setattr(desk.Desk, "_about", broken)
    with serving(taxi) as address:
        reply = httpx.get(f"{address}api/run")
    assert reply.status_code == 500
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "secret" not in reply.text
    assert "RuntimeError" in reply.json()["error"]


def test_it_ends_cleanly(taxi: Run, tmp_path: Path) -> None:
    taxi.save(tmp_path / "run")
    command = [sys.executable, "-m", "whatfor", "explore", str(tmp_path / "run"), "--no-browser", "--port", "0"]
    for how in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            assert server.stderr is not None
            address = re.search(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())
            assert address is not None
            about = httpx.get(f"{address[0]}api/run", timeout=30.0).json()
            assert (about["name"], about["updates"]) == ("run", len(taxi.ledger or ()))
            server.send_signal(how)
            assert server.wait(15) == 0
            assert server.stdout.read() == "ended\n"
            assert server.stderr.read() == ""


def test_a_port_in_use_is_reported(taxi: Run) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, pytest.raises(ValueError, match="choose another with --port"):
        explore(taxi, port=taken.getsockname()[1], browser=False)
    with pytest.raises(ValueError, match="there is no host"):
        explore(taxi, host="no.such.host.invalid", browser=False)


def test_hostile_names_do_nothing(opened: Any, tmp_path: Path) -> None:
    evil = '</script><script>document.title="owned"</script><img src=x onerror=document.title="owned">'
    ledger = wf.Ledger(n_states=2, n_actions=2)
    for _ in range(3):
        ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
        ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9, ending=evil)
    labels = wf.Labels((Axis("place", 2, (evil, "~r")),), (evil, "~m"), endings=(Ending(evil, 0, 1.0),))
    run = wf.Run(labels=labels, values=ledger.values(), ledger=ledger)
    run.report(tmp_path / "evil.html")
    with serving(run) as address:
        for site in ((tmp_path / "evil.html").as_uri(), address):
            page = opened(f"{site}#state=0&instead=1")
            until(page, "document.title.startsWith('whatfor')")
            assert page.locator("#actions tbody th").first.inner_text() == evil
            assert page.locator("img").count() == 0
            assert page.locator("#actions td.value").first.inner_text() == as_text(run.values[0, :1], page)[0]


def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(
        json.dumps({"format": FORMAT, "files": {"run": {"file": "../../etc/passwd", "sha256": "0"}}})
    )
    with pytest.raises(ValueError, match="manifest"):
        wf.load(tmp_path)


def test_the_extra_is_named(taxi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    with pytest.raises(ImportError, match=r"whatfor\[explore\]"):
        build_server(taxi)
