"""Fill the README's marked places with what the commands really print: `make readme`.

A place is everything between `<!-- kind: file -->` and `<!-- end -->`. A test checks that it is up to date.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACE = re.compile(r"(<!-- (\w+): (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def example(file: Path) -> str:
    """The code of an example."""
    return f"```python\n{file.read_text().strip()}\n```\n"


def output(file: Path) -> str:
    """What an example prints."""
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True, cwd=ROOT)
    return f"```text\n{done.stdout.strip()}\n```\n"


def table(file: Path) -> str:
    """The rows of the benchmark, as it wrote them."""
    result = json.loads(file.read_text())
    lines = ["| what | measured | target | |", "| --- | --- | --- | --- |"]
    for section, row in ((name, row) for name, rows in result["sections"].items() for row in rows):
        if row["target"] is None and section not in ("start", "ledger"):
            continue  # the whole list is what `make bench` prints
        what = row["what"].replace("|", chr(92) + "|")
        if section == "big":
            what = f"1,000 × 1,000 grid: {what}"
        met = {True: "met", False: "**missed**", None: ""}[row["met"]]
        lines.append(f"| {what} | {row['measured']} | {row['promised']} | {met} |")
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return "\n".join([*lines, "", f"On {result['cpus']} cores; {versions}.", ""])


KINDS = {"example": example, "output": output, "table": table}


def filled(text: str) -> str:
    """The text with every place filled anew."""
    return PLACE.sub(lambda place: place[1] + KINDS[place[2]](ROOT / place[3]) + place[5], text)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text()))
