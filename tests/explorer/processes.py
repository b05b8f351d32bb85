"""Servers in processes of their own, as the shell starts them, for what cannot be tried in the process of the tests."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: One request that holds the interpreter for ever, and one that can be interrupted.
SLOW = """
import re, time
from whatfor.explorer.desk import Desk
Desk._episodes = lambda self, _: re.match("(a+)+$", "a" * 60 + "b")
Desk._episode = lambda self, _: time.sleep(600)
"""


@contextmanager
def explorer(folder: Path, *, first: str = "", **environment: str) -> Iterator[Any]:
    """`python -m whatfor explore`, where wanted after some other code: its process and its port."""
    start = ["-c", f"{first}\nfrom whatfor.__main__ import main\nmain()"] if first else ["-m", "whatfor"]
    command = [sys.executable, *start, "explore", str(folder), "--no-browser", "--port", "0"]
    options: dict[str, Any] = {"env": {**os.environ, **environment}, "text": True, "start_new_session": True}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://127\.0\.0\.1:(\d+)/", server.stdout.readline())
            assert address is not None
            yield server, int(address[1])
        finally:
            if server.poll() is None:
                server.kill()


def connect(port: int, text: str = "") -> socket.socket:
    """A connection on which something was sent."""
    made = socket.create_connection(("127.0.0.1", port), timeout=30)
    made.sendall(text.encode())
    return made


def ask(port: int, path: str) -> socket.socket:
    """A connection on which something was asked."""
    return connect(port, f"GET {path} HTTP/1.1\r\nHost: LOCALHOST:{port}\r\nConnection: close\r\n\r\n")


def reply(connection: socket.socket) -> str:
    """All that comes until the connection is closed."""
    got = b""
    with connection:
        while more := connection.recv(65_536):
            got += more
    return got.decode()


def children(pid: int) -> list[int]:
    """The processes that a process started and that still run."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(one) for one in found.read_text().split()] if found.exists() else []


def runs(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition: Any, seconds: float = 30.0) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
