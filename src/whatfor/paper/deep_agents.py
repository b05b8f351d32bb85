"""The paper's deep agents: Stable-Baselines3's DQN with a belief network trained alongside, and one that settled afterwards, in the paper's worlds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.files import replacing
from whatfor.folder import check_folder
from whatfor.needed import need_safetensors, need_sb3, need_torch
from whatfor.paper.agents import Agents
from whatfor.paper.presets import PRESETS, Preset, PresetName, WorldName
from whatfor.saving import load
from whatfor.worlds.cartpole import BINS, BOUNDS, MAX_STEPS, cartpole
from whatfor.worlds.making import binned, make_env
from whatfor.worlds.taxi import LABELS as TAXI

if TYPE_CHECKING:
    from whatfor.deep.document import HeadName
    from whatfor.runs import Run

Inputs = Literal["one-hot", "raw"]
DeviceName = Literal["auto", "cpu", "cuda"]
#: A run with what playing the policy gives, with what was learned alongside, or with what the paper's head learned alongside.
BeliefKind = Literal["settled", "learned", "regression"]
#: What is added to an agent's name for the folder of each.
FILES: dict[BeliefKind, str] = {"settled": "", "learned": "-learned", "regression": "-paper-head"}
#: Called during training with the name of the agent and the share of its steps that is done.
OnTraining = Callable[[str, float], None]


class Numbers(gym.ObservationWrapper[Any, Any, Any]):
    """Turns a discrete observation into the raw numbers of its axes, which the paper's networks read."""

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
    return _with_inputs(make_env("Taxi-v4"), TAXI.shape, inputs)


def cartpole_env(inputs: Inputs = "one-hot") -> gym.Env[Any, Any]:
    """CartPole with the paper's bins and limit; its bin is read one-hot, or as four raw numbers."""
    return _with_inputs(binned(make_env("CartPole-v1", {"max_episode_steps": MAX_STEPS}), BINS, BOUNDS), BINS, inputs)


def _with_inputs(env: gym.Env[Any, Any], sizes: tuple[int, ...], inputs: Inputs) -> gym.Env[Any, Any]:
    _check_inputs(inputs)
    return env if inputs == "one-hot" else Numbers(env, sizes)


def _check_inputs(inputs: str) -> None:
    if inputs not in ("one-hot", "raw"):
        raise ValueError(f"inputs={inputs!r}: a network reads a state 'one-hot', or its 'raw' numbers")


