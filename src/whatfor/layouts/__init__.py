"""What a picture shows, as data: nothing is drawn here."""

from whatfor.layouts.shapes import Bars, Board, Grid, Layer, Layout, Lines, Panels, Series

__all__ = ["Bars", "Board", "Grid", "Layer", "Layout", "Lines", "Panels", "Series"]
