"""Groups of arrays in NumPy's npz format, read strictly.

NumPy accepts compressed members, pickles, and headers that claim more data than the file contains. A run has none of
these, so they are rejected, and reading needs no more memory than the size of the file.
"""

from __future__ import annotations

import zipfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

#: The most arrays in a group.
MAX_ARRAYS = 64
ENCRYPTED = 0x1
READ_BYTES = 1 << 18


def write_arrays(file: IO[bytes], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a group of arrays, uncompressed."""
    np.savez(file, allow_pickle=False, **{name: np.asarray(array, order="C") for name, array in arrays.items()})


def read_arrays(file: IO[bytes]) -> dict[str, NDArray[Any]]:
    """The arrays that ``write_arrays`` wrote; anything else raises an exception.

    >>> import io
    >>> file = io.BytesIO()
    >>> write_arrays(file, {"rewards": np.array([1.0, 2.0])})
    >>> read_arrays(file)["rewards"].tolist()
    [1.0, 2.0]
    """
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len({member.filename for member in members}) < len(members) or len(members) > MAX_ARRAYS:
            raise ValueError("it contains an array twice, or more arrays than a run has")
        size = file.seek(0, 2)
        if sum(member.file_size for member in members) > size:
            raise ValueError("its arrays are larger than the file")
        return {member.filename.removesuffix(".npy"): _array(archive, member) for member in members}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    name = member.filename
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & ENCRYPTED:
        raise ValueError(f"{name!r} is compressed or encrypted; a run's arrays are neither")
    with archive.open(member) as stored:
        if np.lib.format.read_magic(stored) != (1, 0):
            raise ValueError(f"{name!r} has an unsupported header version")
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stored)
        if dtype.hasobject:
            raise ValueError(
                f"{name!r} contains a pickle, which can run code when it is read; a run never does, so it is rejected"
            )
        if by_columns or dtype.kind not in "biuf" or min(shape, default=0) < 0:
            raise ValueError(f"{name!r} is {dtype} of shape {shape}; a run's arrays are plain numbers in C order")
        if int(np.prod(shape, dtype=object)) * dtype.itemsize != member.file_size - stored.tell():
            raise ValueError(f"{name!r} does not contain as many numbers as its header claims")
        array: NDArray[Any] = np.empty(shape, dtype)
        into, at = array.reshape(-1).view(np.uint8).data, 0
        while chunk := stored.read(READ_BYTES):
            into[at : at + len(chunk)] = chunk
            at += len(chunk)
        if at < len(into):
            raise ValueError(f"{name!r} is truncated")
    return array


def checked_array(
    group: dict[str, NDArray[Any]], name: str, dtype: Any, ndim: int, length: int | None = None
) -> NDArray[Any]:
    """An array of a group; ``ValueError`` unless it has this dtype, number of dimensions and length."""
    array = group[name]
    if array.dtype != dtype or array.ndim != ndim or (length is not None and len(array) != length):
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, unlike any run's")
    return np.ascontiguousarray(array)


def within(name: str, array: NDArray[Any], low: int, high: int) -> NDArray[Any]:
    """The array; ``ValueError`` unless ``low <= array < high``."""
    if array.size and (array.min() < low or array.max() >= high):
        raise ValueError(
            f"{name} has numbers out of range: {array.min()} to {array.max()} instead of {low} to {high - 1}"
        )
    return array


def finite(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array; ``ValueError`` if it has NaN or infinite numbers."""
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} contains NaN or infinite numbers: training has diverged, so there is nothing to explain. "
            "Train again with smaller rewards or a smaller step size"
        )
    return array


def check_summed(name: str, summed: NDArray[np.float64], first: NDArray[np.int64]) -> None:
    """Raise ``ValueError`` unless the cumulative probabilities that start at each of ``first`` rise to 1."""
    rising = np.diff(summed, prepend=0.0) >= 0.0
    rising[first] = summed[first] >= 0.0
    last = summed[np.append(first[1:], len(summed)) - 1]
    if not rising.all() or not np.allclose(last, 1.0, atol=1e-6):
        raise ValueError(f"the saved world's probabilities ({name}) are negative or do not sum to 1")
