"""Sequences of a frozen policy: whole episodes in order, and which steps were explored."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scripted import RIGHT, Blink, Corridor, always, limited

from whatfor.deep.sequences import Sequences, play_sequences


def played(
    env: gym.Env[Any, Any], *, seed: int = 0, steps: int = 60, exploration: float = 0.0, **more: Any
) -> Sequences:
    more = {"limit_terminates": False, **more}
    rng = np.random.default_rng(seed)
    return play_sequences(env, always(RIGHT), steps=steps, exploration=exploration, rng=rng, **more)


def check_columns(sequences: Sequences) -> None:
    """Each step goes on where the one before it ended, and only the last of an episode ends it."""
    for start, stop in zip(sequences.first[:-1], sequences.first[1:], strict=True):
        assert (sequences.observations[start + 1 : stop] == sequences.next_observations[start : stop - 1]).all()
        assert not sequences.ended[start : stop - 1].any()
        assert sequences.step[start:stop].tolist() == list(range(stop - start))
    assert sequences.first[-1] == len(sequences) == sequences.lengths.sum()
    assert (sequences.next_actions == RIGHT).all()
    assert (sequences.explored == (sequences.actions != RIGHT)).all()


def test_the_policy_is_played_episode_after_episode() -> None:
    sequences = played(Corridor(6), steps=23)
    check_columns(sequences)
    assert len(sequences) == 23
    assert sequences.lengths.tolist() == [5, 5, 5, 5, 3], "the last one is cut"
    assert sequences.observations[:5].tolist() == [0, 1, 2, 3, 4]
    assert sequences.rewards[:5].tolist() == [-1, -1, -1, -1, 10]
    assert np.flatnonzero(sequences.ended).tolist() == [4, 9, 14, 19]
    assert not sequences.explored.any()


def test_explored_steps_are_those_that_are_not_the_policys() -> None:
    sequences = played(Corridor(6), steps=400, exploration=0.4)
    check_columns(sequences)
    assert 0.12 < sequences.explored.mean() < 0.28  # every second random action is the policy's own
    follows = [
        at + 1 < len(sequences) and sequences.episode[at + 1] == sequences.episode[at] and sequences.actions[at + 1] == RIGHT
        for at in range(len(sequences))
    ]  # fmt: skip
    assert sequences.followed.tolist() == follows
    assert 0 < sum(follows) < len(sequences)


@pytest.mark.parametrize(("terminates", "beyond", "length"), [(True, 0, 4), (False, 0, 4), (False, 3, 7)])
def test_a_time_limit_ends_an_episode_only_if_it_does_for_the_agent(terminates: bool, beyond: int, length: int) -> None:
    sequences = played(limited(Blink(), 4), steps=28, limit_terminates=terminates, beyond=beyond)
    assert (sequences.lengths == length).all()
    assert sequences.ended.sum() == (len(sequences.lengths) if terminates else 0)


def test_several_environments_at_once_give_episodes_in_order() -> None:
    sequences = played(gym.make("CartPole-v1"), steps=6_000, exploration=0.3)  # parallel, since it can be made anew
    assert len(sequences) == 6_000
    for start, stop in zip(sequences.first[:-1], sequences.first[1:], strict=True):
        assert (sequences.observations[start + 1 : stop] == sequences.next_observations[start : stop - 1]).all()
        assert sequences.ended[start : stop - 1].sum() == 0
    assert sequences.ended.sum() > 0.9 * len(sequences.lengths)


def test_a_seed_gives_the_same_play_again() -> None:
    one, two, other = (played(Corridor(6), seed=seed, exploration=0.4) for seed in (1, 1, 2))
    assert all(np.array_equal(getattr(one, name), getattr(two, name)) for name in vars(one))
    assert not np.array_equal(one.actions, other.actions)
