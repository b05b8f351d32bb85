"""The folder of a deep run that was changed or forged: it is refused in one line, and before it takes memory."""

from __future__ import annotations

import io
import json
import pickle
import tracemalloc
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load as tensors_from
from safetensors.torch import save as tensors_to
from small_agents import ALL, cart, lake, learned
from test_keeping import BOUNDS, Bomb

import whatfor as wf
from test_forgeries import contents, forge, forge_document, spots
from whatfor.deep import Bins, Clusters
from whatfor.deep.loading import weights_in
from whatfor.deep.told import AGAIN

#: Stands for: leave it out.
GONE = object()


@cache
def carts(kind: str) -> wf.Run:
    cells = {"bins": Bins((3, 3, 6, 3), bounds=BOUNDS), "clusters": Clusters(5)}[kind]
    return learned("CartPole-v1", cells, steps=200)[1].run


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    lake().save(tmp_path / "deep")
    return tmp_path / "deep"


def put(document: Any, path: str, value: Any) -> None:
    """Change one place of a document, "settings.agent.layers"."""
    *way, last = path.split(".")
    for name in way:
        document = document[name]
    if value is GONE:
        del document[last]
    else:
        document[last] = value


def check_refused(folder: Path, message: str) -> None:
    """One sentence: what cannot be read, why, and what to do."""
    with pytest.raises(wf.FolderError, match=message) as refused:
        wf.load(folder)
    said = str(refused.value)
    assert "\n" not in said
    assert said.count(AGAIN) == 1


FORGERIES: list[tuple[str, Any, str]] = [
    ("network", 5, "belief network cannot be read: nothing is said of its settings"),
    ("network.settings", 5, "its settings is 5"),
    ("network.cells", GONE, "belief network cannot be read: nothing is said of its cells"),
    ("network.cells", 3, "its cells is 3"),
    ("network.cells", {}, "nothing is said of its kind"),
    ("network.cells", {"kind": "bins"}, r"not of bins of Discrete\(16\)"),
    ("network.cells", {"kind": "clusters"}, "nothing is said of its centres"),
    ("network.cells", {"kind": "clusters", "centres": [[0.0]], "spread": [1.0], "examples": [0]}, "it has 1 clusters, and its labels name 16"),
    ("network.cells", {"kind": "concepts", "names": ["x"]}, "other concepts than its labels"),
    ("network.cells", {"kind": "x"}, "unknown kind, 'x'"),
    ("network.endings", GONE, "nothing is said of its endings"),
    ("network.endings", ["x"], "its endings name 'x', which its labels do not"),
    ("network.endings", [3], r"its endings is \[3\]"),
    ("network.settings.discount", "x", "its discount is 'x'"),
    ("network.settings.discount", 1.5, r"discount is 1.5; it must lie in \[0, 1\]"),
    ("network.settings.loss", GONE, "nothing is said of its loss"),
    ("network.settings.head", "x", "head='x': there are faithful, regression"),
    ("network.settings.head", [], r"its head is \[\]"),
    ("network.settings.reads", "x", "reads='x'"),
    ("network.settings.seed", "x", "its seed is 'x'"),
    ("network.settings.seed", 10**30, "belief network cannot be read"),
    ("network.settings.sizes.joint", [32.0], "its joint is"),
    ("network.trust", 5, "its trust is 5"),
    ("network.trust.residual", "x", "its residual is 'x'"),
    ("network.trust.residual", None, "its residual is None"),
    ("network.updates", "many", "its updates is 'many'"),
    ("network.source", 3, "its source is 3"),
    ("network.space", 3, "its space is 3"),
    ("network.space.n", -3, "belief network cannot be read"),
    ("network.space.n", 17, "belief network cannot be read: the labels name 16 states"),
    ("network.space", {"kind": "box", "shape": [2], "dtype": "float32", "low": ["1", "nan"], "high": ["0", "0"]}, "read"),
    ("network.space", {"kind": "box", "shape": [1], "dtype": "U9", "low": ["0"], "high": ["1"]}, "no numbers"),
    ("network.normaliser", {"mean": [0.0, 0.0], "scale": [1.0, 1.0], "clip": 1.0}, "normalised by numbers"),
    ("network.normaliser", {"mean": [0.0], "scale": [1.0], "clip": "nan"}, "normalised by numbers"),
    ("network.normaliser", {"mean": [], "scale": [0.0], "clip": 1.0}, "normalised by numbers"),
    ("settings.agent", {}, "agent cannot be read: nothing is said of its layers"),
    ("settings.agent", 5, "agent cannot be read: nothing is said of its layers"),
    ("settings.agent.layers", "abc", "its layers is 'abc'"),
    ("settings.agent.layers", [17], "its layers have other sizes than its weights"),
    ("settings.agent.activation", "x", "its activation is 'x'; there are ReLU"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), FORGERIES)
