"""The paper's deep agents: Stable-Baselines3's DQN with a belief network beside it, in the paper's worlds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.worlds.cartpole import BINS, BOUNDS, MAX_STEPS, cartpole
from whatfor.worlds.gymnasium import binned, made
from whatfor.worlds.taxi import LABELS as TAXI

if TYPE_CHECKING:
    from whatfor.deep.belief import HeadName
    from whatfor.runs import Run

Inputs = Literal["one-hot", "raw"]
PresetName = Literal["small", "full"]


@dataclass(frozen=True)
class Preset:
    """How an agent is trained; the paper leaves most of it open."""

    steps: int  # of all environments together
    environments: int
    batch: int
    gradient_steps: int  # for each step of all environments
    sync: int  # steps of all environments between two syncs of the target networks
    buffer: int
    layers: tuple[int, ...]  # of Q
    learning_rate: float  # of Q; held, then falling to 0, so that its choice between equally good ways settles
    belief_rate: float  # of the beliefs; held, then falling
    exploring: float  # share of training in which exploration falls from 1
    exploration: float  # what it falls to
    learning_starts: int = 2_000


#: The paper's networks, many environments, a GPU.
TAXI_FULL = Preset(1_900_000, 128, 512, 1, 32_000, 400_000, (500, 2000), 5e-4, 5e-4, 0.12, 0.1)
#: Smaller networks, for some minutes on a CPU.
TAXI_SMALL = Preset(192_000, 8, 128, 1, 3_200, 200_000, (256, 256), 1e-3, 1e-3, 0.4, 0.2)
CARTPOLE_FULL = Preset(300_000, 8, 128, 2, 4_000, 100_000, (128, 512), 1e-4, 3e-4, 0.3, 0.1)
CARTPOLE_SMALL = Preset(100_000, 8, 64, 2, 2_000, 50_000, (128, 512), 5e-4, 1e-3, 0.3, 0.1)


class Numbers(gym.ObservationWrapper[Any, Any, Any]):
    """A countable observation as the raw numbers of its axes, as the paper's networks read it."""

    def __init__(self, env: gym.Env[Any, Any], sizes: tuple[int, ...]) -> None:
        super().__init__(env)
        self.sizes = sizes
        high = np.array(sizes, np.int64) - 1
        self.observation_space = spaces.Box(np.zeros_like(high), high, dtype=np.int64)

    def observation(self, observation: Any) -> NDArray[np.int64]:
        """The numbers."""
        return np.array(np.unravel_index(int(observation), self.sizes), np.int64)


def taxi_env(inputs: Inputs = "one-hot") -> gym.Env[Any, Any]:
    """Taxi; Stable-Baselines3 reads its state one-hot, or the raw row, column, passenger and destination."""
    return _seen(made("Taxi-v4"), TAXI.shape, inputs)


def cartpole_env(inputs: Inputs = "one-hot") -> gym.Env[Any, Any]:
    """CartPole with the paper's bins and limit; its bin is read one-hot, or as four raw numbers."""
    return _seen(binned(made("CartPole-v1", {"max_episode_steps": MAX_STEPS}), BINS, BOUNDS), BINS, inputs)


def _seen(env: gym.Env[Any, Any], sizes: tuple[int, ...], inputs: Inputs) -> gym.Env[Any, Any]:
    if inputs not in ("one-hot", "raw"):
        raise ValueError(f"inputs={inputs!r}: a network reads a state 'one-hot', or its 'raw' numbers")
    return env if inputs == "one-hot" else Numbers(env, sizes)


def train_taxi(
    preset: Preset = TAXI_SMALL,
    *,
    inputs: Inputs = "one-hot",
    head: HeadName = "faithful",
    seed: int = 0,
    device: str = "cpu",
) -> Run:
    """Taxi's DQN and its beliefs, without a discount."""
    from whatfor.deep.network import PAPER_TAXI

    sizes = PAPER_TAXI if preset.layers == TAXI_FULL.layers else None
    return _trained(lambda: taxi_env(inputs), preset, TAXI, "Taxi-v4", sizes, head=head, seed=seed, device=device)


def train_cartpole(
    preset: Preset = CARTPOLE_SMALL,
    *,
    inputs: Inputs = "one-hot",
    head: HeadName = "faithful",
    seed: int = 0,
    device: str = "cpu",
) -> Run:
    """CartPole's DQN and its beliefs, without a discount; its time limit is an end, or there would be no finite value."""
    from whatfor.deep.network import PAPER_CARTPOLE

    world = cartpole()
    sizes = PAPER_CARTPOLE if preset == CARTPOLE_FULL else None
    return _trained(
        lambda: cartpole_env(inputs),
        preset,
        world.labels,
        world,
        sizes,
        head=head,
        seed=seed,
        device=device,
        limit_ends=True,
    )


def _trained(
    env: Callable[[], gym.Env[Any, Any]],
    preset: Preset,
    labels: Any,
    world: Any,
    sizes: Any,
    *,
    head: HeadName,
    seed: int,
    device: str,
    limit_ends: bool = False,
) -> Run:
    from stable_baselines3 import DQN
    from stable_baselines3.common.vec_env import DummyVecEnv

    from whatfor.deep import BeliefCallback, ClippedAdam, Sizes, States

    beside = BeliefCallback(
        States(labels),
        head=head,
        sizes=sizes or Sizes(joint=(256,)),
        reads="cell",
        optimiser=ClippedAdam,
        together=1,
        learning_rate=held_then(preset.belief_rate, 0.02),
        world=world,
        seed=seed,
    )
    model = DQN(
        "MlpPolicy",
        DummyVecEnv([env] * preset.environments),
        gamma=1.0,
        learning_rate=held_then(preset.learning_rate, 0.0),
        buffer_size=preset.buffer,
        learning_starts=preset.learning_starts,
        batch_size=preset.batch,
        train_freq=1,
        gradient_steps=preset.gradient_steps,
        target_update_interval=preset.sync,
        exploration_fraction=preset.exploring,
        exploration_final_eps=preset.exploration,
        max_grad_norm=float("inf"),
        replay_buffer_kwargs={"handle_timeout_termination": not limit_ends},
        policy_kwargs={"net_arch": list(preset.layers), "optimizer_class": ClippedAdam},
        seed=seed,
        device=device,
    )
    model.learn(preset.steps, callback=beside)
    return beside.run


def held_then(rate: float, least: float) -> Callable[[float], float]:
    """A rate that is held for 60 % of training, and falls to a share of itself until 90 % of it.

    >>> [round(held_then(1.0, 0.1)(remaining), 2) for remaining in (1.0, 0.4, 0.25, 0.0)]
    [1.0, 1.0, 0.5, 0.1]
    """
    return lambda remaining: rate * max(least, min(1.0, (remaining - 0.1) / 0.3))
