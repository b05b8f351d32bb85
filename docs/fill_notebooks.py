"""Execute the tutorials and store what they print and draw: `make readme`. A test checks that the stored text is up to date."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "tutorials"
#: Longest time for one cell, in seconds.
TIMEOUT = 240
#: Threads of linear algebra only wait for each other, a kernel's remarks about its debugger are not for readers, and the whatfor is the one beside these pages.
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONPATH": str(ROOT / "src"),
}


def notebooks() -> list[Path]:
    """The tutorials."""
    return sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """A tutorial with the outputs of its cells, run in a folder; an error in a cell is raised."""
    notebook: Any = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**os.environ, **ENVIRONMENT})
    notebook.metadata = {"language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {}  # when it was executed
    return notebook


def texts(notebook: Any) -> list[str]:
    """The text of each cell's outputs, warnings too; pictures differ from machine to machine and are left out."""
    return ["\n".join(text for one in cell.get("outputs", ()) for text in _texts(one)) for cell in notebook.cells]


def _texts(output: Any) -> list[str]:
    """What was printed, or the texts of what was shown."""
    shown = output.get("data", {})
    return [output["text"]] if "text" in output else [shown[kind] for kind in sorted(shown) if kind.startswith("text/")]


def main() -> None:
    """Execute the tutorials in place: those that are named, by default all."""
    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else notebooks():
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder)), path)
        print(path.name, flush=True)


if __name__ == "__main__":
    main()
