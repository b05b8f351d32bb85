"""Render layouts as images of one size on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from whatfor.layouts import Layout
from whatfor.pictures.panels import draw_layout
from whatfor.pictures.scale import scale_of
from whatfor.pictures.sizes import figure_size, in_lines, place_on


def frames(layouts: Sequence[Layout], dpi: int) -> list[Image.Image]:
    """Draw each layout as one image."""
    layouts, scale = [in_lines(one) for one in layouts], scale_of(layouts)
    widths, heights = zip(*(figure_size(layout) for layout in layouts), strict=True)
    images = []
    for layout in layouts:
        figure = Figure(figsize=(max(widths), max(heights)), dpi=dpi, layout="constrained")
        ax = figure.subplots()
        draw_layout(layout, ax, scale, place_on(ax, layout))
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        images.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize())
    return images
