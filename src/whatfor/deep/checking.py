"""The checks of a saved deep run, part by part. Saving checks its own output with the same functions."""

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

from whatfor.beliefs.checked import Checked
from whatfor.beliefs.trust import COMPUTED, Quality, Trust
from whatfor.deep import document as schema
from whatfor.deep.cells import Partition, States
from whatfor.deep.cells.anchors import ARRAYS, partition_by_anchors
from whatfor.deep.cells.bins import partition_by_bins
from whatfor.deep.cells.clusters import partition_by_centres
from whatfor.deep.cells.common import check_cell_count
from whatfor.deep.checks import Checks
from whatfor.deep.document import MAX_COUNT, NOT_FINITE, network_from
from whatfor.deep.inputs import flat_size, reads_numbers
from whatfor.deep.network import AgentCopy, Network, Sizes
from whatfor.deep.normalising import FixedNormaliser
from whatfor.deep.settings import BeliefSettings
from whatfor.deep.spaces import space_from_document
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

#: What to do about a folder with contents that whatfor never writes.
ADVICE = "it was changed after it was saved: use another copy, or train and save it again"

#: The errors that invalid contents make NumPy, PyTorch, Gymnasium and safetensors raise.
INVALID = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError,
    SafetensorError, TypeError, ValueError, Warning,
)  # fmt: skip
#: The most characters of a reason: it may quote a file.
MAX_REASON = 300


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn every error of a file into one ``FolderError``: what cannot be read, why, and what to do."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except FolderError:
        raise
    except INVALID as error:
        raise FolderError(f"the {what} cannot be read: {_reason(error)}; {ADVICE}") from error


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Turn every error of what is about to be saved into one ``ValueError``."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except INVALID as error:
        raise ValueError(f"the {what} cannot be saved: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    why = error.args[0] if isinstance(error, KeyError) and error.args else error  # str() of a KeyError adds quotes
    reason = one_line(str(why)) or type(error).__name__
    return reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]} ..."


class SavedNetwork(NamedTuple):
    """A belief network as a folder holds it, after all checks."""

    tensors: Tensors
    settings: BeliefSettings
    discount: float
    space: spaces.Space[Any]
    partition: Partition | None  # None: of concepts, which are functions and not saved
    endings: list[str]
    examples: dict[int, NDArray[Any]]  # by cell, an observation of it
    normaliser: FixedNormaliser | None
    trust: Quality
    checks: Checks | None
    updates: int
    source: schema.Source
    agent: AgentCopy | None  # None: its network cannot be rebuilt


def check_saved(labels: Labels, data: Any, files: Mapping[str, bytes]) -> SavedNetwork:
    """Check the network's part of a document and its file. No network is built whose weights the file does not hold."""
    document = network_from(data)
    if set(files) != {"belief"}:
        raise ValueError(
            f"the folder holds {', '.join(sorted(files)) or 'no file'} for it; there must be one file, belief"
        )
    check_limit("states", labels.n_states, "the belief network")
    check_limit("bytes", len(files["belief"]), "the belief network")
    tensors = unpack(files["belief"])
    if not is_finite(tensor for name, tensor in tensors.items() if name not in ("space.low", "space.high")):
        raise ValueError("it holds NaN or infinite numbers")
    space = space_from_document(document.space, tensors)
    settings = _check_settings(document.settings, labels, space, tensors)
    partition = _check_cells(document, space, labels, tensors)
    agent = _check_agent(document.agent, space, labels, below("agent", tensors))
    prefixes = ("online.", "space.", "cells.", "normaliser.", "agent.", "checks.")
    names = {name for name in tensors if name.startswith(prefixes)}
    check_known(names | {"count", "rewards", "examples", "example_cells"}, tensors)
    trust = COMPUTED if document.trust is None else _make_trust(document.trust, labels)
    return SavedNetwork(
        tensors=tensors,
        settings=settings,
        discount=document.settings.discount,
        space=space,
        partition=partition,
        endings=_check_endings(document.endings, labels),
        examples=_check_examples(tensors, space, labels.n_states),
        normaliser=_check_normaliser(document.normaliser, space, tensors),
        trust=trust,
        checks=_check_checks(trust, space, tensors),
        updates=document.updates,
        source=document.source,
        agent=agent,
    )


def _check_settings(
    part: schema.SettingsDocument, labels: Labels, space: spaces.Space[Any], tensors: Tensors
) -> BeliefSettings:
    """The settings of the network, if the file holds such a network."""
    widths = part.sizes
    sizes = Sizes(tuple(widths.state), None if widths.action is None else tuple(widths.action), tuple(widths.joint))
    _check_network(sizes, part.reads, labels, space, tensors)
    return BeliefSettings(head=part.head, sizes=sizes, reads=part.reads, loss=part.loss, seed=part.seed)


def _check_network(
    sizes: Sizes, reads: schema.Reads, labels: Labels, space: spaces.Space[Any], tensors: Tensors
) -> None:
    """Reject weights and counts that do not fit the layers and the labels."""
    online, pairs = below("online", tensors), labels.n_states * labels.n_actions
    # Layers of the body have a number in their names, outputs have none.
    body = {name: tensor for name, tensor in online.items() if name.count(".") > 1}
    check_layers([*sizes.state, *(sizes.action or []), *sizes.joint], body)
    n_inputs = labels.n_states if reads == "cell" else flat_size(space)
    endings = 1 + len(set(labels.ending_names))  # one more, for an ending without a name
    scaled = reads_numbers(space, reads) and "features.mean" in online
    with torch.device("meta"):  # allocates no memory, whatever the document says
        network = Network(n_inputs, labels.n_actions, pairs, endings, sizes, scaled=scaled)
        learned = {
            "count": torch.zeros(pairs, dtype=torch.float64),
            "rewards": torch.zeros(2, pairs, dtype=torch.float64),
        }
    check_same(prefixed("online", network.state_dict()), prefixed("online", online))
    check_same(learned, {name: tensors[name] for name in learned if name in tensors})
    if scaled and not (online["features.spread"] > 0.0).all():
        raise ValueError("its spreads of observations must be above zero")
    count, rewards = (tensors[name].numpy() for name in learned)
    if (count < 0.0).any() or (count > MAX_COUNT).any() or (count != np.floor(count)).any() or (rewards < 0.0).any():
        raise ValueError("its counts of samples or sums of rewards are impossible")


