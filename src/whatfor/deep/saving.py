"""A belief network and its agent's network in a run's folder: JSON and one safetensors file, which hold no code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import torch

from whatfor.beliefs.trust import Trust
from whatfor.deep import document as schema
from whatfor.deep.belief import BeliefNetwork
from whatfor.deep.document import as_json
from whatfor.deep.parts import parts_of, writing
from whatfor.deep.spaces import space_out
from whatfor.deep.tensors import Tensors, as_tensor, is_finite, pack, prefixed
from whatfor.runs import Run


def network_out(run: Run) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What a run's folder holds of its network: a document and a file, checked as they are when the run is loaded."""
    belief = run.beliefs
    assert isinstance(belief, BeliefNetwork)
    if belief.encoded:
        raise ValueError("a belief network that reads images by an encoder of its own cannot be saved yet")
    agent, normaliser = belief.agent, None if belief.normaliser is None else belief.normaliser.fixed()
    with writing("belief network"):
        space, bounds = space_out(belief.cells.space)
        tensors = tensors_of(belief) | prefixed("cells", {k: as_tensor(v) for k, v in belief.cells.arrays.items()})
        tensors |= {} if agent is None else prefixed("agent", agent.weights)
        if normaliser is not None:
            tensors |= {f"normaliser.{name}": torch.tensor(getattr(normaliser, name), dtype=torch.float64) for name in ("mean", "scale")}  # fmt: skip
        cells = sorted(belief._examples)
        if cells:
            tensors["example_cells"] = torch.tensor(cells)
            tensors["examples"] = as_tensor(np.stack([belief._examples[cell] for cell in cells]))
    _check_finite(run, tensors)
    settings, sizes = belief.settings, belief.settings.sizes
    part = schema.Network(
        settings=schema.Settings(
            head=settings.head,
            sizes=schema.Layers(
                list(sizes.state), None if sizes.action is None else list(sizes.action), list(sizes.joint)
            ),
            reads=settings.reads,
            loss=settings.loss,
            discount=settings.discount,
            seed=settings.seed,
        ),
        cells=belief.cells.kind,
        endings=list(belief.cells.endings),
        space=space,
        updates=belief.updates,
        source=belief.source,
        trust=None if run.trust is None else _trust_out(run.trust),
        normaliser=None if normaliser is None else schema.Normaliser(as_json(normaliser.clip)),
        agent=None if agent is None else schema.Agent(list(agent.layers), agent.activation),
    )
    with writing("belief network"):
        document: dict[str, Any] = msgspec.to_builtins(part)
        contents = pack(tensors | prefixed("space", bounds))
        parts_of(belief.labels, document, {"belief": contents})
    return document, {"belief": contents}


def tensors_of(belief: BeliefNetwork) -> Tensors:
    """What a network has learned, by the names that it has in a file."""
    learned = prefixed("online", belief.online.state_dict())
    return learned | {"count": belief._count, "brought": belief._brought}


def _trust_out(trust: Trust) -> schema.TrustNumbers:
    numbers = {name: value for name, value in vars(trust).items() if name != "labels"}
    return schema.TrustNumbers(**{name: as_json(x) if isinstance(x, float) else x for name, x in numbers.items()})


def _check_finite(run: Run, tensors: Tensors) -> None:
    """Refuse to save a run that has diverged, before anything is written."""
    agent = [tensor for name, tensor in tensors.items() if name.startswith("agent.")]
    if not is_finite(agent):
        raise ValueError(
            "the agent's network holds NaN or infinite weights, so the run cannot be saved: its learning has diverged. "
            "Train again with a smaller learning_rate, and save before it does"
        )
    if not is_finite(tensors.values()):
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
    for name, number in _numbers(run.settings, "settings"):
        if not np.isfinite(number):
            raise ValueError(
                f"{name} is {number}, so the run cannot be saved: look for rewards and observations that are not finite, and train again"
            )


def _numbers(data: Any, name: str) -> Iterator[tuple[str, float]]:
    """Every float in a document, with its place."""
    if isinstance(data, float):
        yield name, data
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, (list, tuple)) else ()
    for key, value in items:
        yield from _numbers(value, f"{name}.{key}")
