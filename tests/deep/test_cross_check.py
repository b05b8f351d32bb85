"""Belief networks compared with exact beliefs: in a small world, training must bring them close."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from whatfor.beliefs import ExactBeliefs, Situation
from whatfor.deep import BeliefNetwork, BeliefSettings, Sizes
from whatfor.deep.cells import make_partition
from whatfor.deep.heads import HEADS, Step, _SpreadLoss, one_step
from whatfor.deep.network import PAPER_TAXI, Predictions
from whatfor.deep.training import Trainer
from whatfor.testing import check_beliefs, random_world

STATES, ACTIONS, DISCOUNT = 6, 3, 0.9


class Setting:
    """A random world, a fixed policy, its exact beliefs, and batches of its transitions."""

    def __init__(self, seed: int = 4) -> None:
        self.world = random_world(seed, states=STATES, actions=ACTIONS, noisy=False)
        self.policy = np.random.default_rng(seed).integers(ACTIONS, size=STATES)
        self.exact = ExactBeliefs(self.world, self.policy, discount=DISCOUNT)
        pairs = [(s, a) for s in range(STATES) for a in range(ACTIONS)]
        self.values = np.array([self.exact.value(s, a) for s, a in pairs]).reshape(STATES, ACTIONS)
        self.rng = np.random.default_rng(seed)

    def q_values(self, observations: NDArray[Any]) -> NDArray[Any]:
        return self.values[np.asarray(observations).reshape(-1).astype(int)]

    def batch(self, size: int) -> tuple[Any, NDArray[np.int64]]:
        """Steps from pairs drawn evenly, and the policy's next actions."""
        table = self.world.table
        states, actions = self.rng.integers(STATES, size=size), self.rng.integers(ACTIONS, size=size)
        pairs = states * ACTIONS + actions
        entry = [
            table.first[p]
            + int(np.searchsorted(table.chance[table.first[p] : table.first[p + 1]], self.rng.random(), side="right"))
            for p in pairs
        ]
        following = table.next_state[entry].astype(np.int64)
        batch = SimpleNamespace(
            observations=states, actions=actions, rewards=table.reward[entry], next_observations=following,
            dones=(table.ending[entry] != 0).astype(np.float32),
        )  # fmt: skip
        return batch, self.policy[following]

    def distance(self, belief: BeliefNetwork) -> float:
        """The mean relative L1 distance of visits, over all pairs."""
        distances = []
        for s in range(STATES):
            for a in range(ACTIONS):
                true = self.exact.visits(s, a)
                distances.append(np.abs(belief.visits(s, a) - true).sum() / true.sum())
        return float(np.mean(distances))

    def gap(self, belief: BeliefNetwork) -> float:
        """The mean |sum of earnings - exact value|, over all pairs."""
        return float(
            np.mean(
                [abs(belief.earnings(s, a).sum() - self.values[s, a]) for s in range(STATES) for a in range(ACTIONS)]
            )
        )


def make_belief(setting: Setting, **more: Any) -> BeliefNetwork:
    cells = make_partition(None, spaces.Discrete(STATES), None, np.zeros(0), n_actions=ACTIONS)
    settings = BeliefSettings(**{"sizes": Sizes(joint=(64,)), "learning_rate": 1e-3, **more})
    return BeliefNetwork(cells, setting.q_values, discount=DISCOUNT, settings=settings)


def trainer_of(belief: BeliefNetwork) -> Trainer:
    assert belief.trainer is not None
    return belief.trainer


def train(belief: BeliefNetwork, setting: Setting, updates: int, *, of: int = 1_800, sync: int = 25) -> None:
    for _ in range(updates):
        trainer_of(belief).set_learning_rate(3e-3 * max(0.05, 1.0 - belief.updates / of))
        if belief.updates % sync == 0:
            belief.sync()
        belief.update(*setting.batch(64))


@cache
def faithful(loss: str) -> tuple[BeliefNetwork, list[float], float]:
    """A trained belief network, its distances to exact beliefs during training, and its gap after it."""
    setting = Setting()
    belief = make_belief(setting, loss=loss)
    distances = [setting.distance(belief)]
    for _ in range(3):
        train(belief, setting, 600)
        distances.append(setting.distance(belief))
    return belief, distances, setting.gap(belief)


@pytest.mark.long
@pytest.mark.parametrize("loss", ["huber", "squared"])
def test_the_faithful_head_approaches_exact_beliefs(loss: str) -> None:
    belief, distances, gap = faithful(loss)
    assert distances[0] > 0.5
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.05
    if loss == "squared":  # with the Huber loss, earnings are biased as Q is
        assert gap < 0.05
    check_beliefs(belief, STATES, ACTIONS, tolerance=None)


@pytest.mark.long
def test_earnings_match_the_exact_ones_pair_by_pair() -> None:
    setting = Setting(seed=5)
    belief = make_belief(setting, loss="squared")
    train(belief, setting, 1_800)
    for s in range(STATES):
        for a in range(ACTIONS):
            true = setting.exact.earnings(s, a)
            assert np.abs(belief.earnings(s, a) - true).sum() < 0.15 * max(1.0, np.abs(true).sum())


def test_endings_approach_exact_chances() -> None:
    setting = Setting()
    assert make_belief(setting).row(Situation(0), 0).endings["terminated"] < 0.1  # untrained
    belief, *_ = faithful("huber")
    for s in range(STATES):
        assert belief.row(Situation(s), 0).endings["terminated"] == pytest.approx(
            setting.exact.outcomes(s, 0)["terminated"], abs=0.05
        )


