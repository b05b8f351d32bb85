"""Layouts: the contents of pictures as data, without drawing."""

from whatfor.layouts.shapes import Bars, Board, Grid, Layer, Layout, Lines, Panels, Series

__all__ = ["Bars", "Board", "Grid", "Layer", "Layout", "Lines", "Panels", "Series"]
