"""The tensors of a deep run's safetensors file: written, read and checked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load, save
from torch import Tensor

Tensors = dict[str, Tensor]

#: The bytes before a safetensors header, which hold its length.
PREFIX = 8


def pack(tensors: Mapping[str, Tensor]) -> bytes:
    """A safetensors file."""
    return save({name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()})


def unpack(data: bytes) -> Tensors:
    """The tensors of a safetensors file. They fit in the file, which safetensors checks before it allocates memory.

    >>> unpack(pack({"a": torch.ones(2)}))["a"].tolist()
    [1.0, 1.0]
    """
    tensors = load(data)
    header = data[PREFIX : PREFIX + int.from_bytes(data[:PREFIX], "little")]
    names = [name for name, _ in json.loads(header, object_pairs_hook=list)]
    if len(set(names)) != len(names):  # of two tensors with one name, safetensors takes the last
        raise ValueError("two of its tensors have the same name")
    return tensors


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    """Tensors under names that begin with a prefix."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def below(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    """The reverse: tensors whose names begin with a prefix, without it.

    >>> below("agent", {"agent.a": torch.ones(1), "count": torch.ones(1)})
    {'a': tensor([1.])}
    """
    return {
        name.removeprefix(f"{prefix}."): tensor for name, tensor in tensors.items() if name.startswith(f"{prefix}.")
    }


def arrays_below(prefix: str, tensors: Mapping[str, Tensor], names: Iterable[str]) -> list[NDArray[Any]]:
    """Some tensors as arrays; exactly these have names that begin with the prefix."""
    found = below(prefix, tensors)
    if set(found) != set(names):
        raise ValueError(f"its {prefix} has the tensors {_listed(found)}, not {_listed(names)}")
    return [found[name].numpy() for name in names]


def check_same(expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    """Reject tensors with other names, types or shapes than expected."""

    def describe(tensor: Tensor | None) -> str:
        return "missing" if tensor is None else f"{tensor.dtype} of the shape {tuple(tensor.shape)}"

    for name, blank in expected.items():
        actual, right = describe(found.get(name)), describe(blank)
        if actual != right:
            raise ValueError(f"its {name} is {actual}; its settings require {right}")
    check_known(set(expected), found)


def check_known(names: set[str], found: Iterable[str]) -> None:
    """Reject unknown tensors."""
    unknown = sorted(set(found) - names)
    if unknown:
        raise ValueError(f"it holds the unknown tensor {unknown[0]!r}")


def check_layers(widths: Iterable[int], weights: Mapping[str, Tensor]) -> None:
    """Reject sizes of layers that the weights do not have, before a network of these sizes is built."""
    if sorted(widths) != sorted(len(t) for name, t in weights.items() if name.endswith(".bias") and t.ndim):
        raise ValueError("its layers have other sizes than its weights")


def is_finite(tensors: Iterable[Tensor]) -> bool:
    """Whether every number is finite."""
    return all(bool(torch.isfinite(t).all()) for t in tensors if t.is_floating_point() or t.is_complex())


def as_tensor(array: NDArray[Any]) -> Tensor:
    """An array as a tensor of its own."""
    return torch.as_tensor(np.array(array))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
