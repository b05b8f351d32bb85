"""The scale from numbers to colours and lengths, shared by everything that is compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize

from whatfor.layouts import Board, Cloud, Grid, Layout, Panels
from whatfor.layouts.colours import COLOURS, MIN_VISIBLE_SHARE, SIGNED, STOPS
from whatfor.pictures.walk import leaves

MAPS: dict[str, Colormap] = {
    **{
        name: LinearSegmentedColormap.from_list(name, list(zip(STOPS, colours, strict=True)))
        for name, colours in COLOURS.items()
    },
    "signed": LinearSegmentedColormap.from_list("signed", SIGNED),
}


@dataclass(frozen=True)
class Scale:
    """The range of the numbers shown; panels of different quantities have a scale each."""

    low: float
    high: float
    diverging: bool = False
    panels: tuple[Scale, ...] = ()

    @property
    def norm(self) -> Normalize:
        """The normalization from numbers to colours, with zero in the middle if the numbers are signed."""
        if self.diverging or self.low == self.high:
            return Normalize(-self.size if self.diverging else 0.0, self.size)
        return Normalize(self.low, self.high)

    @property
    def size(self) -> float:
        """The largest absolute value."""
        return max(-self.low, self.high) or 1.0

    def is_faint(self, number: float) -> bool:
        """Whether a number is too small to be visible."""
        return abs(number) < MIN_VISIBLE_SHARE * self.size


def scale_of(layouts: Sequence[Layout]) -> Scale:
    """One scale for all of these layouts; a scale each for panels of different quantities."""
    first = layouts[0]
    numbers = [0.0, *(number for layout in layouts for number in _numbers(layout))]
    each: tuple[Scale, ...] = ()
    if isinstance(first, Panels) and not first.shared:
        columns = zip(*(layout.panels for layout in layouts if isinstance(layout, Panels)), strict=True)
        each = tuple(scale_of(column) for column in columns)
    leaf = next(leaves(first), None)
    return Scale(min(numbers), max(numbers), isinstance(leaf, (Board, Cloud, Grid)) and leaf.diverging, each)


def mappable(layout: Board | Cloud | Grid, scale: Scale, colour: str) -> ScalarMappable:
    """The norm and colour map of a colour bar."""
    return ScalarMappable(scale.norm, MAPS["signed" if layout.diverging else colour])


def readable_on(colour: tuple[float, ...]) -> str:
    """A text colour with enough contrast on a background colour."""
    return "white" if 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] < 0.5 else "#222222"


def short(number: float, *, signed: bool = False) -> str:
    """A number in about four characters."""
    digits = 2 if abs(number) < 10 else 1 if abs(number) < 100 else 0
    return f"{number:{'+' if signed else ''}.{digits}f}"


def _numbers(layout: Layout) -> Iterator[float]:
    for leaf in leaves(layout):
        if isinstance(leaf, Board):
            yield from (number for layer in leaf.layers for row in layer.cells for number in row)
        elif isinstance(leaf, Grid):
            yield from (number for row in leaf.numbers for number in row)
        elif isinstance(leaf, Cloud):
            yield from (leaf.full, -leaf.full if leaf.diverging else 0.0)
        else:
            rows = [row for one in leaf.series for row in (one.numbers, one.low, one.high) if row]
            yield from (number for row in rows for number in row)
