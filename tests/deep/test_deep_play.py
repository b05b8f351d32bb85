"""The benchmark of deep beliefs against play, and the averages that settling keeps."""

import importlib
import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3 import DQN

import whatfor as wf
from whatfor.deep import BeliefNetwork, Settling
from whatfor.deep.sequences import play_sequences
from whatfor.deep.settling import settle
from whatfor.deep.training import Trainer

ROOT = Path(__file__).parents[2]


@pytest.fixture
def deep_play(monkeypatch):
    """The benchmark, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("deep_play")


def lean(observations):
    """A policy of CartPole: push where the pole leans."""
    return (observations[:, 2] > 0).astype(int)


def test_a_replayed_situation_has_the_future_of_its_episode(deep_play):
    at = deep_play.Situation(7, (), 0)
    (whole,) = deep_play.futures("CartPole-v1", lean, [at], [None], steps=500)
    later = deep_play.Situation(7, tuple(whole.actions[:12]), whole.actions[12])
    (rest,) = deep_play.futures("CartPole-v1", lean, [later], [later.action], steps=500)
    assert rest.actions == whole.actions[12:]
    np.testing.assert_array_equal(rest.observations, whole.observations[12:])
    assert rest.ended == whole.ended
    (moved,) = deep_play.futures("CartPole-v1", lean, [later] * 1, [later.action], steps=500, moved=0.0)
    np.testing.assert_array_equal(moved.observations, rest.observations)
    both = deep_play.futures("CartPole-v1", lean, [later, at], [None, None], steps=5, moved=0.1)
    assert not np.array_equal(both[0].observations[0], rest.observations[0])


def test_the_best_constant_answer_is_no_worse_than_the_mean(deep_play):
    actual = np.random.default_rng(0).exponential(size=(50, 8))
    best = deep_play.best_constant(actual)
    for answer in (actual.mean(axis=0), np.median(actual, axis=0), actual[0]):
        assert best <= deep_play.off(np.broadcast_to(answer, actual.shape), actual).mean() + 1e-12


def test_settling_keeps_averages_of_weights(monkeypatch):
    """With few updates, the mean of the weights after each of them."""
    seen, learn = [], Trainer.learn

    def recorded(trainer, *given):
        losses = learn(trainer, *given)
        seen.append([weight.detach().clone() for weight in trainer.online.parameters()])
        return losses

    monkeypatch.setattr(Trainer, "learn", recorded)
    monkeypatch.setattr("whatfor.deep.settling.ROUNDS", 1)
    agent = DQN("MlpPolicy", "CartPole-v1", device="cpu", seed=0)
    settling = wf.deep.Settling(steps=500, updates=5, progress=False)
    run = wf.deep.learn_after(agent, {"moving left": lambda obs: obs[1] < 0}, settling=settling)
    assert len(seen) == 5
    for weight, *after in zip(run.beliefs.network.parameters(), *seen, strict=True):
        torch.testing.assert_close(weight, torch.stack(after).mean(dim=0))


def test_the_page_shows_what_was_measured():
    rows = json.loads((ROOT / "benchmarks" / "deep_play.json").read_text())
    page = (ROOT / "docs" / "deep-play.md").read_text()
    for one in rows:
        assert f"| {one['agent']}, {one['seed']} |" in page


class Scores:
    """Held-out play that says how good each round is."""

    def __init__(self, scores):
        self.scores = list(scores)

    def __len__(self):
        return len(self.scores)

    def score(self):
        return self.scores.pop(0) if len(self.scores) > 1 else self.scores[0]


@pytest.mark.parametrize(
    ("own", "other", "latest"),
    [([5.0, 4.0, 3.0, 2.0], [1.0, 9.0, 99.0, 999.0], True), ([], [], True), ([1.0, 2.0, 3.0, 4.0], [], False)],
    ids=["the policy's own actions decide", "nothing held out", "the first is best"],
)
def test_settling_keeps_the_best_round(monkeypatch, own, other, latest):
    monkeypatch.setattr("whatfor.deep.settling.ROUNDS", 4)
    monkeypatch.setattr("whatfor.deep.settling.squared_error", lambda belief, held: held.score())
    env, rng = gym.make("FrozenLake-v1"), np.random.default_rng(0)
    belief = BeliefNetwork.of(env, lambda observations: np.eye(4)[np.asarray(observations).ravel() % 4], discount=0.9)
    played = play_sequences(env, belief.q_values, steps=200, exploration=0.1, rng=rng, limit_terminates=False)
    rounds, sync = [], Trainer.sync

    def recorded(trainer, tau=1.0):
        sync(trainer, tau)
        rounds.append([weight.clone() for weight in trainer.target.parameters()])

    monkeypatch.setattr(Trainer, "sync", recorded)
    settle(belief, played, (Scores(own), Scores(other)), Settling(updates=4, progress=False), rng)
    expected = rounds[3] if latest else rounds[0]
    for weight, kept in zip(belief.network.parameters(), expected, strict=True):
        torch.testing.assert_close(weight.detach(), kept)
