"""The network's part of a saved run's document: one schema, which saving and loading share.

Arrays are tensors of the safetensors file. The document holds names and single numbers; a number that JSON cannot
hold is the text "nan", "inf" or "-inf".
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from whatfor.document import Positive, Strict, Text

HeadName = Literal["faithful", "regression"]
Reads = Literal["observation", "cell"]
LossName = Literal["huber", "squared"]
Source = Literal["trained alongside", "evaluated"]
CellsKind = Literal["states", "bins", "clusters", "anchors", "concepts"]
#: Activations of an agent's network that can be rebuilt from their names.
Activation = Literal["ReLU", "Tanh", "ELU", "LeakyReLU", "GELU", "SiLU"]

#: The largest integer that PyTorch and NumPy hold, and the largest that a float counts exactly.
MAX_INT = 2**63 - 1
MAX_COUNT = 2**53
#: More layers than this are refused.
MAX_LAYERS = 1_000

Int = Annotated[int, Meta(ge=-MAX_INT, le=MAX_INT)]
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
Widths = Annotated[list[Positive], Meta(max_length=MAX_LAYERS)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Amount = Annotated[float, Meta(ge=0.0, le=sys.float_info.max)]
Correlation = Annotated[float, Meta(ge=-1.0, le=1.0)]
NotFinite = Literal["nan", "inf", "-inf"]
NOT_FINITE = get_args(NotFinite)


class LayersDocument(Strict, frozen=True):
    """Sizes of the belief network's layers, as ``Sizes`` has them."""

    state: Widths
    action: Widths | None
    joint: Widths


class SettingsDocument(Strict, frozen=True):
    """The settings that the belief network is rebuilt from."""

    head: HeadName
    sizes: LayersDocument
    reads: Reads
    loss: LossName
    discount: Share
    seed: Int


class DiscreteSpace(Strict, frozen=True, tag_field="kind", tag="discrete"):
    """Whole numbers from ``start``."""

    n: Positive
    start: Int


class MultiDiscreteSpace(Strict, frozen=True, tag_field="kind", tag="multidiscrete"):
    """Several whole numbers; the tensors ``space.nvec`` and ``space.start`` say how many values each has."""


class MultiBinarySpace(Strict, frozen=True, tag_field="kind", tag="multibinary"):
    """Zeros and ones: how many, or the shape of the array."""

    n: Positive | Annotated[list[Positive], Meta(min_length=1, max_length=32)]


class BoxSpace(Strict, frozen=True, tag_field="kind", tag="box"):
    """An array of numbers between the tensors ``space.low`` and ``space.high``."""


SpaceDocument = DiscreteSpace | MultiDiscreteSpace | MultiBinarySpace | BoxSpace


class AgentDocument(Strict, frozen=True):
    """The agent's own network, whose weights are the tensors ``agent.*``."""

    layers: Widths
    activation: Activation


class NormaliserDocument(Strict, frozen=True):
    """How observations are scaled, by the tensors ``normaliser.mean`` and ``normaliser.scale``."""

    clip: Amount | Literal["inf"]


class CheckedDocument(Strict, frozen=True):
    """What held-out play showed, as ``Checked`` has it; the tensors ``checks.*`` hold the error in each situation."""

    situations: Count
    episodes: Count
    visits: Amount | NotFinite
    visits_low: Amount | NotFinite
    visits_high: Amount | NotFinite
    averaged: Amount | NotFinite
    length: Amount | NotFinite
    endings: Share | None
    other: Amount | NotFinite | None
    noise: Amount | NotFinite | None
    cut: Share
    q: float | NotFinite
    total: float | NotFinite
    played: float | NotFinite
    q_off: Amount | NotFinite
    total_off: Amount | NotFinite
    spread: Amount | NotFinite


class TrustDocument(Strict, frozen=True):
    """The network's errors, as ``Trust`` has them."""

    pairs: Count
    correlation: Correlation | NotFinite
    mean_residual: Amount | NotFinite
    value_range: Amount | NotFinite
    distance: Amount | NotFinite | None
    states: Count
    updates: Count
    discount: Share
    by_visits: Amount | NotFinite | None
    impossible: Share
    excess: Amount | NotFinite
    source: Source
    endings_distance: Amount | NotFinite | None = None
    checked: CheckedDocument | None = None


class NetworkDocument(Strict, frozen=True):
    """The document's part of a deep run's network."""

    settings: SettingsDocument
    cells: CellsKind
    endings: list[Text]
    space: SpaceDocument
    updates: Count
    source: Source
    trust: TrustDocument | None
    normaliser: NormaliserDocument | None
    agent: AgentDocument | None
    dimensions: tuple[Text, ...] = ()  # names of the numbers of an observation, for anchors


def network_from(data: Any) -> NetworkDocument:
    """The network's part of a document; ``ValueError`` where it does not fit the schema.

    >>> network_from({"settings": 5})
    Traceback (most recent call last):
    ValueError: expected `object`, got `int` at `network.settings`
    """
    try:
        return msgspec.convert(data, NetworkDocument, strict=True)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        place = f"network{where}".removesuffix("`")
        raise ValueError(f"{what[:1].lower()}{what[1:]} at `{place}`") from None