def _check_agent(
    part: schema.AgentDocument | None, space: spaces.Space[Any], labels: Labels, weights: Tensors
) -> AgentCopy | None:
    """The agent's network, if the file holds its weights."""
    if part is None:
        check_known(set(), prefixed("agent", weights))
        return None
    from whatfor.deep.agent import blank_network

    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete) and np.any(space.start):
        raise ValueError(f"its observations start at {space.start}, those of its agent must start at 0")
    check_layers([*part.layers, labels.n_actions], weights)
    blank = blank_network(part.layers, part.activation, space, labels.n_actions)
    check_same(prefixed("agent", blank.state_dict()), prefixed("agent", weights))
    return AgentCopy(part.layers, part.activation, weights)


def _check_cells(
    document: schema.NetworkDocument, space: spaces.Space[Any], labels: Labels, tensors: Tensors
) -> Partition | None:
    """The cells of a saved network; None: they are concepts, which must be passed again."""
    kind = document.cells
    names = {"clusters": ("centres", "spread", "examples"), "anchors": ARRAYS}.get(kind, ())
    arrays = arrays_below("cells", tensors, names)
    check_cell_count(labels)
    if document.dimensions and kind != "anchors":
        raise ValueError(f"it names dimensions, which its {kind} do not have")
    if kind == "states":
        return States(labels).partition(space, None, np.zeros(0))
    if kind == "bins":
        return partition_by_bins(labels, space)
    if kind == "clusters":
        centres, spread, examples = arrays
        partition = partition_by_centres(centres, spread, examples, space, labels.actions)
        if len(centres) != labels.n_states:
            raise ValueError(f"it has {len(centres)} clusters; its labels name {labels.n_states}")
        return partition
    if kind == "anchors":
        return partition_by_anchors(arrays, document.dimensions, space, labels)
    return None


def _check_endings(names: list[str], labels: Labels) -> list[str]:
    """The names of endings that are conditions on the last observation."""
    unknown = [name for name in names if name not in labels.ending_names]
    if unknown or len(set(names)) != len(names):
        raise ValueError(f"its endings are {names}; its labels name {list(labels.ending_names)}")
    return names


def _check_examples(tensors: Tensors, space: spaces.Space[Any], n_cells: int) -> dict[int, NDArray[Any]]:
    """By cell, an example observation."""
    if "examples" not in tensors and "example_cells" not in tensors:
        return {}
    examples, numbers = tensors["examples"].numpy(), tensors["example_cells"]
    cells = numbers.tolist() if numbers.dtype == torch.int64 and numbers.ndim == 1 else [-1]
    rising = all(a < b for a, b in pairwise(cells))
    if not cells or not rising or cells[0] < 0 or cells[-1] >= n_cells or examples.dtype.kind not in "biuf":
        raise ValueError("its examples do not fit its cells")
    if examples.shape != (len(cells), *(space.shape or ())):
        raise ValueError(f"its examples have the shape {examples.shape}, not one observation of {space} for each cell")
    return {cell: examples[i].copy() for i, cell in enumerate(cells)}


def _check_normaliser(
    part: schema.NormaliserDocument | None, space: spaces.Space[Any], tensors: Tensors
) -> FixedNormaliser | None:
    """The normaliser of observations when the run was saved."""
    arrays = arrays_below("normaliser", tensors, () if part is None else ("mean", "scale"))
    if part is None:
        return None
    mean, scale = arrays
    fits = mean.dtype == scale.dtype == np.float64 and mean.shape == scale.shape == (math.prod(space.shape or ()),)
    if not fits or not (scale > 0.0).all() or not float(part.clip) > 0.0:
        raise ValueError("its observations are normalised by impossible numbers")
    return FixedNormaliser(tuple(mean.tolist()), tuple(scale.tolist()), float(part.clip))


def _check_checks(trust: Quality, space: spaces.Space[Any], tensors: Tensors) -> Checks | None:
    """What held-out play showed, and where."""
    checked = trust.checked if isinstance(trust, Trust) else None
    arrays = arrays_below("checks", tensors, () if checked is None else ("observations", "errors"))
    if checked is None:
        return None
    observations, errors = arrays
    shape = (checked.situations, *(space.shape or ()))
    if observations.shape != shape or errors.shape != shape[:1] or not len(errors) or (errors < 0.0).any():
        raise ValueError("its held-out situations do not fit what was checked")
    if observations.dtype.kind not in "biuf" or errors.dtype != np.float64:
        raise ValueError("its held-out situations are no numbers")
    return Checks(checked, observations, errors)


def _make_trust(part: schema.TrustDocument, labels: Labels) -> Trust:
    """The network's errors, as measured when it was saved."""
    checked = None if part.checked is None else Checked(**_finite(part.checked))
    return Trust(labels, **_finite(part) | {"checked": checked})


def _finite(part: msgspec.Struct) -> dict[str, Any]:
    """The numbers of a document, with those that JSON cannot hold."""
    numbers = msgspec.structs.asdict(part)
    return {name: float(x) if isinstance(x, str) and x in NOT_FINITE else x for name, x in numbers.items()}
