"""A belief network read from a folder: first all that it says is looked at, then it is asked for what is missing, then the network is made."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors.torch import load as tensors_from

from whatfor.deep.belief import BeliefNetwork, QValues
from whatfor.deep.cells import Cells, States, cells_of, from_bins, from_centres
from whatfor.deep.network import Sizes
from whatfor.deep.normalising import Fixed
from whatfor.deep.saving import tensors_of
from whatfor.deep.told import finite, number_in, reading, said, said_list, space_in
from whatfor.explanations.trust import Trust
from whatfor.labels import Labels
from whatfor.runs import Run

#: Why an agent's zip is refused.
MORE = "more than weights, which can run code when it is read; a run never does, so it is refused"


class Kept(NamedTuple):
    """What a folder says of a network, after a look at it."""

    tensors: dict[str, torch.Tensor]
    settings: dict[str, Any]  # as BeliefNetwork takes them
    space: spaces.Space[Any]
    cells: Cells | None  # None: they are concepts, which are functions and not saved
    endings: list[str]
    normaliser: Fixed | None
    trust: Trust | None
    updates: int
    source: str


def network_in(run: Run, document: Any, files: dict[str, bytes], *, cells: Any, agent: Any) -> None:
    """Give a loaded run its network back, after a look at everything that comes from a file."""
    with reading("belief network"):
        kept = _kept(run.labels, document, files)
    over, asked = _cells(kept, run.labels, cells), _asked(run, kept, files, agent)

    def made(device: str) -> BeliefNetwork:
        with torch.device(device):
            return BeliefNetwork(over, asked, device=device, **kept.settings)

    with reading("belief network"):
        _check_shapes(tensors_of(made("meta")), kept.tensors)  # which takes no memory, whatever the file says
        belief = made("cpu")
        for name, tensor in tensors_of(belief).items():
            tensor.copy_(kept.tensors[name])
        belief.online.eval()
        belief.sync()
        belief._examples = _examples_in(kept.tensors, kept.space, run.labels.n_states)
    belief.updates, belief.source, belief.normaliser = kept.updates, kept.source, kept.normaliser
    run._beliefs, run.trust = belief, kept.trust
    if "agent" in files:
        zipped = files["agent"]
        belief.packed = lambda: zipped


def _kept(labels: Labels, document: Any, files: dict[str, bytes]) -> Kept:
    if "belief" not in files:
        raise ValueError("the folder has no file of it")
    tensors = tensors_from(files["belief"])
    if not finite(tensors):
        raise ValueError("it holds NaN or infinite numbers")
    told, space = said(document, "settings", dict), space_in(said(document, "space", dict))
    settings = {name: said(told, name, str) for name in ("head", "reads", "loss")}
    settings |= {"discount": said(told, "discount", int, float), "seed": said(told, "seed", int)}
    settings["sizes"] = _sizes_in(said(told, "sizes", dict), tensors)
    trust = said(document, "trust", dict, type(None))
    return Kept(
        tensors,
        settings,
        space,
        _cells_in(said(document, "cells", dict), space, labels),
        _endings_in(document, labels),
        _normaliser_in(said(document, "normaliser", dict, type(None)), space),
        None if trust is None else _trust_in(labels, trust),
        said(document, "updates", int),
        said(document, "source", str),
    )


def _sizes_in(told: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Sizes:
    """Sizes of layers, if the weights of the file are of such a network."""
    state, joint = said_list(told, "state", int), said_list(told, "joint", int)
    action = None if said(told, "action", list, type(None)) is None else said_list(told, "action", int)
    _check_layers([*state, *(action or []), *joint], {n: t for n, t in tensors.items() if n.count(".") > 2})
    return Sizes(tuple(state), None if action is None else tuple(action), tuple(joint))


def _check_layers(sizes: list[int], weights: dict[str, torch.Tensor]) -> None:
    """Refuse layers that a file does not hold, before as much as the name of one is made."""
    if sorted(sizes) != sorted(len(t) for name, t in weights.items() if name.endswith(".bias")):
        raise ValueError("its layers have other sizes than its weights")


def _check_shapes(wanted: dict[str, torch.Tensor], held: dict[str, torch.Tensor]) -> None:
    """Refuse weights that are not those of a network."""

    def shown(tensor: torch.Tensor | None) -> str:
        return "missing" if tensor is None else f"{tensor.dtype} of the shape {tuple(tensor.shape)}"

    for name, blank in wanted.items():
        there, right = shown(held.get(name)), shown(blank)
        if there != right:
            raise ValueError(f"its {name} is {there}, where its settings make it {right}")


def _trust_in(labels: Labels, told: dict[str, Any]) -> Trust:
    """What was found out about a network when it was saved."""
    numbers: dict[str, Any] = {
        name: number_in(told, name) for name in ("correlation", "residual", "value_range", "discount", "impossible")
    }
    numbers |= {name: None if told.get(name) is None else number_in(told, name) for name in ("distance", "by_visits")}
    numbers |= {name: said(told, name, int) for name in ("pairs", "states", "updates")}
    return Trust(labels, **numbers, source=said(told, "source", str))


def _examples_in(tensors: dict[str, torch.Tensor], space: Any, n_cells: int) -> dict[int, NDArray[Any]]:
    """Observations that stand for cells."""
    if "examples" not in tensors:
        return {}
    shown, at = tensors["examples"].numpy(), tensors["example_cells"].tolist()
    if len(shown) != len(at) or shown.shape[1:] != (space.shape or ()) or not all(0 <= cell < n_cells for cell in at):
        raise ValueError("the observations that stand for cells do not fit them")
    return {int(cell): shown[i].astype(space.dtype) for i, cell in enumerate(at)}


def _endings_in(document: Any, labels: Labels) -> list[str]:
    """The names of endings that conditions tell."""
    names = said_list(document, "endings", str)
    strange = [name for name in names if name not in labels.ending_names]
    if strange:
        raise ValueError(f"its endings name {strange[0]!r}, which its labels do not")
    return names


def _cells_in(recipe: dict[str, Any], space: spaces.Space[Any], labels: Labels) -> Cells | None:
    """The cells of a saved network; None: they are concepts, which somebody has to give again."""
    kind = said(recipe, "kind", str)
    if kind == "concepts":
        if said_list(recipe, "names", str) != [axis.name for axis in labels.axes]:
            raise ValueError("its cells name other concepts than its labels")
        return None
    if kind == "states":
        return States(labels).over(space, None, np.zeros(0))
    if kind == "bins":
        return from_bins(labels, space)
    if kind == "clusters":
        centres, spread = (np.array(said(recipe, name, list), np.float64) for name in ("centres", "spread"))
        examples = np.array(said(recipe, "examples", list), space.dtype)
        cells = from_centres(centres, spread, examples, space, labels.actions)
        if len(centres) != labels.n_states:
            raise ValueError(f"it has {len(centres)} clusters, and its labels name {labels.n_states}")
        return cells
    raise ValueError(f"its cells are of an unknown kind, {kind!r}")


def _cells(kept: Kept, labels: Labels, given: Any) -> Cells:
    """The cells of a saved network, with the functions that were not saved."""
    concepts = [axis.name for axis in labels.axes] if kept.cells is None else []
    names = [*concepts, *kept.endings]
    if names and given is None:
        raise ValueError(
            f"its concepts ({', '.join(names)}) are functions, which are not saved: pass them again, "
            "wf.load(path, cells={...}) with the same names and the endings' conditions among them; in a shell, --cells module:NAME"
        )
    if names and not isinstance(given, Mapping):
        raise ValueError(f"cells={given!r}; give the dictionary of concepts and endings that the run was learned with")
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"cells= lacks {missing[0]!r}, which the run was learned with")
    cells = kept.cells
    if cells is None:
        way = {name: given[name] for name in concepts}
        cells = cells_of(way, kept.space, None, np.zeros(0), n_actions=labels.n_actions, actions=labels.actions)
        if cells.labels.axes != labels.axes:
            raise ValueError("these concepts are not those that the run was learned with: they have other values")
    return replace(cells, labels=labels, endings={name: given[name] for name in kept.endings})


def _asked(run: Run, kept: Kept, files: dict[str, bytes], agent: Any) -> QValues:
    """What the agent thinks: from the given model, or from its zip, of which only the weights are read."""
    normalise = kept.normaliser
    if agent is not None:
        from whatfor.deep.agent import q_values_of, seeing

        if callable(agent):
            own_thoughts: QValues = agent
            return own_thoughts
        own = q_values_of(agent)
        return own if normalise is None or seeing(agent) is not None else lambda seen: own(normalise(seen))
    described = run.settings.get("agent") if isinstance(run.settings, dict) else None
    if described is None or "agent" not in files:
        raise ValueError(
            "the agent's network is of somebody's own making, so it cannot be made again here: pass it, wf.load(path, agent=model)"
        )
    from whatfor.deep.agent import blank_network

    with reading("agent"):
        weights = {name.removeprefix("q_net."): tensor for name, tensor in weights_in(files["agent"]).items() if name.startswith("q_net.")}  # fmt: skip
        layers = said_list(described, "layers", int)
        _check_layers([*layers, run.labels.n_actions], weights)
        net = blank_network(layers, said(described, "activation", str), kept.space, run.labels.n_actions)
        _check_shapes(net.state_dict(), weights)
        net.load_state_dict(weights, assign=True)

    def q_values(observations: NDArray[Any]) -> NDArray[Any]:
        seen = observations if normalise is None else normalise(observations)
        with torch.no_grad():
            values: torch.Tensor = net(torch.as_tensor(seen))
        return values.numpy()

    return q_values


def weights_in(contents: bytes) -> dict[str, torch.Tensor]:
    """The weights of an agent's policy in its zip. Nothing else in it is looked at: the rest can hold code."""
    with reading("agent's zip"):
        with _unfolded(contents) as packed:
            policy = packed.read("policy.pth")
        if not policy.startswith(b"PK"):  # what PyTorch wrote long ago: a pickle, which says how much memory it wants
            raise ValueError(f"it holds {MORE}")
        _unfolded(policy).close()
        try:
            weights = torch.load(io.BytesIO(policy), map_location="cpu", weights_only=True)
        except Exception:  # of many classes; and PyTorch's own words say how to run the code
            raise ValueError(f"it holds {MORE}") from None
        if not isinstance(weights, dict) or not all(_plain(tensor) for tensor in weights.values()):
            raise ValueError("it holds no weights")
        return weights


