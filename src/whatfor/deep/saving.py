"""A belief network and its agent in a run's folder: safetensors and JSON, beside the agent's own zip. No code in them is run."""

from __future__ import annotations

import io
import zipfile
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from
from safetensors.torch import save as tensors_to

from whatfor.deep.belief import BeliefNetwork, QValues
from whatfor.deep.cells import Cells, States, cells_of, from_bins, from_centres
from whatfor.deep.network import Sizes
from whatfor.deep.normalising import Fixed
from whatfor.explanations.trust import Trust
from whatfor.folder import FolderError
from whatfor.labels import Labels
from whatfor.runs import Run

Files = dict[str, tuple[str, bytes]]


def network_out(run: Run) -> tuple[dict[str, Any], Files]:
    """What a run's folder holds of its network: a document, and files."""
    belief = run._beliefs
    assert isinstance(belief, BeliefNetwork)
    if belief.encoded:
        raise ValueError("a belief network that reads images by an encoder of its own cannot be saved yet")
    tensors = {f"online.{name}": tensor for name, tensor in belief.online.state_dict().items()}
    tensors |= {"count": belief._count, "brought": belief._brought}
    cells = sorted(belief._examples)
    if cells:
        tensors["example_cells"] = torch.tensor(cells)
        tensors["examples"] = torch.as_tensor(np.stack([belief._examples[cell] for cell in cells]))
    sizes, settings = belief.settings.sizes, belief.settings
    document = {
        "settings": {
            "head": settings.head,
            "sizes": {
                "state": list(sizes.state),
                "action": None if sizes.action is None else list(sizes.action),
                "joint": list(sizes.joint),
            },
            "reads": settings.reads,
            "loss": settings.loss,
            "discount": settings.discount,
            "seed": settings.seed,
        },
        "cells": belief.cells.recipe,
        "endings": list(belief.cells.endings),
        "space": space_out(belief.cells.space),
        "updates": belief.updates,
        "source": belief.source,
        "trust": None if run.trust is None else {k: v for k, v in vars(run.trust).items() if k != "labels"},
        "normaliser": None if belief.normaliser is None else asdict(belief.normaliser.fixed()),
    }
    files: Files = {"belief": ("safetensors", tensors_to({name: t.contiguous().cpu() for name, t in tensors.items()}))}
    if belief.packed is not None:
        files["agent"] = ("zip", belief.packed())
    return document, files


def network_in(run: Run, document: dict[str, Any], files: dict[str, bytes], *, cells: Any, agent: Any) -> None:
    """Give a loaded run its network back, after a look at every number that comes from a file."""
    try:
        tensors = tensors_from(files["belief"])
        space, settings = space_in(document["space"]), document["settings"]
        sizes = _sizes_in(settings["sizes"], tensors)
        trust = None if document["trust"] is None else _trust_in(run.labels, document["trust"])
        normalise = normaliser_in(document["normaliser"])
        updates, source = int(document["updates"]), str(document["source"])
    except (KeyError, TypeError, ValueError, AttributeError, SafetensorError) as error:
        raise FolderError(f"the belief network cannot be read: {type(error).__name__} {error}") from error
    over = cells_in(document, space, run.labels, cells)
    belief = BeliefNetwork(
        over,
        _asked(run, document, files, space, agent),
        discount=settings["discount"],
        head=settings["head"],
        sizes=sizes,
        reads=settings["reads"],
        loss=settings["loss"],
        seed=settings["seed"],
    )
    weights = {name.removeprefix("online."): t for name, t in tensors.items() if name.startswith("online.")}
    try:
        belief.online.load_state_dict(weights)
        belief._count.copy_(tensors["count"])
        belief._brought.copy_(tensors["brought"])
    except (RuntimeError, KeyError) as error:
        raise FolderError(f"the belief network does not fit its settings: {error}") from error
    belief.online.eval()
    belief.sync()
    if "examples" in tensors:
        belief._examples = _examples_in(tensors, space, run.labels.n_states)
    belief.updates, belief.source, belief.normaliser = updates, source, normalise
    run._beliefs, run.trust = belief, trust
    if "agent" in files:
        kept = files["agent"]
        belief.packed = lambda: kept


