"""Encoding images: a network like the agent's, with weights of its own."""

from __future__ import annotations

import torch
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.dqn import DQN

from whatfor.deep.training import Encoder


def encoder_of(model: DQN) -> Encoder | None:
    """Makes an encoder of images like the agent's; None: it observes no images."""
    if not is_image_space(model.observation_space):
        return None
    kind, options = model.policy.features_extractor_class, model.policy.features_extractor_kwargs

    def make() -> tuple[torch.nn.Module, int]:
        extractor = kind(model.observation_space, **options)
        return extractor, int(extractor.features_dim)

    return make