class DeepAgents:
    """The deep agents of the figures, trained on first use.

    The faithful head is trained alongside each agent, and settles when its training ends. The paper's head is trained alongside too, on the
    same batches, if that costs little or with ``both_heads=True``. With ``trained=False``, agents learn from a single batch and nothing settles:
    every check must fail. ``tabular``: the agents to compare with.
    """

    def __init__(
        self,
        preset: PresetName = "small",
        *,
        inputs: Inputs = "one-hot",
        device: DeviceName = "auto",
        seed: int = 0,
        both_heads: bool = False,
        trained: bool = True,
    ) -> None:
        need_deep()
        if preset not in PRESETS:
            raise ValueError(f"preset={preset!r}: the presets are {', '.join(PRESETS)}")
        _check_inputs(inputs)
        self.preset, self.inputs, self.seed, self.trained = preset, inputs, seed, trained
        self.both_heads, self.device = both_heads, device_of(device)
        self.tabular = Agents(seed, trained=trained)
        self.on_progress: OnTraining = lambda name, share: None
        self.runs: dict[str, Run] = {}  # the runs trained or loaded so far, by name
        self.folder: Path | None = None  # where they are saved

    @cached_property
    def _taxi(self) -> dict[BeliefKind, Run]:
        return self._train("taxi")

    @cached_property
    def _cartpole(self) -> dict[BeliefKind, Run]:
        return self._train("cartpole")

    @property
    def taxi(self) -> Run:
        """DQN on Taxi, with what playing its policy gives."""
        return _shown(self._taxi)

    @property
    def taxi_learned(self) -> Run:
        """The same DQN, with what was learned alongside."""
        return self._taxi["learned"]

    @property
    def taxi_regression(self) -> Run | None:
        """The same DQN, explained by the paper's head, learned alongside; None: it was not trained."""
        return self._taxi.get("regression")

    @property
    def cartpole(self) -> Run:
        """DQN on CartPole, with what playing its policy gives."""
        return _shown(self._cartpole)

    @property
    def cartpole_learned(self) -> Run:
        """The same DQN, with what was learned alongside."""
        return self._cartpole["learned"]

    @property
    def cartpole_regression(self) -> Run | None:
        """The same DQN, explained by the paper's head, learned alongside; None: it was not trained."""
        return self._cartpole.get("regression")

    def preset_of(self, name: WorldName) -> Preset:
        """The preset of an agent."""
        preset = PRESETS[self.preset][name]
        if self.trained:
            return preset
        few = 10 * preset.environments
        return replace(preset, steps=few + preset.environments, learning_starts=few)

    def with_seed(self, seed: int) -> DeepAgents:
        """The same agents with another seed, saved in a subfolder."""
        other = self._like(seed, self.trained)
        if self.folder is not None:
            other.folder = self.folder / f"seed-{seed}"
        other.on_progress = lambda name, share: self.on_progress(f"{name}, seed {seed}", share)
        return other

    def untrained(self) -> DeepAgents:
        """The same agents after a single batch."""
        return self._like(self.seed, False)

    def _like(self, seed: int, trained: bool) -> DeepAgents:
        return replace(self.recipe(), seed=seed, trained=trained, folder=None).made()

    def recipe(self) -> Recipe:
        """What another process needs to make the same agents."""
        device: DeviceName = "cuda" if self.device == "cuda" else "cpu"
        return Recipe(self.preset, self.inputs, device, self.seed, self.both_heads, self.trained, self.folder)

    def use(self, folder: Path) -> None:
        """Save agents in a folder, for ``whatfor explain`` and ``whatfor draw``; agents that are there are not trained again.

        An exception is raised if they cannot be saved there, before they are trained.
        """
        for name in PRESETS[self.preset]:
            check_folder(folder / name)
        self.folder = folder

    def _train(self, name: WorldName) -> dict[BeliefKind, Run]:
        preset, runs = self.preset_of(name), self._saved(name)
        if not runs:
            both: tuple[HeadName, ...] = ("faithful", "regression")
            runs = train_heads(
                name,
                preset,
                both if self.both_heads or preset.both_heads else both[:1],
                inputs=self.inputs,
                seed=self.seed,
                device=self.device,
                settles=self.trained,
                on_progress=lambda share: self.on_progress(name, share),
            )
            self._save(name, runs)
        self.runs[name] = _shown(runs)
        return runs

    def _settings(self, name: WorldName) -> dict[str, Any]:
        """What the agent is trained with; saved agents with other settings are trained again."""
        options = {"inputs": self.inputs, "seed": self.seed, "both_heads": self.both_heads, "settled": self.trained}
        return json.loads(json.dumps({**asdict(self.preset_of(name)), **options}))  # type: ignore[no-any-return]

    def _save(self, name: WorldName, runs: dict[BeliefKind, Run]) -> None:
        if self.folder is None:
            return
        for kind, run in runs.items():
            run.save(self.folder / self._file_of(name, kind))
        with replacing(self.folder / f"{name}.json") as fresh:  # last: it says that the agent is whole
            fresh.write_text(json.dumps(self._settings(name)), "utf-8")

    def _saved(self, name: WorldName) -> dict[BeliefKind, Run]:
        """The saved agent by kind of belief, if it was trained with the same settings."""
        settings = None if self.folder is None else self.folder / f"{name}.json"
        if (
            self.folder is None
            or settings is None
            or not settings.exists()
            or json.loads(settings.read_text("utf-8")) != self._settings(name)
        ):
            return {}
        folders = {kind: self.folder / self._file_of(name, kind) for kind in FILES if kind != "settled" or self.trained}
        return {kind: load(folder) for kind, folder in folders.items() if folder.is_dir()}

    def _file_of(self, name: WorldName, kind: BeliefKind) -> str:
        """The folder of a run; the one that the figures show has the name of the agent."""
        return name if kind == ("settled" if self.trained else "learned") else name + FILES[kind]


@dataclass(frozen=True)
class Recipe:
    """The parameters of deep agents, and the folder where they are saved."""

    preset: PresetName
    inputs: Inputs
    device: DeviceName
    seed: int
    both_heads: bool
    trained: bool
    folder: Path | None

    def made(self) -> DeepAgents:
        """The agents, trained or loaded on first use."""
        options = {field.name: getattr(self, field.name) for field in fields(self)[:-1]}
        agents = DeepAgents(**options)
        agents.folder = self.folder
        return agents


