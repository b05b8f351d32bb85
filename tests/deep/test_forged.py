"""The folder of a deep run that was changed or forged: it is refused in one line, and before it takes memory."""

from __future__ import annotations

import io
import json
import pickle
import re
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load as tensors_from
from safetensors.torch import save as tensors_to
from small_agents import ALL, cart, lake, learned
from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize
from test_keeping import BOUNDS, UPRIGHT, Bomb

import whatfor as wf
from test_forgeries import contents, forge, forge_document, manifest, spots
from whatfor.deep import BeliefCallback, Bins, Clusters
from whatfor.deep.parts import AGAIN
from whatfor.layouts import layout_of

#: Stands for: leave it out.
GONE = object()


@cache
def carts(kind: str) -> wf.Run:
    if kind == "normalised":
        beside = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS))
        vector = VecNormalize(make_vec_env("CartPole-v1", n_envs=2, seed=0))
        DQN("MlpPolicy", vector, seed=0, device="cpu", learning_starts=50, policy_kwargs={"net_arch": [8]}).learn(
            200, callback=beside
        )
        return beside.run
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
    ("network", 5, "belief network cannot be read: expected `object`, got `int` at `network`"),
    ("network.new", 1, "unknown field `new`"),
    ("network.settings", 5, "got `int` at `network.settings`"),
    ("network.cells", GONE, "belief network cannot be read: object missing required field `cells`"),
    ("network.cells", 3, "got `int` at `network.cells`"),
    ("network.cells", "bins", r"not of bins of Discrete\(16\)"),
    ("network.cells", "clusters", "its cells has the tensors none, not centres, examples, spread"),
    ("network.cells", "x", "invalid enum value 'x' at `network.cells`"),
    ("network.endings", GONE, "missing required field `endings`"),
    ("network.endings", ["x"], r"its endings are \['x'\], and its labels name"),
    ("network.endings", [3], r"got `int` at `network.endings\[0\]`"),
    ("network.settings.discount", "x", "expected `float`, got `str` at `network.settings.discount`"),
    ("network.settings.discount", 1.5, "expected `float` <= 1.0"),
    ("network.settings.discount", float("nan"), "expected `float`|not JSON|not a valid"),
    ("network.settings.loss", GONE, "missing required field `loss`"),
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
    ("network.trust.residual", "x", "invalid enum value 'x'"),
    ("network.trust.residual", None, "got `null` at `network.trust.residual`"),
    ("network.trust.residual", -1.0, "expected `float` >= 0.0"),
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
    ("network.space.start", 1, "its observations start at 1, where its agent's start at 0"),
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
def test_a_forged_document_is_refused_in_one_sentence(deep: Path, path: str, value: Any, message: str) -> None:
    forge_document(deep, lambda document: put(document, path, value))
    check_refused(deep, message)


def test_the_command_line_says_it_in_one_line(deep: Path, tmp_path: Path, whatfor: Any) -> None:
    forge_document(deep, lambda document: put(document, "network.cells", GONE))
    code, out, err = whatfor("report", deep, "--out", tmp_path / "page.html")
    assert (code, out) == (2, "")
    assert (
        err
        == f"whatfor: the belief network cannot be read: object missing required field `cells` at `network`; {AGAIN}\n"
    )


def test_labels_that_do_not_fit_the_cells_are_refused(tmp_path: Path) -> None:
    carts("bins").save(tmp_path)
    forge_document(tmp_path, lambda document: put(document, "network.cells", "states"))
    check_refused(tmp_path, "not countable")
    carts("bins").save(tmp_path)
    forge_document(tmp_path, lambda document: document["labels"]["axes"][0].update(edges=[0.0]))
    with pytest.raises(wf.FolderError, match=r"not of bins|edges"):
        wf.load(tmp_path)


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
            assert "Pass the agent, wf.load(path, agent=model)" in str(error) or "pass them again" in str(error)
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
    forge_tensors(tmp_path, lambda tensors: [tensors.pop(f"space.{side}") for side in ("low", "high")])
    with pytest.raises(wf.FolderError, match=r"cannot be read: its .* is torch.float32 of the shape"):
        wf.load(tmp_path, cells=ALL, agent=agent)


# -- weights -----------------------------------------------------------------------------------


SOURCES = Path(wf.__file__).parent


def test_nothing_is_unpickled() -> None:  # attack.md 5
    """A forged file of PyTorch's own format crashes PyTorch; so no module reads one, nor any other pickle."""
    calls = re.compile(r"torch\.load\b|DQN\.load\b|load_from_zip_file|pickle\.loads?\b|Unpickler\b|allow_pickle=True")
    found = [f"{file.name}: {call}" for file in SOURCES.rglob("*.py") for call in calls.findall(file.read_text())]
    assert found == []


def agent_zip(policy: bytes) -> bytes:
    """An agent as Stable-Baselines3 writes it, which earlier versions saved in a folder."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("policy.pth", policy)
    return file.getvalue()


def saved_by_torch(what: Any) -> bytes:
    file = io.BytesIO()
    torch.save(what, file)
    return file.getvalue()


@pytest.mark.parametrize("policy", ["pickle", "torch"])
@pytest.mark.parametrize("listed", [True, False])
def test_an_agents_zip_is_not_opened(  # attack.md 5
    deep: Path, tmp_path: Path, policy: str, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused where the manifest lists it, and ignored where it only lies in the folder."""
    bomb = Bomb(tmp_path / "ran")
    data = agent_zip(pickle.dumps(bomb) if policy == "pickle" else saved_by_torch(bomb))
    read: list[str] = []
    open_member = zipfile.ZipFile.open

    def watched(self: Any, name: Any, *more: Any, **options: Any) -> Any:
        read.append(getattr(name, "filename", name))
        return open_member(self, name, *more, **options)

    monkeypatch.setattr(zipfile.ZipFile, "open", watched)
    monkeypatch.setattr(torch, "load", lambda *_, **__: read.append("torch.load"))
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
    assert not {"policy.pth", "torch.load"} & set(read)
    assert not (tmp_path / "ran").exists()


