"""A belief network read from a folder: everything is checked first, then what is not saved is asked for, then the network is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whatfor.deep.belief import BeliefNetwork, QValues
from whatfor.deep.cells import Cells, cells_of
from whatfor.deep.network import AgentCopy
from whatfor.deep.normalising import Fixed
from whatfor.deep.parts import Parts, parts_of, reading
from whatfor.deep.saving import tensors_of
from whatfor.labels import Labels
from whatfor.runs import Run


def network_in(run: Run, document: Any, files: dict[str, bytes], *, cells: Any, agent: Any) -> Run:
    """The loaded run with its network, after everything that comes from a file was checked."""
    with reading("belief network"):
        parts = parts_of(run.labels, document, files)
    over, (q_values, copied) = _cells(parts, run.labels, cells), _agent(parts, run.labels, agent)
    with reading("belief network"):
        belief = BeliefNetwork(over, q_values, **parts.settings)
        for name, tensor in tensors_of(belief).items():
            tensor.copy_(parts.tensors[name])
        belief.online.eval()
        belief.sync()
    belief.updates, belief.source, belief.normaliser = parts.updates, parts.source, parts.normaliser
    belief.agent, belief._examples = copied, parts.examples
    belief.trust = parts.trust
    return run.believing(belief)


def _cells(parts: Parts, labels: Labels, given: Any) -> Cells:
    """The cells of a saved network, with the functions that were not saved."""
    concepts = [axis.name for axis in labels.axes] if parts.cells is None else []
    names = [*concepts, *parts.endings]
    if names and given is None:
        raise ValueError(
            f"its concepts ({', '.join(names)}) are functions, which are not saved: pass them again, "
            "wf.load(path, cells={...}) with the same names and the endings' conditions among them; in a shell, --cells module:NAME"
        )
    if names and not isinstance(given, Mapping):
        raise ValueError(f"cells={given!r}; give the dictionary of concepts and endings that the run was learned with")
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"cells= lacks {missing[0]!r}, which the run was learned with")
    cells = parts.cells
    if cells is None:
        way = {name: given[name] for name in concepts}
        cells = cells_of(way, parts.space, None, np.zeros(0), n_actions=labels.n_actions, actions=labels.actions)
        if cells.labels.axes != labels.axes:
            raise ValueError("these concepts are not those that the run was learned with: they have other values")
    return replace(cells, labels=labels, endings={name: given[name] for name in parts.endings})


def _agent(parts: Parts, labels: Labels, given: Any) -> tuple[QValues, AgentCopy | None]:
    """The agent's Q-values, from the given model or from the saved weights; and the weights to save again."""
    normalise = parts.normaliser
    if callable(given):
        return given, None
    if given is not None:
        from whatfor.deep.agent import check_model, copy_of, q_values_of, seeing

        check_model(given, parts.space, labels.n_actions)
        own = q_values_of(given)
        q_values = (
            own if normalise is None or seeing(given) is not None else lambda observations: own(normalise(observations))
        )
        return q_values, copy_of(given)
    if parts.agent is None:
        raise ValueError(
            "the agent's network cannot be built again from what is saved: it is not a plain Stable-Baselines3 network. "
            "Pass the agent, wf.load(path, agent=model)"
        )
    return _rebuilt(parts.agent, parts, labels.n_actions, normalise), parts.agent


def _rebuilt(agent: AgentCopy, parts: Parts, n_actions: int, normalise: Fixed | None) -> QValues:
    """The Q-values of the saved network."""
    from whatfor.deep.agent import blank_network

    with reading("agent"):
        net = blank_network(agent.layers, agent.activation, parts.space, n_actions)
        net.load_state_dict(agent.weights, assign=True)

    def q_values(observations: NDArray[Any]) -> NDArray[Any]:
        inputs = observations if normalise is None else normalise(observations)
        with torch.no_grad():
            values: torch.Tensor = net(torch.as_tensor(inputs))
        return values.numpy()

    return q_values
