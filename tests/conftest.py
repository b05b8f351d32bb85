"""A run, and its folder."""

import pytest

from saved import trained


@pytest.fixture
def run():
    return trained()


@pytest.fixture
def kept(run, tmp_path):
    """The folder of a saved run."""
    run.save(tmp_path / "kept")
    return tmp_path / "kept"
