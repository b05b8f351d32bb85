"""Forged documents of deep runs are refused with an error of one line, before they allocate memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load as tensors_from
from safetensors.torch import save as tensors_to
from small_agents import LITTLE, cart, lake, train_agent
from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize
from test_deep_saving import BOUNDS

import whatfor as wf
from fuzz.deep_corpus import CELLS
from test_forgeries import contents, forge, forge_document, spots
from whatfor.deep import BeliefCallback, Bins, Clusters
from whatfor.deep.checking import ADVICE

#: The value that deletes a field.
DELETE = object()


@cache
def carts(kind: str) -> wf.Run:
    """A run of CartPole over a kind of cells, or with normalised observations."""
    if kind == "normalised":
        callback = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS), settling=False)
        vector = VecNormalize(make_vec_env("CartPole-v1", n_envs=2, seed=0))
        DQN("MlpPolicy", vector, seed=0, device="cpu", learning_starts=50, policy_kwargs={"net_arch": [8]}).learn(
            200, callback=callback
        )
        return callback.run
    if kind == "settled":
        return train_agent("CartPole-v1", Bins((3, 3, 6, 3), bounds=BOUNDS), steps=200, settling=LITTLE)[1].run
    cells = {"bins": Bins((3, 3, 6, 3), bounds=BOUNDS), "clusters": Clusters(5)}[kind]
    return train_agent("CartPole-v1", cells, steps=200)[1].run


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    lake().save(tmp_path / "deep")
    return tmp_path / "deep"


def put(document: Any, path: str, value: Any) -> None:
    """Set one field of a document, by a path such as "settings.agent.layers"."""
    *parents, last = path.split(".")
    for name in parents:
        document = document[name]
    if value is DELETE:
        del document[last]
    else:
        document[last] = value


def check_rejected(folder: Path, message: str) -> None:
    """The error is one line: what cannot be read, why, and what to do."""
    with pytest.raises(wf.FolderError, match=message) as refused:
        wf.load(folder)
    text = str(refused.value)
    assert "\n" not in text
    assert text.count(ADVICE) == 1


def forge_tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = tensors_from(contents(folder, "belief"))
    change(tensors)
    forge(folder, "belief", tensors_to(tensors))


FORGERIES: list[tuple[str, Any, str]] = [
    ("network.new", 1, "unknown field `new`"),
    ("network.settings", 5, "got `int` at `network.settings`"),
    ("network.cells", DELETE, "belief network cannot be read: object missing required field `cells`"),
    ("network.cells", 3, "got `int` at `network.cells`"),
    ("network.cells", "bins", r"not of bins of Discrete\(16\)"),
    ("network.cells", "clusters", "its cells has the tensors none, not centres, examples, spread"),
    ("network.cells", "x", "invalid enum value 'x' at `network.cells`"),
    ("network.endings", DELETE, "missing required field `endings`"),
    ("network.endings", ["x"], r"its endings are \['x'\]; its labels name"),
    ("network.endings", [3], r"got `int` at `network.endings\[0\]`"),
    ("network.settings.discount", "x", "expected `float`, got `str` at `network.settings.discount`"),
    ("network.settings.discount", 1.5, "expected `float` <= 1.0"),
    ("network.settings.loss", DELETE, "missing required field `loss`"),
    ("network.settings.head", "x", "invalid enum value 'x'"),
    ("network.settings.head", [], "expected `str`, got `array`"),
    ("network.settings.reads", "x", "invalid enum value 'x'"),
    ("network.settings.seed", "x", "expected `int`, got `str`"),
    ("network.settings.seed", True, "expected `int`, got `bool`"),
    ("network.settings.seed", 10**30, "belief network cannot be read"),
    ("network.settings.sizes.joint", [32.5], "expected `int`, got `float`"),
    ("network.settings.sizes.joint", [0], "expected `int` >= 1"),
    ("network.settings.sizes.joint", [33], "its layers have other sizes than its weights"),
    ("network.trust", 5, "got `int` at `network.trust`"),
    ("network.trust.mean_residual", "x", "invalid enum value 'x'"),
    ("network.trust.mean_residual", None, "got `null` at `network.trust.mean_residual`"),
    ("network.trust.mean_residual", -1.0, "expected `float` >= 0.0"),
    ("network.trust.pairs", -1, "expected `int` >= 0"),
    ("network.trust.source", "\x1b[31m\n" * 200, r"invalid enum value '\\x1b\[31m"),
    ("network.updates", "many", "got `str` at `network.updates`"),
    ("network.updates", 10**30, "expected `int` <= 9007199254740992"),
    ("network.source", 3, "got `int` at `network.source`"),
    ("network.source", "guessed", "invalid enum value 'guessed'"),
    ("network.space", 3, "got `int` at `network.space`"),
    ("network.space", {}, "missing required field `kind`"),
    ("network.space", {"kind": "text"}, "invalid value 'text' at `network.space.kind`"),
    ("network.space.n", -3, "expected `int` >= 1"),
    ("network.space.n", 17, "belief network cannot be read: its online.joint.0.weight is"),
    ("network.space.start", 2**63 - 1, "more than an int64 holds"),
    ("network.space.start", 1, "its observations start at 1, those of its agent must start at 0"),
    ("network.space", {"kind": "box"}, "its space has the tensors none, not high, low"),
    ("network.space", {"kind": "multidiscrete"}, "its space has the tensors none, not nvec, start"),
    ("network.normaliser", {"clip": 1.0}, "its normaliser has the tensors none, not mean, scale"),
    ("network.normaliser", {"clip": "nan"}, "invalid enum value 'nan'"),
    ("network.agent", {}, "missing required field `layers`"),
    ("network.agent", None, "it holds the unknown tensor 'agent.q_net.0.bias'"),
    ("network.agent.layers", "abc", "got `str` at `network.agent.layers`"),
    ("network.agent.layers", [17], "its layers have other sizes than its weights"),
    ("network.agent.activation", "x", "invalid enum value 'x'"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), FORGERIES)
def test_a_forged_document_is_refused(deep: Path, path: str, value: Any, message: str) -> None:
    forge_document(deep, lambda document: put(document, path, value))
    check_rejected(deep, message)


def test_the_command_line_prints_the_error_in_one_line(deep: Path, tmp_path: Path, whatfor: Any) -> None:
    forge_document(deep, lambda document: put(document, "network.cells", DELETE))
    code, out, err = whatfor("report", deep, "--out", tmp_path / "page.html")
    assert (code, out) == (2, "")
    assert (
        err
        == f"whatfor: the belief network cannot be read: object missing required field `cells` at `network`; {ADVICE}\n"
    )


def test_labels_that_do_not_fit_the_cells_are_refused(tmp_path: Path) -> None:
    carts("bins").save(tmp_path)
    forge_document(tmp_path, lambda document: put(document, "network.cells", "states"))
    check_rejected(tmp_path, "not discrete")
    carts("bins").save(tmp_path)
    forge_document(tmp_path, lambda document: document["labels"]["axes"][0].update(edges=[0.0]))
    with pytest.raises(wf.FolderError, match=r"not of bins|edges"):
        wf.load(tmp_path)


def refusal(folder: Path, options: dict[str, Any]) -> ValueError | None:
    try:
        wf.load(folder, **options)
    except ValueError as error:
        return error
    return None


@pytest.mark.parametrize("kind", ["lake", "bins", "clusters", "concepts", "settled"])
def test_a_document_changed_anywhere_is_refused_or_harmless(tmp_path: Path, kind: str) -> None:
    """Wrong values in every field of the network's document raise FolderError and no other error."""
    run = {"lake": lake, "concepts": lambda: cart()[1]}.get(kind, lambda: carts(kind))()
    run.save(tmp_path)
    options: dict[str, Any] = {"cells": CELLS} if kind == "concepts" else {}
    original = json.loads(contents(tmp_path, "run"))
    wrong: list[Any] = [None, -1, 10**12, "x", [], {}, 1.5, True, float("nan"), [[1]], DELETE]
    rng, refusals = np.random.default_rng(0), 0
    places = [("network", *path) for path in spots(original["network"])]
    for path in places:
        document = json.loads(json.dumps(original))
        spot = document
        for key in path[:-1]:
            spot = spot[key]
        value = wrong[rng.integers(len(wrong))]
        if value is DELETE:
            del spot[path[-1]]
        else:
            spot[path[-1]] = value
        forge(tmp_path, "run", json.dumps(document).encode())
        error = refusal(tmp_path, options)
        refusals += isinstance(error, wf.FolderError)
        assert "\n" not in str(error)
        if not isinstance(error, wf.FolderError | None):  # an argument is missing, which the error names
            assert "Pass the agent, wf.load(path, agent=model)" in str(error) or "pass them again" in str(error)
    assert refusals > len(places) / 2


