"""What a folder holds of a deep run, checked part by part. Saving checks its own output by the same functions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors import SafetensorError

from whatfor.beliefs.trust import Trust
from whatfor.deep import document as schema
from whatfor.deep.cells import Cells, States, check_few, from_bins, from_centres
from whatfor.deep.document import MAX_COUNT, NOT_FINITE, network_from
from whatfor.deep.inputs import flat_size
from whatfor.deep.network import AgentCopy, Network, Sizes
from whatfor.deep.normalising import Fixed
from whatfor.deep.spaces import space_in
from whatfor.deep.tensors import (
    Tensors,
    arrays_below,
    below,
    check_known,
    check_layers,
    check_same,
    is_finite,
    prefixed,
    unpack,
)
from whatfor.folder import FolderError
from whatfor.labels import Labels
from whatfor.limits import check_limit
from whatfor.text import one_line

#: What to do about a folder that holds what whatfor never writes.
AGAIN = "it was changed after it was saved: take another copy, or train and save it again"

#: What invalid contents make NumPy, PyTorch, Gymnasium and safetensors raise.
INVALID = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError,
    SafetensorError, TypeError, ValueError, Warning,
)  # fmt: skip
#: A reason is shortened to so many characters: it may quote a file.
MAX_REASON = 300


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn whatever is wrong with a file into one ``FolderError``: what cannot be read, why, and what to do."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except FolderError:
        raise
    except INVALID as error:
        raise FolderError(f"the {what} cannot be read: {_reason(error)}; {AGAIN}") from error


@contextmanager
def writing(what: str) -> Iterator[None]:
    """The same for what is about to be saved."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except INVALID as error:
        raise ValueError(f"the {what} cannot be saved: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    why = error.args[0] if isinstance(error, KeyError) and error.args else error  # a KeyError puts it in quotes
    reason = one_line(str(why)) or type(error).__name__
    return reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]} ..."


class Parts(NamedTuple):
    """What a folder holds of a network, after it was checked."""

    tensors: Tensors
    settings: dict[str, Any]  # as BeliefNetwork takes them
    space: spaces.Space[Any]
    cells: Cells | None  # None: they are concepts, which are functions and not saved
    endings: list[str]
    examples: dict[int, NDArray[Any]]  # by cell, an observation of it
    normaliser: Fixed | None
    trust: Trust | None
    updates: int
    source: schema.Source
    agent: AgentCopy | None  # None: its network is not one that can be built again


def parts_of(labels: Labels, data: Any, files: Mapping[str, bytes]) -> Parts:
    """Check the network's part of a document and its file, and take them apart. No network is built that the file does not hold."""
    document = network_from(data)
    if set(files) != {"belief"}:
        raise ValueError(
            f"the folder holds {', '.join(sorted(files)) or 'no file'} for it, where it is one file, belief"
        )
    check_limit("states", labels.n_states, "the belief network")
    check_limit("bytes", len(files["belief"]), "the belief network")
    tensors = unpack(files["belief"])
    if not is_finite(tensor for name, tensor in tensors.items() if name not in ("space.low", "space.high")):
        raise ValueError("it holds NaN or infinite numbers")
    space = space_in(document.space, tensors)
    settings = msgspec.structs.asdict(document.settings)
    settings["sizes"] = _check_network(document.settings, labels, space, tensors)
    cells = _cells_in(document.cells, space, labels, tensors)
    agent = _agent_in(document.agent, space, labels, below("agent", tensors))
    names = {name for name in tensors if name.startswith(("online.", "space.", "cells.", "normaliser.", "agent."))}
    check_known(names | {"count", "brought", "examples", "example_cells"}, tensors)
    return Parts(
        tensors,
        settings,
        space,
        cells,
        _endings_in(document.endings, labels),
        _examples_in(tensors, space, labels.n_states),
        _normaliser_in(document.normaliser, space, tensors),
        None if document.trust is None else _trust_in(document.trust, labels),
        document.updates,
        document.source,
        agent,
    )


