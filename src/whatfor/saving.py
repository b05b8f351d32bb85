"""Save runs to disk, load them, and validate both.

Compiled code reads loaded arrays without checks, so numbers out of range are rejected here. The same code checks a run
before it is saved: a run that could not be loaded is not written.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor import document, folder
from whatfor.axes import Ending
from whatfor.checks import flag
from whatfor.counterfactual import Pricing
from whatfor.folder import Contents, FolderError
from whatfor.history import History
from whatfor.kernels.recursion import NOT_ENDED, ending_place
from whatfor.kernels.tables import Table, guide_to
from whatfor.labels import ENDINGS, Labels
from whatfor.learners.rule import ACTIVE_TABLE, BREAKS, CURSOR, EXPERIENCES, LINES, N_COUNTERS, STORED
from whatfor.ledger import Ledger
from whatfor.ledger.ends import recorded_labels
from whatfor.ledger.parts import REST, reward_parts
from whatfor.ledger.store import VARYING
from whatfor.limits import LimitError, check_limit
from whatfor.npz import check_summed, checked_array, finite, within
from whatfor.playing import Origin
from whatfor.runs import Run
from whatfor.stored_states import states_in, states_out
from whatfor.text import either
from whatfor.worlds.discovering import StateOf
from whatfor.worlds.repricing import RewardTable, tabulated
from whatfor.worlds.stepping import TABLE as TABLE_KIND
from whatfor.worlds.stepping import Arrays
from whatfor.worlds.world import NO_CART, World

Group = dict[str, NDArray[Any]]
Folder = str | os.PathLike[str]


def save(run: Run, path: Folder, *, replace: bool = True) -> None:
    """Write a run to a folder; a network is stored as safetensors. ``replace=False``: not where a run is already."""
    contents = _contents_of(run)
    try:
        _run_of(contents)
    except Exception as error:  # nothing was written: the folder is unchanged
        raise FolderError(f"this run cannot be saved: {_sentence(error)}") from error
    folder.write(path, contents, replace=flag("replace", replace))


def load(
    path: Folder, *, env: Any = None, cells: Any = None, agent: Any = None, state_of: StateOf | None = None
) -> Run:
    """Load a run from a folder. Its files are validated, and no code in them is executed.

    ``env``: the environment of the run, if it cannot be created again: it was passed as an object, or is not registered with
    Gymnasium here. ``cells``: the concepts of a deep agent's run, which are functions and are not saved. ``agent``: the model, if its network
    cannot be rebuilt from its description. ``state_of``: the function with which a run discovered its states, to play or
    train it again; keys and words name its states without it.

    >>> from tempfile import TemporaryDirectory
    >>> run = Run(labels=Labels.plain(1, 2), values=[[0.5, 1.0]])
    >>> with TemporaryDirectory() as path:
    ...     run.save(path)
    ...     load(path).values.tolist()
    [[0.5, 1.0]]
    """
    contents = folder.read(path)
    try:
        run, network = _run_of(contents, state_of)
    except Exception as error:  # a forged file can make NumPy or msgspec raise any error
        wrong = "was not loaded" if isinstance(_cause(error), LimitError) else "is not a run that whatfor wrote"
        raise FolderError(f"{path} {wrong}: {_sentence(error)}") from error
    if state_of is not None and run.settings.get("world", {}).get("discovered") != "state_of":
        raise ValueError(f"state_of= is for runs that were trained with it; {path} was not: leave it out")
    if network is not None:
        from whatfor.needed import need_safetensors, need_sb3, need_torch

        need_torch()
        need_sb3()
        need_safetensors()
        from whatfor.deep.loading import network_in

        run = network_in(run, network, contents.tensors, cells=cells, agent=agent)
    for name, given in (("agent", agent), ("cells", cells)) if network is None else ():
        if given is not None:
            raise ValueError(
                f"{either(name + '=', '--cells')} is for runs of deep agents; {path} is a tabular run: leave it out"
            )
    return run if env is None else run.derived(origin=run.playing.origin_in(env))


def _cause(error: Exception) -> BaseException:
    """The ``LimitError`` behind an error of msgspec, or the error itself."""
    return error.__cause__ if isinstance(error.__cause__, LimitError) else error


def _sentence(error: Exception) -> str:
    """An error's message on one line."""
    if isinstance(error, KeyError) and error.args:
        return f"it has no {error.args[0]}"
    return " ".join(str(_cause(error)).split()) or type(error).__name__


