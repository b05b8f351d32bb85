"""The schema of a run's JSON document.

Saving and loading use the same types. A document that does not fit them is neither written nor read.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from whatfor.labels import MAX_AXES, Labels
from whatfor.limits import check_limit
from whatfor.text import MAX_LENGTH, UNSAFE

#: One line of plain text.
Text = Annotated[str, Meta(max_length=MAX_LENGTH, pattern=rf"\A[^{UNSAFE}]*\Z")]
#: The name of a Python module; messages name it, and nothing imports it.
ModuleName = Annotated[str, Meta(max_length=200, pattern=r"\A[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")]
Positive = Annotated[int, Meta(ge=1, le=2**62)]
Natural = Annotated[int, Meta(ge=0, le=2**62)]
Unit = Annotated[float, Meta(ge=0.0, le=1.0)]
Bounds = list[tuple[float, float]]
#: Where the keys of states come from: the observation space, what whatfor knows about the environment, or ``state_of=``.
KeySource = Literal["space", "environment", "state_of"]
#: How deep the values of environment options may be nested.
MAX_DEPTH = 8
#: How long the environment options may be, plus 8 bytes for each state of the run.
MAX_OPTIONS_BYTES = 100_000


class Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the document that allows no other fields."""


class Open(Struct, frozen=True):
    """A part to which a custom training loop may add its own fields; they are ignored."""


# -- the world, and how to recreate it ---------------------------------------------------------


class Binned(Strict, frozen=True):
    """How continuous observations are divided into bins."""

    bins: Positive | Annotated[list[Positive], Meta(max_length=MAX_AXES)] | None
    bounds: Bounds | None

    def __post_init__(self) -> None:
        if isinstance(self.bins, list):
            check_limit("states", math.prod(self.bins), "the run's world")
        if any(not low < high for low, high in self.bounds or ()):
            raise ValueError("in each of its bounds, low must be less than high")


class TableWorld(Strict, frozen=True, tag_field="kind", tag="table"):
    """A table of transitions, stored as arrays."""


class BlackjackWorld(Strict, frozen=True, tag_field="kind", tag="blackjack"):
    """``whatfor.worlds.blackjack()``."""


class ChainWorld(Strict, frozen=True, tag_field="kind", tag="chain"):
    """``whatfor.worlds.chain()``."""


class CartPoleWorld(Binned, frozen=True, tag_field="kind", tag="cartpole"):
    """``whatfor.worlds.cartpole(...)``."""

    max_steps: Positive | None


class GymnasiumWorld(Binned, frozen=True, tag_field="kind", tag="gymnasium"):
    """An environment that ``gymnasium.make`` can recreate."""

    id: Text
    options: dict[str, Any]
    max_steps: Positive | None
    discovered: KeySource | UnsetType = UNSET
    module: ModuleName | UnsetType = UNSET  # that registers it

    def __post_init__(self) -> None:
        super().__post_init__()
        if _depth(self.options) > MAX_DEPTH:
            raise ValueError("the options of the environment are nested too deeply")


class OtherWorld(Binned, frozen=True, tag_field="kind", tag="object"):
    """An environment that cannot be recreated from the document, and why."""

    why: Text
    id: Text | UnsetType = UNSET
    options: dict[str, Any] | UnsetType = UNSET
    max_steps: Positive | UnsetType | None = UNSET
    discovered: KeySource | UnsetType = UNSET
    module: ModuleName | UnsetType = UNSET


WorldDocument = TableWorld | BlackjackWorld | ChainWorld | CartPoleWorld | GymnasiumWorld | OtherWorld


# -- the learner -------------------------------------------------------------------------------


class LinearSchedule(Strict, frozen=True, tag_field="kind", tag="Linear"):
    """``learners.schedules.Linear``."""

    start: float
    end: float
    episodes: Natural


class ExponentialSchedule(Strict, frozen=True, tag_field="kind", tag="Exponential"):
    """``learners.schedules.Exponential``."""

    start: float
    end: float
    decay: float


class VisitCountSchedule(Strict, frozen=True, tag_field="kind", tag="VisitCount"):
    """``learners.schedules.VisitCount``."""

    power: float


class OtherSchedule(Strict, frozen=True, tag_field="kind", tag="other"):
    """A custom function; a file can only store its printed form."""

    words: Text


ScheduleDocument = LinearSchedule | ExponentialSchedule | VisitCountSchedule | OtherSchedule


class LearnerDocument(Open, frozen=True):
    """A learner's name, and its parameters if it is built in."""

    name: Text
    step_size: float | ScheduleDocument | UnsetType = UNSET
    discount: Unit | UnsetType = UNSET
    exploration: float | ScheduleDocument | UnsetType = UNSET
    initial: float | UnsetType = UNSET
    lambda_: Unit | UnsetType = UNSET
    draw: Literal["episode", "step"] | UnsetType = UNSET


class EarlierLearner(LearnerDocument, frozen=True):
    """A learner that a resumed run was trained with before, and the number of episodes until then."""

    until: Natural = 0


class ReplayDocument(Strict, frozen=True):
    """``learners.replay.Replay``."""

    capacity: Positive | None
    batch: Positive
    keep: Literal["latest", "first"]
    warmup: Natural | None


