"""Forged weights of deep runs: nothing is unpickled, every tensor is checked, and overflows are reported."""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_agents import lake
from test_deep_saving import UPRIGHT, Bomb
from test_forged import carts, check_rejected, deep, forge_tensors

import whatfor as wf
from test_forgeries import contents, forge, manifest
from whatfor.question import layout_of

__all__ = ["deep"]  # the fixture


SOURCES = Path(wf.__file__).parent


def test_nothing_is_unpickled() -> None:  # attack 5
    """A forged file of PyTorch's own format crashes PyTorch; so no module reads one, nor any other pickle."""
    calls = re.compile(r"torch\.load\b|DQN\.load\b|load_from_zip_file|pickle\.loads?\b|Unpickler\b|allow_pickle=True")
    calls_by_file = [
        f"{file.name}: {call}" for file in SOURCES.rglob("*.py") for call in calls.findall(file.read_text())
    ]
    assert calls_by_file == ["jit.py: pickle.loads"]  # the compile cache, which only this user can write


def agent_zip(policy: bytes) -> bytes:
    """An agent as Stable-Baselines3 saves it; earlier versions of whatfor put one into the folder."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("policy.pth", policy)
    return file.getvalue()


def torch_bytes(what: Any) -> bytes:
    file = io.BytesIO()
    torch.save(what, file)
    return file.getvalue()


@pytest.mark.parametrize("policy", ["pickle", "torch"])
@pytest.mark.parametrize("listed", [True, False])
def test_an_agents_zip_is_not_opened(  # attack 5
    deep: Path, tmp_path: Path, policy: str, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused if the manifest lists it, and ignored otherwise."""
    bomb = Bomb(tmp_path / "ran")
    data = agent_zip(pickle.dumps(bomb) if policy == "pickle" else torch_bytes(bomb))
    opened: list[str] = []
    open_member = zipfile.ZipFile.open

    def recorded_open(self: Any, name: Any, *more: Any, **options: Any) -> Any:
        opened.append(getattr(name, "filename", name))
        return open_member(self, name, *more, **options)

    monkeypatch.setattr(zipfile.ZipFile, "open", recorded_open)
    monkeypatch.setattr(torch, "load", lambda *_, **__: opened.append("torch.load"))
    name = "agent-0123456789abcdef.zip"
    (deep / name).write_bytes(data)
    if listed:
        entries = manifest(deep)
        entries["files"]["agent"] = {"file": name, "sha256": "", "bytes": 0}
        (deep / "manifest.json").write_text(json.dumps(entries))
        forge(deep, "agent", data)
        with pytest.raises(wf.FolderError):
            wf.load(deep)
    else:
        assert str(wf.load(deep).intention(0)) == str(lake().intention(0))
    assert not {"policy.pth", "torch.load"} & set(opened)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("count", torch.zeros(1, dtype=torch.float64), r"its count is torch.float64 of the shape \(1,\)"),
        ("count", torch.zeros(64), "its count is torch.float32"),
        ("count", torch.full((64,), 1e300, dtype=torch.float64), "counts of samples or sums of rewards are impossible"),
        ("count", torch.full((64,), -1.0, dtype=torch.float64), "counts of samples or sums of rewards are impossible"),
        ("count", torch.full((64,), 0.5, dtype=torch.float64), "counts of samples or sums of rewards are impossible"),
        (
            "rewards",
            torch.full((2, 64), -1.0, dtype=torch.float64),
            "counts of samples or sums of rewards are impossible",
        ),
        ("rewards", None, "its rewards is missing"),
        ("online.visits.weight", torch.zeros(3, 3), "its online.visits.weight is"),
        ("online.visits.bias", torch.full((64,), torch.nan), "NaN or infinite"),
        ("online.visits.bias", torch.zeros(64, dtype=torch.complex64), "its online.visits.bias is torch.complex64"),
        ("online.visits.bias", torch.zeros(64, dtype=torch.float8_e5m2), "cannot be read"),
        ("online.joint.0.bias", torch.zeros(()), "its layers have other sizes than its weights"),
        ("online.more", torch.zeros(1), "unknown tensor 'online.more'"),
        ("more", torch.zeros(1), "unknown tensor 'more'"),
        ("space.low", torch.zeros(1), "its space has the tensors low, not none"),
        ("agent.q_net.0.weight", None, "its agent.q_net.0.weight is missing"),
        ("agent.q_net.0.weight", torch.zeros(16, 16, dtype=torch.float64), "its agent.q_net.0.weight is torch.float64"),
        ("agent.q_net.2.bias", torch.full((4,), torch.inf), "NaN or infinite"),
        ("agent.more", torch.zeros(1), "unknown tensor 'agent.more'"),
        ("examples", torch.zeros(1), "example_cells"),
        ("example_cells", torch.zeros(1, dtype=torch.int64), "examples"),
    ],
)
def test_forged_tensors_are_refused(deep: Path, name: str, tensor: torch.Tensor | None, message: str) -> None:
    forge_tensors(deep, lambda tensors: tensors.pop(name, None) if tensor is None else tensors.update({name: tensor}))
    check_rejected(deep, message)


