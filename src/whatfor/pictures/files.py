"""Save pictures atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whatfor.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
ANIMATION_SUFFIXES = (".gif",)
DPI = 150


def check_path(path: str | os.PathLike[str], suffixes: Sequence[str] = PICTURE_SUFFIXES) -> Path:
    """Check that a file with one of these suffixes can be written, and return its path."""
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise ValueError(
            f"{target} must end in {' or '.join([', '.join(suffixes[:-1]), suffixes[-1]] if len(suffixes) > 1 else suffixes)}"
        )
    if not target.parent.is_dir():
        raise ValueError(f"there is no folder {target.parent}; create it first: mkdir -p {target.parent}")
    if target.is_dir():
        raise ValueError(f"{target} is a folder; name a file")
    check_writable(target.parent)
    return target


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Raise ``ValueError`` unless files can be written to a folder, or the folder can be created."""
    path = Path(folder).absolute()
    there = next(one for one in (path, *path.parents) if os.path.lexists(one))
    if not there.is_dir():
        raise ValueError(f"{folder} cannot be a folder: {there} is a file; choose another folder")
    if not os.access(there, os.W_OK | os.X_OK) or (there != path and not _takes_folders(there)):
        raise ValueError(f"{there} is not writable; choose another folder, or change its permissions")


def _takes_folders(folder: Path) -> bool:
    """Whether a folder can be created in another one: some file systems do not allow it, whatever the permissions say."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".whatfor-", dir=folder))
    except OSError:
        return False
    return True


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Save a figure in the format of the suffix."""
    target = check_path(path)
    with replacing(target) as fresh:
        figure.savefig(fresh, format=target.suffix[1:].lower(), dpi=DPI)
