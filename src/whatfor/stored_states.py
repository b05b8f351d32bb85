"""Discovered states as arrays, for a run folder, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.document import StatesDocument
from whatfor.labels import Labels
from whatfor.npz import checked_array
from whatfor.states import KINDS, DiscoveredStates
from whatfor.structure import Scalar, scalar

NAMES = {kind: kind.__name__ for kind in KINDS}


def states_out(states: DiscoveredStates) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The document and the arrays of discovered states; values of one kind are in one array, axis after axis."""
    kinds, nones = [], []
    stored: dict[str, list[Any]] = {name: [] for name in NAMES.values()}
    for values in states.values:
        given = [value for value in values if value is not None]
        kinds.append(NAMES[type(given[0])] if given else NAMES[int])
        nones.append(len(given) < len(values))
        stored[kinds[-1]] += given
    texts = [one.encode() for one in stored["str"]] + stored["bytes"]
    return {"kinds": kinds, "nones": nones}, {
        "positions": states.positions,
        "whole": np.array([int(one) for one in stored["int"] + stored["bool"]], np.int64),
        "real": np.array(stored["float"], np.float64),
        "text": np.frombuffer(b"".join(texts), np.uint8),
        "ends": np.cumsum([len(one) for one in texts], dtype=np.int64),
    }


def states_in(
    stored: StatesDocument, group: dict[str, NDArray[Any]], labels: Labels, state_of: Any
) -> DiscoveredStates:
    """Discovered states from their arrays; ``ValueError`` unless they fit the labels."""
    n_axes, sizes = len(labels.axes), labels.shape
    if len(stored.kinds) != n_axes or len(stored.nones) != n_axes or labels.structure is None:
        raise ValueError("its discovered states do not fit the axes of its labels")
    positions, whole, real, text, ends = (
        checked_array(group, name, dtype, ndim)
        for name, dtype, ndim in (
            ("positions", np.int32, 2),
            ("whole", np.int64, 1),
            ("real", np.float64, 1),
            ("text", np.uint8, 1),
            ("ends", np.int64, 1),
        )
    )
    if positions.shape != (labels.n_states, n_axes) or ((positions < 0) | (positions >= sizes)).any():
        raise ValueError("its discovered states are not within the axes of its labels")
    if len(np.unique(positions, axis=0)) < len(positions):
        raise ValueError("two of its discovered states are the same")
    if (np.diff(ends, prepend=0) < 0).any() or (ends[-1] if len(ends) else 0) != len(text):
        raise ValueError("the text of its discovered states is out of order")
    counts = dict.fromkeys(NAMES.values(), 0)
    for kind, size, none in zip(stored.kinds, sizes, stored.nones, strict=True):
        counts[kind] += size - none
    if (len(whole), len(real), len(ends)) != (counts["int"] + counts["bool"], counts["float"], counts["str"] + counts["bytes"]):  # fmt: skip
        raise ValueError("its discovered states have other values than its axes")
    raw, begins = text.tobytes(), np.concatenate([[0], ends])
    pieces = [raw[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=False)]
    values: dict[str, list[Any]] = {
        "int": whole[: counts["int"]].tolist(),
        "bool": [bool(one) for one in whole[counts["int"] :]],
        "float": real.tolist(),
        "str": [piece.decode() for piece in pieces[: counts["str"]]],
        "bytes": pieces[counts["str"] :],
    }
    taken = dict.fromkeys(values, 0)
    columns: list[list[Scalar]] = []
    for kind, size, none in zip(stored.kinds, sizes, stored.nones, strict=True):
        begin, taken[kind] = taken[kind], taken[kind] + size - none
        column = [scalar(one) for one in values[kind][begin : taken[kind]]]
        if len(set(column)) < len(column):
            raise ValueError("two values of an axis of its discovered states are the same")
        columns.append([*column, None] if none else column)
    return DiscoveredStates(positions, columns, state_of)
