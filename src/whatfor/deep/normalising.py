"""Observations as an agent's batches hold them, where something normalises them first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Normaliser(Protocol):
    """From what the environment shows to what the agent reads."""

    def __call__(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Observations as batches hold them."""

    def fixed(self) -> Fixed:
        """As it is now."""


@dataclass(frozen=True)
class Fixed:
    """A normaliser that learns no more.

    >>> Fixed(mean=(1.0,), scale=(2.0,), clip=10.0)(np.array([[3.0]])).tolist()
    [[1.0]]
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    clip: float

    def __call__(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Observations as batches hold them."""
        shape = np.shape(observations)
        flat = np.reshape(observations, (len(observations), -1)).astype(np.float64)
        try:
            with np.errstate(over="raise", invalid="raise"):
                scaled = np.clip((flat - np.array(self.mean)) / np.array(self.scale), -self.clip, self.clip)
                return np.asarray(scaled.reshape(shape), np.float32)
        except FloatingPointError as error:
            raise ValueError(f"an observation cannot be normalised: {error}") from None

    def fixed(self) -> Fixed:
        """As it is now."""
        return self


class Learning:
    """Stable-Baselines3's ``VecNormalize``, as it goes on learning."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer

    def __call__(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Observations as batches hold them."""
        return np.asarray(self.layer.normalize_obs(np.asarray(observations, np.float32)))

    def fixed(self) -> Fixed:
        """As it is now."""
        known = self.layer.obs_rms
        scale = np.sqrt(known.var + self.layer.epsilon).ravel()
        return Fixed(tuple(known.mean.ravel().tolist()), tuple(scale.tolist()), float(self.layer.clip_obs))
