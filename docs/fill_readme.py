"""Fill the marked places of the README and the pages with what commands really print: `make readme`.

A place is everything between `<!-- kind: what -->` and `<!-- end -->`. A test checks that it is up to date. Where that takes
minutes (`slow`), tests compare checksums instead: such a place holds those of the example and of the package that printed it.
`make test` compares the example's, `make test-release` both. `--quick` leaves those out. Pictures that the code of a page saves go to docs/images.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PLACE = re.compile(r"(<!-- (\w+): (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PICTURES = (".png", ".gif")
#: How far rounding is off depends on the machine's vector width; everything else that is printed does not.
ROUNDING = re.compile(r"(residual:? )\d[\d.]*(e-\d+)?")
#: What a question needs, in a sentence for its page.
NEEDS = {
    "beliefs": "a run with a ledger, a belief network, or a table and its environment",
    "endings": "beliefs that know how episodes end: a run with a ledger, a belief network, or a table and its environment",
    "depths": "a run with a ledger, or an environment to play its policy in",
    "arrivals": "a run with a ledger, or an environment to play its policy in",
    "payments": "a run with a ledger, or an environment to play its policy in",
    "updates": "a run with a ledger",
    "two actions": "at least two actions",
    "play": "an environment to play in",
}


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
    unused = {package / name for name in ("explorer", "paper", "paper_command.py", "cli.py", "__main__.py")}
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
    """How often belief and reality differed without a named cause or by off-policy targets and initial values, and how often each tested cause was named: wrongly, and rightly."""
    result = json.loads(file.read_text())
    tests = ("maximisation bias", "too little data", "different environment")
    lines = [
        f"| well-trained agents | judged | different without a named cause | 95 % interval | off-policy targets or initial value named | {' | '.join(tests)} | not judged: tried seldom | their value is off by |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, row in result["settings"].items():
        low, high = row["interval"]
        named = " | ".join(f"{100 * row['false_alarms'][test]:.1f} %" for test in tests)
        parts = sum(row["verdicts"].get(part, 0) for part in ("off-policy targets", "initial value")) / row["judged"]
        off = f"{row['rare_off']:+.3f} ± {2 * row['rare_error']:.3f}" if row["rare"] else ""
        lines.append(
            f"| {name} | {row['judged']:,} | {100 * row['differs']:.1f} % | {100 * low:.1f} % to {100 * high:.1f} % | {100 * parts:.1f} % | {named} | {row['rare']:,} | {off} |"
        )
    episodes = ", ".join(f"{count:,} episodes ({kind})" for kind, count in result["episodes"].items())
    seeds = f"{result['seeds']} seeds each; {episodes}; stated rate {100 * result['rate']:.0f} %; off by: mean and two standard errors."
    return "\n".join([*lines, "", seeds, "", *_power(result), ""])


#: A rate of fewer states is left out of the table.
MIN_STATES = 30


def _power(result: Any) -> list[str]:
    """A table of how often each tested cause was named where it is known."""
    from whatfor.text import percent

    buffers = result["buffers"]
    rows: list[tuple[str, str, Any]] = [
        ("maximisation bias", f"example 6.7, {name}, 300 episodes{how}", found)
        for name, row in result["bias"].items()
        for how, found in (("", row), ("; judged by 1,000 rollouts", row["by_play"]))
    ]
    for name, row in buffers.items():
        agents = "Blackjack, fixed buffers" if name == "all" else f"of these, {name}"
        rows.append(("too little data", f"{agents}: chance of a bust off by more than 0.15", row["recognised"]))
    rows += _right(buffers["all"]["false_alarms"], "1,000 rollouts")
    for rollouts, played in buffers["all"]["by_play"].items():
        judged = f"; judged by {int(rollouts):,} rollouts"
        rows.append(
            (
                "too little data",
                f"Blackjack, fixed buffers: chance of a bust off by more than 0.15{judged}",
                played["recognised"],
            )
        )
        rows += _right(played["false_alarms"], f"play{judged}")
    for name, row in result["changes"].items():
        rows.append(("different environment", name, row["recognised"]))
        rows.append(("different environment", f"{name.partition(',')[0]}, unchanged", row["false_alarms"]))
    lines = ["| test | where | named | of | rate | 95 % interval |", "| --- | --- | --- | --- | --- | --- |"]
    for test, where, row in rows:
        low, high = row["interval"]
        lines.append(
            f"| {test} | {where} | {row['count']:,} | {row['of']:,} | {percent(row['rate'])} | {percent(low)} to {percent(high)} |"
        )
    return lines


def _right(false_alarms: Any, judge: str) -> list[tuple[str, str, Any]]:
    """How often each test was named where a belief is right."""
    rows = []
    for number, right in false_alarms.items():
        called = "chance of a bust" if number == "bust" else number
        where = f"Blackjack, fixed buffers: {called} right within two standard errors of {judge}"
        rows += [(test, where, row) for test, row in right.items() if row["of"] >= MIN_STATES]
    return rows


def taxi(file: Path) -> str:
    """What deep Taxi's script found for the presets as they are."""
    from whatfor.paper.presets import PRESETS

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


