"""Shared fixtures: trained runs, a saved run, a toy question, the command line, and the number of random cases per test."""

import importlib
import os
import sys
import warnings

import pytest
from hypothesis import settings

# One process a core: threads of linear algebra would only wait for each other. Before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from saved import trained
from taxi_runs import train_taxi
from whatfor import asking, cli
from whatfor.question import QUESTIONS

#: Importing it puts its question on the list: only the fixture that takes it off again may.
collect_ignore = ["toy_question.py"]

# `make test` draws the same cases every time, so that a failure is the change's; `make test-random` draws others each time.
settings.register_profile("fixed", derandomize=True, max_examples=50, deadline=None)  # the first case compiles
settings.register_profile("random", max_examples=300, deadline=None, print_blob=True)
settings.load_profile("fixed")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that look at a page in a browser have a marker: -m "not browser and not long and not load" leaves them out."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Print as the last line how many tests were skipped because there is no browser, and how to get one."""
    skipped = terminalreporter.stats.get("skipped", [])
    without = [report for report in skipped if "browser" in report.keywords]
    if without:  # the line replaces those of -ra
        terminalreporter.stats["skipped"] = [report for report in skipped if report not in without]
    yield
    if without:
        terminalreporter.stats["skipped"] = skipped
        reasons = sorted({report.longrepr[2].removeprefix("Skipped: ") for report in without})
        terminalreporter.write_line(
            f"{len(without)} tests skipped: {'; '.join(reasons)}. To run them: make browser, then make test"
        )


@pytest.fixture(scope="session")
def taxi_2k():
    """A Taxi agent after 2,000 episodes: its policy is good, its values still change. For tests that do not modify it."""
    return train_taxi(2_000)


@pytest.fixture(scope="session")
def taxi_5k():
    """After 5,000 episodes."""
    return train_taxi(5_000)


@pytest.fixture(scope="session")
def taxi_50k():
    """After 50,000 episodes: its values have converged."""
    return train_taxi(50_000)


@pytest.fixture
def run():
    return trained()


@pytest.fixture
def run_folder(run, tmp_path):
    """The folder of a saved run."""
    run.save(tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def lead():
    """The toy question, on the list for one test."""
    import toy_question

    module = importlib.reload(toy_question)
    asking.shared_flags.cache_clear()
    yield module
    del QUESTIONS["lead"]
    asking.shared_flags.cache_clear()


@pytest.fixture
def whatfor(monkeypatch, capsys):
    """Call the command line: exit code, output, errors."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back what main() replaces

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["whatfor", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
