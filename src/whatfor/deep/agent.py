"""A Stable-Baselines3 DQN as somebody who can be asked: what it thinks, and what can be explained of it."""

from __future__ import annotations

import contextlib
import copy
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
from whatfor.deep.normalising import Learning, Normaliser
from whatfor.deep.tensors import check_same
from whatfor.worlds.making import changed

if TYPE_CHECKING:
    import gymnasium as gym

    from whatfor.deep.belief import QValues


def check(model: Any) -> None:
    """Refuse an agent whose beliefs would not be what it learned from, with the reason."""
    if not isinstance(getattr(model, "action_space", None), spaces.Discrete):
        raise ValueError(
            f"actions must be countable (Discrete): a belief is over them too; this agent has {model.action_space}"
        )
    if not isinstance(model, DQN):
        raise ValueError(
            f"{type(model).__name__} has no Q-values of countable actions to explain; a DQN has. "
            "For an own training loop there is BeliefNetwork.update(batch, next_actions)"
        )
    if isinstance(model.observation_space, spaces.Dict):
        raise ValueError("observations are dictionaries; flatten them first with gymnasium.wrappers.FlattenObservation")
    if type(model).train is not DQN.train:
        raise ValueError(
            f"{type(model).__name__} has a train() of its own, so what its targets are built on is not known; in an own loop, "
            "call BeliefNetwork.update(batch, next_actions)"
        )
    if getattr(model, "n_steps", 1) > 1:
        raise ValueError(
            f"n_steps={model.n_steps}: its batches leave out the states between, so nobody can say what was expected of them; use n_steps=1"
        )
    if type(model.replay_buffer) is not ReplayBuffer and model.replay_buffer is not None:
        raise ValueError(
            f"the replay buffer is a {type(model.replay_buffer).__name__}: whether it can be sampled twice without changing what the agent learns "
            "is not known; use Stable-Baselines3's own ReplayBuffer"
        )


def normaliser(model: DQN) -> VecNormalize | None:
    """The layer that normalises what the agent sees, if there is one."""
    return model.get_vec_normalize_env()


def seeing(model: DQN) -> Normaliser | None:
    """How observations are changed before the agent reads them, if they are."""
    layer = normaliser(model)
    return Learning(layer) if layer is not None and layer.norm_obs else None


def q_values_of(model: DQN, *, frozen: bool = False) -> QValues:
    """What an agent thinks of observations as the environment shows them; ``frozen``: as it thinks now, whatever it learns later."""
    net, normalise = model.q_net, seeing(model)
    if frozen:
        net, normalise = copy.deepcopy(net).eval(), None if normalise is None else normalise.fixed()

    def q_values(observations: NDArray[Any]) -> NDArray[Any]:
        seen = observations if normalise is None else normalise(observations)
        with torch.no_grad():
            values: torch.Tensor = net(model.policy.obs_to_tensor(np.asarray(seen))[0])
        return values.cpu().numpy()

    return q_values


def environment(vector: VecEnv | None) -> gym.Env[Any, Any] | None:
    """An environment like those behind a vector of them, for names and for play; None: it cannot be made again.

    Never one that the agent trains in: what is asked must not move it.
    """
    _, vector = _unwrapped(vector)
    if vector is None:
        return None
    env = vector.envs[0] if isinstance(vector, DummyVecEnv) else None
    env = env.env if isinstance(env, Monitor) else env
    return again(env, vector.get_attr("spec", 0)[0] if env is None else None)


def sees_through(vector: VecEnv | None) -> bool:
    """Whether the agent sees what one environment shows, but for normalising."""
    layers, inner = _unwrapped(vector)
    return inner is not None and all(isinstance(layer, (VecNormalize, VecMonitor)) for layer in layers)


def _unwrapped(vector: VecEnv | None) -> tuple[list[VecEnvWrapper], VecEnv | None]:
    """The layers around a vector of environments, and what is inside them."""
    layers = []
    while isinstance(vector, VecEnvWrapper):
        layers.append(vector)
        vector = vector.venv
    return layers, vector


def again(env: gym.Env[Any, Any] | None, spec: Any = None) -> gym.Env[Any, Any] | None:
    """Another environment of the same kind and settings; None: it cannot be made."""
    import gymnasium as gym

    spec = spec if env is None else env.spec
    with contextlib.suppress(gym.error.Error, TypeError, ValueError, AttributeError):
        if spec is not None:
            made = gym.make(spec)
            if env is None or changed(env, made) is None:
                return made
    with contextlib.suppress(Exception):  # whatever a stranger's environment does when it is copied
        return copy.deepcopy(env)
    return None


#: Parts of an agent's network that can be built again from their names.
ACTIVATIONS: dict[Activation, type[nn.Module]] = {name: getattr(nn, name) for name in get_args(Activation)}


def time_limit_of(model: DQN) -> str:
    """What the agent takes a time limit for: "terminal", or "bootstrap" where it looks past it."""
    buffer = model.replay_buffer
    return "terminal" if buffer is not None and not buffer.handle_timeout_termination else "bootstrap"


def reward_scale(model: DQN) -> float:
    """What the environment's rewards are multiplied by before the agent learns from them."""
    layer = normaliser(model)
    if layer is None or not layer.norm_reward:
        return 1.0
    return float(1.0 / np.sqrt(layer.ret_rms.var + layer.epsilon))


def copy_of(model: DQN) -> AgentCopy | None:
    """A copy of an agent's Q-network; None where it cannot be built again from the names of its parts."""
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
    except ValueError:  # its layers are not those of its description
        return None
    return copied


def check_model(model: Any, space: spaces.Space[Any], n_actions: int) -> None:
    """Refuse a model that is given for a saved agent and cannot be it."""
    if not isinstance(model, DQN):
        raise ValueError(f"agent={model!r}; give the DQN, or a function from observations (B, ...) to Q-values (B, A)")
    if model.observation_space != space or model.action_space.n != n_actions:  # type: ignore[attr-defined]
        raise ValueError(
            f"agent= reads {model.observation_space} and has {model.action_space}; the run's agent reads {space} and has {n_actions} actions"
        )


def blank_network(layers: Sequence[int], activation: Activation, space: spaces.Space[Any], n_actions: int) -> nn.Module:
    """The Q-network that ``copy_of`` describes, without its weights: it takes no memory until it gets them."""
    with torch.device("meta"):
        flat = FlattenExtractor(space)
        kind = ACTIVATIONS[activation]
        return QNetwork(space, spaces.Discrete(n_actions), flat, flat.features_dim, list(layers), kind).eval()
