"""A Stable-Baselines3 DQN: what can be explained, its Q-values, its environment, its network."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecEnvWrapper, VecMonitor, VecNormalize
from stable_baselines3.dqn import DQN
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import nn

from whatfor.deep.document import Activation
from whatfor.deep.network import AgentCopy
from whatfor.deep.normalising import LiveNormaliser, Normaliser
from whatfor.deep.tensors import check_same
from whatfor.worlds.copying import changed_setting

if TYPE_CHECKING:
    import gymnasium as gym

    from whatfor.deep.inputs import QValues


def check_supported(model: Any) -> None:
    """Reject an agent whose updates beliefs could not follow, with the reason."""
    if isinstance(model, str | os.PathLike):
        raise ValueError(
            f"pass the agent itself, not its file: if you trust {os.fspath(model)!r}, load it with Stable-Baselines3 (which runs code from it)"
        )
    if not isinstance(getattr(model, "action_space", None), spaces.Discrete):
        raise ValueError(f"actions must be Discrete, since beliefs are over them; this agent has {model.action_space}")
    if not isinstance(model, DQN):
        raise ValueError(
            f"{type(model).__name__} is not supported, only DQN is. "
            "Your own loop of another Q-learning method can train a belief network: BeliefNetwork.update(batch, next_actions)"
        )
    if isinstance(model.observation_space, spaces.Dict):
        raise ValueError("observations are dictionaries; flatten them first with gymnasium.wrappers.FlattenObservation")
    if type(model).train is not DQN.train:
        raise ValueError(
            f"{type(model).__name__} has a train() of its own, so its targets are unknown; in a custom training loop, "
            "call BeliefNetwork.update(batch, next_actions)"
        )
    if getattr(model, "n_steps", 1) > 1:
        raise ValueError(
            f"n_steps={model.n_steps}: its batches leave out the states between, so visits to them are unknown; use n_steps=1"
        )
    if type(model.replay_buffer) is not ReplayBuffer and model.replay_buffer is not None:
        raise ValueError(
            f"the replay buffer is a {type(model.replay_buffer).__name__}: sampling it twice might change the agent; "
            "use Stable-Baselines3's own ReplayBuffer"
        )


def check_endings_known(model: DQN, endings: object) -> None:
    """Reject names of endings where the replay buffer does not keep the last observation of an episode."""
    if endings and getattr(model.replay_buffer, "optimize_memory_usage", False):
        raise ValueError(
            "endings= are conditions on the last observation of an episode, and with optimize_memory_usage=True the replay buffer "
            "overwrites it with the first one of the next episode: create the DQN without optimize_memory_usage, or leave out endings="
        )


def vec_normalize(model: DQN) -> VecNormalize | None:
    """The wrapper that normalises observations and rewards; None: there is none."""
    return model.get_vec_normalize_env()


def normaliser_of(model: DQN) -> Normaliser | None:
    """The normaliser of the agent's observations; None: they are not normalised."""
    layer = vec_normalize(model)
    return LiveNormaliser(layer) if layer is not None and layer.norm_obs else None


def q_values_of(model: DQN, *, frozen: bool = False) -> QValues:
    """The agent's Q-values of observations as the environment returns them; ``frozen``: further training does not change them."""
    net, normalise = model.q_net, normaliser_of(model)
    if frozen:
        net, normalise = copy.deepcopy(net).eval(), None if normalise is None else normalise.snapshot()

    def q_values(observations: NDArray[Any]) -> NDArray[Any]:
        inputs = observations if normalise is None else normalise(observations)
        with torch.no_grad():
            values: torch.Tensor = net(model.policy.obs_to_tensor(np.asarray(inputs))[0])
        return values.cpu().numpy()

    return q_values


def make_environment(vector: VecEnv | None, *, copies: bool = True) -> gym.Env[Any, Any] | None:
    """A new environment like those that the agent is trained in, for names and for rollouts; None: it cannot be created.

    Never one of the agent's own: questions must not change its training. ``copies``: whether a deep copy will do, which many environments do not survive.
    """
    _, vector = _unwrap(vector)
    if vector is None:
        return None
    env = vector.envs[0] if isinstance(vector, DummyVecEnv) else None
    env = env.env if isinstance(env, Monitor) else env
    return recreate(env, vector.get_attr("spec", 0)[0] if env is None else None, copies=copies)


