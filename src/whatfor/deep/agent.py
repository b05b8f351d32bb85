"""A Stable-Baselines3 DQN as somebody who can be asked: what it thinks, and what can be explained of it."""

from __future__ import annotations

import contextlib
import copy
import io
from typing import TYPE_CHECKING, Any

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

from whatfor.deep.normalising import Learning, Normaliser
from whatfor.worlds.gymnasium import changed

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


#: Parts of an agent's network that can be made again from their names.
ACTIVATIONS = {kind.__name__: kind for kind in (nn.ReLU, nn.Tanh, nn.ELU, nn.LeakyReLU, nn.GELU, nn.SiLU)}


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


def packed(model: DQN) -> bytes:
    """The agent's own zip."""
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def described(model: DQN) -> dict[str, Any] | None:
    """What it takes to make an agent's network again without its code; None where it is of somebody's own making."""
    policy = model.policy
    plain = type(policy) is DQNPolicy and policy.features_extractor_class is FlattenExtractor
    if not plain or ACTIVATIONS.get(policy.activation_fn.__name__) is not policy.activation_fn:
        return None
    return {"layers": list(policy.net_arch), "activation": policy.activation_fn.__name__}


def blank_network(layers: list[int], activation: str, space: spaces.Space[Any], n_actions: int) -> nn.Module:
    """The Q-network of an agent as ``described`` says it is, without its weights: it takes no memory until it gets them."""
    if activation not in ACTIVATIONS:
        raise ValueError(f"its activation is {activation!r}; there are {', '.join(ACTIVATIONS)}")
    with torch.device("meta"):
        flat = FlattenExtractor(space)
        kind = ACTIVATIONS[activation]
        return QNetwork(space, spaces.Discrete(n_actions), flat, flat.features_dim, layers, kind).eval()