def _check_network(settings: schema.Settings, labels: Labels, space: spaces.Space[Any], tensors: Tensors) -> Sizes:
    """The sizes of the network's layers, if the file holds such a network."""
    given = settings.sizes
    sizes = Sizes(tuple(given.state), None if given.action is None else tuple(given.action), tuple(given.joint))
    online, pairs = below("online", tensors), labels.n_states * labels.n_actions
    body = {name: tensor for name, tensor in online.items() if name.count(".") > 1}  # the heads have no number
    check_layers([*given.state, *(given.action or []), *given.joint], body)
    n_inputs = labels.n_states if settings.reads == "cell" else flat_size(space)
    endings = 1 + len(set(labels.ending_names))  # "terminated" is the one without a name
    with torch.device("meta"):  # which takes no memory, whatever the document says
        network = Network(n_inputs, labels.n_actions, pairs, endings, sizes)
        learned = {
            "count": torch.zeros(pairs, dtype=torch.float64),
            "brought": torch.zeros(2, pairs, dtype=torch.float64),
        }
    check_same(prefixed("online", network.state_dict()), prefixed("online", online))
    check_same(learned, {name: tensors[name] for name in learned if name in tensors})
    count, brought = (tensors[name].numpy() for name in learned)
    if (count < 0.0).any() or (count > MAX_COUNT).any() or (count != np.floor(count)).any() or (brought < 0.0).any():
        raise ValueError("it counts updates and sums up rewards by numbers that cannot be")
    return sizes


def _agent_in(
    part: schema.Agent | None, space: spaces.Space[Any], labels: Labels, weights: Tensors
) -> AgentCopy | None:
    """The agent's network, if the file holds its weights."""
    if part is None:
        check_known(set(), prefixed("agent", weights))
        return None
    from whatfor.deep.agent import blank_network

    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete) and np.any(space.start):
        raise ValueError(f"its observations start at {space.start}, where its agent's start at 0")
    check_layers([*part.layers, labels.n_actions], weights)
    blank = blank_network(part.layers, part.activation, space, labels.n_actions)
    check_same(prefixed("agent", blank.state_dict()), prefixed("agent", weights))
    return AgentCopy(part.layers, part.activation, weights)


def _cells_in(kind: schema.CellsKind, space: spaces.Space[Any], labels: Labels, tensors: Tensors) -> Cells | None:
    """The cells of a saved network; None: they are concepts, which are passed again."""
    names = ("centres", "spread", "examples") if kind == "clusters" else ()
    arrays = arrays_below("cells", tensors, names)
    check_few(labels)
    if kind == "states":
        return States(labels).over(space, None, np.zeros(0))
    if kind == "bins":
        return from_bins(labels, space)
    if kind == "clusters":
        centres, spread, examples = arrays
        cells = from_centres(centres, spread, examples, space, labels.actions)
        if len(centres) != labels.n_states:
            raise ValueError(f"it has {len(centres)} clusters, and its labels name {labels.n_states}")
        return cells
    return None


def _endings_in(names: list[str], labels: Labels) -> list[str]:
    """The names of endings that are conditions on the last observation."""
    unknown = [name for name in names if name not in labels.ending_names]
    if unknown or len(set(names)) != len(names):
        raise ValueError(f"its endings are {names}, and its labels name {list(labels.ending_names)}")
    return names


def _examples_in(tensors: Tensors, space: spaces.Space[Any], n_cells: int) -> dict[int, NDArray[Any]]:
    """By cell, an observation of it."""
    if "examples" not in tensors and "example_cells" not in tensors:
        return {}
    examples, numbers = tensors["examples"].numpy(), tensors["example_cells"]
    cells = numbers.tolist() if numbers.dtype == torch.int64 and numbers.ndim == 1 else [-1]
    rising = all(a < b for a, b in pairwise(cells))
    if not cells or not rising or cells[0] < 0 or cells[-1] >= n_cells or examples.dtype.kind not in "biuf":
        raise ValueError("its examples do not fit its cells")
    if examples.shape != (len(cells), *(space.shape or ())):
        raise ValueError(f"its examples have the shape {examples.shape}, which is not one of {space} for each cell")
    return {cell: examples[i].copy() for i, cell in enumerate(cells)}


def _normaliser_in(part: schema.Normaliser | None, space: spaces.Space[Any], tensors: Tensors) -> Fixed | None:
    """How observations were normalised when the run was saved."""
    arrays = arrays_below("normaliser", tensors, () if part is None else ("mean", "scale"))
    if part is None:
        return None
    mean, scale = arrays
    fits = mean.dtype == scale.dtype == np.float64 and mean.shape == scale.shape == (math.prod(space.shape or ()),)
    if not fits or not (scale > 0.0).all() or not float(part.clip) > 0.0:
        raise ValueError("its observations are normalised by numbers that cannot be")
    return Fixed(tuple(mean.tolist()), tuple(scale.tolist()), float(part.clip))


def _trust_in(part: schema.TrustNumbers, labels: Labels) -> Trust:
    """What was known of the network's errors when it was saved."""
    numbers = msgspec.structs.asdict(part)
    finite: dict[str, Any] = {name: float(x) if x in NOT_FINITE else x for name, x in numbers.items()}
    return Trust(labels, **finite)
