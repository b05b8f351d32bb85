"""A reproduced figure of the paper: pictures, the paper's claim, and checks."""

from __future__ import annotations

from dataclasses import dataclass, field

from whatfor.explanation import Explanation
from whatfor.layouts import Layout, Panels


@dataclass(frozen=True)
class Check:
    """A claim of the paper beside the measurement here."""

    what: str
    paper: str
    ours: str
    met: bool


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
    """A reproduced figure of the paper."""

    id: str
    title: str
    claim: str  # what the figure should show, according to the paper
    pictures: tuple[Picture, ...]
    checks: tuple[Check, ...]
    answers: tuple[str, ...] = field(default=())  # the text of the explanations
    note: str = ""  # deviations from the paper


def residual_of(why: Explanation) -> float:
    """The residual of an answer, which the figures' agents always have."""
    assert why.residual is not None, "the agents of the figures have their own values"
    return why.residual
