"""Layouts: the contents of pictures as data, without drawing."""

from whatfor.layouts.clouds import clouds
from whatfor.layouts.shapes import Bars, Board, Cloud, Contours, Grid, Layer, Layout, Lines, Panels, Series

__all__ = ["Bars", "Board", "Cloud", "Contours", "Grid", "Layer", "Layout", "Lines", "Panels", "Series", "clouds"]
