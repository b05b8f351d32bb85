"""What the document of a deep run says: written, and read with a look at every word of it."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from reprlib import repr as shortened
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors import SafetensorError

from whatfor.folder import FolderError

#: What to do about a folder that says what whatfor never writes.
AGAIN = "it was changed after it was saved: take another copy, or train and save it again"

#: What a file that says nonsense makes NumPy, PyTorch, Gymnasium and zipfile raise.
NONSENSE = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, OSError, RuntimeError, SafetensorError,
    TypeError, ValueError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip

#: Numbers that JSON has no word for, as they are written.
NOT_FINITE = ("nan", "inf", "-inf")


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Whatever is wrong with a file is told in one way: what cannot be read, why, and what to do."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except FolderError:  # told already
        raise
    except NONSENSE as error:
        why = error.args[0] if isinstance(error, KeyError) and error.args else error  # a KeyError puts it in quotes
        raise FolderError(f"the {what} cannot be read: {' '.join(str(why).split())}; {AGAIN}") from error


def said(told: Any, name: str, *kinds: type) -> Any:
    """What a document says under a name, if it is of such a kind."""
    if not isinstance(told, dict) or name not in told:
        raise ValueError(f"nothing is said of its {name}")
    if not isinstance(told[name], kinds) or (isinstance(told[name], bool) and bool not in kinds):
        raise ValueError(f"its {name} is {shortened(told[name])}")
    return told[name]


def said_list(told: Any, name: str, kind: type) -> list[Any]:
    """A list of things of one kind."""
    held: list[Any] = said(told, name, list)
    if not all(type(one) is kind for one in held):
        raise ValueError(f"its {name} is {shortened(held)}")
    return held


def worded(told: dict[str, Any]) -> dict[str, Any]:
    """Numbers by name, with words for those that JSON has none for: an agent may have diverged, or not clip what it sees."""
    return {name: repr(float(x)) if isinstance(x, float) and not np.isfinite(x) else x for name, x in told.items()}


def number_in(told: dict[str, Any], name: str) -> float:
    """A number that ``worded`` may have written in words."""
    held = said(told, name, int, float, str)
    if held not in NOT_FINITE and (isinstance(held, str) or not np.isfinite(held)):
        raise ValueError(f"its {name} is {held!r}")
    return float(held)


def finite(tensors: dict[str, torch.Tensor]) -> bool:
    """Whether all numbers of some tensors are."""
    return all(bool(torch.isfinite(t).all()) for t in tensors.values() if t.is_floating_point())


def space_out(space: spaces.Space[Any]) -> dict[str, Any]:
    """A space of observations as JSON can hold it."""
    if isinstance(space, spaces.Discrete):
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        return {"kind": "multidiscrete", "nvec": space.nvec.tolist(), "start": space.start.tolist()}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "multibinary", "n": int(space.n)}  # type: ignore[arg-type]
    if isinstance(space, spaces.Box):
        return {
            "kind": "box",
            "shape": list(space.shape),
            "dtype": str(space.dtype),
            "low": _shown(space.low),
            "high": _shown(space.high),
        }
    raise ValueError(f"observations of {space} cannot be saved")


def space_in(told: dict[str, Any]) -> Any:
    """The space that ``space_out`` wrote."""
    kind = said(told, "kind", str)
    if kind == "discrete":
        return spaces.Discrete(said(told, "n", int), start=said(told, "start", int))
    if kind == "multidiscrete":
        return spaces.MultiDiscrete(said(told, "nvec", list), start=said(told, "start", list))
    if kind == "multibinary":
        return spaces.MultiBinary(said(told, "n", int))
    if kind == "box":
        dtype: Any = np.dtype(said(told, "dtype", str))
        if dtype.kind not in "biuf":  # a text of any length would be one, too
            raise ValueError(f"its observations are of {dtype}, which are no numbers")
        sides = (np.array([float(x) for x in said(told, side, list)]) for side in ("low", "high"))
        low, high = (side.reshape(said(told, "shape", list)).astype(dtype) for side in sides)
        return spaces.Box(low, high, dtype=dtype.type)
    raise ValueError(f"its observations are of an unknown kind, {kind!r}")


def _shown(numbers: NDArray[Any]) -> list[str]:
    return [repr(float(x)) for x in numbers.ravel()]
