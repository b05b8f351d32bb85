"""Measurements and their targets, as a table and as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One measurement, with or without a target."""

    what: str
    value: float
    unit: str
    target: float | None = None
    wanted: Literal["at most", "at least"] = "at most"
    digits: int = 3  # significant; the rounded value is compared with the target
    note: str = ""
    detail: dict[str, Any] = field(default_factory=dict)  # for the JSON only

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None: there is no target."""
        if self.target is None:
            return None
        rounded = float(f"{self.value:.{self.digits}g}")
        return rounded <= self.target if self.wanted == "at most" else rounded >= self.target

    @property
    def measured(self) -> str:
        """The value as text."""
        return f"{number(self.value, self.digits)} {self.unit}"

    @property
    def promised(self) -> str:
        """The target as text."""
        sign = "≤" if self.wanted == "at most" else "≥"
        target = "" if self.target is None else f"{self.target:,.0f}" if self.target >= 1e4 else f"{self.target:.3g}"
        return target and f"{sign} {target} {self.unit}"


def number(value: float, digits: int = 3) -> str:
    """A number with this many significant digits and thousands separators.

    >>> number(0.012), number(1.3), number(1234567.8)
    ('0.0120', '1.30', '1,230,000')
    """
    rounded = float(f"{value:.{digits}g}")
    if abs(rounded) < 1e-4:
        return f"{rounded:.1e}"
    return f"{rounded:,.0f}" if abs(rounded) >= 10 ** (digits - 1) else f"{rounded:#.{digits}g}"


def show(console: Console, title: str, rows: Sequence[Row], seconds: float) -> None:
    """Print a section."""
    table = Table(title=f"{title}  ({seconds:.0f} s)", title_justify="left", title_style="bold")
    table.add_column("what", max_width=58)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("target", justify="right", no_wrap=True)
    table.add_column("met")
    table.add_column("note", overflow="fold")
    for row in rows:
        met = {True: "[green]yes[/]", False: "[bold red]NO[/]", None: ""}[row.met]
        table.add_row(row.what, row.measured, row.promised, met, row.note)
    console.print(table)


def write(path: Path, sections: dict[str, list[Row]]) -> None:
    """Write all sections as JSON, without anything that identifies the machine."""
    document = {
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("whatfor", "numpy", "numba", "gymnasium", "torch", "stable-baselines3")},
        "cpus": os.cpu_count(),
        "sections": {name: _plain(rows) for name, rows in sections.items()},
    }
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def update(path: Path, sections: dict[str, list[Row]], order: Sequence[str]) -> None:
    """Replace some sections of an earlier result; the ratios of a section come from one run."""
    document = json.loads(path.read_text(encoding="utf-8"))
    merged = document["sections"] | {name: _plain(rows) for name, rows in sections.items()}
    document["sections"] = {name: merged[name] for name in order if name in merged}
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _plain(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [asdict(row) | {"met": row.met, "measured": row.measured, "promised": row.promised} for row in rows]
