"""Mutations of the manifest and of the folder itself, and damaged files with correct checksums."""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.archives import Trap
from fuzz.documents import CHANGES, brief, change, dumped
from fuzz.folders import MANIFEST, Corpus, Inapplicable, Mutation, RunFolder

#: A file next to the folder of every case, which must still exist afterwards.
VICTIM = "victim.txt"

PATHS = [
    f"../{VICTIM}", "/etc/passwd", "..", ".", "", "a/b", "run-0.json", MANIFEST, "run-0123456789abcdef.json/..", "x" * 300, "a\0b", None, 5, ["x"],
]  # fmt: skip


def document(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """Mutate the manifest like any other document."""
    kind, seed = rng.choice(list(CHANGES)), rng.random()

    def alter(manifest: Any) -> Any:
        if isinstance(manifest, bytes):
            return manifest
        try:
            changed, _ = change(random.Random(seed), manifest, kind)
        except Inapplicable:
            return manifest
        return dumped(changed)

    folder.manifest_changes.append(alter)
    what = change(random.Random(seed), json.loads(json.dumps(folder.manifest)), kind)[1]
    return f"manifest: {what}"


def entry(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """One entry of the manifest: its file's name, size, checksum."""
    name = rng.choice(list(folder.files))
    old = folder.manifest["files"][name]
    changes: list[dict[str, Any]] = [
        *({"file": wrong} for wrong in PATHS),
        *({"bytes": wrong} for wrong in (0, -1, 10**15, 2**64, None, "1", 1.5, True)),
        *({"sha256": wrong} for wrong in ("", "0" * 64, None, 5, "x" * 10**6)),
    ]
    what = rng.choice(changes)

    def alter(manifest: Any) -> Any:
        if (
            isinstance(manifest, dict)
            and isinstance(manifest.get("files"), dict)
            and isinstance(manifest["files"].get(name), dict)
        ):
            manifest["files"][name].update(what)
        return manifest

    folder.manifest_changes.append(alter)
    return f"manifest: {old['file']} with {brief(what)}"


def entries(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """Entries that are missing, exchanged, too many or of another kind."""
    one, two = rng.choice(list(folder.files)), rng.choice(list(folder.files))
    way = rng.choice(
        [
            "missing",
            "exchanged",
            "named otherwise",
            "same file",
            "not an object",
            "another ending",
            "none",
            "a thousand",
        ]
    )
    others: list[Any] = [None, 5, "x", [], {}]
    wrong = rng.choice(others)
    ending = rng.choice(["json", "npz", "safetensors", "zip", "pkl", "json.part"])

    def alter(manifest: Any) -> Any:
        files = manifest.get("files") if isinstance(manifest, dict) else None
        if not isinstance(files, dict) or one not in files or two not in files:
            return manifest
        if way == "missing":
            del files[one]
        elif way == "exchanged":
            files[one], files[two] = files[two], files[one]
        elif way == "named otherwise":
            files[f"{one}x"] = files.pop(one)
        elif way == "same file":
            files[one] = files[two]
        elif way == "not an object":
            files[one] = wrong
        elif way == "another ending" and isinstance(files[one], dict) and isinstance(files[one].get("file"), str):
            files[one]["file"] = files[one]["file"].rpartition(".")[0] + "." + ending
        elif way == "none":
            files.clear()
        else:
            files |= {f"{one}{i}": files[one] for i in range(1_000)}
        return manifest

    if way == "another ending":
        before = folder.file(one)
        folder.damage.append(lambda path: _copy(path / before, path / (before.rpartition(".")[0] + "." + ending)))
    folder.manifest_changes.append(alter)
    return f"manifest: {one} {way} ({two}, {ending}, {wrong})"


def _copy(source: Path, target: Path) -> None:
    if source.is_file() and not target.exists():
        shutil.copyfile(source, target)


# -- what is in the folder -------------------------------------------------------------------------


def node(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """Replace a file with something other than a regular file."""
    named = rng.choice(
        [folder.file(rng.choice(list(folder.files))), MANIFEST, ".lock", ".journal.json", ".manifest.json.part"]
    )
    way = rng.choice(
        [
            "link elsewhere",
            "dangling link",
            "link to itself",
            "link to a device",
            "FIFO",
            "folder",
            "missing",
            "empty",
            "socket name",
        ]
    )

    def alter(path: Path) -> None:
        file = path / named
        held = file.read_bytes() if file.is_file() and not file.is_symlink() else b""
        _removed(file)
        if way == "link elsewhere":
            (path.parent / "elsewhere").write_bytes(held)
            file.symlink_to(path.parent / "elsewhere")
        elif way == "dangling link":
            file.symlink_to("nowhere")
        elif way == "link to itself":
            file.symlink_to(file.name)
        elif way == "link to a device":
            file.symlink_to("/dev/zero")
        elif way == "FIFO":
            os.mkfifo(file)
        elif way == "folder":
            file.mkdir()
            (file / "x").write_bytes(b"x")
        elif way == "empty":
            file.write_bytes(b"")

    folder.damage.append(alter)
    return f"folder: {named} is a {way}"


def _removed(file: Path) -> None:
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)


def leftovers(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """Files of an interrupted save, forged: no file in them may be deleted or read."""
    names = [rng.choice(PATHS) for _ in range(3)]
    forged: list[Any] = [
        names,
        [*names, *(folder.file(name) for name in folder.files)],
        {"files": names},
        None,
        5,
        "x",
        [names],
    ]
    contents = rng.choice([json.dumps(rng.choice(forged)).encode(), b"", b"\xff", b"[" * 100_000])
    named = rng.choice(
        [
            ".journal.json",
            ".journal.json",
            ".lock",
            ".manifest.json.part",
            "run-0123456789abcdef.json",
            ".run-0123456789abcdef.json.part",
        ]
    )

    def alter(path: Path) -> None:
        _removed(path / named)
        (path / named).write_bytes(contents)

    folder.damage.append(alter)
    return f"folder: {named} holds {brief(contents)}"


def unforged(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """Damage a file; its checksum in the manifest stays."""
    name = folder.file(rng.choice(list(folder.files)))
    harm, what = _harm(rng)

    def alter(path: Path) -> None:
        file = path / name
        if file.is_file() and not file.is_symlink():
            file.write_bytes(harm(file.read_bytes()))

    folder.damage.append(alter)
    return f"damage: {name} {what}"


def raw(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """Damage a file and correct its checksum in the manifest."""
    name = rng.choice(list(folder.files))
    harm, what = _harm(rng)
    folder.files[name] = harm(folder.files[name])
    return f"raw: {name} {what}"


def _harm(rng: random.Random) -> tuple[Callable[[bytes], bytes], str]:
    way, share, bit = (
        rng.choice(["bit", "bit", "bits", "cut", "longer", "zeros", "pickle", "random", "cut a byte"]),
        rng.random(),
        rng.randrange(8),
    )
    more = rng.randbytes(64)

    def harm(data: bytes) -> bytes:
        at = int(share * len(data))
        changed = bytearray(data)
        if way in ("bit", "bits"):
            for place in range(at, min(len(data), at + (1 if way == "bit" else 8))):
                changed[place] ^= 1 << bit
            return bytes(changed)
        ways = {
            "cut": data[:at],
            "cut a byte": data[:-1],
            "longer": data + more,
            "zeros": data[:at] + b"\0" * (len(data) - at),
            "pickle": pickle.dumps(Trap()),
            "random": data[:at] + more + data[at + 64 :],
        }
        return ways[way]

    return harm, f"{way} at {share:.4f}"


MUTATIONS: dict[str, Mutation] = {
    "manifest document": document,
    "manifest entry": entry,
    "manifest entries": entries,
    "folder node": node,
    "folder leftovers": leftovers,
    "raw damage": raw,
    "honest damage": unforged,
}
