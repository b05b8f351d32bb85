"""λ-targets along sequences, compared with the recursion of THEORY.md written out for one step, and with the fold of tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch.nn import functional as F

from whatfor.deep import BeliefNetwork, BeliefSettings, Sizes
from whatfor.deep import targets as targets_module
from whatfor.deep.cells import make_partition
from whatfor.deep.sequences import Sequences
from whatfor.deep.targets import LambdaTargets
from whatfor.kernels.forwards import fold
from whatfor.kernels.recursion import TERMINATED, LedgerLines

STATES, ACTIONS, DISCOUNT = 7, 3, 0.9
ENDINGS = {"low": lambda obs: obs < 2, "middle": lambda obs: obs == 3}


def make_belief(seed: int = 0, head: Any = "faithful") -> BeliefNetwork:
    """A network whose target network has random weights of some size, other ones than the network itself."""
    cells = make_partition(None, spaces.Discrete(STATES), None, np.zeros(0), n_actions=ACTIONS, endings=ENDINGS)
    settings = BeliefSettings(sizes=Sizes(joint=(16,)), head=head, seed=seed)
    belief = BeliefNetwork(cells, lambda obs: np.zeros((len(obs), ACTIONS)), discount=DISCOUNT, settings=settings)
    with torch.no_grad():
        rng = torch.Generator().manual_seed(seed)
        for weight in belief.training.target.parameters():
            weight.add_(0.5 * torch.randn(weight.shape, generator=rng))
    return belief


def make_sequences(rng: np.random.Generator, policy: NDArray[np.int64], episodes: int = 30) -> Sequences:
    """Random episodes, in which one action in four is not the policy's; some are cut."""
    columns: dict[str, list[Any]] = {name: [] for name in ("observations", "actions", "rewards", "following", "ended")}
    first = [0]
    for _ in range(episodes):
        length, state = int(rng.integers(1, 9)), int(rng.integers(STATES))
        cut = rng.random() < 0.4
        for step in range(length):
            explored = rng.random() < 0.25
            action = int((policy[state] + explored * rng.integers(1, ACTIONS)) % ACTIONS)
            following = int(rng.integers(STATES))
            row = (state, action, float(rng.normal()), following, step == length - 1 and not cut)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
            state = following
        first.append(first[-1] + length)
    observations, following = np.array(columns["observations"]), np.array(columns["following"])
    actions = np.array(columns["actions"])
    return Sequences(
        observations=observations,
        actions=actions,
        rewards=np.array(columns["rewards"]),
        next_observations=following,
        next_actions=policy[following],
        ended=np.array(columns["ended"]),
        first=np.array(first),
        explored=actions != policy[observations],
        seeds=np.arange(len(first) - 1),
    )


class Predicted:
    """What the target network holds of every state and action: T of the recursion."""

    def __init__(self, belief: BeliefNetwork) -> None:
        pairs = [(s, a) for s in range(STATES) for a in range(ACTIONS)]
        states, actions = torch.tensor([s for s, _ in pairs]), torch.tensor([a for _, a in pairs])
        with torch.no_grad():
            out = belief.training.target(belief.reader.inputs(states, states), actions)
        visits, amounts = out.visits.double().numpy(), out.amounts.double().numpy()
        if belief.settings.head == "faithful":  # an expected length times a distribution, and the step itself
            shares = np.exp(visits - visits.max(axis=1, keepdims=True))
            visits = amounts[:, :1] * shares / shares.sum(axis=1, keepdims=True) + np.eye(len(pairs))
        self.visits = np.maximum(visits, 0.0)
        self.rewards = amounts[:, 1:3] + amounts[:, 3:]
        self.endings = F.softmax(out.endings, dim=1).double().numpy()


def oracle(played: Sequences, policy: NDArray[np.int64], predicted: Predicted, belief: BeliefNetwork) -> Any:
    """target_i = c_i + g_i ((1 - l_i) T[j_i] + l_i target_(i+1)), step by step from the end of each episode."""
    n_pairs, names = STATES * ACTIONS, belief.partition.ending_names
    visits, rewards = np.zeros((len(played), n_pairs)), np.zeros((len(played), 2))
    endings = np.zeros((len(played), len(names) + 1))
    for start, stop in zip(played.first[:-1], played.first[1:], strict=True):
        for i in range(stop - 1, start - 1, -1):
            state, action, reward = int(played.observations[i]), int(played.actions[i]), played.rewards[i]
            visits[i, state * ACTIONS + action] += 1.0
            rewards[i] += max(reward, 0.0), max(-reward, 0.0)
            following = int(played.next_observations[i])
            if played.ended[i]:
                name = "low" if following < 2 else "middle" if following == 3 else "terminated"
                endings[i, names.index(name)] = 1.0
                continue
            on_policy = i + 1 < stop and played.actions[i + 1] == policy[following]
            after = following * ACTIONS + policy[following]
            visits[i] += DISCOUNT * (visits[i + 1] if on_policy else predicted.visits[after])
            rewards[i] += DISCOUNT * (rewards[i + 1] if on_policy else predicted.rewards[after])
            endings[i] += endings[i + 1] if on_policy else predicted.endings[after]
    return visits, rewards, endings