@pytest.mark.long
def test_the_papers_head_learns_a_small_world() -> None:
    setting = Setting()
    belief = make_belief(setting, head="regression", sizes=Sizes(state=(64,), action=(16,), joint=(64,)), reads="cell")
    train(belief, setting, 1_800)
    assert setting.distance(belief) < 0.15
    assert setting.gap(belief) < 0.2


def test_one_network_can_predict_all_actions_at_once() -> None:
    setting = Setting()
    belief = make_belief(setting, sizes=Sizes(state=(64,), action=None, joint=()))
    train(belief, setting, 1_800)
    assert setting.distance(belief) < 0.1


def test_the_huber_loss_biases_earnings_as_it_does_q() -> None:
    (*_, huber), (*_, squared) = faithful("huber"), faithful("squared")
    assert huber > 2.0 * squared  # rare outcomes get too little weight


@pytest.mark.long
def test_expected_lengths_are_means_whatever_the_loss_of_q() -> None:
    """One state, in which the episode ends with probability 0.1: the mean length is learned, not the median."""
    cells = make_partition(None, spaces.Discrete(1), None, np.zeros(0), n_actions=1)
    settings = BeliefSettings(sizes=Sizes(joint=(16,)), learning_rate=3e-3)
    belief = BeliefNetwork(cells, lambda obs: np.zeros((len(obs), 1)), discount=0.99, settings=settings)
    rng, zeros = np.random.default_rng(0), np.zeros(64, np.int64)
    for update in range(2_000):
        trainer_of(belief).set_learning_rate(3e-3 * max(0.02, 1.0 - update / 2_000))
        dones = (rng.random(64) < 0.1).astype(np.float32)
        batch = SimpleNamespace(
            observations=zeros, actions=zeros, rewards=np.zeros(64), next_observations=zeros, dones=dones
        )
        belief.update(batch, zeros)
        if update % 10 == 0:
            belief.sync()
    assert belief.visits(0, 0).sum() == pytest.approx(1.0 / (1.0 - 0.9 * 0.99), rel=0.15)


@pytest.mark.parametrize("broken", ["bootstraps from the state itself", "ignores terminations", "never syncs"])
def test_broken_targets_are_noticed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting()
    belief = make_belief(setting, loss="squared")
    correct_batch = setting.batch

    def broken_batch(size: int) -> tuple[Any, NDArray[np.int64]]:
        batch, next_actions = correct_batch(size)
        if broken == "bootstraps from the state itself":  # as the paper's loss is printed
            batch.next_observations, next_actions = batch.observations, setting.policy[batch.observations]
        if broken == "ignores terminations":
            batch.dones = np.zeros_like(batch.dones)
        return batch, next_actions

    monkeypatch.setattr(setting, "batch", broken_batch)
    if broken == "never syncs":
        monkeypatch.setattr(belief, "sync", lambda: None)
    train(belief, setting, 600, of=600)
    assert correct_distance() < 0.12
    assert setting.distance(belief) > 3.0 * correct_distance()


@cache
def correct_distance() -> float:
    """The distance after as many updates with correct targets."""
    setting = Setting()
    belief = make_belief(setting, loss="squared")
    train(belief, setting, 600, of=600)
    return setting.distance(belief)


def test_earnings_do_not_rescale_visits() -> None:
    """Rewards change the amounts, never the logits of visits."""
    step = Step(
        torch.zeros(4, dtype=torch.long),
        torch.tensor([1.0, -1.0, 5.0, 0.0]),
        torch.ones(4),
        torch.ones(4, dtype=torch.long),
    )
    later = Predictions(torch.randn(4, 6), torch.rand(4, 5), torch.zeros(4, 2))
    gradients = []
    for scale in (1.0, 100.0):
        logits = torch.zeros(4, 6, requires_grad=True)
        out = Predictions(logits, torch.rand(4, 5, requires_grad=True), torch.zeros(4, 2))
        scaled = step._replace(reward=scale * step.reward)
        targets = one_step(HEADS["faithful"], scaled, later, later.endings.softmax(dim=1))
        losses = HEADS["faithful"].losses(out, targets, "squared")
        torch.autograd.backward(list(losses.values()))
        gradients.append(logits.grad)
    assert torch.equal(*gradients)
    maps = [HEADS["faithful"].maps(later, step.pair, rewards) for rewards in (torch.rand(2, 6), torch.rand(2, 6))]
    assert torch.equal(maps[0].visits, maps[1].visits)
    assert torch.allclose(
        maps[0].earnings.sum(1), maps[1].earnings.sum(1), atol=1e-5
    )  # distributed differently, but the same sum


def test_the_gradient_of_the_spread_loss_matches_autograd() -> None:
    logits = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    shares = torch.softmax(torch.randn(5, 7, dtype=torch.float64), dim=1)
    amount, now = torch.rand(5, dtype=torch.float64) * 3.0, torch.rand(5, dtype=torch.float64)
    pair = torch.tensor([0, 3, 6, 1, 1])

    def loss(x: torch.Tensor) -> torch.Tensor:
        return _SpreadLoss.apply(x, shares, amount, now, pair)

    assert torch.autograd.gradcheck(loss, (logits,))


def test_the_papers_networks_have_the_papers_sizes() -> None:
    cells = make_partition(None, spaces.Discrete(500), None, np.zeros(0), n_actions=6)
    settings = BeliefSettings(sizes=PAPER_TAXI, reads="cell")
    belief = BeliefNetwork(cells, lambda obs: np.zeros((len(obs), 6)), discount=1.0, settings=settings)
    shapes = [tuple(p.shape) for name, p in belief.network.named_parameters() if name.endswith("weight")]
    assert shapes[:4] == [(1024, 500), (128, 6), (2048, 1152), (3000, 2048)]
