"""A trained Taxi agent, its report and its live page, and a browser that tolerates no error and no foreign request."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from browsers import NoBrowser, chromium
from browsing import START, serving, settled

from whatfor.runs import Run


@pytest.fixture(scope="session")
def taxi(taxi_2k: Run) -> Run:
    return taxi_2k


@pytest.fixture(scope="session")
def report(taxi: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "taxi.html"
    taxi.report(path, states=[START])
    return path


@pytest.fixture(scope="session")
def live(taxi: Run, request: pytest.FixtureRequest) -> Iterator[str]:
    # After the browser, so that it ends before it: a process forked by the server holds the pipes of the browser's driver
    # open, and the driver would wait for their end.
    with suppress(pytest.skip.Exception, pytest.fail.Exception):
        request.getfixturevalue("browser")
    with serving(taxi) as address:
        yield address


@pytest.fixture(params=["report", "live"])
def site(request: pytest.FixtureRequest) -> str:
    """The address of the page: a file, or a server."""
    if request.param == "live":
        return str(request.getfixturevalue("live"))
    return str(request.getfixturevalue("report").as_uri())


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The browser of all tests; where there is none they are skipped, and in CI they fail."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(chromium())
        except NoBrowser as none:
            if os.environ.get("CI") == "true":
                pytest.fail(f"{none}; with CI=true the page must be tested: make browser gets one", pytrace=False)
            pytest.skip(str(none))
        yield started


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """Opens a page; in the end there must have been no error and no request to anybody else."""
    wrong: list[str] = []
    contexts = []

    def open_page(address: str, *, wait: bool = True, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        home = address.split("#", maxsplit=1)[0]
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: None if _own(asked.url, home) else wrong.append(f"asked {asked.url}"))
        page.goto(address)
        if wait:
            settled(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong


def _own(url: str, home: str) -> bool:
    if home.startswith("file:"):
        return url.split("#", maxsplit=1)[0] == home or url.startswith(("data:", "blob:"))
    return url.startswith((home, "data:", f"blob:{home}"))
