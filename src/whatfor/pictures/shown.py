"""Figures that show themselves in a notebook."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

DPI = 100


class ShownFigure(Figure):
    """A figure without a window: pyplot, with its global state, knows nothing of it, so it gives notebooks its own PNG."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png", dpi=DPI)
        return file.getvalue()
