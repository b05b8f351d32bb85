"""A figure of the paper, made again: pictures, what the paper says of them, and what was checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from whatfor.explanation import Explanation
from whatfor.layouts import Layout, Panels


@dataclass(frozen=True)
class Check:
    """Something the paper says, beside what was measured here."""

    what: str
    paper: str
    ours: str
    met: bool


@dataclass(frozen=True)
class Picture:
    """One picture of a figure; several frames make a moving one."""

    name: str  # of its file, without the suffix
    frames: tuple[Layout, ...]
    caption: str = ""

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.{'png' if len(self.frames) == 1 else 'gif'}"

    @property
    def wide(self) -> bool:
        """Whether it needs the whole width of a page."""
        shown = self.frames[0]
        return isinstance(shown, Panels) and shown.columns > 2

    @classmethod
    def of(cls, name: str, layout: Layout, caption: str = "") -> Picture:
        """A still picture."""
        return cls(name, (layout,), caption)


@dataclass(frozen=True)
class Figure:
    """What a figure of the paper became."""

    id: str
    title: str
    claim: str  # what the paper says should be seen
    pictures: tuple[Picture, ...]
    checks: tuple[Check, ...]
    answers: tuple[str, ...] = field(default=())  # what the agent says itself
    note: str = ""  # what deviates


def residual_of(why: Explanation) -> float:
    """How far an answer is from the agent's own value."""
    assert why.residual is not None, "the agents of the figures have values of their own"
    return why.residual