class RunSettings(Open, frozen=True):
    """How a run was trained. All fields are optional for a custom training loop."""

    learner: LearnerDocument | UnsetType = UNSET
    earlier_learners: list[EarlierLearner] | UnsetType = UNSET
    seed: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    time_limit: Literal["bootstrap", "terminal"] | UnsetType = UNSET
    replay: ReplayDocument | UnsetType | None = UNSET
    engine: Literal["python", "compiled"] | UnsetType = UNSET
    engine_reason: Text | UnsetType = UNSET
    max_steps: Positive | UnsetType = UNSET
    world: WorldDocument | UnsetType = UNSET
    environment: WorldDocument | UnsetType = UNSET
    reward_scale: float | UnsetType = UNSET
    reward_parts: dict[Text, Text] | UnsetType = UNSET  # from names to keys of info

    def __post_init__(self) -> None:
        if isinstance(self.max_steps, int):
            check_limit("steps", self.max_steps, "an episode of this run")


# -- the state of training, to resume from -----------------------------------------------------

Half = Annotated[int, Meta(ge=0, le=2**32 - 1)]


class Pcg64State(Strict, frozen=True):
    """The two 128-bit numbers inside NumPy's generator."""

    state: Annotated[int, Meta(ge=0)]
    inc: Annotated[int, Meta(ge=0)]

    def __post_init__(self) -> None:
        if max(self.state, self.inc) >= 1 << 128 or self.inc % 2 == 0:
            raise ValueError("it is not a valid state of a random generator")


class Generator(Strict, frozen=True):
    """The state of NumPy's generator, as NumPy describes it."""

    bit_generator: Literal["PCG64"]
    state: Pcg64State
    has_uint32: Annotated[int, Meta(ge=0, le=1)]
    uinteger: Half


class TapeDocument(Strict, frozen=True):
    """The state of the learner's random generator."""

    tape: Generator


class Environment(Strict, frozen=True):
    """The state of an environment's random generator."""

    begun: bool
    generator: Generator | None


class SnapshotDocument(Strict, frozen=True):
    """The state of training; its arrays are stored separately."""

    agent: TapeDocument
    world: dict[str, Any]  # a Generator, or an Environment
    cuts: Natural

    def __post_init__(self) -> None:
        msgspec.convert(self.world, Environment if "begun" in self.world else Generator)


class LedgerDocument(Strict, frozen=True):
    """A ledger without its columns, which are stored as arrays."""

    lines: Natural
    n_tables: Positive
    endings: list[Text]
    order: Literal["forwards", "backwards", "replayed"]
    parts: list[Text]  # of the reward


class TableDocument(Strict, frozen=True):
    """A table of transitions without its arrays."""

    max_steps: Positive | None
    endings: list[Text] | None = None  # of its codes, in order; None: those of the labels


class StatesDocument(Strict, frozen=True):
    """The values of discovered states without their arrays."""

    kinds: Annotated[list[Literal["bool", "int", "float", "str", "bytes"]], Meta(max_length=MAX_AXES)]
    nones: list[bool]  # for each axis, whether its last value is None


class RunDocument(Strict, frozen=True):
    """The whole document of a run."""

    labels: Labels
    settings: RunSettings
    stopped: Text | None
    own_values: bool  # False: the tables were recomputed from the ledger
    premise: Text | None  # what is different in a counterfactual run
    repriced: Natural | None  # the number of its rewards that a function changed
    factors: dict[Text, float] | None  # on the recorded parts of its rewards
    ledger: LedgerDocument | None
    snapshot: SnapshotDocument | None
    table: TableDocument | None
    states: StatesDocument | None = None  # of labels whose states were discovered
    network: dict[str, Any] | None = None  # whatfor.deep has the schema of this part

    def __post_init__(self) -> None:
        check_limit("states", self.labels.n_states, "this run")
        original = self.premise is None or self.ledger is None or self.own_values or self.snapshot is not None
        if original and (self.repriced is not None or self.factors is not None):
            raise ValueError("its rewards were changed, but it is not a counterfactual run")
        # An environment may build its states from a map in its options, so the limit grows with the number of states.
        allowed = MAX_OPTIONS_BYTES + 8 * self.labels.n_states
        for world in (self.settings.world, self.settings.environment):
            if isinstance(world, GymnasiumWorld) and len(encode(world.options)) > allowed:
                raise ValueError(f"the options of its environment are longer than {allowed:,} bytes")


def encode(document: dict[str, Any]) -> bytes:
    """Encode a document as JSON; NaN, infinite numbers and objects raise an exception, NumPy numbers become Python numbers.

    >>> encode({"step_size": np.float32(0.5)})
    b'{"step_size": 0.5}'
    """
    return json.dumps(document, ensure_ascii=False, allow_nan=False, default=np.generic.item).encode()


def decode(data: bytes) -> tuple[RunDocument, dict[str, Any]]:
    """Decode and validate a document; also returns it as plain data."""
    plain: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    return msgspec.convert(plain, RunDocument), plain


def _depth(data: Any) -> int:
    """How deep data is nested."""
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return 1 + max(map(_depth, inside), default=0)