def _unfolded(contents: bytes) -> zipfile.ZipFile:
    """A zip, if what it holds is no larger than itself: Stable-Baselines3 and PyTorch write it so."""
    packed = zipfile.ZipFile(io.BytesIO(contents))
    size = sum(entry.file_size for entry in packed.infolist())
    if size > len(contents):
        raise ValueError(f"{len(contents):,} bytes would unfold to {size:,}")
    return packed


def _plain(tensor: Any) -> bool:
    """Whether something is a tensor of which every number was in the file; strides can make few look like many."""
    plain = isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu" and tensor.layout is torch.strided
    return plain and bool(tensor.is_contiguous())


def _normaliser_in(told: dict[str, Any] | None, space: spaces.Space[Any]) -> Fixed | None:
    """How observations were normalised when the run was saved."""
    if told is None:
        return None
    mean, scale = (np.array(said(told, name, list), np.float64) for name in ("mean", "scale"))
    clip, finite = number_in(told, "clip"), np.isfinite(mean).all() and np.isfinite(scale).all()
    fits = mean.shape == scale.shape == (math.prod(space.shape or ()),)
    if not fits or not finite or not (scale > 0.0).all() or not clip > 0.0:
        raise ValueError("its observations are normalised by numbers that cannot be")
    return Fixed(tuple(mean.tolist()), tuple(scale.tolist()), clip)