def test_a_forged_document_is_refused_in_one_sentence(deep: Path, path: str, value: Any, message: str) -> None:
    forge_document(deep, lambda document: put(document, path, value))
    check_refused(deep, message)


def test_the_command_line_says_it_in_one_line(deep: Path, tmp_path: Path, whatfor: Any) -> None:
    forge_document(deep, lambda document: put(document, "network.cells", GONE))
    code, out, err = whatfor("report", deep, "--out", tmp_path / "page.html")
    assert (code, out) == (2, "")
    assert err == f"whatfor: the belief network cannot be read: nothing is said of its cells; {AGAIN}\n"


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        ("bins", "network.cells", {"kind": "states"}, "not countable"),
        ("bins", "labels.axes.0.edges", [0.0], "not of bins"),
        ("clusters", "network.cells.spread", [1.0, 1.0, 1.0, 0.0], "spread of clusters must be above zero"),
        ("clusters", "network.cells.centres", [[1.0]], "do not fit"),
    ],
)
def test_forged_cells_are_refused(tmp_path: Path, kind: str, path: str, value: Any, message: str) -> None:
    carts(kind).save(tmp_path)

    def change(document: Any) -> None:
        put(document["labels"]["axes"][0], "edges", value) if "axes" in path else put(document, path, value)

    forge_document(tmp_path, change)
    check_refused(tmp_path, message)


def refusal(folder: Path, given: dict[str, Any]) -> ValueError | None:
    try:
        wf.load(folder, **given)
    except ValueError as error:
        return error
    return None


@pytest.mark.parametrize("kind", ["lake", "bins", "clusters", "concepts"])
def test_a_document_changed_anywhere_is_refused_or_harmless(tmp_path: Path, kind: str) -> None:
    """Wrong values in every place of the network's document: nothing but FolderError ever comes out."""
    run = {"lake": lake, "concepts": lambda: cart()[1]}.get(kind, lambda: carts(kind))()
    run.save(tmp_path)
    given: dict[str, Any] = {"cells": ALL} if kind == "concepts" else {}
    original = json.loads(contents(tmp_path, "run"))
    wrong: list[Any] = [None, -1, 10**12, "x", [], {}, 1.5, True, float("nan"), [[1]], GONE]
    dice, refusals = np.random.default_rng(0), 0
    places = [("network", *path) for path in spots(original["network"])]
    places += [("settings", "agent", *path) for path in spots(original["settings"]["agent"])]
    for path in places:
        document = json.loads(json.dumps(original))
        spot = document
        for key in path[:-1]:
            spot = spot[key]
        value = wrong[dice.integers(len(wrong))]
        if value is GONE:
            del spot[path[-1]]
        else:
            spot[path[-1]] = value
        forge(tmp_path, "run", json.dumps(document).encode())
        error = refusal(tmp_path, given)
        refusals += isinstance(error, wf.FolderError)
        assert "\n" not in str(error)
        if not isinstance(error, wf.FolderError | None):  # what somebody would have to give again
            assert "pass it, wf.load(path, agent=model)" in str(error) or "pass them again" in str(error)
    assert refusals > len(places) / 2


# -- memory ------------------------------------------------------------------------------------


class Small:
    """Python allocates little within."""

    def __enter__(self) -> None:
        tracemalloc.start()

    def __exit__(self, *_: object) -> None:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50e6


@pytest.fixture
def no_large_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's memory is not traced, so watch what its layers are made of."""
    made = torch.nn.Linear.__init__

    def watched(self: Any, *arguments: Any, **options: Any) -> None:
        made(self, *arguments, **options)
        assert self.weight.device.type == "meta" or self.weight.numel() < 1e6

    monkeypatch.setattr(torch.nn.Linear, "__init__", watched)