def observes_single_env(vector: VecEnv | None) -> bool:
    """Whether the agent reads the observations of one environment, normalised at most."""
    layers, inner = _unwrap(vector)
    return inner is not None and all(isinstance(layer, (VecNormalize, VecMonitor)) for layer in layers)


def _unwrap(vector: VecEnv | None) -> tuple[list[VecEnvWrapper], VecEnv | None]:
    """The wrappers around a vector of environments, and the vector itself."""
    layers = []
    while isinstance(vector, VecEnvWrapper):
        layers.append(vector)
        vector = vector.venv
    return layers, vector


def recreate(env: gym.Env[Any, Any] | None, spec: Any = None, *, copies: bool = True) -> gym.Env[Any, Any] | None:
    """Another environment of the same kind and settings, or a deep copy; None: it cannot be created."""
    import gymnasium as gym

    spec = spec if env is None else env.spec
    with contextlib.suppress(gym.error.Error, TypeError, ValueError, AttributeError):
        if spec is not None:
            new = gym.make(spec)
            if env is None or changed_setting(env, new) is None:
                return new
    with contextlib.suppress(Exception):  # copying a third-party environment may raise anything
        return copy.deepcopy(env) if copies else None
    return None


#: Activations of an agent's network, by name.
ACTIVATIONS: dict[Activation, type[nn.Module]] = {name: getattr(nn, name) for name in get_args(Activation)}


def time_limit_of(model: DQN) -> str:
    """How the agent handles a time limit: "terminal", or "bootstrap"."""
    buffer = model.replay_buffer
    return "terminal" if buffer is not None and not buffer.handle_timeout_termination else "bootstrap"


def reward_scale(model: DQN) -> float:
    """The factor by which the environment's rewards are multiplied before the agent is trained on them."""
    layer = vec_normalize(model)
    if layer is None or not layer.norm_reward:
        return 1.0
    return float(1.0 / np.sqrt(layer.ret_rms.var + layer.epsilon))


def copy_of(model: DQN) -> AgentCopy | None:
    """A copy of an agent's Q-network; None: it cannot be rebuilt from its description."""
    policy, names = model.policy, {kind: name for name, kind in ACTIVATIONS.items()}
    plain = type(policy) is DQNPolicy and policy.features_extractor_class is FlattenExtractor
    if not plain or policy.activation_fn not in names or not policy.normalize_images:
        return None
    copied = AgentCopy(
        tuple(int(size) for size in policy.net_arch),
        names[policy.activation_fn],
        {name: tensor.detach().cpu().clone() for name, tensor in model.q_net.state_dict().items()},
    )
    n_actions = int(model.action_space.n)  # type: ignore[attr-defined]
    try:
        blank = blank_network(copied.layers, copied.activation, model.observation_space, n_actions)
        check_same(blank.state_dict(), copied.weights)
    except ValueError:  # the network differs from its description
        return None
    return copied


def check_model(model: Any, space: spaces.Space[Any], n_actions: int) -> None:
    """Reject a model that cannot be the agent of a saved run."""
    if not isinstance(model, DQN):
        raise ValueError(f"agent={model!r}; give the DQN, or a function from observations (B, ...) to Q-values (B, A)")
    if model.observation_space != space or model.action_space.n != n_actions:  # type: ignore[attr-defined]
        raise ValueError(
            f"agent= reads {model.observation_space} and has {model.action_space}; the run's agent reads {space} and has {n_actions} actions"
        )


def blank_network(layers: Sequence[int], activation: Activation, space: spaces.Space[Any], n_actions: int) -> nn.Module:
    """The Q-network that ``copy_of`` describes, without weights: it allocates no memory until they are loaded."""
    with torch.device("meta"):
        flat = FlattenExtractor(space)
        kind = ACTIVATIONS[activation]
        return QNetwork(space, spaces.Discrete(n_actions), flat, flat.features_dim, list(layers), kind).eval()