@pytest.mark.parametrize(
    ("kind", "name", "tensor", "message"),
    [
        ("clusters", "cells.spread", torch.tensor([1.0, 1.0, 1.0, 0.0]).double(), "spread of clusters must be above zero"),
        ("clusters", "cells.spread", torch.full((4,), 1e-300, dtype=torch.float64), "cannot be read: overflow"),
        ("clusters", "cells.centres", torch.ones(1, 1).double(), "do not fit"),
        ("clusters", "cells.centres", None, "its cells has the tensors examples, spread, not"),
        ("bins", "space.low", torch.full((4,), 9.0), "has impossible bounds"),
        ("bins", "space.low", torch.full((4,), torch.nan), "has impossible bounds"),
        ("bins", "space.low", torch.zeros(4).double(), "has impossible bounds"),
        ("bins", "example_cells", torch.tensor([1, 0]), "its examples do not fit its cells"),
        ("bins", "example_cells", torch.tensor([0, 10**9]), "its examples do not fit its cells"),
        ("bins", "example_cells", torch.tensor([[0]]), "its examples do not fit its cells"),
        ("bins", "examples", torch.zeros(1, 4), r"its examples have the shape \(1, 4\)"),
        ("normalised", "normaliser.scale", torch.zeros(4).double(), "normalised by impossible numbers"),
        ("normalised", "normaliser.scale", torch.ones(3).double(), "normalised by impossible numbers"),
        ("normalised", "normaliser.mean", torch.ones(4), "normalised by impossible numbers"),
    ],
)  # fmt: skip
def test_forged_arrays_are_refused(
    tmp_path: Path, kind: str, name: str, tensor: torch.Tensor | None, message: str
) -> None:
    carts(kind).save(tmp_path)
    if name.startswith("example"):  # cells without a representative have these
        examples = {"examples": torch.zeros(2, 4), "example_cells": torch.tensor([0, 1])}
        forge_tensors(tmp_path, lambda tensors: tensors.update(examples))
    forge_tensors(tmp_path, lambda tensors: tensors.pop(name) if tensor is None else tensors.update({name: tensor}))
    check_rejected(tmp_path, message)


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff" * 8, (2**40).to_bytes(8, "little") + b"{}"])
def test_a_file_that_is_not_safetensors_is_refused(deep: Path, data: bytes) -> None:
    forge(deep, "belief", data)
    check_rejected(deep, "the belief network cannot be read")


def test_two_tensors_of_one_name_are_refused(deep: Path) -> None:
    data = contents(deep, "belief")
    size = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + size].rstrip()
    count = json.dumps(json.loads(header)["count"])
    forged = header[:-1] + f',"count":{count}}}'.encode()
    forge(deep, "belief", len(forged).to_bytes(8, "little") + forged + data[8 + size :])
    check_rejected(deep, "two of its tensors have the same name")


def ask_everything(run: wf.Run, state: Any) -> list[str]:
    """The answers to all questions, or the errors."""

    def answer(ask: Callable[[], Any]) -> str:
        try:
            result = ask()
        except ValueError as error:
            return str(error)
        layout_of(result)
        return json.dumps(result.to_json(), allow_nan=False) + str(result)

    questions: list[Callable[[], Any]] = [
        lambda: run.intention(state),
        lambda: run.contrast(state),
        lambda: run.outcomes(state),
        lambda: run.simulation(state, rollouts=3),
        lambda: run.comparison(state, rollouts=3),
    ]
    return [answer(ask) for ask in questions]


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        ("lake", "online.", 3e38, "the belief network's answer .* is not finite"),
        ("lake", "rewards", 1e308, "the belief network's answer .* is not finite"),
        ("lake", "agent.", 3e38, "the agent's values .* are NaN or infinite"),
        ("normalised", "normaliser.scale", 1e-320, "cannot be normalised"),
    ],
)
def test_finite_weights_that_lead_to_infinite_answers_are_reported(
    tmp_path: Path, kind: str, name: str, value: float, message: str
) -> None:
    (lake() if kind == "lake" else carts(kind)).save(tmp_path)
    forge_tensors(tmp_path, lambda tensors: [t.fill_(value) for at, t in tensors.items() if at.startswith(name)])
    try:
        answer = ask_everything(wf.load(tmp_path), 0 if kind == "lake" else UPRIGHT)[0]
    except wf.FolderError as error:
        answer = str(error)
    assert re.search(message, answer), answer[:500]


def test_an_observation_too_far_from_every_cluster_is_refused(tmp_path: Path) -> None:
    carts("clusters").save(tmp_path)
    forge_tensors(tmp_path, lambda tensors: tensors["cells.spread"].fill_(1e-150))
    with pytest.raises(ValueError, match="too far from every cluster"):
        wf.load(tmp_path).intention(np.full(4, 3e38, np.float32))
