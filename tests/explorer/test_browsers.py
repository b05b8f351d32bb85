"""A machine without a browser skips the tests of the page and says so in one line; CI fails instead."""

import os
import subprocess
import sys
from pathlib import Path

import browsers
import pytest

ROOT = Path(__file__).parent.parent.parent
ONE = "tests/explorer/test_drawn.py::test_the_learning_curve_rises_where_returns_do"


def run_without_browser(*flags, **environment):
    """Two tests of the page, in a process of their own, where the only browser does not start."""
    clean = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *flags, ONE],
        cwd=ROOT, env={**clean, browsers.VARIABLE: "no-such-browser", **environment},
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip


def test_without_a_browser_one_line_says_what_was_skipped():
    done = run_without_browser("-n", "1")
    assert done.returncode == 0, done.stdout
    *_, line, last = done.stdout.splitlines()
    assert line == (
        "2 tests skipped: no browser (no-such-browser did not start). To run them: make browser, then make test"
    )
    assert "2 skipped" in last
    assert done.stdout.count("no browser") == 1


def test_in_ci_a_missing_browser_is_an_error():
    done = run_without_browser(CI="true")
    assert done.returncode == 1
    assert "2 errors" in done.stdout.splitlines()[-1]
    assert "with CI=true the page must be tested: make browser gets one" in done.stdout


def test_tests_of_the_page_can_be_left_out():
    done = run_without_browser("-m", "not browser")
    assert "2 deselected" in done.stdout.splitlines()[-1]


def test_browsers_are_found_on_the_path_and_in_their_places(tmp_path, monkeypatch):
    for name in ("google-chrome", "microsoft-edge"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    own, app = tmp_path / "download" / "chrome", tmp_path / "Edge.app"
    own.parent.mkdir()
    own.touch()
    app.touch()
    monkeypatch.delenv(browsers.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(browsers, "APPLICATIONS", (str(app), "/no/such/place"))
    found = [str(tmp_path / "google-chrome"), str(tmp_path / "microsoft-edge"), str(app), str(own)]
    assert browsers.candidates(str(own)) == found
    assert browsers.candidates("/not/downloaded") == found[:-1]
    monkeypatch.setenv(browsers.VARIABLE, "microsoft-edge")
    assert browsers.candidates(str(own)) == [str(tmp_path / "microsoft-edge")]


def test_a_browser_that_does_not_start_is_passed_over(monkeypatch):
    """The next one is tried, and the message names all that failed."""
    from playwright.sync_api import Error

    class Playwright:
        executable_path = ""

        @property
        def chromium(self):
            return self

        def launch(self, *, executable_path, **_):
            if executable_path == "good":
                return "started"
            raise Error("it crashed")

    monkeypatch.setattr(browsers, "candidates", lambda _: ["bad", "good"])
    assert browsers._start(Playwright()) == "started"
    monkeypatch.setattr(browsers, "candidates", lambda _: ["bad", "worse"])
    with pytest.raises(browsers.NoBrowser, match=r"no browser \(bad, worse did not start\)"):
        browsers._start(Playwright())