def _sizes_in(told: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Sizes:
    """Sizes of layers, if the weights of the file are of such a network; nothing larger is made."""
    if not all(bool(torch.isfinite(t).all()) for t in tensors.values() if t.is_floating_point()):
        raise ValueError("it holds NaN or infinite numbers")
    parts = [told["state"], told["action"] or [], told["joint"]]
    held = [t.shape[0] for name, t in tensors.items() if name.endswith(".bias") and name.count(".") > 2]
    if sorted(int(n) for part in parts for n in part) != sorted(held):
        raise ValueError("its layers have other sizes than its weights")
    state, action, joint = (tuple(int(n) for n in part) for part in parts)
    return Sizes(state, None if told["action"] is None else action, joint)


def _trust_in(labels: Labels, told: dict[str, Any]) -> Trust:
    """What was found out about a network when it was saved."""
    numbers = {name: told[name] for name in ("correlation", "residual", "value_range", "discount", "impossible")}
    numbers |= {name: told[name] for name in ("distance", "by_visits") if told[name] is not None}
    if not all(isinstance(x, (int, float)) and np.isfinite(x) for x in numbers.values()):
        raise ValueError("what it says of its trust is no numbers")
    counts = {name: int(told[name]) for name in ("pairs", "states", "updates")}
    return Trust(labels, **{"distance": None, **numbers}, **counts, source=str(told["source"]))


def _examples_in(tensors: dict[str, torch.Tensor], space: Any, n_cells: int) -> dict[int, NDArray[Any]]:
    """Observations that stand for cells."""
    shown, at = tensors["examples"].numpy(), tensors["example_cells"].tolist()
    if len(shown) != len(at) or shown.shape[1:] != (space.shape or ()) or not all(0 <= cell < n_cells for cell in at):
        raise FolderError("the observations that stand for cells do not fit them")
    return {int(cell): shown[i].astype(space.dtype) for i, cell in enumerate(at)}


def cells_in(document: dict[str, Any], space: spaces.Space[Any], labels: Labels, given: Any) -> Cells:
    """The cells of a saved network."""
    recipe, names = document["cells"], document["endings"]
    if recipe["kind"] == "concepts" or names:
        if given is None:
            asked = recipe.get("names", []) + names
            raise ValueError(
                f"its concepts ({', '.join(asked)}) are functions, which are not saved: pass them again, "
                "wf.load(path, cells={...}) with the same names and the endings' conditions among them; in a shell, --cells module:NAME"
            )
        missing = [name for name in [*recipe.get("names", []), *names] if name not in given]
        if missing:
            raise ValueError(f"cells= lacks {missing[0]!r}, which the run was learned with")
        endings = {name: given[name] for name in names}
    else:
        endings = {}
    if recipe["kind"] == "concepts":
        way: Any = {name: given[name] for name in recipe["names"]}
        cells = cells_of(way, space, None, np.zeros(0), n_actions=labels.n_actions, actions=labels.actions)
        if cells.labels.axes != labels.axes:
            raise ValueError("these concepts are not those that the run was learned with: they have other values")
    elif recipe["kind"] == "states":
        cells = States(labels).over(space, None, np.zeros(0))
    elif recipe["kind"] == "bins":
        cells = from_bins(labels, space)
    elif recipe["kind"] == "clusters":
        centres, spread = (np.array(recipe[name], np.float64) for name in ("centres", "spread"))
        cells = from_centres(centres, spread, np.array(recipe["examples"], space.dtype), space, labels.actions)
    else:
        raise FolderError(f"cells of an unknown kind: {recipe['kind']!r}")
    return replace(cells, labels=labels, endings=endings)


def _asked(
    run: Run, document: dict[str, Any], files: dict[str, bytes], space: spaces.Space[Any], agent: Any
) -> QValues:
    """What the agent thinks: from the given model, or from its zip, of which only the weights are read."""
    if agent is not None:
        from whatfor.deep.agent import q_values_of, seeing

        if callable(agent):
            own_thoughts: QValues = agent
            return own_thoughts
        kept, own = normaliser_in(document["normaliser"]), q_values_of(agent)
        return own if kept is None or seeing(agent) is not None else lambda seen: own(kept(seen))
    described = run.settings.get("agent")
    if described is None or "agent" not in files:
        raise ValueError(
            "the agent's network is of somebody's own making, so it cannot be made again here: pass it, wf.load(path, agent=model)"
        )
    from whatfor.deep.agent import network_from

    net = network_from(described, weights_in(files["agent"]), space, run.labels.n_actions)
    normalise = normaliser_in(document["normaliser"])

    def q_values(observations: NDArray[Any]) -> NDArray[Any]:
        seen = observations if normalise is None else normalise(observations)
        with torch.no_grad():
            values: torch.Tensor = net(torch.as_tensor(seen))
        return values.numpy()

    return q_values


def weights_in(contents: bytes) -> dict[str, torch.Tensor]:
    """The weights of an agent's policy in its zip. Nothing else in it is looked at: the rest can hold code."""
    try:
        with zipfile.ZipFile(io.BytesIO(contents)) as packed, packed.open("policy.pth") as file:
            weights = torch.load(io.BytesIO(file.read()), map_location="cpu", weights_only=True)
    except (zipfile.BadZipFile, KeyError, RuntimeError, EOFError) as error:
        raise FolderError(f"the agent's zip cannot be read: {error}") from error
    except Exception as error:  # torch's own refusal to run code has no class to name
        raise FolderError(f"the agent's zip holds more than weights, which is refused: {error}") from error
    if not isinstance(weights, dict):
        raise FolderError("the agent's zip holds no weights")
    return weights


def normaliser_in(told: dict[str, Any] | None) -> Fixed | None:
    """How observations were normalised when the run was saved."""
    if told is None:
        return None
    mean, scale, clip = (np.array(told[name], np.float64) for name in ("mean", "scale", "clip"))
    if mean.shape != scale.shape or not (np.isfinite(mean).all() and np.isfinite(clip) and (scale > 0.0).all()):
        raise ValueError("its observations are normalised by numbers that cannot be")
    return Fixed(tuple(mean.tolist()), tuple(scale.tolist()), float(clip))


# -- spaces ------------------------------------------------------------------------------------


def space_out(space: spaces.Space[Any]) -> dict[str, Any]:
    """A space of observations as JSON can hold it."""
    if isinstance(space, spaces.Discrete):
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        return {"kind": "multidiscrete", "nvec": space.nvec.tolist(), "start": space.start.tolist()}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "multibinary", "n": int(space.n)}  # type: ignore[arg-type]
    if isinstance(space, spaces.Box):
        return {
            "kind": "box",
            "shape": list(space.shape),
            "dtype": str(space.dtype),
            "low": _shown(space.low),
            "high": _shown(space.high),
        }
    raise ValueError(f"observations of {space} cannot be saved")


def space_in(told: dict[str, Any]) -> Any:
    """The space that ``space_out`` wrote."""
    if told["kind"] == "discrete":
        return spaces.Discrete(told["n"], start=told["start"])
    if told["kind"] == "multidiscrete":
        return spaces.MultiDiscrete(told["nvec"], start=told["start"])
    if told["kind"] == "multibinary":
        return spaces.MultiBinary(told["n"])
    if told["kind"] == "box":
        low, high = (np.array([float(x) for x in told[side]]).reshape(told["shape"]) for side in ("low", "high"))
        dtype: Any = np.dtype(told["dtype"])
        return spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type)
    raise FolderError(f"observations of an unknown kind: {told['kind']!r}")


def _shown(numbers: NDArray[Any]) -> list[str]:
    return [repr(float(x)) for x in numbers.ravel()]
