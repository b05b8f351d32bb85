"""A run, and its folder; the command line."""

import os
import sys
import warnings

import pytest

# One process a core: threads of linear algebra would only wait for each other. Before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from saved import trained
from whatfor import cli


@pytest.fixture
def run():
    return trained()


@pytest.fixture
def kept(run, tmp_path):
    """The folder of a saved run."""
    run.save(tmp_path / "kept")
    return tmp_path / "kept"


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
        told = capsys.readouterr()
        return code, told.out, told.err

    return call