# -- what held-out play showed -------------------------------------------------------------------


CHECKS: dict[str, tuple[Callable[[dict[str, torch.Tensor]], object], str]] = {
    "missing": (lambda tensors: tensors.pop("checks.errors"), "its checks has the tensors observations, not"),
    "more": (lambda tensors: tensors.update({"checks.more": torch.zeros(1)}), "its checks has the tensors|unknown tensor"),
    "fewer": (lambda tensors: tensors.update({"checks.errors": tensors["checks.errors"][1:].clone()}), "do not fit what was checked"),
    "shape": (lambda tensors: tensors.update({"checks.observations": tensors["checks.observations"][:, :3].clone()}), "do not fit what was checked"),
    "negative": (lambda tensors: tensors.update({"checks.errors": -1.0 - tensors["checks.errors"]}), "do not fit what was checked"),
    "type": (lambda tensors: tensors.update({"checks.errors": tensors["checks.errors"].float()}), "are no numbers"),
    "nan": (lambda tensors: tensors["checks.errors"].fill_(torch.nan), "NaN|not finite|infinite"),
}  # fmt: skip


@pytest.mark.parametrize("forged", CHECKS)
def test_forged_checks_are_refused(forged: str, tmp_path: Path) -> None:
    carts("settled").save(tmp_path)
    change, message = CHECKS[forged]
    forge_tensors(tmp_path, change)
    check_rejected(tmp_path, message)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("network.trust.checked.situations", 3, "do not fit what was checked"),
        ("network.trust.checked.situations", 0, "expected `int` >= 1|do not fit what was checked"),
        ("network.trust.checked.visits", -1.0, "expected `float` >= 0.0"),
        ("network.trust.checked.visits", "x", "invalid enum value 'x'"),
        ("network.trust.checked.noise", "x", "invalid enum value 'x'"),
        ("network.trust.checked.new", 1, "unknown field `new`"),
        ("network.trust.checked.q", DELETE, "missing required field `q`"),
        ("network.trust.checked", 5, "got `int` at `network.trust.checked`"),
        ("network.trust.checked", None, "its checks has the tensors errors, observations, not none"),
    ],
)
def test_a_forged_document_of_checks_is_refused(path: str, value: Any, message: str, tmp_path: Path) -> None:
    carts("settled").save(tmp_path)
    forge_document(tmp_path, lambda document: put(document, path, value))
    check_rejected(tmp_path, message)


