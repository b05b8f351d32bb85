"""The page within a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from whatfor.explorer.page import build_page
from whatfor.explorer.report import build_payload
from whatfor.runs import Run
from whatfor.worlds.adapter import Enter


@dataclass(frozen=True)
class Inline:
    """A report in a frame of a notebook; it is saved with the notebook."""

    page: str
    height: int = 820

    def __repr__(self) -> str:
        return f"Inline(a page of {len(self.page) / 1e3:,.0f} KB, for a notebook)"

    def _repr_html_(self) -> str:
        # sandboxed: the page can run its script, use forms and offer downloads, but cannot reach the notebook
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" title="whatfor" sandbox="allow-scripts allow-forms allow-downloads" '
            f'style="width: 100%; height: {self.height}px; border: 1px solid #ccc"></iframe>'
        )


def inline_report(run: Run, episodes: int, states: Sequence[Any], enter: Enter | None, height: int) -> Inline:
    """A report of a run, to be shown in a notebook."""
    return Inline(build_page(build_payload(run, episodes=episodes, states=states, enter=enter)), height)
