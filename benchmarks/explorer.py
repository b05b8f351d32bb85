"""The explorer: the time from click to picture in a real browser, and eight clients at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import whatfor as wf
from report import Row
from whatfor.maps import places_of

ROOT = Path(__file__).parent.parent
CLICKS = 24
#: Clicks the cell of a state; returns the milliseconds until the new picture is drawn (the next frame).
CLICK = """async ([row, column]) => {
  const article = document.getElementById("answer-intention"), before = article.dataset.request;
  const cell = document.querySelector(`#board [data-row="${row}"][data-column="${column}"]`), began = performance.now();
  cell.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  while (article.dataset.request === before) await new Promise((next) => setTimeout(next, 0));
  await new Promise((next) => requestAnimationFrame(next));
  return performance.now() - began;
}"""


def section(scale: int) -> list[Row]:
    """A report and a server of the README's Taxi agent."""
    agent = wf.QLearning(step_size=0.4, discount=0.9, exploration=wf.linear(1.0, 0.1, episodes=250))
    run = wf.train("Taxi-v4", agent, episodes=5_000, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        return [
            *_report(run, Path(folder), scale),
            *_clicks(run, Path(folder), max(4, CLICKS // scale)),
            *_load(Path(folder), scale),
        ]


def _report(run: wf.Run, folder: Path, scale: int) -> list[Row]:
    path, episodes = folder / "twenty.html", max(2, 20 // scale)
    began = time.perf_counter()
    run.report(path, episodes=episodes)
    spent = time.perf_counter() - began
    return [
        Row(
            f"Taxi: a report of {episodes} episodes",
            path.stat().st_size / 1e6,
            "MB",
            3.0,
            note=f"written in {spent:.1f} s",
        )
    ]


def _clicks(run: wf.Run, folder: Path, clicks: int) -> list[Row]:
    sys.path.insert(0, str(ROOT / "tests" / "explorer"))
    from browsers import chromium
    from browsing import START, settled

    run.save(folder / "run")
    start = run.labels.index(START)
    cells = {
        (row, column): state
        for row, states in enumerate((places_of(run.labels, start) or ())[0])
        for column, state in enumerate(states)
    }
    run.report(folder / "board.html", states=list(cells.values()))
    others = [cell for cell, state in cells.items() if state != start][::-1][:clicks]
    command = [sys.executable, "-m", "whatfor", "explore", str(folder / "run"), "--no-browser", "--port", "0"]
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, chromium() as browser:
        assert server.stdout is not None
        address = server.stdout.readline().split()[2]
        for name, site in (("static", (folder / "board.html").as_uri()), ("live", address)):
            spent = _clicked(browser, f"{site}#state={start}", others, settled)
            note = f"the slowest {max(spent):.0f} ms; {len(spent)} clicks, each on another state"
            rows.append(
                Row(f"Taxi, {name}: from click to picture", median(spent), "ms", 100.0, note=note, detail={"ms": spent})
            )
        server.terminate()
        server.communicate()
    return rows


def _clicked(browser: Any, address: str, cells: list[tuple[int, int]], settled: Any) -> list[float]:
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    page.goto(address)
    spent = []
    for cell in cells:
        settled(page)
        spent.append(float(page.evaluate(CLICK, list(cell))))
    return spent


def _load(folder: Path, scale: int) -> list[Row]:
    """The measurements of tests/explorer/test_load.py."""
    out = folder / "load.json"
    environment = {**os.environ, "WHATFOR_LOAD_SECONDS": str(60 / scale), "WHATFOR_LOAD_OUT": str(out)}
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "load", "-p", "no:cacheprovider", "tests/explorer/test_load.py"],
        cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    load = json.loads(out.read_text())
    note = f"{load['answers']:,} answers in {load['seconds']:.0f} s, equal to the serial ones; half within {load['median_ms']:.0f} ms, the slowest {load['slowest_ms']:.0f} ms"
    return [Row("eight clients at once: memory beyond the first answer", load["more_mb"], "MB", 250.0, note=note)]
