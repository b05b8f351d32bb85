"""A belief network and its agent in a run's folder: safetensors and JSON, beside the agent's own zip. No code in them is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from safetensors.torch import save as tensors_to

from whatfor.deep.belief import BeliefNetwork
from whatfor.deep.told import finite, space_out, worded
from whatfor.runs import Run

Files = dict[str, tuple[str, bytes]]


def network_out(run: Run) -> tuple[dict[str, Any], Files]:
    """What a run's folder holds of its network: a document, and files."""
    belief = run._beliefs
    assert isinstance(belief, BeliefNetwork)
    if belief.encoded:
        raise ValueError("a belief network that reads images by an encoder of its own cannot be saved yet")
    tensors = tensors_of(belief)
    cells = sorted(belief._examples)
    if cells:
        tensors["example_cells"] = torch.tensor(cells)
        tensors["examples"] = torch.as_tensor(np.stack([belief._examples[cell] for cell in cells]))
    sizes, settings = belief.settings.sizes, belief.settings
    document = {
        "settings": {
            "head": settings.head,
            "sizes": {
                "state": list(sizes.state),
                "action": None if sizes.action is None else list(sizes.action),
                "joint": list(sizes.joint),
            },
            "reads": settings.reads,
            "loss": settings.loss,
            "discount": settings.discount,
            "seed": settings.seed,
        },
        "cells": belief.cells.recipe,
        "endings": list(belief.cells.endings),
        "space": space_out(belief.cells.space),
        "updates": belief.updates,
        "source": belief.source,
        "trust": None if run.trust is None else worded({k: v for k, v in vars(run.trust).items() if k != "labels"}),
        "normaliser": None if belief.normaliser is None else worded(asdict(belief.normaliser.fixed())),
    }
    _check_finite(run, document, tensors)
    files: Files = {"belief": ("safetensors", tensors_to({name: t.contiguous().cpu() for name, t in tensors.items()}))}
    if belief.packed is not None:
        files["agent"] = ("zip", belief.packed())
    return document, files


def tensors_of(belief: BeliefNetwork) -> dict[str, torch.Tensor]:
    """What a network has learned, by the names that it has in a file."""
    learned = {f"online.{name}": tensor for name, tensor in belief.online.state_dict().items()}
    return learned | {"count": belief._count, "brought": belief._brought}


def _check_finite(run: Run, document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Refuse to save what could not be read again, before anything is written."""
    if not finite(tensors):
        raise ValueError(
            "the belief network holds NaN or infinite numbers, so it believes nothing that could be saved: look for rewards and "
            "observations that are not finite, and train again"
        )
    odd = np.asarray((~np.isfinite(run.tables)).any(axis=(0, 2)))
    if odd.any():
        raise ValueError(
            f"the agent's Q-values are NaN or infinite in {odd.sum()} of {len(odd)} states, so the run cannot be saved: its "
            "learning has diverged. Train again with a smaller learning_rate, and save before it does"
        )
    for name, number in _numbers({"settings": run.settings, "network": document}):
        if not np.isfinite(number):
            raise ValueError(
                f"{name} is {number}, so the run cannot be saved: look for rewards and observations that are not finite, and train again"
            )


def _numbers(told: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Every float in a document, with its place."""
    if isinstance(told, float):
        yield name, told
    items = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, (list, tuple)) else ()
    for key, value in items:
        yield from _numbers(value, f"{name}.{key}".removeprefix("."))
