"""``python -m fuzz.stress``: two processes that save, one that saves and one that loads, and SIGKILL at random moments. Nothing may be lost."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from fuzz.kills import killed_saves, killed_trainings
from fuzz.meetings import savers_and_readers, two_savers
from fuzz.supervisor import scratch


def main() -> None:
    """Run all four, and print their results."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.stress", description=__doc__)
    parser.add_argument("--savers", type=int, default=200, help="how often two processes save to one folder at once")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long one process saves while another loads")
    parser.add_argument("--kills", type=int, default=160, help="how often a process is killed that saves over a run")
    parser.add_argument("--train-kills", type=int, default=90, help="how often `whatfor train --out` is killed")
    parser.add_argument("--seed", type=int, default=0, help="decides when to kill")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    work: dict[str, Callable[[Path], Counter[str]]] = {
        "two savers": lambda folder: two_savers(folder, arguments.savers),
        "a saver and a reader": lambda folder: savers_and_readers(folder, arguments.seconds),
        "killed while saving": lambda folder: killed_saves(folder, arguments.kills, arguments.seed),
        "killed while training": lambda folder: killed_trainings(folder, arguments.train_kills, arguments.seed),
    }
    results: dict[str, Counter[str]] = {}
    for name, do in work.items():
        begun = time.monotonic()
        with scratch() as folder:
            results[name] = do(folder)
        if not arguments.json:
            counts = ", ".join(f"{count:,} {what}" for what, count in sorted(results[name].items()))
            print(f"{name} ({time.monotonic() - begun:.0f} s): {counts}", flush=True)
    if arguments.json:
        print(json.dumps(results))
    sys.exit(any(what.startswith("WRONG") for counts in results.values() for what in counts))


if __name__ == "__main__":
    main()
