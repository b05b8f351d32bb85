"""A run on disk: what goes into its folder, and what is checked when it comes back.

Compiled code reads what is loaded without checking it again, so nothing out of range gets in.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor import folder
from whatfor.beliefs.protocol import Seeing
from whatfor.folder import FolderError
from whatfor.history import History
from whatfor.kernels.recursion import GOES_ON, ending_place
from whatfor.kernels.tables import Table, guide_to
from whatfor.labels import ENDINGS, Labels
from whatfor.learners.rule import BREAKS, CURSOR, EXPERIENCES, LINES, N_COUNTERS, STORED, TABLE
from whatfor.ledger import Ledger
from whatfor.runs import Run
from whatfor.store import VARYING
from whatfor.worlds.stepping import TABLE as TABLE_KIND
from whatfor.worlds.stepping import Arrays
from whatfor.worlds.world import NO_CART, World


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run to a folder; a network goes into it as safetensors, beside its agent's own zip."""
    arrays: dict[str, NDArray[Any]] = {
        "tables": run.tables,
        "returns": run.history.returns,
        "lengths": run.history.lengths,
    }
    document: dict[str, Any] = {
        "labels": run.labels.to_json(),
        "settings": run.settings,
        "stopped": run.stopped,
        "ledger": None,
        "snapshot": None,
        "table": None,
    }
    if run._snapshot is not None:
        held, document["snapshot"] = run._snapshot
        arrays |= {f"snapshot_{name}": array for name, array in held.items()}
    world = run._place.world if run._place is not None else run._table
    if world is not None and run.settings.get("world", {}).get("kind") == "table":
        arrays |= {f"table_{name}": array for name, array in world.table._asdict().items() if name != "guide"}
        document["table"] = {"max_steps": world.max_steps}
    groups = {"arrays": arrays}
    if run.ledger is not None:
        document["ledger"], groups["ledger"] = _ledger_out(run.ledger)
    others: dict[str, tuple[str, bytes]] = {}
    if isinstance(run._beliefs, Seeing):
        from whatfor.needed import need_safetensors

        need_safetensors()
        from whatfor.deep.saving import network_out

        document["network"], others = network_out(run)
    folder.write(path, {"run": document}, groups, others)


def load(path: str | os.PathLike[str], *, cells: Any = None, agent: Any = None) -> Run:
    """The run that was saved in a folder; its files are checked first, and no code in them is run.

    ``cells``: the concepts of a deep run, which are functions and are not saved. ``agent``: the model itself, where its
    network is of somebody's own making.
    """
    documents, groups, others = folder.read(path)
    try:
        document, arrays = documents["run"], groups["arrays"]
        labels = Labels.from_json(document["labels"])
        ledger = None if document["ledger"] is None else _ledger_in(document["ledger"], groups["ledger"], labels)
        lengths = _array(arrays, "lengths", np.int64, 1)
        run = Run(
            labels=labels,
            values=_finite("tables", _array(arrays, "tables", np.float64, 3)),
            ledger=ledger,
            history=History(_array(arrays, "returns", np.float64, 1), lengths),
            settings=document["settings"],
            stopped=document["stopped"],
        )
        if document["snapshot"] is not None:
            held = {
                name.removeprefix("snapshot_"): array for name, array in arrays.items() if name.startswith("snapshot_")
            }
            run._snapshot = (_checked_snapshot(held, run), document["snapshot"])
        if document["table"] is not None:
            run._table = _table_in(arrays, labels, document["table"]["max_steps"])
    except FolderError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FolderError(f"{path} is not a run that whatfor wrote: {type(error).__name__} {error}") from error
    if document.get("network") is not None:
        from whatfor.needed import need_safetensors, need_sb3, need_torch

        need_torch()
        need_sb3()
        need_safetensors()
        from whatfor.deep.loading import network_in

        network_in(run, document["network"], others, cells=cells, agent=agent)
    return run


# -- the ledger ------------------------------------------------------------------------------


def _ledger_out(ledger: Ledger) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    n, lines = len(ledger), ledger.lines
    columns: dict[str, NDArray[Any]] = {**lines._asdict(), "breaks": ledger.breaks}
    if ledger.order == "replayed":
        columns["origin"] = ledger.origins.astype(np.int32)
    if ledger.initial is not None:
        columns["initial"] = ledger.initial
    return {
        "lines": n,
        "n_tables": ledger.n_tables,
        "endings": ledger.endings[len(ENDINGS) :],
        "order": ledger.order,
    }, columns


