"""Pictures of the explorer, for the README and its page: `make screenshots`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import whatfor as wf

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "explorer"))
from browsers import chromium  # noqa: E402
from browsing import START, settled  # noqa: E402

IMAGES = ROOT / "docs" / "images"


def main() -> None:
    """Train the README's agent, write its report, and look at it."""
    agent = wf.QLearning(step_size=0.4, discount=0.9, exploration=wf.linear(1.0, 0.1, episodes=250))
    run = wf.train("Taxi-v4", agent, episodes=5_000, seed=0)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        report = Path(folder) / "taxi.html"
        run.report(report, states=[START])
        for name, link, options in (
            ("explorer", "", {"viewport": {"width": 1400, "height": 860}}),
            ("explorer-contrast", "&instead=2", {"viewport": {"width": 1400, "height": 860}}),
            (
                "explorer-phone",
                "",
                {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "device_scale_factor": 2},
            ),
        ):
            page = browser.new_context(**options).new_page()
            page.goto(
                f"{report.as_uri()}#state={run.labels.index(START)}{link}&episode=greedy:{run.labels.index(START)}"
            )
            settled(page)
            page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
