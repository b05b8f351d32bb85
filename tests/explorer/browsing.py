"""Shared by tests, benchmarks and screenshots of the page: a server in a thread, and what the page shows."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

from whatfor.explorer.packing import rounded
from whatfor.explorer.server import build_server
from whatfor.runs import Run
from whatfor.text import amount

START = "taxi at row 0, column 3; passenger at Y; destination R"


class serving:
    """A server in a thread, on a free port."""

    def __init__(self, run: Run) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.server = build_server(run, name="taxi", log_level="error")
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)

    def __enter__(self) -> str:
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}/"

    def __exit__(self, *_: Any) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.socket.close()


def settled(page: Any) -> None:
    """Wait until nothing is being answered."""
    until(page, "document.querySelector('#answers[aria-busy=false] > *')")


def until(page: Any, condition: str, seconds: float = 15.0) -> None:
    """Wait until something is true; Playwright's own function evaluates text within the page, which the page's policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(f"() => Boolean({condition})"):
        assert time.monotonic() < end, f"waited for: {condition}"
        time.sleep(0.02)


def lead(page: Any, question: str) -> str:
    """The first sentence of an answer."""
    return str(page.locator(f"#answer-{question} .lead").inner_text())


def values(page: Any) -> list[str]:
    """The values of all actions, as the page shows them."""
    return [str(text) for text in page.locator("#actions td.value").all_inner_texts()]


def as_text(numbers: Any, page: Any) -> list[str]:
    """Values as the page writes them; a report contains six digits of each."""
    return [amount(rounded(float(x)) if page.url.startswith("file:") else float(x)) for x in numbers]
