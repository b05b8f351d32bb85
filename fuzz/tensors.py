"""Mutations of safetensors files: the header, the offsets and the numbers of tensors."""

from __future__ import annotations

import json
import random
import struct
from typing import Any

import numpy as np

from fuzz.documents import change, decoded
from fuzz.folders import Corpus, Inapplicable, Mutation, RunFolder

SIZES = {
    "F64": 8,
    "F32": 4,
    "F16": 2,
    "BF16": 2,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U8": 1,
    "BOOL": 1,
    "F8_E4M3": 1,
}
NUMPY = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}


def parted(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and numbers, if the file is still readable."""
    if len(data) < 8:
        raise Inapplicable
    (length,) = struct.unpack("<Q", data[:8])
    header = decoded(data[8 : 8 + length])
    if not isinstance(header, dict) or not any(name != "__metadata__" for name in header):
        raise Inapplicable
    return header, data[8 + length :]


def joined(header: Any, numbers: bytes, length: int | None = None) -> bytes:
    """A file, possibly with a wrong length of the header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text) if length is None else length) + text + numbers


def _picked(rng: random.Random, folder: RunFolder) -> tuple[str, dict[str, Any], bytes, str]:
    name = folder.pick(rng, "safetensors")
    header, numbers = parted(folder.files[name])
    entries = [key for key, entry in header.items() if isinstance(entry, dict) and "data_offsets" in entry]
    if not entries:
        raise Inapplicable
    return name, header, numbers, rng.choice(entries)


def number(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """Numbers that no network has, at valid offsets."""
    name, header, numbers, tensor = _picked(rng, folder)
    kind, (begin, end) = header[tensor].get("dtype"), header[tensor]["data_offsets"]
    if kind not in NUMPY or end <= begin or end > len(numbers):
        raise Inapplicable
    held = np.frombuffer(numbers[begin:end], NUMPY[kind]).copy()
    floats = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, 0.0, 1e6]
    wholes = [] if held.dtype.kind == "f" else [-1, 0, int(held.max()), int(held.min()) - 1, np.iinfo(held.dtype).max]
    value = rng.choice(wholes or floats)
    at = rng.randrange(len(held))
    with np.errstate(all="ignore"):
        held[at if rng.random() < 0.7 else slice(None)] = value
    folder.files[name] = joined(header, numbers[:begin] + held.tobytes() + numbers[end:])
    return f"{name}/{tensor}: {value}"