def _contents_of(run: Run) -> Contents:
    """The document, arrays and tensors of a run."""
    arrays: Group = {"tables": run.tables, "returns": run.history.returns, "lengths": run.history.lengths}
    data: dict[str, Any] = {
        "labels": recorded_labels(run.ledger, run.labels).to_json(),
        "settings": run.settings,
        "stopped": run.stopped,
        "own_values": run.origin.own_values,
        "premise": run.origin.premise,
        "repriced": None,
        "factors": run.origin.factors,
        "ledger": None,
        "snapshot": None,
        "table": None,
    }
    if run.origin.snapshot is not None:
        snapshot, data["snapshot"] = run.origin.snapshot
        arrays |= {f"snapshot_{name}": array for name, array in snapshot.items()}
    world = run.playing.known_world
    if world is not None and run.settings.get("world", {}).get("kind") == "table":
        arrays |= {f"table_{name}": array for name, array in world.table._asdict().items() if name != "guide"}
        data["table"] = {"max_steps": world.max_steps, "endings": list(world.labels.ending_names)}
    if run.origin.reprice is not None:
        paid = Pricing(factors=run.origin.factors).applied_to(run.origin.recorded or run.need_ledger("this run"))
        rewards = tabulated(run.origin.reprice, paid, run.playing.known_world)
        arrays |= {"reward_pair": rewards.pair, "reward_paid": rewards.paid, "reward_instead": rewards.instead}
        data["repriced"] = len(rewards.pair)
    groups = {"arrays": arrays}
    if run.labels.states is not None:
        data["states"], groups["states"] = states_out(run.labels.states)
    if run.ledger is not None:
        data["ledger"], groups["ledger"] = _ledger_out(run.ledger)
    network, tensors = run.beliefs.saved(run)
    try:
        return Contents({"run": document.encode(data | network)}, groups, tensors)
    except (TypeError, ValueError) as error:
        raise FolderError(
            f"this run cannot be saved: {error}. Its settings may contain finite numbers, text, lists and dictionaries"
        ) from error


def _run_of(contents: Contents, state_of: StateOf | None = None) -> tuple[Run, dict[str, Any] | None]:
    """Rebuild and validate a run; also returns the document of its network."""
    stored, plain = document.decode(contents.documents["run"])
    labels, arrays = stored.labels, contents.arrays["arrays"]
    if (stored.states is not None) != bool(labels.discovered):
        raise ValueError("its labels and its discovered states do not fit together")
    if stored.states is not None:
        known = states_in(stored.states, contents.arrays["states"], labels, state_of)
        labels = dataclasses.replace(labels, states=known)
    tables = finite("tables", checked_array(arrays, "tables", np.float64, 3))
    if tables.shape[1:] != (labels.n_states, labels.n_actions) or len(tables) < 1:
        raise ValueError(f"its tables have shape {tables.shape}, which does not fit its labels")
    ledger = None if stored.ledger is None else _ledger_in(stored.ledger, contents.arrays["ledger"], labels)
    returns = finite("returns", checked_array(arrays, "returns", np.float64, 1))
    lengths = within("lengths", checked_array(arrays, "lengths", np.int64, 1, len(returns)), 0, 2**62)
    snapshot, table = None, None
    if stored.snapshot is not None:
        saved = {name.removeprefix("snapshot_"): one for name, one in arrays.items() if name.startswith("snapshot_")}
        snapshot = (_snapshot_in(saved, labels, tables, ledger), plain["snapshot"])
    if stored.table is not None:
        table = _table_in(arrays, labels, stored.table)
    more: dict[str, Any] = {"own_values": stored.own_values, "premise": stored.premise, "factors": stored.factors}
    for name in stored.factors or {}:
        if ledger is None or name not in (*ledger.parts, REST):
            raise ValueError(f"a factor is on {name!r}, which is no recorded part of its rewards")
    more["reprice"] = None if stored.repriced is None else _rewards_in(arrays, labels, stored.repriced)
    run = Run(
        labels=labels,
        values=tables,
        ledger=ledger,
        settings=plain["settings"],
        origin=Origin(
            table=table,
            snapshot=snapshot,
            history=History(returns, lengths),
            stopped=stored.stopped,
            **more,
        ),
    )
    return run, stored.network


