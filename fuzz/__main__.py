"""``python -m fuzz``: mutated run folders, loaded and questioned under NUMBA_BOUNDSCHECK=1."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

from fuzz.cases import RUNS
from fuzz.supervisor import scratch, supervise

KINDS = ("tabular", "deep")


def outcome(result: dict[str, Any]) -> str:
    """The outcome of a case: "answers", "answers in part", "refused" or a class of errors."""
    if result["wrong"]:
        return str(result["wrong"][0]["class"])
    if result["load"] != "ok":
        return "refused"
    return "answers" if not result["refused"] else "answers in part"


def signature(wrong: dict[str, str]) -> str:
    """A key for equal findings: class, place and message, without numbers and quoted texts."""
    place = re.sub(r"(: ['\"]).*|[0-9]+ (?=MB|characters)", "", wrong["what"])
    return f"{wrong['class']} at {wrong['at']}: {place[:150]}"


def table(title: str, rows: dict[str, Counter[str]], columns: list[str]) -> str:
    """Counts by row and column."""
    width = max([len(title), *map(len, rows)])
    lines = [f"{title:<{width}} " + " ".join(f"{name:>15}" for name in columns)]
    lines += [
        f"{name:<{width}} " + " ".join(f"{counts[column]:>15,}" for column in columns)
        for name, counts in sorted(rows.items())
    ]
    return "\n".join(lines)


class Tally:
    """The results of all cases of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind, self.started = kind, time.monotonic()
        self.outcomes: Counter[str] = Counter()
        self.by_kind: dict[str, Counter[str]] = {}
        self.found: dict[str, list[dict[str, Any]]] = {}
        self.warned: Counter[str] = Counter()
        self.slowest, self.largest = (0.0, None), (0, None)

    @property
    def count(self) -> int:
        """The number of cases."""
        return sum(self.outcomes.values())

    def add(self, result: dict[str, Any]) -> None:
        """Add the result of a case."""
        ended = outcome(result)
        self.outcomes[ended] += 1
        for kind in set(result["kinds"]):
            self.by_kind.setdefault(kind, Counter())[ended] += 1
        for wrong in result["wrong"]:
            self.found.setdefault(signature(wrong), []).append({**result, "wrong": wrong})
        self.warned.update(result.get("warned", []))
        self.slowest = max(self.slowest, (result.get("slowest", 0.0), result["order"]), key=lambda pair: pair[0])
        self.largest = max(self.largest, (result.get("memory", 0), result["order"]), key=lambda pair: pair[0])

    def print(self) -> None:
        """Print tables and findings."""
        seconds = time.monotonic() - self.started
        columns = [
            "answers",
            "answers in part",
            "refused",
            *sorted(set(self.outcomes) - {"answers", "answers in part", "refused"}),
        ]
        print(f"\n{self.count:,} {self.kind} folders in {seconds:.0f} s")
        print(table("mutation", {**self.by_kind, "~ all": self.outcomes}, columns))
        print(
            f"slowest step {self.slowest[0]:.1f} s (case {self.slowest[1]}), most memory {self.largest[0]} MB (case {self.largest[1]})"
        )
        if self.warned:
            print("warnings:", ", ".join(f"{name} x{count}" for name, count in self.warned.most_common(8)))
        for name, results in sorted(self.found.items(), key=lambda item: -len(item[1])):
            smallest = min(results, key=lambda result: len(result["mutations"]))
            print(f"\n{len(results)} x {name}")
            print(f"    python -m fuzz --case {self.kind}:{smallest['order']}")
            print(f"    {smallest['run']}: {'; '.join(smallest['mutations'])}")
            print(f"    {smallest['wrong']['what']}")


def main() -> None:
    """Run the fuzzer, or repeat one case."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--tabular", type=int, default=20_000, help="number of folders of tabular runs")
    parser.add_argument("--deep", type=int, default=4_000, help="number of folders of deep runs")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case")
    parser.add_argument("--workers", type=int, default=2, help="number of processes")
    parser.add_argument("--case", help="repeat one case, tabular:17")
    parser.add_argument("--findings", type=Path, help="write every finding to a file, a line of JSON each")
    arguments = parser.parse_args()
    if arguments.case:
        kind, _, number = arguments.case.partition(":")
        if kind not in KINDS or not number.isdigit():
            parser.error("--case takes tabular:NUMBER or deep:NUMBER")
        with scratch() as room:
            (result,) = supervise(kind, [int(number)], room=room, workers=1)
        print(json.dumps(result, indent=2))
        sys.exit(bool(result["wrong"]))
    failed = False
    for kind, count in ((kind, getattr(arguments, kind)) for kind in KINDS):
        if count:
            failed |= fuzz(kind, range(arguments.seed, arguments.seed + count), arguments.workers, arguments.findings)
    sys.exit(failed)


def fuzz(kind: str, numbers: range, workers: int, findings: Path | None) -> bool:
    """Run cases of one kind; returns whether there were findings."""
    tally = Tally(kind)
    with scratch() as room:
        # First every run without mutations: it must answer, and all kernels are compiled.
        for result in supervise(kind, chain(RUNS[kind], numbers), room=room, workers=workers):
            if isinstance(result["order"], str):
                check_untouched(result)
                continue
            tally.add(result)
            if result["wrong"] and findings is not None:
                with findings.open("a") as file:
                    file.write(json.dumps({"kind": kind, **result}) + "\n")
            if tally.count % 1_000 == 0:
                print(f"{kind}: {tally.count:,} of {len(numbers):,}, {len(tally.found)} kinds of findings", flush=True)
    tally.print()
    return bool(tally.found)


def check_untouched(result: dict[str, Any]) -> None:
    """Exit unless a run without mutations loads and answers at least 5 questions."""
    if result["wrong"] or result["load"] != "ok" or result["answered"] < 5:
        sys.exit(f"the run {result['run']!r} fails without mutations: {result}")


if __name__ == "__main__":
    main()