def play(file: Path) -> str:
    """How far settled beliefs are from play, agent by agent: `benchmarks/deep_play.json#exact` is of worlds that are known, `#chaos` of moved states."""
    path, _, part = str(file).partition("#")
    rows = [one for one in json.loads(Path(path).read_text()) if ("return_exact" in one) == (part == "exact")]
    if part == "chaos":
        return _chaos([one for one in rows if "moved" in one])
    if part == "exact":
        lines = [
            "| agent, seed | return | visits off | length off | stated visit error | grade | settling / training |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for one in rows:
            ratio = one["settling_seconds"] / one["training_seconds"]
            lines.append(
                f"| {one['agent']}, {one['seed']} | {one['return_exact']:.2f} | {one['visits']:.3f} | {one['length']:.1%} | {one['stated']:.3f} | {one['grade']} | {ratio:.1f} |"
            )
        return "\n".join([*lines, ""])
    lines = [
        "| agent, seed | mean return | visits off | best constant answer | after another action | mean visits off | length off | endings off | stated visit error | 90 % interval | grade | near a state | settling / training |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in rows:
        low, high = one["interval"]
        endings = "–" if one["endings"] is None else f"{one['endings']:.3f}"
        lines.append(
            f"| {one['agent']}, {one['seed']} | {one['return']:.0f} | {one['visits']:.3f} | {one['constant']:.2f} | {one['other']:.3f} | {one['averaged']:.3f} | {one['length']:.1%} | {endings} "
            f"| {one['stated']:.3f} | {low:.3f} to {high:.3f}{'' if one['holds'] else ' (**outside**)'} | {one['grade']} | {one['near_correlation']:.2f} | {one['settling_seconds']:.0f} s / {one['training_seconds']:.0f} s |"
        )
    return "\n".join([*lines, ""])


def _chaos(rows: list[dict[str, Any]]) -> str:
    """How far real visits change if a state is moved a little."""
    shares = list(rows[0]["moved"])
    lines = [
        f"| agent, seed | {' | '.join(f'moved by {100 * float(share):g} %' for share in shares)} | the belief |",
        "| --- " * (2 + len(shares)) + "|",
    ]
    for one in rows:
        numbers = " | ".join(f"{one['moved'][share]:.3f}" for share in shares)
        lines.append(f"| {one['agent']}, {one['seed']} | {numbers} | {one['visits']:.3f} |")
    return "\n".join([*lines, ""])


def related(file: Path) -> str:
    """A table of the comparison with related methods: `benchmarks/related.json#visits` is one of RELATED."""
    path, _, part = str(file).partition("#")
    agents = json.loads(Path(path).read_text())["agents"]
    first, cells = RELATED[part]
    head = [f"| {first} | {' | '.join(agents)} |", "| --- " * (1 + len(agents)) + "|"]
    rows = [cells(agent) for agent in agents.values()]
    lines = [f"| {name} | {' | '.join(str(row.get(name, '')) for row in rows)} |" for name in rows[0]]
    return "\n".join([*head, *lines, ""])


def _off(share: float) -> str:
    """A relative difference; rounding error is 0."""
    return "0" if share < 1e-9 else f"{share:.2g}" if share < 0.001 else f"{share:.1%}".replace("%", " %")


def _sizes(agent: dict[str, Any]) -> dict[str, str]:
    asked = {"episodes": f"{agent['episodes']:,}", "updates": f"{agent['updates']:,}"}
    return asked | {"state-action pairs": f"{agent['pairs']:,}", "questions": str(agent["questions"])}


def _visits(agent: dict[str, Any]) -> dict[str, str]:
    known = {name: row for name, row in agent["methods"].items() if "off_exact" in row}
    return {name: f"{_off(row['off_account'])} / {_off(row['off_exact'])}" for name, row in known.items()}


def _same(agent: dict[str, Any]) -> dict[str, str]:
    return {"`parts` and reward decomposition": f"{agent['off_parts']:.0e}", "`timeline` and temporal decomposition": f"{agent['off_timeline']:.0e}"}  # fmt: skip


def _reasons(agent: dict[str, Any]) -> dict[str, str]:
    found = {f"reasons by {name}": f"{mean:.1f}" for name, mean in agent["reasons"].items()}
    return {"parts of the reward": str(agent["n_parts"]), **found}


def _salient(agent: dict[str, Any]) -> dict[str, str]:
    features = ", ".join(f"{name} {count}" for name, count in agent["salient"].items() if count)
    return {"the most salient feature, times": features or "one feature only: no answer"}


def _costs(agent: dict[str, Any]) -> dict[str, str]:
    def told(row: dict[str, float]) -> str:
        asked = "< 0.01" if row["question"] < 0.01 else f"{row['question']:.2g}"
        return f"{row['update']:.2g} µs, {asked} ms, {row['bytes'] / 1e6:.2g} MB"

    return {name: told(row) for name, row in agent["costs"].items()}


#: By name: the first head cell of a table of the comparison, and the cells of one agent by row.
RELATED: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, str]]]] = {
    "agents": ("", _sizes),
    "values": ("sum, off the Q-value by", lambda agent: {name: _off(row["off_value"]) for name, row in agent["methods"].items()}),
    "visits": ("visits, off the agent's account / the exact ones", _visits),
    "same": ("largest difference", _same),
    "reasons": ("on average", _reasons),
    "salient": ("", _salient),
    "costs": ("an update, a question, memory", _costs),
}  # fmt: skip


