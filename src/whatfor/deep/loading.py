"""A belief network from a folder: first all checks, then what is not saved and must be passed, then the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whatfor.deep.belief import BeliefNetwork
from whatfor.deep.cells import Partition, make_partition
from whatfor.deep.checking import SavedNetwork, check_saved, reading
from whatfor.deep.inputs import QValues
from whatfor.deep.network import AgentCopy
from whatfor.deep.normalising import FixedNormaliser
from whatfor.deep.saving import tensors_of
from whatfor.labels import Labels
from whatfor.runs import Run
from whatfor.text import either


def network_in(run: Run, document: Any, files: dict[str, bytes], *, cells: Any, agent: Any) -> Run:
    """The loaded run with its network, after all checks of the files."""
    with reading("belief network"):
        saved = check_saved(run.labels, document, files)
    partition, (q_values, copied) = _make_cells(saved, run.labels, cells), _make_agent(saved, run.labels, agent)
    with reading("belief network"):
        scaled = "online.features.mean" in saved.tensors
        belief = BeliefNetwork(partition, q_values, discount=saved.discount, settings=saved.settings, scaled=scaled)
        for name, tensor in tensors_of(belief).items():
            tensor.copy_(saved.tensors[name])
        belief.network.eval()
        belief.sync()
    belief.experience.updates, belief.experience.examples = saved.updates, saved.examples
    belief.source, belief.normaliser, belief.agent = saved.source, saved.normaliser, copied
    belief.trust, belief.checks = saved.trust, saved.checks
    return run.derived(beliefs=belief, labels=partition.labels)


def _make_cells(saved: SavedNetwork, labels: Labels, cells: Any) -> Partition:
    """The cells of a saved network, with the functions that were not saved."""
    concepts = [axis.name for axis in labels.axes] if saved.partition is None else []
    names = [*concepts, *saved.endings]
    if names and cells is None:
        raise ValueError(
            f"the concepts and endings of this run ({', '.join(names)}) are Python functions and are not saved: "
            + either("pass them again, wf.load(path, cells={...})", "add --cells module:NAME")
            + ", one dictionary with the same names"
        )
    if names and not isinstance(cells, Mapping):
        raise ValueError(
            f"{either('cells=', '--cells ')}{cells!r}; give the dictionary of concepts and endings that the run was trained with"
        )
    missing = [name for name in names if name not in cells]
    if missing:
        raise ValueError(f"{either('cells=', '--cells')} lacks {missing[0]!r}, which the run was trained with")
    partition = saved.partition
    if partition is None:
        rules, n_actions = {name: cells[name] for name in concepts}, labels.n_actions
        partition = make_partition(rules, saved.space, None, np.zeros(0), n_actions=n_actions, actions=labels.actions)
        if partition.labels.axes != labels.axes:
            raise ValueError("these are not the concepts that the run was trained with: they have other values")
    labels = replace(labels, points=partition.labels.points)
    return replace(partition, labels=labels, endings={name: cells[name] for name in saved.endings})


def _make_agent(saved: SavedNetwork, labels: Labels, agent: Any) -> tuple[QValues, AgentCopy | None]:
    """The agent's Q-values, from the model that was passed or from the saved weights; and the weights to save again."""
    normalise = saved.normaliser
    if callable(agent):
        return agent, None
    if agent is not None:
        from whatfor.deep.agent import check_model, copy_of, normaliser_of, q_values_of

        check_model(agent, saved.space, labels.n_actions)
        own = q_values_of(agent)
        q_values = (
            own
            if normalise is None or normaliser_of(agent) is not None
            else lambda observations: own(normalise(observations))
        )
        return q_values, copy_of(agent)
    if saved.agent is None:
        raise ValueError(
            "the agent's network cannot be rebuilt from the folder: it is not a plain Stable-Baselines3 network. "
            "Pass the agent, wf.load(path, agent=model)"
        )
    return _rebuild(saved.agent, saved, labels.n_actions, normalise), saved.agent


def _rebuild(agent: AgentCopy, saved: SavedNetwork, n_actions: int, normalise: FixedNormaliser | None) -> QValues:
    """The Q-values of the saved network."""
    from whatfor.deep.agent import blank_network

    with reading("agent"):
        net = blank_network(agent.layers, agent.activation, saved.space, n_actions)
        net.load_state_dict(agent.weights, assign=True)

    def q_values(observations: NDArray[Any]) -> NDArray[Any]:
        inputs = observations if normalise is None else normalise(observations)
        with torch.no_grad():
            values: torch.Tensor = net(torch.as_tensor(inputs))
        return values.numpy()

    return q_values
