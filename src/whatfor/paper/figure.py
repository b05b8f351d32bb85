"""A reproduced figure of the paper: pictures beside what the paper says about them."""

from __future__ import annotations

from dataclasses import dataclass, field

from whatfor.layouts import Layout, Panels


@dataclass(frozen=True)
class Picture:
    """One picture of a figure; several frames make an animation."""

    name: str  # of its file, without the suffix
    frames: tuple[Layout, ...]
    caption: str = ""

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.{'png' if len(self.frames) == 1 else 'gif'}"

    @property
    def wide(self) -> bool:
        """Whether it needs the full width of the page."""
        shown = self.frames[0]
        return isinstance(shown, Panels) and shown.columns > 2

    @classmethod
    def of(cls, name: str, layout: Layout, caption: str = "") -> Picture:
        """A still picture."""
        return cls(name, (layout,), caption)


@dataclass(frozen=True)
class Figure:
    """A reproduced figure of the paper, or a claim that has none."""

    id: str
    title: str
    claim: str  # what the figure should show, according to the paper
    pictures: tuple[Picture, ...]
    answers: tuple[str, ...] = field(default=())  # the text of the explanations
    note: str = ""  # deviations from the paper
