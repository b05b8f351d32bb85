"""A belief network and its agent's network in a run's folder: JSON and one safetensors file, which hold no code."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import torch

from whatfor.beliefs.trust import Trust
from whatfor.deep import document as schema
from whatfor.deep.belief import BeliefNetwork
from whatfor.deep.checking import check_saved, writing
from whatfor.deep.spaces import space_to_document
from whatfor.deep.tensors import Tensors, as_tensor, is_finite, pack, prefixed
from whatfor.jsonable import loadable
from whatfor.runs import Run


def network_out(run: Run) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The network's part of a run's folder: a document and a file, with the same checks as when the run is loaded."""
    belief = run.beliefs
    assert isinstance(belief, BeliefNetwork)
    if belief.encoded:
        raise ValueError("a belief network with an encoder of images cannot be saved yet")
    agent, normaliser = belief.agent, None if belief.normaliser is None else belief.normaliser.snapshot()
    with writing("belief network"):
        space, bounds = space_to_document(belief.partition.space)
        tensors = tensors_of(belief) | prefixed("cells", {k: as_tensor(v) for k, v in belief.partition.arrays.items()})
        tensors |= {} if agent is None else prefixed("agent", agent.weights)
        if normaliser is not None:
            tensors |= {f"normaliser.{name}": torch.tensor(getattr(normaliser, name), dtype=torch.float64) for name in ("mean", "scale")}  # fmt: skip
        if belief.checks is not None:
            tensors |= {
                "checks.observations": as_tensor(belief.checks.observations),
                "checks.errors": as_tensor(belief.checks.errors),
            }
        examples = belief.experience.examples
        cells = sorted(examples)
        if cells:
            tensors["example_cells"] = torch.tensor(cells)
            tensors["examples"] = as_tensor(np.stack([examples[cell] for cell in cells]))
    _check_finite(run, tensors)
    part = schema.NetworkDocument(
        settings=_settings_document(belief),
        cells=belief.partition.kind,
        endings=list(belief.partition.endings),
        space=space,
        updates=belief.updates,
        source=belief.source,
        trust=_trust_document(belief.trust) if isinstance(belief.trust, Trust) else None,
        normaliser=None if normaliser is None else schema.NormaliserDocument(loadable(normaliser.clip)),
        agent=None if agent is None else schema.AgentDocument(list(agent.layers), agent.activation),
        dimensions=() if belief.labels.points is None else belief.labels.points.names,
    )
    with writing("belief network"):
        document: dict[str, Any] = msgspec.to_builtins(part)
        contents = pack(tensors | prefixed("space", bounds))
        check_saved(belief.labels, document, {"belief": contents})
    return document, {"belief": contents}


def tensors_of(belief: BeliefNetwork) -> Tensors:
    """The tensors of a network and its experience, by their names in a file."""
    experience = belief.experience
    weights = prefixed("online", belief.network.state_dict())
    return weights | {"count": experience.count, "rewards": experience.rewards}


def _settings_document(belief: BeliefNetwork) -> schema.SettingsDocument:
    settings, sizes = belief.settings, belief.settings.sizes
    assert sizes is not None
    action = None if sizes.action is None else list(sizes.action)
    return schema.SettingsDocument(
        head=settings.head,
        sizes=schema.LayersDocument(list(sizes.state), action, list(sizes.joint)),
        reads=settings.reads,
        loss=settings.loss_or("huber"),
        discount=belief.discount,
        seed=operator.index(settings.seed),
    )


def _trust_document(trust: Trust) -> schema.TrustDocument:
    checked = None if trust.checked is None else schema.CheckedDocument(**_loadable(vars(trust.checked)))
    numbers = {name: value for name, value in vars(trust).items() if name not in ("labels", "checked", "here")}
    return schema.TrustDocument(**_loadable(numbers), checked=checked)


def _loadable(numbers: dict[str, Any]) -> dict[str, Any]:
    return {name: loadable(x) if isinstance(x, float) else x for name, x in numbers.items()}


def _check_finite(run: Run, tensors: Tensors) -> None:
    """Reject a run whose training has diverged, before anything is written."""
    agent = [tensor for name, tensor in tensors.items() if name.startswith("agent.")]
    if not is_finite(agent):
        raise ValueError(
            "the agent's network holds NaN or infinite weights, so the run cannot be saved: training has diverged. "
            "Train again with a smaller learning_rate, and save before it does"
        )
    if not is_finite(tensors.values()):
        raise ValueError(
            "the belief network holds NaN or infinite numbers, so it cannot be saved: look for rewards and "
            "observations that are not finite, and train again"
        )
    diverged = np.asarray((~np.isfinite(run.tables)).any(axis=(0, 2)))
    if diverged.any():
        raise ValueError(
            f"the agent's Q-values are NaN or infinite in {diverged.sum()} of {len(diverged)} states, so the run cannot be saved: "
            "training has diverged. Train again with a smaller learning_rate, and save before it does"
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