def claim_counts(file: Path) -> str:
    """How many of the paper's claims are reproduced, not reproduced and unclear."""
    from whatfor.paper.evidence import STATUSES
    from whatfor.text import count

    rows = json.loads(file.read_text(encoding="utf-8"))
    counts = ", ".join(f"**{sum(row['status'] == status for row in rows)} {status}**" for status in STATUSES)
    seeds = count(max(row["seeds"] for row in rows), "agent")
    return f"{counts}, of {len(rows)} claims, each measured on {seeds}.\n"


def claims(file: Path) -> str:
    """What `whatfor paper` found about the paper's claims, as it wrote it: the counts, then every claim."""
    from whatfor.text import percent

    rows = json.loads(file.read_text(encoding="utf-8"))
    lines = [
        claim_counts(file),
        "| | claim | agents that show it | measured: median (range) | wrong mechanism | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        low, high = row["interval"]
        status = row["status"] if row["status"] == "reproduced" else f"**{row['status']}**"
        wrong = f"{row['wrong'][0]} of {row['wrong'][1]}: {row['wrong_mechanism']}"
        rate = (
            f"{row['met']} of {row['seeds']} ({percent(low)} to {percent(high)}; threshold {percent(row['at_least'])})"
        )
        lines.append(
            f"| {row['figure']} | {row['says']} | {rate} | {row['number']}: {row['median']} | {wrong} | {status} |"
        )
    return "\n".join([*lines, ""])


def questions(folder: Path) -> str:
    """The list of questions, one line each, with links to their pages in a folder."""
    from whatfor.asking import QUESTIONS

    near = "" if folder == ROOT else f"{folder.relative_to(ROOT)}/"
    lines = ["| question | answer |", "| --- | --- |"]
    for name, one in QUESTIONS.items():
        needed = "".join(f", {p.name}=..." for p in one.parameters if p.needed)
        lines.append(f"| [`run.{name}(state{needed})`]({near}{name}.md) | {one.summary} |")
    return "\n".join([*lines, ""])


def question(name: Path) -> str:
    """How one question is asked, from Python and from a shell, and what it needs."""
    from whatfor.asking import QUESTIONS

    one = QUESTIONS[name.name]
    signature = inspect.signature(one.ask)
    taken = list(signature.parameters.values())[1:]  # without the run
    shown = signature.replace(
        parameters=[p.replace(annotation=inspect.Parameter.empty) for p in taken],
        return_annotation=inspect.Signature.empty,
    )
    says, _, more = (inspect.getdoc(one.ask) or "").partition("\n")
    flags = "".join(f" [--{p.shell} {p.name.upper()}]" for p in one.parameters if not p.needed)
    flags = "".join(f" --{p.shell} {p.name.upper()}" for p in one.parameters if p.needed) + flags
    lines = ["```text", f"run.{one.name}{shown}", f"whatfor explain RUN --state STATE [--action ACTION] --question {one.name}{flags}", "```", ""]  # fmt: skip
    lines += [" ".join([says, *more.replace("``", "`").split()]), ""]
    if one.parameters:
        lines += ["| parameter | in the shell | |", "| --- | --- | --- |"]
        lines += [f"| `{p.name}` | `--{p.shell}` | {p.full_help}{'; required' * p.needed} |" for p in one.parameters]
        lines += [""]
    if one.shows:
        shows = ", ".join(f"`{what}`" for what in one.shows)
        lines += [f"Other pictures (`--show` in the shell, `wf.draw(answer, show=...)` in Python): {shows}.", ""]  # fmt: skip
    wanted = {*one.needs} - ({"beliefs"} if "endings" in one.needs else set())  # the latter are beliefs, too
    needs = [NEEDS[need] for need in sorted(wanted)] or ["any run"]
    return "\n".join([*lines, f"Needs {'; and '.join(needs)}.", ""])


def modules(folder: Path) -> str:
    """The modules of a package, each with the first line of its docstring."""
    found = {}
    for path in sorted(folder.iterdir()):
        source = path / "__init__.py" if path.is_dir() else path
        if source.suffix == ".py" and source.exists() and path.stem != "__init__":
            doc = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
            found[f"{path.name}/" if path.is_dir() else path.name] = doc.partition("\n")[0]
    return "\n".join(["```text", *(f"{name:16} {doc}" for name, doc in found.items()), "```", ""])


def layers(file: Path) -> str:
    """The layers of modules that import-linter enforces, the lowest first."""
    contracts = tomllib.loads(file.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    rows = next(one["layers"] for one in contracts if one["type"] == "layers")
    return "\n".join(["```text", *(row.replace(" | ", ", ") for row in reversed(rows)), "```", ""])


KINDS = {
    "modules": modules,
    "layers": layers,
    "example": example,
    "output": output,
    "slow": slow,
    "table": table,
    "calibration": calibration,
    "taxi": taxi,
    "play": play,
    "related": related,
    "claims": claims,
    "claimcounts": claim_counts,
    "questions": questions,
    "question": question,
}


def blocks(text: str) -> list[re.Match[str]]:
    """The code of a page that is its own, and not an example's."""
    return [block for block in BLOCK.finditer(text) if not of_an_example(block[1])]


def run_page(text: str, folder: Path) -> list[str]:
    """Run the code of a page in a folder, as one script with warnings as errors; what each block prints."""
    own = [block[1] for block in blocks(text)]
    (folder / "page.py").write_text('print("\\0", end="")\n'.join(own), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "page.py"], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT / "src")},  # the whatfor beside these pages
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"the code of a page fails:\n{done.stderr}")
    return done.stdout.split("\0")


