"""The page within a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class Inline:
    """A report in a frame of a notebook; it is saved with the notebook."""

    page: str
    height: int = 820

    def _repr_html_(self) -> str:
        # sandboxed: the page can run its script, use forms and offer downloads, but cannot reach the notebook
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" title="whatfor" sandbox="allow-scripts allow-forms allow-downloads" '
            f'style="width: 100%; height: {self.height}px; border: 1px solid #ccc"></iframe>'
        )