def _ledger_in(data: dict[str, Any], columns: dict[str, NDArray[Any]], labels: Labels) -> Ledger:
    ledger = Ledger(
        labels.n_states,
        labels.n_actions,
        n_tables=data["n_tables"],
        initial=columns.get("initial"),
        endings=data["endings"],
        order=data["order"],
    )
    n, store = int(data["lines"]), ledger.writable()
    store.cell = _within("cell", _array(columns, "cell", np.int32, 1, n), 0, ledger.n_cells)
    store.source = _within(
        "source", _array(columns, "source", np.int32, 1, n), ending_place(len(ledger.endings) - 1), ledger.n_cells
    )
    store.reward = _finite("reward", _array(columns, "reward", np.float64, 1, n))
    for name in VARYING:
        column = _array(columns, name, np.float64, 1)
        if len(column) not in (1, n) or not ((column >= 0) & (column <= 1)).all():
            raise FolderError(f"the ledger's {name} has wrong numbers")
        setattr(store, name, column)
    store.breaks = _array(columns, "breaks", np.int64, 2)
    store.n_breaks = len(store.breaks)
    if store.breaks.shape[1] != 2 or (store.breaks < 0).any() or (np.diff(store.breaks[:, 0]) < 0).any():
        raise FolderError("the ledger's episodes are out of order")
    if store.replayed:
        store.origin = _array(columns, "origin", np.int32, 1, n)
    store.used = n
    ledger.freeze()
    return ledger


# -- what goes on ----------------------------------------------------------------------------


def _checked_snapshot(held: dict[str, NDArray[Any]], run: Run) -> dict[str, NDArray[Any]]:
    pairs, n_states = run.labels.n_states * run.labels.n_actions, run.labels.n_states
    cells = run.tables.size
    counters = _array(held, "counters", np.int64, 1, N_COUNTERS)
    stored = len(_array(held, "pair", np.int32, 1))
    lines = 0 if run.ledger is None else len(run.ledger)
    breaks = 0 if run.ledger is None else len(run.ledger.breaks)
    right = {LINES: counters[LINES] == lines, STORED: counters[STORED] == stored, BREAKS: counters[BREAKS] == breaks}
    right |= {EXPERIENCES: counters[EXPERIENCES] >= 0, CURSOR: counters[CURSOR] >= 0, TABLE: counters[TABLE] in (0, 1)}
    if not all(right.values()):
        raise FolderError("the saved learner does not fit its ledger")
    names = len(ENDINGS) + len(run.labels.ending_names)
    tries = _array(held, "tries", np.int64, 1)
    if len(tries) not in (0, cells):
        raise FolderError("the saved learner does not fit its tables")
    return {
        "values": _finite("values", _array(held, "values", np.float64, 1, cells)),
        "tries": tries,
        "counters": counters,
        "pair": _within("pair", held["pair"], 0, pairs),
        "next_state": _within("next_state", _array(held, "next_state", np.int32, 1, stored), 0, n_states),
        "reward": _finite("reward", _array(held, "reward", np.float64, 1, stored)),
        "ending": _within("ending", _array(held, "ending", np.int32, 1, stored), ending_place(names - 1), GOES_ON + 1),
    }


def _table_in(arrays: dict[str, NDArray[Any]], labels: Labels, max_steps: int | None) -> World:
    pairs = labels.n_states * labels.n_actions
    first = _array(arrays, "table_first", np.int64, 1, pairs + 1)
    if first[0] != 0 or (np.diff(first) < 1).any():
        raise FolderError("the saved world's table is out of order")
    entries = int(first[-1])
    chance = _array(arrays, "table_chance", np.float64, 1, entries)
    start = _array(arrays, "table_start", np.float64, 1, labels.n_states)
    table = Table(
        first,
        _finite("chance", chance),
        _within("next_state", _array(arrays, "table_next_state", np.int32, 1, entries), 0, labels.n_states),
        _finite("reward", _array(arrays, "table_reward", np.float64, 1, entries)),
        _within(
            "ending",
            _array(arrays, "table_ending", np.int32, 1, entries),
            ending_place(len(ENDINGS) + len(labels.ending_names) - 1),
            GOES_ON + 1,
        ),
        _finite("start", start),
        guide_to(start),
    )
    return World(labels, Arrays(TABLE_KIND, table, NO_CART), max_steps, {"kind": "table"})


# -- numbers that may be let in --------------------------------------------------------------


def _array(group: dict[str, NDArray[Any]], name: str, dtype: Any, ndim: int, length: int | None = None) -> NDArray[Any]:
    array = group[name]
    if array.dtype != dtype or array.ndim != ndim or (length is not None and len(array) != length):
        raise FolderError(f"{name} is {array.dtype} of shape {array.shape}, which is not what a run holds")
    return np.ascontiguousarray(array)


def _within(name: str, array: NDArray[Any], low: int, high: int) -> NDArray[Any]:
    if len(array) and (array.min() < low or array.max() >= high):
        raise FolderError(
            f"{name} has numbers out of range: {array.min()} to {array.max()} instead of {low} to {high - 1}"
        )
    return array


def _finite(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if not np.isfinite(array).all():
        raise FolderError(f"{name} holds NaN or infinite numbers")
    return array
