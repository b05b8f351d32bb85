"""The ratios in docs/performance.md, measured in one run: ``python benchmarks/bench.py [--quick] [--only NAME]``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

import answers
import audits
import big
import deep
import discovery
import explorer
import related
import report
import starting
import training
from cases import QUICK

SECTIONS: dict[str, tuple[str, Callable[[int], list[report.Row]]]] = {
    "start": ("Compile time and cold start", starting.start),
    "ledger": ("What the ledger costs compiled training", training.ledger),
    "plain": ("Compiled training against the paper's method written plainly", training.plain),
    "stepped": ("Training stepped from Python against random steps", training.stepped),
    "discovery": ("Training with discovered states, stepped from Python", discovery.section),
    "audit": ("One row of an audit, Taxi", audits.audit),
    "answers": ("Questions, Taxi", answers.answers),
    "findings": ("Where to look", answers.findings),
    "related": ("Related methods, for docs/related-work.md", related.section),
    "paper": ("The paper's tabular figures", answers.paper),
    "line": ("Memory of an update in the ledger", training.line),
    "deep": ("Belief networks alongside Stable-Baselines3's DQN, on the CPU", deep.section),
    "explorer": ("The explorer", explorer.section),
    "big": ("A 1,000 × 1,000 grid world", big.section),
}
RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    """Run the sections, print each as a table, and write them all as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"a smoke test: everything at 1/{QUICK} of its size")
    parser.add_argument("--only", choices=SECTIONS, help="run one section")
    parser.add_argument("--update", action="store_true", help="with --only: replace only this section in results.json")
    parser.add_argument("--out", type=Path, help="where to write JSON; a full run writes results.json by itself")
    given = parser.parse_args()
    console = Console(width=150)
    chosen = [given.only] if given.only else list(SECTIONS)
    results = {}
    for name in chosen:
        title, measure = SECTIONS[name]
        began = time.perf_counter()
        results[name] = measure(QUICK if given.quick else 1)
        report.show(console, title, results[name], time.perf_counter() - began)
    out = given.out or (None if given.quick or given.only else RESULTS)
    if out is not None:
        report.write(out, results)
    if given.update and given.only and not given.quick:
        report.update(RESULTS, results, list(SECTIONS))
    missed = [row.what for rows in results.values() for row in rows if row.met is False]
    if given.quick:
        console.print("This was a smoke test: at this size the numbers mean little.")
    console.print(f"Missed: {'; '.join(missed)}" if missed else "Every target is met.")


if __name__ == "__main__":
    main()