def filled(text: str, *, patient: bool = False, folder: Path | None = None) -> str:
    """The text with every place filled anew; what takes minutes only if one is patient, what its code prints only with a folder."""
    printed = [] if folder is None or "<!-- prints:" not in text else run_page(text, folder)

    def fill(place: re.Match[str]) -> str:
        kind, what = place[2], place[3]
        if (kind == "slow" and not patient) or (kind == "prints" and not printed):
            return place[0]
        if kind == "prints":  # what the block before it does
            before = sum(block.start() < place.start() for block in blocks(text))
            return f"{place[1]}```text\n{printed[before - 1].strip()}\n```\n{place[5]}"
        return place[1] + KINDS[kind](ROOT / what) + place[5]

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


def to_fill(page: Path, *, quick: bool = True) -> str:
    """What to run to fill a page, for the messages of tests."""
    return f"run .venv/bin/python docs/fill_readme.py {'--quick ' * quick}{page.relative_to(ROOT)}"


def commands(page: Path) -> list[str]:
    """The whatfor commands that a page shows; a line that ends in a backslash goes on."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text().replace("\\\n", " "), re.DOTALL | re.MULTILINE)
    return [" ".join(line.split()) for block in blocks for line in re.findall(r"^whatfor (.*)$", block, re.MULTILINE)]


def pages() -> list[Path]:
    """The pages of the documentation."""
    return sorted((ROOT / "docs").rglob("*.md"))


def main() -> None:
    """Fill every place, and keep the pictures that pages draw; a page whose code fails is left as it was."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path, help="the pages to fill; by default the README and all pages")
    parser.add_argument("--quick", action="store_true", help="leave out the examples that take minutes")
    given = parser.parse_args()
    patient, failed = not given.quick, []
    for page in [path.resolve() for path in given.pages] or (ROOT / "README.md", *pages()):
        print(page.relative_to(ROOT), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = filled(page.read_text(), patient=patient, folder=Path(folder))
            except RuntimeError as error:
                failed.append(f"{page.relative_to(ROOT)}: {error}")
                continue
            page.write_text(text)
            for picture in Path(folder).iterdir():
                if picture.suffix in PICTURES:
                    shutil.copy(picture, ROOT / "docs" / "images" / picture.name)
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