def forge_tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = tensors_from(contents(folder, "belief"))
    change(tensors)
    forge(folder, "belief", tensors_to(tensors))


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("count", torch.zeros(1, dtype=torch.float64), r"its count is torch.float64 of the shape \(1,\)"),
        ("count", torch.zeros(64), "its count is torch.float32"),
        ("count", torch.full((64,), 1e300, dtype=torch.float64), "counts updates .* by numbers that cannot be"),
        ("count", torch.full((64,), -1.0, dtype=torch.float64), "counts updates .* by numbers that cannot be"),
        ("count", torch.full((64,), 0.5, dtype=torch.float64), "counts updates .* by numbers that cannot be"),
        ("brought", torch.full((2, 64), -1.0, dtype=torch.float64), "sums up rewards by numbers that cannot be"),
        ("brought", None, "its brought is missing"),
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
    check_refused(deep, message)


@pytest.mark.parametrize(
    ("kind", "name", "tensor", "message"),
    [
        ("clusters", "cells.spread", torch.tensor([1.0, 1.0, 1.0, 0.0]).double(), "spread of clusters must be above zero"),
        ("clusters", "cells.spread", torch.full((4,), 1e-300, dtype=torch.float64), "cannot be read: overflow"),
        ("clusters", "cells.centres", torch.ones(1, 1).double(), "do not fit"),
        ("clusters", "cells.centres", None, "its cells has the tensors examples, spread, not"),
        ("bins", "space.low", torch.full((4,), 9.0), "lie between numbers that cannot be"),
        ("bins", "space.low", torch.full((4,), torch.nan), "lie between numbers that cannot be"),
        ("bins", "space.low", torch.zeros(4).double(), "lie between numbers that cannot be"),
        ("bins", "example_cells", torch.tensor([1, 0]), "its examples do not fit its cells"),
        ("bins", "example_cells", torch.tensor([0, 10**9]), "its examples do not fit its cells"),
        ("bins", "example_cells", torch.tensor([[0]]), "its examples do not fit its cells"),
        ("bins", "examples", torch.zeros(1, 4), r"its examples have the shape \(1, 4\)"),
        ("normalised", "normaliser.scale", torch.zeros(4).double(), "normalised by numbers that cannot be"),
        ("normalised", "normaliser.scale", torch.ones(3).double(), "normalised by numbers that cannot be"),
        ("normalised", "normaliser.mean", torch.ones(4), "normalised by numbers that cannot be"),
    ],
)  # fmt: skip
def test_forged_arrays_are_refused(
    tmp_path: Path, kind: str, name: str, tensor: torch.Tensor | None, message: str
) -> None:
    carts(kind).save(tmp_path)
    forge_tensors(tmp_path, lambda tensors: tensors.pop(name) if tensor is None else tensors.update({name: tensor}))
    check_refused(tmp_path, message)


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff" * 8, (2**40).to_bytes(8, "little") + b"{}"])
def test_a_file_that_is_no_safetensors_is_refused(deep: Path, data: bytes) -> None:
    forge(deep, "belief", data)
    check_refused(deep, "the belief network cannot be read")


def test_two_tensors_of_one_name_are_refused(deep: Path) -> None:
    data = contents(deep, "belief")
    size = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + size].rstrip()
    count = json.dumps(json.loads(header)["count"])
    twice = header[:-1] + f',"count":{count}}}'.encode()
    forge(deep, "belief", len(twice).to_bytes(8, "little") + twice + data[8 + size :])
    check_refused(deep, "two of its tensors have the same name")


def ask_everything(run: wf.Run, state: Any) -> list[str]:
    """What a run answers, or why it does not."""

    def answer(ask: Callable[[], Any]) -> str:
        try:
            found = ask()
        except ValueError as error:
            return str(error)
        layout_of(found)
        return json.dumps(found.to_json(), allow_nan=False) + str(found)

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
        ("lake", "brought", 1e308, "the belief network's answer .* is not finite"),
        ("lake", "agent.", 3e38, "the agent's values .* are NaN or infinite"),
        ("normalised", "normaliser.scale", 1e-320, "cannot be normalised"),
    ],
)
def test_finite_numbers_that_make_infinite_answers_are_named(
    tmp_path: Path, kind: str, name: str, value: float, message: str
) -> None:
    (lake() if kind == "lake" else carts(kind)).save(tmp_path)
    forge_tensors(tmp_path, lambda tensors: [t.fill_(value) for at, t in tensors.items() if at.startswith(name)])
    try:
        answer = ask_everything(wf.load(tmp_path), 0 if kind == "lake" else UPRIGHT)[0]
    except wf.FolderError as error:
        answer = str(error)
    assert re.search(message, answer), answer[:500]


def test_an_observation_far_from_every_cluster_is_named(tmp_path: Path) -> None:
    carts("clusters").save(tmp_path)
    forge_tensors(tmp_path, lambda tensors: tensors["cells.spread"].fill_(1e-150))
    with pytest.raises(ValueError, match="too far from every cluster"):
        wf.load(tmp_path).intention(np.full(4, 3e38, np.float32))
