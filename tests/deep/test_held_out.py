"""Held-out situations of play that can be counted by hand."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scripted import RIGHT, Blink, Corridor, always, limited

from whatfor.deep import BeliefNetwork
from whatfor.deep.held_out import HeldOut, held_out
from whatfor.deep.sequences import Sequences, play_sequences

DISCOUNT, LEFT = 0.9, 0


def belief_of(env: gym.Env[Any, Any], discount: float = DISCOUNT, **more: Any) -> BeliefNetwork:
    return BeliefNetwork.of(env, always(RIGHT), discount=discount, **more)


def situations(
    env: gym.Env[Any, Any], *, exploration: float = 0.0, steps: int = 200, n: int = 1_000, limit: int | None = None,
    explored: bool = False, beyond: int = 0, discount: float = DISCOUNT, **more: Any,
) -> tuple[HeldOut, Sequences]:  # fmt: skip
    """Situations of play to the right, and the play."""
    rng = np.random.default_rng(0)
    played = play_sequences(
        env, always(RIGHT), steps=steps, exploration=exploration, rng=rng, limit_terminates=False, beyond=beyond
    )
    partition = belief_of(env, **more).partition
    return held_out(played, partition, discount, n, rng, limit=limit, explored=explored), played


def test_what_followed_is_counted() -> None:
    """From place p of six, 5 - p steps to the right are left."""
    endings = {"at the end": lambda obs: obs == 5}
    held, _ = situations(Corridor(6), steps=23, endings=endings)
    assert len(held) == 20, "of the last episode, which is cut, the future is not known"
    for at, observation in enumerate(held.observations.tolist()):
        left = 5 - observation
        expected = np.zeros((6, 2))
        expected[observation:5, RIGHT] = DISCOUNT ** np.arange(left)
        np.testing.assert_allclose(held.visits[at].reshape(6, 2), expected, rtol=1e-6)
        rewards = [-1.0] * (left - 1) + [10.0]
        assert held.returns[at] == pytest.approx(sum(DISCOUNT**k * reward for k, reward in enumerate(rewards)))
    names = belief_of(Corridor(6), endings=endings).partition.ending_names
    assert {names[ending] for ending in held.endings.argmax(axis=1)} == {"at the end"}
    assert (held.endings.sum(axis=1) == 1.0).all()
    assert held.episode.tolist() == [episode for episode in range(4) for _ in range(5)]


def test_after_another_action_the_policy_is_followed() -> None:
    """One step to the left, and then to the right until the end: the last other action of its episode."""
    held, played = situations(Corridor(6), steps=400, exploration=0.3, explored=True)
    assert len(held) > 10
    assert set(held.actions.tolist()) == {LEFT}
    assert len(np.unique(held.episode)) == len(held), "at most one of an episode"
    for at, observation in enumerate(held.observations.tolist()):
        after = max(0, observation - 1)
        expected = np.zeros((6, 2))
        expected[observation, LEFT] = 1.0
        expected[after:5, RIGHT] += DISCOUNT ** np.arange(1, 6 - after)
        np.testing.assert_allclose(held.visits[at].reshape(6, 2), expected, rtol=1e-6)
    own, _ = situations(Corridor(6), steps=400, exploration=0.3)
    assert set(own.actions.tolist()) == {RIGHT}
    last = {int(e): max(s for s, x in zip(played.step[played.episode == e], played.explored[played.episode == e], strict=True) if x) for e in held.episode}  # fmt: skip
    assert held.observations.tolist() == [
        int(played.observations[played.first[episode] + step]) for episode, step in last.items()
    ]


def test_no_situation_lies_beyond_the_limit_and_none_has_a_future_that_is_cut() -> None:
    """Blink never ends: 0.9 ** 66 is below 1e-3, so that 66 steps are enough, and fewer are not."""
    held, played = situations(limited(Blink(), 10), steps=760, limit=10, beyond=66)
    assert played.lengths.tolist() == [76] * 10
    assert len(held) == 100
    assert (held.endings == 0.0).all()
    assert held.cut == 1.0
    np.testing.assert_allclose(held.visits.sum(axis=1), 10.0, rtol=2e-3)
    cut, _ = situations(limited(Blink(), 10), steps=300, limit=10, beyond=20)
    assert len(cut) == 0
    endless, _ = situations(limited(Blink(), 10), steps=300, limit=10, discount=1.0)
    assert len(endless) == 0


def test_at_most_so_many_are_drawn() -> None:
    held, _ = situations(Corridor(6), steps=200, n=17)
    assert len(held) == 17


def test_the_error_is_relative_to_what_followed() -> None:
    held, _ = situations(Corridor(3), steps=20)

    class Twice:
        """Believes twice of what follows."""

        def rows(self, observations: Any, actions: Any) -> tuple[Any, Any]:
            visits = np.zeros((len(observations), 3, 2))
            for row, observation in zip(visits, observations.tolist(), strict=True):
                row[observation:2, RIGHT] = 2.0 * DISCOUNT ** np.arange(2 - observation)
            return visits, visits

    assert held.distances(Twice()) == pytest.approx(1.0)  # type: ignore[arg-type]
