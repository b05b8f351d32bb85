"""How the paper's deep agents are trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from whatfor.deep.document import LossName

PresetName = Literal["small", "full"]
WorldName = Literal["taxi", "cartpole"]


@dataclass(frozen=True)
class Preset:
    """How an agent is trained; the paper leaves most of this open."""

    steps: int  # of all environments together
    environments: int
    batch: int
    gradient_steps: int  # for each step of all environments
    sync: int  # steps of all environments between two syncs of the target networks
    buffer: int
    layers: tuple[int, ...]  # of Q
    learning_rate: float  # of Q; constant, then decaying to 0, so that its choice between equally good routes settles
    belief_rate: float  # of the beliefs; constant, then decaying
    exploring: float  # the share of training in which exploration decays from 1
    exploration: float  # the final exploration
    learning_starts: int = 2_000
    belief_least: float = 0.02  # the final share of ``belief_rate``: beliefs still settle when Q has
    falls: tuple[float, float] = (0.5, 0.7)  # the share of training at which Q's rate starts and stops decaying
    belief_falls: tuple[float, float] = (0.75, 1.0)  # the same for beliefs, which can only settle after Q
    paper_beliefs: bool = False  # whether to use the paper's belief network, or a smaller one
    loss: LossName = "squared"  # of amounts; Taxi is deterministic, so both losses learn the same
    both_heads: bool = True  # whether the paper's head is trained too, since it costs little


#: The paper's networks, many environments, a GPU. The large buffer keeps the transitions of the exploration phase, so that Q is
#: right in rarely visited states too. About forty syncs follow after Q has settled: each propagates beliefs by one step.
TAXI_FULL = Preset(
    4_400_000, 256, 1024, 1, 38_400, 1_500_000, (500, 2000), 5e-4, 5e-4, 0.15, 0.15,
    falls=(0.5, 0.65), belief_falls=(0.8, 1.0), paper_beliefs=True,
)  # fmt: skip
#: Smaller networks, for some minutes on a CPU.
TAXI_SMALL = Preset(
    240_000, 8, 128, 1, 3_200, 240_000, (256, 256), 1e-3, 1e-3, 0.3, 0.25,
    falls=(0.5, 0.65), belief_falls=(0.8, 1.0), both_heads=False,
)  # fmt: skip
#: Without a discount a value grows by at most 1 with each sync, and with many more syncs Q overestimates the number of steps:
#: 80 to 150 syncs give agents that balance the pole. Their values still grow, so beliefs stop learning when Q does.
CARTPOLE_SMALL = Preset(
    80_000, 8, 128, 2, 1_000, 50_000, (128, 512), 5e-4, 1e-3, 0.3, 0.1,
    belief_least=0.0, falls=(0.6, 0.9), belief_falls=(0.6, 0.9), loss="huber",
)  # fmt: skip
CARTPOLE_FULL = replace(
    CARTPOLE_SMALL, steps=240_000, sync=2_000, buffer=100_000, learning_rate=3e-4, belief_rate=5e-4, paper_beliefs=True
)
#: By name, how each world's agent is trained.
PRESETS: dict[PresetName, dict[WorldName, Preset]] = {
    "small": {"taxi": TAXI_SMALL, "cartpole": CARTPOLE_SMALL},
    "full": {"taxi": TAXI_FULL, "cartpole": CARTPOLE_FULL},
}
