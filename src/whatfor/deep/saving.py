"""A belief network and its agent in a run's folder: safetensors and JSON, beside the agent's own zip. No code in them is run."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from reprlib import repr as shortened
from typing import Any, NamedTuple

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

#: What to do about a folder that says what whatfor never writes.
AGAIN = "it was changed after it was saved: take another copy, or train and save it again"
#: What a file that says nonsense makes NumPy, PyTorch, Gymnasium and zipfile raise.
NONSENSE = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, OSError, RuntimeError, SafetensorError,
    TypeError, ValueError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
#: Why an agent's zip is refused.
MORE = "more than weights, which can run code when it is read; a run never does, so it is refused"
#: Numbers that JSON has no word for, as they are written.
NOT_FINITE = ("nan", "inf", "-inf")


def network_out(run: Run) -> tuple[dict[str, Any], Files]:
    """What a run's folder holds of its network: a document, and files."""
    belief = run._beliefs
    assert isinstance(belief, BeliefNetwork)
    if belief.encoded:
        raise ValueError("a belief network that reads images by an encoder of its own cannot be saved yet")
    tensors = _tensors(belief)
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
        "trust": None if run.trust is None else _worded({k: v for k, v in vars(run.trust).items() if k != "labels"}),
        "normaliser": None if belief.normaliser is None else _worded(asdict(belief.normaliser.fixed())),
    }
    _check_finite(run, document, tensors)
    files: Files = {"belief": ("safetensors", tensors_to({name: t.contiguous().cpu() for name, t in tensors.items()}))}
    if belief.packed is not None:
        files["agent"] = ("zip", belief.packed())
    return document, files


def _tensors(belief: BeliefNetwork) -> dict[str, torch.Tensor]:
    """What a network has learned, by the names that it has in a file."""
    learned = {f"online.{name}": tensor for name, tensor in belief.online.state_dict().items()}
    return learned | {"count": belief._count, "brought": belief._brought}


def _check_finite(run: Run, document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Refuse to save what could not be read again, before anything is written."""
    if not _finite(tensors):
        raise ValueError(
            "the belief network holds NaN or infinite numbers, so it believes nothing that could be saved: look for rewards and "
            "observations that are not finite, and train again"
        )
    odd = np.asarray((~np.isfinite(run.tables)).any(axis=(0, 2)))
    if odd.any():
        raise ValueError(
            f"the agent's Q-values are NaN or infinite in {odd.sum()} of {len(odd)} states, so the run cannot be saved: its "
            "learning has diverged. Train again with a smaller learning_rate, and save before it does"
        )
    for name, number in _numbers({"settings": run.settings, "network": document}):
        if not np.isfinite(number):
            raise ValueError(
                f"{name} is {number}, so the run cannot be saved: look for rewards and observations that are not finite, and train again"
            )


def _numbers(told: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Every float in a document, with its place."""
    if isinstance(told, float):
        yield name, told
    items = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, (list, tuple)) else ()
    for key, value in items:
        yield from _numbers(value, f"{name}.{key}".removeprefix("."))


# -- reading: first all that a file says is looked at, then it is asked for what is missing, then the network is made -------


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
    with _reading("belief network"):
        kept = _kept(run.labels, document, files)
    over, asked = _cells(kept, run.labels, cells), _asked(run, kept, files, agent)

    def made(device: str) -> BeliefNetwork:
        with torch.device(device):
            return BeliefNetwork(over, asked, device=device, **kept.settings)

    with _reading("belief network"):
        _check_shapes(_tensors(made("meta")), kept.tensors)  # which takes no memory, whatever the file says
        belief = made("cpu")
        for name, tensor in _tensors(belief).items():
            tensor.copy_(kept.tensors[name])
        belief.online.eval()
        belief.sync()
        belief._examples = _examples_in(kept.tensors, kept.space, run.labels.n_states)
    belief.updates, belief.source, belief.normaliser = kept.updates, kept.source, kept.normaliser
    run._beliefs, run.trust = belief, kept.trust
    if "agent" in files:
        zipped = files["agent"]
        belief.packed = lambda: zipped


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Whatever is wrong with a file is told in one way: what cannot be read, why, and what to do."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except FolderError:  # told already
        raise
    except NONSENSE as error:
        why = error.args[0] if isinstance(error, KeyError) and error.args else error  # a KeyError puts it in quotes
        raise FolderError(f"the {what} cannot be read: {' '.join(str(why).split())}; {AGAIN}") from error


def _said(told: Any, name: str, *kinds: type) -> Any:
    """What a document says under a name, if it is of such a kind."""
    if not isinstance(told, dict) or name not in told:
        raise ValueError(f"nothing is said of its {name}")
    if not isinstance(told[name], kinds) or (isinstance(told[name], bool) and bool not in kinds):
        raise ValueError(f"its {name} is {shortened(told[name])}")
    return told[name]


def _said_list(told: Any, name: str, kind: type) -> list[Any]:
    """A list of things of one kind."""
    held: list[Any] = _said(told, name, list)
    if not all(type(one) is kind for one in held):
        raise ValueError(f"its {name} is {shortened(held)}")
    return held


