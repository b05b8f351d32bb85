"""Mutations of npz files: the members, their headers, and the zip around them."""

from __future__ import annotations

import io
import os
import pickle
import random
import struct
import zipfile
import zlib
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from fuzz.folders import Corpus, Inapplicable, Mutation, RunFolder
from fuzz.members import Member, members_of, packed

#: Where code from a file would write: outside the folder, which the worker detects.
TRAP = "executed"


class Trap:
    """Creates a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (TRAP,)


# -- members -------------------------------------------------------------------------------------


def header(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """A header that does not match its data."""
    group = folder.pick(rng, "npz")
    members = members_of(folder.files[group])
    if not members:
        raise Inapplicable
    at = rng.randrange(len(members))
    old = members[at]
    n = old.shape[0] if isinstance(old.shape, tuple) and old.shape else 0
    changes: list[dict[str, Any]] = [
        *({"shape": (size,)} for size in (n + 1, max(0, n - 1), -1, -n, 10**9, 2**62, 2**64, 10**30, True, 1.5)),
        *({"shape": wrong} for wrong in ((2**33, 2**33), (0, 2**62), (n,) * 40, [n], n, "x", (), None, (n, 0))),
        *({"fortran": wrong} for wrong in (True, 1, None, "False")),
        *({"descr": wrong} for wrong in ("|O", "<i3", "", "<f8,<i4", [("a", "<f8")], "U900000000", "|V0", "<U0", None, 5, ("<f8", (2, 2)), "<m8[ns]")),
        *({"version": wrong} for wrong in (b"\x02\x00", b"\x03\x00", b"\x09\x09", b"\x00\x00")),
        *({"header": wrong} for wrong in (b"", b"{", b"{}", b"[" * 9_000, b"__import__('os').mkdir('executed')\n", b" " * 70_000, b"\xff" * 118)),
        *({"data": wrong} for wrong in (b"", old.data[:-1], old.data + b"x", old.data * 2)),
    ]  # fmt: skip
    change = rng.choice(changes)
    members[at] = replace(old, **change)
    folder.files[group] = packed(members)
    name, value = next(iter(change.items()))
    return f"{group}/{old.name}: header, {name} = {str(value)[:40]}"


def member(rng: random.Random, folder: RunFolder, corpus: Corpus) -> str:
    """Members that are missing, too many, doubled, exchanged, or of another run."""
    group = folder.pick(rng, "npz")
    members = members_of(folder.files[group])
    if len(members) < 2:
        raise Inapplicable
    one, two = rng.sample(range(len(members)), 2)
    way = rng.choice(["missing", "extra", "doubled", "exchanged", "foreign", "none", "renamed", "path"])
    first, second = members[one], members[two]
    if way == "missing":
        del members[one]
    elif way == "extra":
        members.append(
            replace(
                first,
                name=rng.choice(
                    ["extra.npy", "extra", ".npy", "snapshot_x.npy", "table_first.npy", "initial.npy", "origin.npy"]
                ),
            )
        )
    elif way == "doubled":
        members.append(replace(second, name=first.name))
    elif way == "exchanged":
        members[one], members[two] = replace(second, name=first.name), replace(first, name=second.name)
    elif way == "foreign":
        source, other = rng.choice(list(corpus.items()))
        taken = rng.choice(members_of(other.files.get(group, b"")))
        members = [m for m in members if m.name != taken.name] + [taken]
        first, way = taken, f"of {source!r}"
    elif way == "none":
        members = []
    elif way == "renamed":
        members[one] = replace(
            first, name=rng.choice([first.name[:-4], first.name.upper(), "é.npy", "x\x00.npy", second.name])
        )
    else:
        members[one] = replace(first, name=rng.choice([f"../{first.name}", f"/tmp/{first.name}", f"a/{first.name}"]))
    folder.files[group] = packed(members)
    return f"{group}/{first.name}: {way}"


def code(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """A pickle, as an object array or in the place of the file."""
    group = folder.pick(rng, "npz")
    if rng.random() < 0.3:
        folder.files[group] = pickle.dumps(Trap())
        return f"{group}: a pickle"
    members = members_of(folder.files[group])
    if not members:
        raise Inapplicable
    at = rng.randrange(len(members))
    members[at] = replace(
        members[at], descr="|O", shape=(1,), data=pickle.dumps(np.array([Trap()], object), protocol=3)
    )
    folder.files[group] = packed(members)
    return f"{group}/{members[at].name}: an object array"


# -- the zip -------------------------------------------------------------------------------------


@cache
def _bomb(name: str, megabytes: int) -> bytes:
    """A compressed member that expands to far more: one compressed megabyte of zeros, repeated."""
    header, zeros = Member(name, "<f8", False, (megabytes << 17,), b"").written(), bytes(1 << 20)
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    begin = squeeze.compress(header) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(zeros) + squeeze.flush(zlib.Z_FULL_FLUSH)
    data = begin + block * megabytes + squeeze.flush(zlib.Z_FINISH)
    crc = zlib.crc32(header)
    for _ in range(megabytes):
        crc = zlib.crc32(zeros, crc)
    size, encoded = len(header) + (megabytes << 20), name.encode()
    fields = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, crc, len(data), size, len(encoded), 0)
    local = b"PK\x03\x04" + fields + encoded + data
    central = b"PK\x01\x02" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, 0) + encoded
    return local + central + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)


def _patched(data: bytes, at: int, pattern: str, value: int) -> bytes:
    return data[:at] + struct.pack(pattern, value) + data[at + struct.calcsize(pattern) :]


def _entries(data: bytes) -> list[tuple[int, int]]:
    """The offsets of each member's central and local headers."""
    found, at = [], data.find(b"PK\x01\x02")
    while at != -1 and at + 46 <= len(data):
        local = struct.unpack("<I", data[at + 42 : at + 46])[0]
        if local + 30 <= len(data):
            found.append((at, local))
        at = data.find(b"PK\x01\x02", at + 4)
    return found