def targets_of(belief: BeliefNetwork, played: Sequences, rng: np.random.Generator) -> tuple[NDArray[Any], Any, Any]:
    """The steps at hand, and their targets of visits, rewards and endings, this step included."""
    targets = LambdaTargets(belief, played)
    targets.refresh(rng)
    _, actions, towards = targets.batch(np.arange(len(targets)))
    steps = targets.steps.numpy()
    assert (actions.numpy() == played.actions[steps]).all()
    visits = (towards.length[:, None] * towards.shares + F.one_hot(towards.pair, STATES * ACTIONS)).numpy()
    order, rewards = np.argsort(steps), (towards.amounts[:, :2] + towards.amounts[:, 2:]).numpy()
    return steps[order], visits[order], (rewards[order], towards.endings.numpy()[order])


@pytest.mark.parametrize("head", ["faithful", "regression"])
@pytest.mark.parametrize("seed", range(5))
def test_targets_are_those_of_the_recursion(seed: int, head: str) -> None:
    rng = np.random.default_rng(seed)
    policy = rng.integers(ACTIONS, size=STATES)
    belief, played = make_belief(seed, head), make_sequences(rng, policy)
    assert played.explored.any()
    assert 0 < played.ended.sum() < len(played.lengths), "some are cut"
    steps, visits, (rewards, endings) = targets_of(belief, played, rng)
    assert steps.tolist() == list(range(len(played)))
    expected = oracle(played, policy, Predicted(belief), belief)
    assert (expected[2][played.ended].sum(axis=0) > 0).sum() >= 2, "several endings"
    for found, right in zip((visits, rewards, endings), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=2e-4, atol=2e-5)


def test_targets_read_the_target_network_and_not_the_one_that_is_trained() -> None:
    rng, belief = np.random.default_rng(0), make_belief()
    played = make_sequences(rng, np.zeros(STATES, np.int64))
    before = targets_of(belief, played, rng)[1]
    with torch.no_grad():
        for weight in belief.network.parameters():
            weight.add_(1.0)
    assert np.array_equal(targets_of(belief, played, rng)[1], before)
    belief.sync()
    assert not np.array_equal(targets_of(belief, played, rng)[1], before)


def test_long_play_is_learned_from_some_episodes_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    policy = rng.integers(ACTIONS, size=STATES)
    belief, played = make_belief(), make_sequences(rng, policy)
    right = oracle(played, policy, Predicted(belief), belief)[0]
    monkeypatch.setattr(targets_module, "MAX_NUMBERS", 20 * STATES * ACTIONS)  # twenty steps
    seen: set[int] = set()
    for _ in range(60):
        steps, visits, _ = targets_of(belief, played, rng)
        assert len(steps) <= 20
        np.testing.assert_allclose(visits, right[steps], rtol=2e-4, atol=2e-5)
        seen |= set(steps.tolist())
    assert len(seen) == len(played), "all have their turn"


def test_the_tables_fold_gives_the_same_targets() -> None:
    """One walk through different states, explored twice: lines from the end to the start, applied with a step size of 1."""
    belief = make_belief(2)
    predicted, policy = Predicted(belief), np.array([1, 0, 2, 1, 0, 2, 1])
    order, explored = np.array([4, 0, 6, 2, 5, 1, 3]), np.array([0, 1, 0, 0, 1, 0, 0], bool)
    actions = (policy[order] + explored) % ACTIONS
    following = np.append(order[1:], 0)
    played = Sequences(
        observations=order, actions=actions, rewards=np.array([1.0, -2.0, 0.5, 0.0, -1.0, 2.0, 3.0]),
        next_observations=following, next_actions=policy[following], ended=np.arange(7) == 6, first=np.array([0, 7]),
        explored=explored, seeds=np.zeros(1, np.int64),
    )  # fmt: skip
    _, visits, (rewards, _) = targets_of(belief, played, np.random.default_rng(0))
    pair = (order * ACTIONS + actions)[::-1].astype(np.int32)
    source = (following * ACTIONS + policy[following])[::-1].astype(np.int32)
    source[0] = TERMINATED
    lines = LedgerLines(
        pair, source, played.rewards[::-1].copy(), np.ones(1), np.full(1, DISCOUNT),
        np.append(0.0, ~explored[::-1][:-1]).astype(float),
    )  # fmt: skip
    for amount, tables, found in (
        (np.ones(1), predicted.visits.copy(), visits),
        (lines.reward, (predicted.rewards[:, :1] - predicted.rewards[:, 1:]).copy(), rewards[:, :1] - rewards[:, 1:]),
    ):
        fold(lines, amount, tables, np.zeros(tables.shape[1]), np.zeros(0))
        np.testing.assert_allclose(found, tables[pair[::-1]], rtol=2e-4, atol=2e-5)
