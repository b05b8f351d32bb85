"""Normalised observations, as an agent's batches hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Normaliser(Protocol):
    """From observations as the environment returns them to what the agent reads."""

    def __call__(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Observations as batches hold them."""

    def snapshot(self) -> FixedNormaliser:
        """A copy that does not change."""


@dataclass(frozen=True)
class FixedNormaliser:
    """A normaliser with fixed numbers.

    >>> FixedNormaliser(mean=(1.0,), scale=(2.0,), clip=10.0)(np.array([[3.0]])).tolist()
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

    def snapshot(self) -> FixedNormaliser:
        """A copy that does not change."""
        return self


class LiveNormaliser:
    """Stable-Baselines3's ``VecNormalize``, whose numbers change while the agent is trained."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer

    def __call__(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Observations as batches hold them."""
        return np.asarray(self.layer.normalize_obs(np.asarray(observations, np.float32)))

    def snapshot(self) -> FixedNormaliser:
        """A copy that does not change."""
        running = self.layer.obs_rms
        scale = np.sqrt(running.var + self.layer.epsilon).ravel()
        return FixedNormaliser(tuple(running.mean.ravel().tolist()), tuple(scale.tolist()), float(self.layer.clip_obs))