# -- the ledger ------------------------------------------------------------------------------


def _ledger_out(ledger: Ledger) -> tuple[dict[str, Any], Group]:
    n, lines = len(ledger), ledger.lines
    columns: Group = {**lines._asdict(), "breaks": ledger.breaks, "finals": ledger.finals}
    if ledger.order == "replayed":
        columns["origin"] = ledger.origins.astype(np.int32)
    if ledger.parts:
        columns["parts"] = ledger.part_columns
    if ledger.initial is not None:
        columns["initial"] = ledger.initial
    return {
        "lines": n,
        "n_tables": ledger.n_tables,
        "endings": ledger.endings[len(ENDINGS) :],
        "order": ledger.order,
        "parts": ledger.parts,
    }, columns


def _ledger_in(stored: document.LedgerDocument, columns: Group, labels: Labels) -> Ledger:
    check_limit("states", stored.n_tables * labels.n_states, "its ledger")
    if len({*ENDINGS, *stored.endings}) < len(ENDINGS) + len(stored.endings):
        raise ValueError("two of its endings have the same name")
    ledger = Ledger(
        labels.n_states,
        labels.n_actions,
        n_tables=stored.n_tables,
        initial=columns.get("initial"),
        endings=stored.endings,
        order=stored.order,
        parts=stored.parts,
    )
    n, store = stored.lines, ledger.writable()
    store.cell = within("cell", checked_array(columns, "cell", np.int32, 1, n), 0, ledger.n_cells)
    store.source = within(
        "source",
        checked_array(columns, "source", np.int32, 1, n),
        ending_place(len(ledger.endings) - 1),
        ledger.n_cells,
    )
    store.reward = finite("reward", checked_array(columns, "reward", np.float64, 1, n))
    if ledger.parts:
        store.parts = _parts(columns, n, len(ledger.parts))
    for name in VARYING:
        column = checked_array(columns, name, np.float64, 1)
        if len(column) not in (1, n) or not ((column >= 0) & (column <= 1)).all():
            raise ValueError(f"the ledger's {name} has the wrong length or numbers outside 0 to 1")
        setattr(store, name, column)
    store.breaks = within("breaks", checked_array(columns, "breaks", np.int64, 2), 0, 2**62)
    store.n_breaks = len(store.breaks)
    if store.breaks.shape[1] != 2 or (np.diff(store.breaks, axis=0) < 0).any():
        raise ValueError("the ledger's episodes are out of order")
    if len(store.breaks) and store.breaks[-1, 0] > n:
        raise ValueError("an episode of the ledger starts after the ledger's end")
    if store.replayed:
        store.origin = within("origin", checked_array(columns, "origin", np.int32, 1, n), 0, 2**31)
    store.used = n
    finals = checked_array(columns, "finals", np.int64, 2)
    if finals.shape[1] != 2:
        raise ValueError("the ledger's final states are out of order")
    within("finals", finals[:, 0], 0, 2**31 if store.replayed else n)
    within("finals", finals[:, 1], 0, labels.n_states)
    store.add_finals(finals)
    ledger.freeze()
    with np.errstate(over="ignore", invalid="ignore"):
        finite("the rest of the reward", reward_parts(ledger).get(REST, np.empty(0)))
    return ledger


# -- the state of training, to resume from ---------------------------------------------------


