"""The members of an npz file, with headers that may be wrong."""

from __future__ import annotations

import ast
import io
import struct
import warnings
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.folders import Inapplicable


@dataclass
class Member:
    """One array as npz writes it: a header, and bytes."""

    name: str
    descr: Any
    fortran: bool
    shape: Any
    data: bytes
    version: bytes = b"\x01\x00"
    header: bytes | None = None  # replaces the header built from the fields

    @classmethod
    def of(cls, name: str, array: NDArray[Any]) -> Member:
        """The member of an array."""
        return cls(name, np.lib.format.dtype_to_descr(array.dtype), False, array.shape, array.tobytes())

    @property
    def array(self) -> NDArray[Any]:
        """The array, if the header is correct."""
        try:
            dtype = np.dtype(self.descr)
            return np.frombuffer(self.data, dtype).reshape(self.shape, order="F" if self.fortran else "C").copy()
        except (TypeError, ValueError, OverflowError):
            raise Inapplicable from None

    def written(self) -> bytes:
        """Header and bytes."""
        header = self.header
        if header is None:
            text = f"{{'descr': {self.descr!r}, 'fortran_order': {self.fortran!r}, 'shape': {self.shape!r}, }}"
            header = text.encode("latin-1", "replace").ljust(117) + b"\n"
        length = struct.pack("<H", min(len(header), 65535)) if self.version[0] == 1 else struct.pack("<I", len(header))
        return b"\x93NUMPY" + self.version + length + header + self.data


@lru_cache(64)
def _members(data: bytes) -> tuple[Member, ...]:
    members = []
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        for entry in packed.infolist():
            raw = packed.read(entry)
            end = 10 + struct.unpack("<H", raw[8:10])[0]
            header = ast.literal_eval(raw[10:end].decode("latin-1"))
            members.append(Member(entry.filename, header["descr"], header["fortran_order"], header["shape"], raw[end:]))
    return tuple(members)


def members_of(data: bytes) -> list[Member]:
    """The members of an archive, if it is still readable; replace members, do not change them."""
    try:
        return list(_members(data))
    except (
        zipfile.BadZipFile,
        SyntaxError,
        ValueError,
        LookupError,
        struct.error,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
    ):
        raise Inapplicable from None


def packed(members: list[Member], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of members; names may repeat."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", compression) as archive:
        warnings.simplefilter("ignore")  # zipfile warns of doubled names
        for member in members:
            entry = zipfile.ZipInfo(member.name)
            entry.compress_type = compression
            archive.writestr(entry, member.written())
    return file.getvalue()