#: Fields of a zip's headers: offset in the central one, in the local one (None: absent), format, and values.
FIELDS = {
    "flags": (8, 6, "<H", [1, 0x41, 8, 0x2000, 0x800]),  # encrypted, strongly encrypted, sizes follow, masked, UTF-8
    "method": (10, 8, "<H", [8, 12, 14, 93, 99, 1]),
    "crc": (16, 14, "<I", [0, 1]),
    "compressed size": (20, 18, "<I", [0, 1, 10**6, 2**31, 2**32 - 1]),
    "size": (24, 22, "<I", [0, 1, 10**6, 2**31, 2**32 - 1]),
    "name length": (28, 26, "<H", [0, 3, 65535]),
    "extra length": (30, 28, "<H", [1, 65535]),
    "local header": (42, None, "<I", [0, 1, 2**31, 2**32 - 1]),
}


def container(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """The zip itself: compressed, encrypted, overlapping, with wrong sizes, or not a zip."""
    group = folder.pick(rng, "npz")
    data = folder.files[group]
    members, entries = members_of(data), _entries(data)
    if not entries or not members:
        raise Inapplicable
    way = rng.choice(
        ["compressed", "bomb", "comment", "prefix", "cut", "npy", "overlapping", "zip64", "directory", *FIELDS, *FIELDS]
    )
    central, local = rng.choice(entries)
    if way in FIELDS:
        in_central, in_local, pattern, values = FIELDS[way]
        value = rng.choice(values)
        data = _patched(data, central + in_central, pattern, value)
        if in_local is not None and rng.random() < 0.7:
            data = _patched(data, local + in_local, pattern, value)
        way = f"{way} = {value}"
    elif way == "compressed":
        data = packed(members, rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    elif way == "bomb":
        data = _bomb(members[0].name, rng.choice([64, 300, 2_000]))
    elif way == "comment":
        data = data[:-2] + struct.pack("<H", 20) + b"PK\x05\x06" + b"x" * 16
    elif way == "prefix":
        data = rng.choice([b"x", b"PK", b"\x93NUMPY", b"\0" * 5_000]) + data
    elif way == "cut":
        data = data[: rng.randrange(len(data))]
    elif way == "npy":
        data = rng.choice(members).written()
    elif way == "overlapping":
        data = _patched(data, central + 42, "<I", rng.choice(entries)[1])
    elif way == "zip64":
        data = data[:-22] + data[-22:-14] + b"\xff" * 4 + data[-10:]
    else:
        file = io.BytesIO(data)
        with zipfile.ZipFile(file, "a") as archive:
            archive.mkdir("a")
        data = file.getvalue()
    folder.files[group] = data
    return f"{group}: zip, {way}"


MUTATIONS: dict[str, Mutation] = {
    "npz header": header,
    "npz member": member,
    "npz pickle": code,
    "npz zip": container,
}
