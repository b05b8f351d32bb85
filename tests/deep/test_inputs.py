"""Observations on a device are divided into the same cells as by NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from whatfor.deep.cells import Bins
from whatfor.deep.inputs import InputReader

SPACE = spaces.Box(-9.0, 9.0, (4,), np.float32)
CELLS = Bins((3, 3, 6, 3), bounds=[(-2.4, 2.4), (-2.5, 2.5), (-0.21, 0.21), (-1.0, 1.0)])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_bins_of_tensors_are_those_of_numpy(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = CELLS.partition(SPACE, None, np.zeros(0))
    rng = np.random.default_rng(0)
    edges = [rng.choice(axis.edges, 500) for axis in partition.labels.axes]
    at_edges = np.stack(edges, axis=1).astype(kind)
    beside = np.nextafter(at_edges, rng.choice([-np.inf, np.inf], at_edges.shape).astype(kind))
    observations = np.concatenate([rng.normal(size=(500, 4)).astype(kind), at_edges, beside])
    expected = partition.index(observations)
    reader = InputReader(partition, "observation", torch.device("cpu"))
    monkeypatch.setattr("whatfor.deep.inputs.as_numpy", lambda numbers: pytest.fail("copied to the CPU"))
    assert reader.cells(torch.as_tensor(observations)).tolist() == expected.tolist()
    assert len(set(expected.tolist())) > math.prod(partition.labels.shape) // 2