def _shown(runs: dict[BeliefKind, Run]) -> Run:
    """What playing the policy gives; before it has settled, what was learned alongside."""
    return runs.get("settled", runs["learned"])


def need_deep() -> None:
    """Check that the dependencies of deep agents are installed."""
    need_torch()
    need_sb3()
    need_safetensors()


def device_of(name: DeviceName) -> str:
    """The device to train on; "auto" is a GPU if there is one."""
    import torch

    if name not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device={name!r}: the devices are auto, cpu, cuda")
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise ValueError("PyTorch finds no CUDA device; use --device cpu")
    return "cuda" if there and name != "cpu" else "cpu"


def train_heads(
    name: WorldName,
    preset: Preset,
    heads: Sequence[HeadName],
    *,
    inputs: Inputs = "one-hot",
    seed: int = 0,
    device: str = "cpu",
    settles: bool = True,
    on_progress: Callable[[float], None] | None = None,
) -> dict[BeliefKind, Run]:
    """Train one DQN with several belief heads: a run for each. ``settles``: whether the faithful one does. ``on_progress`` receives the share of steps done."""
    from stable_baselines3 import DQN
    from stable_baselines3.common.callbacks import ConvertCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    from whatfor.deep import BeliefCallback, BeliefSettings, ClippedAdam, Sizes, States
    from whatfor.deep.network import PAPER_CARTPOLE, PAPER_TAXI

    env, world = (taxi_env, None) if name == "taxi" else (cartpole_env, cartpole())
    papers = PAPER_TAXI if name == "taxi" else PAPER_CARTPOLE
    callbacks = {
        head: BeliefCallback(
            States(TAXI if world is None else world.labels),
            world="Taxi-v4" if world is None else world,
            settings=BeliefSettings(
                head=head,
                sizes=papers if preset.paper_beliefs else Sizes(joint=(256, 128)),
                reads="cell",
                optimiser=ClippedAdam,
                loss=preset.loss if head == "faithful" else "huber",
                batches_per_update=1,
                learning_rate=hold_then_decay(preset.belief_rate, preset.belief_least, *preset.belief_falls),
                seed=seed,
            ),
            settling=settles and head == "faithful",
            play_in=lambda: env(inputs),
        )
        for head in heads
    }
    model = DQN(
        "MlpPolicy",
        DummyVecEnv([lambda: env(inputs)] * preset.environments),
        gamma=1.0,
        learning_rate=hold_then_decay(preset.learning_rate, 0.0, *preset.falls),
        buffer_size=preset.buffer,
        learning_starts=preset.learning_starts,
        batch_size=preset.batch,
        train_freq=1,
        gradient_steps=preset.gradient_steps,
        target_update_interval=preset.sync,
        exploration_fraction=preset.exploring,
        exploration_final_eps=preset.exploration,
        max_grad_norm=float("inf"),
        replay_buffer_kwargs={"handle_timeout_termination": name == "taxi"},
        policy_kwargs={"net_arch": list(preset.layers), "optimizer_class": ClippedAdam},
        seed=seed,
        device=device,
    )

    def report_progress(*_: Any) -> bool:
        if on_progress is not None:
            on_progress(min(1.0, model.num_timesteps / preset.steps))
        return True

    model.learn(preset.steps, callback=[*callbacks.values(), ConvertCallback(report_progress)])
    runs: dict[BeliefKind, Run] = {
        "learned" if head == "faithful" else head: callback.learned for head, callback in callbacks.items()
    }
    return {**runs, "settled": callbacks["faithful"].run} if settles else runs


def hold_then_decay(rate: float, least: float, until: float, end: float) -> Callable[[float], float]:
    """A schedule that is constant up to the share ``until`` of training, and then decays to ``least * rate`` at the share ``end``.

    >>> [round(hold_then_decay(1.0, 0.1, 0.6, 0.9)(remaining), 2) for remaining in (1.0, 0.4, 0.25, 0.0)]
    [1.0, 1.0, 0.5, 0.1]
    """
    return lambda remaining: rate * max(least, min(1.0, (end - (1.0 - remaining)) / (end - until)))
