"""The folder of a saved run in memory: its files can be changed, and the manifest is adapted."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"


class Inapplicable(Exception):
    """A mutation that has nothing to change in this folder."""


@dataclass
class RunFolder:
    """A folder to write: files with correct checksums, then changes to the manifest, then damage to the files."""

    manifest: dict[str, Any]
    files: dict[str, bytes]  # by the name that the manifest uses: "run", "arrays", "ledger"
    manifest_changes: list[Callable[[dict[str, Any]], Any]] = field(default_factory=list)
    damage: list[Callable[[Path], None]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> RunFolder:
        """The folder that was saved at a path."""
        manifest = json.loads((path / MANIFEST).read_bytes())
        return cls(manifest, {name: (path / entry["file"]).read_bytes() for name, entry in manifest["files"].items()})

    def copy(self) -> RunFolder:
        """The same folder, to be changed."""
        return RunFolder(json.loads(json.dumps(self.manifest)), dict(self.files))

    def file(self, name: str) -> str:
        """The name of a file on disk."""
        named: str = self.manifest["files"][name]["file"]
        return named

    def of_kind(self, ending: str) -> list[str]:
        """The names of all files with a suffix, "json"."""
        return [name for name in self.files if self.file(name).endswith(f".{ending}")]

    def pick(self, rng: random.Random, ending: str) -> str:
        """The name of a random file with a suffix."""
        names = self.of_kind(ending)
        if not names:
            raise Inapplicable
        return rng.choice(names)

    def write(self, path: Path) -> None:
        """Write the folder."""
        path.mkdir()
        for name, data in self.files.items():
            (path / self.file(name)).write_bytes(data)
            self.manifest["files"][name].update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
        manifest: Any = self.manifest
        for change in self.manifest_changes:
            manifest = change(manifest)
        (path / MANIFEST).write_bytes(manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode())
        for harm in self.damage:
            harm(path)


Corpus = dict[str, RunFolder]

#: Changes a folder with random choices from a generator, and returns a description.
Mutation = Callable[[random.Random, RunFolder, Corpus], str]


@cache
def read_corpus(path: Path) -> Corpus:
    """The runs that mutations start from, by name."""
    return {folder.name: RunFolder.read(folder) for folder in sorted(path.iterdir())}