@pytest.mark.usefixtures("no_large_layers")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("settings.agent.layers", [30_000, 30_000]),
        ("settings.agent.layers", [1] * 100_000),
        ("network.settings.sizes", {"state": [30_000], "action": [], "joint": [30_000]}),
        ("network.settings.sizes", {"state": [], "action": None, "joint": [32]}),
        ("network.space", {"kind": "multibinary", "n": 10**9}),
        ("network.space", {"kind": "discrete", "n": 10**9, "start": 0}),
        ("network.space", {"kind": "box", "shape": [1], "dtype": "U900000000", "low": ["0"], "high": ["1"]}),
    ],
)
def test_no_network_is_made_that_the_files_do_not_hold(deep: Path, path: str, value: Any) -> None:
    forge_document(deep, lambda document: put(document, path, value))
    with Small():
        check_refused(deep, "cannot be read")


@pytest.mark.usefixtures("no_large_layers")
@pytest.mark.parametrize("agent", [None, lambda seen: np.zeros((len(seen), 2))], ids=["its agent", "its beliefs"])
def test_a_larger_space_is_refused_where_cells_do_not_count_it(tmp_path: Path, agent: Any) -> None:
    cart()[1].save(tmp_path)
    large = {"kind": "discrete", "n": 10**9, "start": 0}
    forge_document(tmp_path, lambda document: put(document, "network.space", large))
    with pytest.raises(wf.FolderError, match=r"cannot be read: its .* is torch.float32 of the shape"):
        wf.load(tmp_path, cells=ALL, agent=agent)


def zipped(**held: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in held.items():
            packed.writestr(f"{name}.pth", data)
    return file.getvalue()


def saved(what: Any) -> bytes:
    file = io.BytesIO()
    torch.save(what, file)
    return file.getvalue()


def deflated(archive: bytes) -> bytes:
    """The same archive, with everything in it packed small."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
    return file.getvalue()


def stored(policy: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("policy.pth", policy)
    return file.getvalue()


def test_a_zip_that_unfolds_to_more_is_refused_before_it_does() -> None:
    outer = zipped(policy=b"\0" * 60_000_000)
    inner = stored(deflated(saved({"q_net.q_net.0.weight": torch.zeros(15_000_000)})))
    for data in (outer, inner):
        assert len(data) < 1e6
        with Small(), pytest.raises(wf.FolderError, match=r"bytes would unfold to 6\d,\d\d\d,\d\d\d"):
            weights_in(data)


def test_weights_that_only_look_large_are_refused() -> None:
    wide = torch.zeros(1).expand(30_000, 30_000)
    with pytest.raises(wf.FolderError, match="holds no weights"):
        weights_in(stored(saved({"q_net.q_net.0.weight": wide})))


@pytest.mark.parametrize("policy", ["pickle", "torch"])
def test_code_in_a_zip_is_refused_in_one_line(tmp_path: Path, policy: str) -> None:
    bomb = Bomb(tmp_path / "ran")
    with pytest.raises(wf.FolderError, match="more than weights, which can run code") as refused:
        weights_in(stored(pickle.dumps(bomb) if policy == "pickle" else saved(bomb)))
    assert "\n" not in str(refused.value)
    assert "weights_only" not in str(refused.value)  # PyTorch says how to run it
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "data", [b"", b"PK", zipped(other=b""), stored(b"PK"), stored(saved([1])), stored(saved({"a": 1}))]
)
def test_a_zip_without_weights_is_refused(deep: Path, data: bytes) -> None:
    forge(deep, "agent", data)
    check_refused(deep, "the agent's zip cannot be read")


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("count", torch.zeros(1, dtype=torch.float64), r"its count is torch.float64 of the shape \(1,\)"),
        ("count", torch.zeros(64), "its count is torch.float32"),
        ("brought", None, "its brought is missing"),
        ("online.visits.weight", torch.zeros(3, 3), "its online.visits.weight is"),
        ("online.visits.bias", torch.full((64,), torch.nan), "NaN or infinite"),
        ("examples", torch.zeros(1), "example_cells"),
    ],
)
def test_forged_tensors_are_refused(deep: Path, name: str, tensor: torch.Tensor | None, message: str) -> None:
    tensors = tensors_from(contents(deep, "belief"))
    tensors.pop(name, None)
    forge(deep, "belief", tensors_to(tensors if tensor is None else {**tensors, name: tensor}))
    check_refused(deep, message)