def _snapshot_in(saved: Group, labels: Labels, tables: NDArray[np.float64], ledger: Ledger | None) -> Group:
    pairs, n_states = labels.n_states * labels.n_actions, labels.n_states
    cells = tables.size
    counters = checked_array(saved, "counters", np.int64, 1, N_COUNTERS)
    stored = len(checked_array(saved, "pair", np.int32, 1))
    lines, breaks = (0, 0) if ledger is None else (len(ledger), len(ledger.breaks))
    fits = (counters[LINES], counters[STORED], counters[BREAKS]) == (lines, stored, breaks)
    if (
        not fits
        or not stored <= counters[EXPERIENCES] < 2**62
        or counters[CURSOR] < 0
        or counters[ACTIVE_TABLE] not in (0, 1)
    ):
        raise ValueError("the saved learner does not fit its ledger")
    if ledger is not None and ledger.n_tables != len(tables):
        raise ValueError("its ledger and its learner have different numbers of tables")
    # the codes of endings go into the ledger when training goes on
    lowest = np.iinfo(np.int32).min if ledger is None else ending_place(len(ledger.endings) - 1)
    tries = within("tries", checked_array(saved, "tries", np.int64, 1), 0, 2**62)
    if len(tries) not in (0, cells):
        raise ValueError("the saved learner does not fit its tables")
    more = {}
    if ledger is not None and ledger.parts:
        more["parts"] = _parts(saved, stored, len(ledger.parts))
    return more | {
        "values": finite("values", checked_array(saved, "values", np.float64, 1, cells)),
        "tries": tries,
        "counters": counters,
        "pair": within("pair", saved["pair"], 0, pairs),
        "next_state": within("next_state", checked_array(saved, "next_state", np.int32, 1, stored), 0, n_states),
        "reward": finite("reward", checked_array(saved, "reward", np.float64, 1, stored)),
        "ending": within("ending", checked_array(saved, "ending", np.int32, 1, stored), lowest, NOT_ENDED + 1),
    }


def _table_in(arrays: Group, labels: Labels, stored: document.TableDocument) -> World:
    if stored.endings is not None:  # those of the run may have been renamed
        labels = dataclasses.replace(labels, endings=tuple(map(Ending, stored.endings)))
    pairs = labels.n_states * labels.n_actions
    first = checked_array(arrays, "table_first", np.int64, 1, pairs + 1)
    chance = checked_array(arrays, "table_chance", np.float64, 1)
    if first[0] != 0 or first[-1] != len(chance) or (np.diff(first) < 1).any():
        raise ValueError("the saved world's table is out of order")
    start = checked_array(arrays, "table_start", np.float64, 1, labels.n_states)
    check_summed("start", start, np.zeros(1, np.int64))
    check_summed("chance", chance, first[:-1])
    table = Table(
        first,
        chance,
        within("next_state", checked_array(arrays, "table_next_state", np.int32, 1, len(chance)), 0, labels.n_states),
        finite("reward", checked_array(arrays, "table_reward", np.float64, 1, len(chance))),
        within(
            "ending",
            checked_array(arrays, "table_ending", np.int32, 1, len(chance)),
            ending_place(len(ENDINGS) + len(labels.ending_names) - 1),
            NOT_ENDED + 1,
        ),
        start,
        guide_to(start),
    )
    return World(labels, Arrays(TABLE_KIND, table, NO_CART), stored.max_steps, {"kind": "table"})


# -- changed rewards -------------------------------------------------------------------------


def _rewards_in(arrays: Group, labels: Labels, n: int) -> RewardTable:
    pair = checked_array(arrays, "reward_pair", np.int64, 1, n)
    within("reward_pair", pair, 0, labels.n_states * labels.n_actions)
    paid = finite("reward_paid", checked_array(arrays, "reward_paid", np.float64, 1, n))
    step = np.diff(pair)
    if (step < 0).any() or (np.diff(paid)[step == 0] <= 0.0).any():
        raise ValueError("its changed rewards are out of order")
    instead = finite("reward_instead", checked_array(arrays, "reward_instead", np.float64, 1, n))
    return RewardTable(pair, paid, instead, labels.n_actions)


def _parts(group: Group, n: int, n_parts: int) -> NDArray[np.float64]:
    """Parts of n rewards."""
    parts = finite("parts", checked_array(group, "parts", np.float64, 2, n))
    if parts.shape[1] != n_parts:
        raise ValueError(f"parts has shape {parts.shape}, which does not fit its ledger")
    return parts