# -- memory ------------------------------------------------------------------------------------


class LittleMemory:
    """A context in which Python may allocate little."""

    def __enter__(self) -> None:
        tracemalloc.start()

    def __exit__(self, *_: object) -> None:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50e6


@pytest.fixture
def no_large_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's memory is not traced, so check the size of its layers."""
    init = torch.nn.Linear.__init__

    def checked_init(self: Any, *arguments: Any, **options: Any) -> None:
        init(self, *arguments, **options)
        assert self.weight.device.type == "meta" or self.weight.numel() < 1e6

    monkeypatch.setattr(torch.nn.Linear, "__init__", checked_init)


@pytest.mark.usefixtures("no_large_layers")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("network.agent.layers", [30_000, 30_000]),
        ("network.agent.layers", [1] * 100_000),
        ("network.settings.sizes", {"state": [30_000], "action": [], "joint": [30_000]}),
        ("network.settings.sizes", {"state": [], "action": None, "joint": [32]}),
        ("network.space", {"kind": "multibinary", "n": 10**9}),
        ("network.space", {"kind": "discrete", "n": 10**9, "start": 0}),
        ("network.space", {"kind": "multibinary", "n": [2**31, 2**31]}),
        ("network.space", {"kind": "multibinary", "n": [2**32, 2**32]}),
    ],
)
def test_no_network_is_built_whose_weights_are_not_in_the_file(deep: Path, path: str, value: Any) -> None:
    forge_document(deep, lambda document: put(document, path, value))
    with LittleMemory():
        check_rejected(deep, "cannot be read")


@pytest.mark.usefixtures("no_large_layers")
@pytest.mark.parametrize("agent", [None, lambda obs: np.zeros((len(obs), 2))], ids=["saved agent", "agent="])
def test_a_larger_space_is_refused_by_the_shapes_of_weights(tmp_path: Path, agent: Any) -> None:
    cart()[1].save(tmp_path)
    large = {"kind": "discrete", "n": 10**9, "start": 0}
    forge_document(tmp_path, lambda document: put(document, "network.space", large))
    forge_tensors(tmp_path, lambda tensors: [tensors.pop(f"space.{side}") for side in ("low", "high")])
    with pytest.raises(wf.FolderError, match=r"cannot be read: its .* is torch.float32 of the shape"):
        wf.load(tmp_path, cells=CELLS, agent=agent)