def _kept(labels: Labels, document: Any, files: dict[str, bytes]) -> Kept:
    if "belief" not in files:
        raise ValueError("the folder has no file of it")
    tensors = tensors_from(files["belief"])
    if not _finite(tensors):
        raise ValueError("it holds NaN or infinite numbers")
    told, space = _said(document, "settings", dict), space_in(_said(document, "space", dict))
    settings = {name: _said(told, name, str) for name in ("head", "reads", "loss")}
    settings |= {"discount": _said(told, "discount", int, float), "seed": _said(told, "seed", int)}
    settings["sizes"] = _sizes_in(_said(told, "sizes", dict), tensors)
    trust = _said(document, "trust", dict, type(None))
    return Kept(
        tensors,
        settings,
        space,
        _cells_in(_said(document, "cells", dict), space, labels),
        _endings_in(document, labels),
        _normaliser_in(_said(document, "normaliser", dict, type(None)), space),
        None if trust is None else _trust_in(labels, trust),
        _said(document, "updates", int),
        _said(document, "source", str),
    )


def _finite(tensors: dict[str, torch.Tensor]) -> bool:
    return all(bool(torch.isfinite(t).all()) for t in tensors.values() if t.is_floating_point())


def _sizes_in(told: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Sizes:
    """Sizes of layers, if the weights of the file are of such a network."""
    state, joint = _said_list(told, "state", int), _said_list(told, "joint", int)
    action = None if _said(told, "action", list, type(None)) is None else _said_list(told, "action", int)
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


def _worded(told: dict[str, Any]) -> dict[str, Any]:
    """Numbers by name, with words for those that JSON has none for: an agent may have diverged, or not clip what it sees."""
    return {name: repr(float(x)) if isinstance(x, float) and not np.isfinite(x) else x for name, x in told.items()}


def _number(told: dict[str, Any], name: str) -> float:
    """A number that ``_worded`` may have written in words."""
    said = _said(told, name, int, float, str)
    if said not in NOT_FINITE and (isinstance(said, str) or not np.isfinite(said)):
        raise ValueError(f"its {name} is {said!r}")
    return float(said)


def _trust_in(labels: Labels, told: dict[str, Any]) -> Trust:
    """What was found out about a network when it was saved."""
    numbers: dict[str, Any] = {
        name: _number(told, name) for name in ("correlation", "residual", "value_range", "discount", "impossible")
    }
    numbers |= {name: None if told.get(name) is None else _number(told, name) for name in ("distance", "by_visits")}
    numbers |= {name: _said(told, name, int) for name in ("pairs", "states", "updates")}
    return Trust(labels, **numbers, source=_said(told, "source", str))


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
    names = _said_list(document, "endings", str)
    strange = [name for name in names if name not in labels.ending_names]
    if strange:
        raise ValueError(f"its endings name {strange[0]!r}, which its labels do not")
    return names


def _cells_in(recipe: dict[str, Any], space: spaces.Space[Any], labels: Labels) -> Cells | None:
    """The cells of a saved network; None: they are concepts, which somebody has to give again."""
    kind = _said(recipe, "kind", str)
    if kind == "concepts":
        if _said_list(recipe, "names", str) != [axis.name for axis in labels.axes]:
            raise ValueError("its cells name other concepts than its labels")
        return None
    if kind == "states":
        return States(labels).over(space, None, np.zeros(0))
    if kind == "bins":
        return from_bins(labels, space)
    if kind == "clusters":
        centres, spread = (np.array(_said(recipe, name, list), np.float64) for name in ("centres", "spread"))
        examples = np.array(_said(recipe, "examples", list), space.dtype)
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

    with _reading("agent"):
        weights = {name.removeprefix("q_net."): tensor for name, tensor in weights_in(files["agent"]).items() if name.startswith("q_net.")}  # fmt: skip
        layers = _said_list(described, "layers", int)
        _check_layers([*layers, run.labels.n_actions], weights)
        net = blank_network(layers, _said(described, "activation", str), kept.space, run.labels.n_actions)
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
    with _reading("agent's zip"):
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
    mean, scale = (np.array(_said(told, name, list), np.float64) for name in ("mean", "scale"))
    clip, finite = _number(told, "clip"), np.isfinite(mean).all() and np.isfinite(scale).all()
    fits = mean.shape == scale.shape == (math.prod(space.shape or ()),)
    if not fits or not finite or not (scale > 0.0).all() or not clip > 0.0:
        raise ValueError("its observations are normalised by numbers that cannot be")
    return Fixed(tuple(mean.tolist()), tuple(scale.tolist()), clip)


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
    kind = _said(told, "kind", str)
    if kind == "discrete":
        return spaces.Discrete(_said(told, "n", int), start=_said(told, "start", int))
    if kind == "multidiscrete":
        return spaces.MultiDiscrete(_said(told, "nvec", list), start=_said(told, "start", list))
    if kind == "multibinary":
        return spaces.MultiBinary(_said(told, "n", int))
    if kind == "box":
        dtype: Any = np.dtype(_said(told, "dtype", str))
        if dtype.kind not in "biuf":  # a text of any length would be one, too
            raise ValueError(f"its observations are of {dtype}, which are no numbers")
        sides = (np.array([float(x) for x in _said(told, side, list)]) for side in ("low", "high"))
        low, high = (side.reshape(_said(told, "shape", list)).astype(dtype) for side in sides)
        return spaces.Box(low, high, dtype=dtype.type)
    raise ValueError(f"its observations are of an unknown kind, {kind!r}")


def _shown(numbers: NDArray[Any]) -> list[str]:
    return [repr(float(x)) for x in numbers.ravel()]