def header(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """A tensor that the header describes wrongly."""
    name, described, numbers, tensor = _picked(rng, folder)
    entry = described[tensor]
    shape, (begin, end) = list(entry.get("shape", [])), entry["data_offsets"]
    n = len(numbers)
    changes: list[dict[str, Any]] = [
        *({"dtype": kind} for kind in (*SIZES, "X", "", None, 5)),
        *({"shape": wrong} for wrong in ([*shape, 1], shape[1:], shape[::-1], [2**62, 4], [-1], [0], [2**64], [1.5], "x", None, [*shape, 0])),
        *({"data_offsets": wrong} for wrong in ([begin, end + 1], [end, begin], [0, 0], [0, n], [n, 2 * n], [-4, end], [0, 2**63], [0], [0.5, 4], None)),
    ]  # fmt: skip
    what = rng.choice(changes)
    entry.update(what)
    folder.files[name] = joined(described, numbers)
    return f"{name}/{tensor}: {what}"


def fitted(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """A tensor of another shape or kind whose bytes fit: nothing in the file contradicts it."""
    name, described, numbers, tensor = _picked(rng, folder)
    if any("data_offsets" not in entry for key, entry in described.items() if key != "__metadata__"):
        raise Inapplicable
    tensors, at, parts = {}, 0, []
    kind = rng.choice(["F32", "F64", "F16", "I64", "U8", "BOOL"])
    old = list(described[tensor].get("shape") or [])
    if not all(isinstance(n, int) for n in old):
        raise Inapplicable
    shape = rng.choice(
        [
            [],
            [0],
            [1],
            [*old, 1],
            old[::-1],
            [n + 1 for n in old],
            [max(0, n - 1) for n in old],
            [2 * n for n in old[:1]] + old[1:],
            [100_000],
        ]
    )
    for key, entry in described.items():
        if key == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        held, new = numbers[begin:end], dict(entry)
        if key == tensor:
            same = rng.random() < 0.6 and entry.get("dtype") in SIZES
            new.update(dtype=entry["dtype"] if same else kind, shape=shape)
            held = bytes(int(np.prod(shape, dtype=np.int64)) * SIZES[new["dtype"]])
        new["data_offsets"] = [at, at + len(held)]
        tensors[key], at = new, at + len(held)
        parts.append(held)
    folder.files[name] = joined(tensors, b"".join(parts))
    return f"{name}/{tensor}: {tensors[tensor]['dtype']} of shape {shape}"


def members(rng: random.Random, folder: RunFolder, corpus: Corpus) -> str:
    """Tensors that are missing, too many, exchanged, or of another run."""
    name, described, numbers, tensor = _picked(rng, folder)
    way = rng.choice(["missing", "extra", "renamed", "exchanged", "foreign", "overlapping", "many"])
    if way == "missing":
        del described[tensor]
    elif way == "extra":
        described[rng.choice(["extra", "", "examples", "example_cells", "online.extra.bias", "__class__"])] = described[
            tensor
        ]
    elif way == "renamed":
        described[tensor.upper()] = described.pop(tensor)
    elif way == "exchanged":
        other = rng.choice(list(described))
        described[tensor], described[other] = described[other], described[tensor]
    elif way == "overlapping":
        described[tensor]["data_offsets"] = described[rng.choice([key for key in described if key != "__metadata__"])][
            "data_offsets"
        ]
    elif way == "many":
        described |= {f"x{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(5_000)}
    else:
        source, other_run = rng.choice(list(corpus.items()))
        if name not in other_run.files:
            raise Inapplicable
        folder.files[name] = other_run.files[name]
        return f"{name}: the file of {source!r}"
    folder.files[name] = joined(described, numbers)
    return f"{name}/{tensor}: {way}"


def text(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """The header as text and its length."""
    name, described, numbers, _tensor = _picked(rng, folder)
    whole = json.dumps(described).encode()
    ways: dict[str, bytes] = {
        "length too large": joined(described, numbers, len(whole) + 1_000),
        "length huge": joined(described, numbers, 2**63),
        "length 0": joined(described, numbers, 0),
        "length short": joined(described, numbers, len(whole) // 2),
        "not JSON": joined(b"{" * 1_000, numbers),
        "a list": joined([described], numbers),
        "empty": joined({}, numbers),
        "deep": joined(b'{"a":' * 10_000 + b"1" + b"}" * 10_000, numbers),
        "not UTF-8": joined(b"\xff" + whole, numbers),
        "more numbers": joined(described, numbers + b"\0" * 1_000),
        "fewer numbers": joined(described, numbers[:-4]),
        "metadata": joined(
            {**described, "__metadata__": rng.choice([{"a": 1}, [], None, {"format": "x" * 10**6}])}, numbers
        ),
    }
    way = rng.choice(list(ways))
    folder.files[name] = ways[way]
    return f"{name}: header, {way}"


def document(rng: random.Random, folder: RunFolder, _: Corpus) -> str:
    """Mutate the header like any other document."""
    name, described, numbers, _tensor = _picked(rng, folder)
    changed, what = change(rng, described, rng.choice(["replace", "tweak", "drop", "unknown", "swap"]))
    folder.files[name] = joined(changed, numbers)
    return f"{name}: header, {what}"


MUTATIONS: dict[str, Mutation] = {
    "tensor number": number,
    "tensor header": header,
    "tensor shape": fitted,
    "tensor members": members,
    "tensor text": text,
    "tensor document": document,
}
