"""Pictures on disk: complete, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
ANIMATED = (".gif",)
DPI = 150


def checked(path: str | os.PathLike[str], suffixes: Sequence[str] = SUFFIXES) -> Path:
    """A path that can be written to, with one of these suffixes."""
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise ValueError(f"{target} ends in {target.suffix!r}; choose one of {', '.join(suffixes)}")
    if not target.parent.is_dir():
        raise ValueError(f"there is no folder {target.parent}; make it first: mkdir -p {target.parent}")
    if target.is_dir():
        raise ValueError(f"{target} is a folder; name a file")
    return target


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Save a figure in the format that the suffix names."""
    target = checked(path)
    with replacing(target) as fresh:
        figure.savefig(fresh, format=target.suffix[1:].lower(), dpi=DPI)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write, in the same folder, which takes the place of ``path`` when all has gone well."""
    fresh = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield fresh
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
