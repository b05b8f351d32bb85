"""The time of one row of an audit: Taxi after 100,000 and after 10,000,000 updates."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import whatfor as wf
from cases import CASES, timed
from report import Row, number

TAXI = CASES[0]
EPISODES = 750_000  # somewhat more than MANY_UPDATES
FEW_UPDATES, MANY_UPDATES = 100_000, 10_000_000
N_PAIRS = 100
ROWS_PER_PASS = 64
REPETITIONS = 3

Pairs = list[tuple[int, int]]


def audit(scale: int) -> list[Row]:
    """The same rows at two points of one run, their exactness, and full scans."""
    ledger = _train(TAXI.learner, scale)
    wf.Audit(ledger[:10]).build_index()  # compiles
    few, many = wf.Audit(ledger[:FEW_UPDATES]), wf.Audit(ledger[: MANY_UPDATES // scale])
    building = {name: _seconds(audit.build_index, 1) for name, audit in (("few", few), ("many", many))}
    pairs = _pairs(few)
    early, late = _times(few, pairs), _times(many, pairs)
    size = f"{len(many.ledger):,}"
    counted = wf.Audit(_train(replace(TAXI.learner, step_size=wf.visit_count()), scale)[: MANY_UPDATES // scale])
    counted.build_index()
    return [
        Row(f"a row after {size} updates / after {FEW_UPDATES:,}, medians", np.median(late) / np.median(early), "×", 3, note=_read(few, many, pairs)),
        _ms(f"a row after {FEW_UPDATES:,} updates, index built", early, 2),
        _ms(f"a row after {size} updates, index built", late, 2),
        Row(f"building the index of {size} updates", building["many"], "s", note=f"of {FEW_UPDATES:,}: {number(building['few'])} s"),
        *_exactness(many, pairs),
        *_scans(few, many, pairs),
        _ms(f"a row after {size} updates with steps of 1/n: falls back to the scan", _times(counted, pairs[:5]), None),
    ]  # fmt: skip


def _train(learner: Any, scale: int) -> wf.Ledger:
    case = replace(TAXI, learner=learner)
    session = case.session(case.place())
    timed(session, case.epsilons(EPISODES // scale))
    assert session.ledger is not None
    assert len(session.ledger) >= MANY_UPDATES // scale
    return session.ledger


def _pairs(audit: wf.Audit) -> Pairs:
    """Random states with experience, each with its best action."""
    met = np.flatnonzero(audit.ledger.tries().sum(axis=1))
    states = np.random.default_rng(0).choice(met, N_PAIRS, replace=False)
    best = audit.recomputed[0].argmax(axis=1)
    return [(int(state), int(best[state])) for state in states]


def _seconds(work: Callable[[], Any], repetitions: int = REPETITIONS) -> float:
    """The best of several times."""
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def _times(audit: wf.Audit, pairs: Pairs) -> np.ndarray:
    audit.account(*pairs[0])  # compiles
    return np.array([_seconds(partial(audit.account, *pair)) for pair in pairs])


def _ms(what: str, seconds: np.ndarray, target: float | None) -> Row:
    high = 1e3 * float(np.quantile(seconds, 0.95))
    note = f"median of {len(seconds)} pairs; 95 % within {number(high)} ms"
    return Row(what, 1e3 * float(np.median(seconds)), "ms", target, note=note, detail={"p95_ms": high})


def _read(few: wf.Audit, many: wf.Audit, pairs: Pairs) -> str:
    """The median number of updates that a row reads."""
    early, late = (int(np.median([audit.account(*pair).updates_read for pair in pairs])) for audit in (few, many))
    return f"updates read: {late:,} of {len(many.ledger):,}, {early:,} of {len(few.ledger):,}"


def _exactness(audit: wf.Audit, pairs: Pairs) -> list[Row]:
    """The stated error bound of a walk, and its real difference from the scan."""
    walked = [audit.account(*pair, method="walk") for pair in pairs]
    stated = max(row.value_error / row.scale for row in walked)
    off = 0.0
    for pair, row in zip(pairs[:10], walked, strict=False):
        scanned = audit.account(*pair, method="scan")
        off = max(off, abs(row.total - scanned.total) / scanned.scale)
    return [
        Row("largest stated error of a walked value / its scale", stated, "", note=f"{len(pairs)} pairs"),
        Row("largest real difference to the scan / its scale", off, "", stated, digits=2, note="10 pairs; the target is the stated error"),
    ]  # fmt: skip


def _scans(few: wf.Audit, many: wf.Audit, pairs: Pairs) -> list[Row]:
    """Reading every update: one row, and several rows in one pass."""
    rows = []
    for audit in (few, many):
        lines = len(audit.ledger)
        one = _seconds(partial(audit.account, *pairs[0], method="scan"))
        several = _seconds(partial(audit.accounts, pairs[:ROWS_PER_PASS]), 1) / ROWS_PER_PASS
        note = f"{number(1e3 * one)} ms; {ROWS_PER_PASS} rows in one pass: {number(1e9 * several / lines)} ns per update and row, {number(several / one, 2)} × of single scans"
        rows.append(Row(f"a full scan of {lines:,} updates", 1e9 * one / lines, "ns per update", note=note))
    return rows
