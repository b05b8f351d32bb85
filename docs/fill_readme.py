"""Fill the marked places of the README and the pages with what commands really print, and draw the gallery: `make readme`.

A place is everything between `<!-- kind: file -->` and `<!-- end -->`. A test checks that it is up to date. Where that takes
minutes (`slow`), tests compare checksums instead: such a place holds those of the example and of the package that printed it.
The short tests compare the example's, the long ones both.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACE = re.compile(r"(<!-- (\w+): (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def example(file: Path) -> str:
    """The code of an example."""
    return f"```python\n{file.read_text().strip()}\n```\n"


def output(file: Path) -> str:
    """What an example prints."""
    return f"```text\n{printed(file).strip()}\n```\n"


@cache
def printed(file: Path) -> str:
    """What an example prints; it is run once for all the places it fills."""
    return subprocess.run([sys.executable, file], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def checksum(*files: Path) -> str:
    """Tells one version of some files from another."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def sources(package: Path = ROOT / "src" / "whatfor") -> list[Path]:
    """The files that what an example prints can depend on: all of the package but what no example imports."""
    unused = {package / name for name in ("explorer", "paper", "cli.py", "__main__.py")}
    return [file for file in sorted(package.rglob("*.py")) if unused.isdisjoint((file, *file.parents))]


def printed_by(file: Path, *, package: bool = True) -> str:
    """The mark of what an example prints; without the package, how that mark begins."""
    mark = f"<!-- printed by {checksum(file)}"
    return f"{mark} with whatfor {checksum(*sources())} -->" if package else mark


def slow(file: Path) -> str:
    """A part of what an example prints that takes minutes: `examples/it.py#why` is what follows the line `== why ==`."""
    path, _, part = str(file).partition("#")
    sections = dict(re.findall(r"^== (\w+) ==\n(.*?)(?=^== |\Z)", printed(Path(path)), re.DOTALL | re.MULTILINE))
    return f"{printed_by(Path(path))}\n```text\n{sections[part].strip()}\n```\n"


def table(file: Path) -> str:
    """The rows of the benchmark, as it wrote them."""
    result = json.loads(file.read_text())
    lines = ["| what | measured | target | |", "| --- | --- | --- | --- |"]
    for section, row in ((name, row) for name, rows in result["sections"].items() for row in rows):
        if row["target"] is None and section not in ("start", "ledger", "deep"):
            continue  # the whole list is what `make bench` prints
        what = row["what"].replace("|", chr(92) + "|")
        if section == "big":
            what = f"1,000 × 1,000 grid: {what}"
        met = {True: "met", False: "**missed**", None: ""}[row["met"]]
        lines.append(f"| {what} | {row['measured']} | {row['promised']} | {met} |")
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return "\n".join([*lines, "", f"On {result['cpus']} cores; {versions}.", ""])


def calibration(file: Path) -> str:
    """How often a comparison called a belief wrong."""
    result = json.loads(file.read_text())
    lines = [
        "| agents | judged | called different | 95 % interval | explained by lag | not judged: tried seldom | their value is off by |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, row in result["settings"].items():
        low, high = row["interval"]
        lags = row["verdicts"].get("lags", 0) / row["judged"]
        off = f"{row['rare_off']:+.3f} ± {2 * row['rare_error']:.3f}" if row["rare"] else ""
        lines.append(
            f"| {name} | {row['judged']:,} | {row['differs']:.1%} | {low:.1%} to {high:.1%} | {lags:.1%} | {row['rare']:,} | {off} |"
        )
    episodes = ", ".join(f"{count:,} episodes ({kind})" for kind, count in result["episodes"].items())
    told = f"{result['seeds']} seeds each; {episodes}; stated rate {result['rate']:.0%}; off by: mean and two standard errors."
    return "\n".join([*lines, "", told, ""])


def taxi(file: Path) -> str:
    """What deep Taxi's script found for the presets as they are."""
    from whatfor.paper.deep_agents import PRESETS

    lines = [
        "| preset, head, seed | delivers from | mean return | \\|V − V*\\| | values of 15 (a tie), 18, 16 off by at most | visits off the exact ones | earnings off Q | correlation | episodes, time |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in json.loads(file.read_text()):
        if run["settings"] != json.loads(json.dumps(asdict(PRESETS[run["preset"]]["taxi"]))):
            continue  # the file holds what failed, too
        tie, bounce = run["printed"]["ambiguity"], run["printed"]["bounce"]
        off = ", ".join(
            f"{x:.3f}" for x in (tie["most_error_of_best"], bounce["most_error_of_best"], bounce["most_error_of_other"])
        )
        lines.append(
            f"| {run['preset']} ({run['device']}), {run['head']}, {run['seed']} | {run['delivers_from']} of 300 | {run['mean_return']:.2f} | {run['value_error']:.3f} | {off} "
            f"| {run['visits_distance']:.3f} | {run['earnings_gap']:.2f} | {run['correlation']:.4f} | {run['episodes']:,} in {run['seconds'] / 60:.1f} min |"
        )
    return "\n".join([*lines, ""])


KINDS = {"example": example, "output": output, "slow": slow, "table": table, "calibration": calibration, "taxi": taxi}


def filled(text: str, *, patient: bool = False) -> str:
    """The text with every place filled anew; what takes minutes only if one is patient."""

    def fill(place: re.Match[str]) -> str:
        return (
            place[0] if place[2] == "slow" and not patient else place[1] + KINDS[place[2]](ROOT / place[3]) + place[5]
        )

    return PLACE.sub(fill, text)


def stale(text: str, *, package: bool = True) -> list[str]:
    """The slow places of a text that another version of the example, or of the package, has printed."""
    places = [(place[3], place[4]) for place in PLACE.finditer(text) if place[2] == "slow"]
    return [
        what
        for what, content in places
        if not content.startswith(printed_by(ROOT / what.partition("#")[0], package=package))
    ]


def of_an_example(block: str) -> bool:
    """Whether all lines of a block of code are lines of one example, in their order."""
    wanted = [line.strip() for line in block.splitlines() if line.strip()]
    for file in (ROOT / "examples").glob("*.py"):
        rest = iter([line.strip() for line in file.read_text().splitlines()])
        if all(line in rest for line in wanted):
            return True
    return False


def commands(page: Path) -> list[str]:
    """The whatfor commands that a page shows; a line that ends in a backslash goes on."""
    text = page.read_text().replace("\\\n", " ")
    return [" ".join(line.split()) for line in re.findall(r"^whatfor (.*)$", text, re.MULTILINE)]


def run_commands(page: Path, folder: Path) -> list[str]:
    """Run a page's commands in a folder, one after the other; what each prints."""
    done = [
        subprocess.run(
            f"{sys.executable} -m whatfor {command}", shell=True, check=True, cwd=folder, capture_output=True, text=True
        )
        for command in commands(page)
    ]
    return [one.stdout for one in done]


def draw_gallery() -> None:
    """Draw what the gallery shows, with the commands it shows."""
    images = ROOT / "docs" / "images"
    with tempfile.TemporaryDirectory() as folder:
        run_commands(ROOT / "docs" / "gallery.md", Path(folder))
        for picture in (Path(folder) / "out").glob("*.*"):
            shutil.copy(picture, images / picture.name)


if __name__ == "__main__":
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        page.write_text(filled(page.read_text(), patient=True))
    draw_gallery()
