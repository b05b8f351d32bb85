"""Endings without a name are named after what they pay."""

import numpy as np
import pytest

import whatfor as wf
from own_worlds import LEARNER, START, Home, trained
from whatfor.axes import LastStep
from whatfor.labels import Ending, Labels
from whatfor.ledger.paid import paid_endings, with_paid_endings, without_paid_endings


def ledger_of(*rewards):
    ledger = wf.Ledger(n_states=2, n_actions=1)
    for reward in rewards:
        ledger.record(0, 0, reward, None, step_size=0.5, discount=0.9)
    return ledger


def test_ends_that_pay_differently_are_told_apart():
    run = trained()
    assert run.labels.ending_names == ("ended with -10", "ended with +10")
    assert set(run.outcomes(START).chances) <= {"ended with -10", "ended with +10", "no recorded end"}
    assert "end with +10" in str(run.intention((0, 0, 1), 1))
    assert [ending.bad for ending in run.labels.endings] == [True, False]


def test_ends_that_pay_the_same_keep_their_name():
    assert with_paid_endings(ledger_of(1.0, 1.0), Labels.plain(2, 1)) == Labels.plain(2, 1)
    assert with_paid_endings(None, Labels.plain(2, 1)) == Labels.plain(2, 1)


def test_ends_that_have_names_keep_them():
    named = Labels(Labels.plain(2, 1).axes, ("go",), endings=(Ending("won", reward=3.0),))
    assert with_paid_endings(ledger_of(3.0, 3.0, -1.0), named) == named  # the others all pay the same
    assert with_paid_endings(ledger_of(3.0, -1.0, -2.0), named).ending_names == (
        "won",
        "ended with -2",
        "ended with -1",
    )


@pytest.mark.parametrize("seed", range(20))
def test_every_reward_has_exactly_one_ending(seed):
    rng = np.random.default_rng(seed)
    rewards = rng.normal(rng.normal(0, 10), 10.0 ** rng.integers(-3, 4), size=int(rng.integers(2, 60)))
    endings = paid_endings(rewards.tolist())
    assert len({ending.name for ending in endings}) == len(endings) <= 8
    for reward in rewards:
        assert sum(ending.fits(LastStep(None, 0, float(reward), None)) for ending in endings) == 1


@pytest.mark.parametrize("rewards", [[1.0, 1.0 + 1e-12], [1e300, -1e300, *range(6)], [5.0, 5.00001, 5.00002], [1e-300 * i for i in range(9)], [1.0 + 1e-8 * i for i in range(1, 20)]])  # fmt: skip
def test_odd_rewards_have_names(rewards):
    endings = paid_endings(rewards)
    for reward in rewards:
        assert any(ending.fits(LastStep(None, 0, reward, None)) for ending in endings)


def test_new_rewards_are_named_when_training_goes_on(tmp_path):
    run = trained(episodes=3)
    on = wf.train(run, episodes=397)
    assert on.labels.ending_names == ("ended with -10", "ended with +10")
    assert str(on.outcomes(START)) == str(trained().outcomes(START))
    on.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run")
    assert loaded.labels == on.labels
    assert str(wf.train(loaded, episodes=10, env=Home()).outcomes(START)) == str(
        wf.train(on, episodes=10).outcomes(START)
    )
    assert without_paid_endings(on.labels).endings == ()


def test_ends_that_the_agent_has_not_met_are_named_in_what_really_follows():
    pays = [3.0, 5.0, 7.0]
    world = wf.worlds.table(
        [[[1, 1, 1]], [[1, 1, 1]]], [[pays], [pays]], [[[True] * 3], [[True] * 3]], probability=[[[0.5, 0.498, 0.002]]] * 2
    )  # fmt: skip
    run = wf.train(world, LEARNER, episodes=30, seed=0)
    assert run.labels.ending_names == ("ended with +3", "ended with +5")
    assert "terminated: estimated 0 %, true 0.2 %" in str(run.comparison(0, rollouts=100))
    chances = run.simulation(0, rollouts=3_000).chances
    assert set(chances) == {"ended with +3", "ended with +5", "ended with +7"}


def test_many_last_rewards_without_a_name_are_grouped_in_ranges():
    """Continuous final rewards of ends that no label names, in beliefs and in rollouts."""
    rng = np.random.default_rng(0)
    ledger = ledger_of(*rng.normal(8.0, 1.0, 200))
    audit = wf.Audit(ledger)
    (chances, _) = audit.named_endings(wf.beliefs.situation.Situation(0), 0, Labels.plain(2, 1))
    assert 2 <= len(chances) <= 6
    assert all(name.startswith("ended with ") for name in chances)
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-6)


class Noisy(Home):
    """Its end pays another amount every time."""

    def step(self, action):
        observation, reward, ended, cut, info = super().step(action)
        return observation, reward + ended * float(self.np_random.normal()), ended, cut, info


def test_rollouts_of_an_agent_that_knows_one_end_group_what_others_pay():
    run = wf.train(
        Noisy(), wf.QLearning(**LEARNER) if isinstance(LEARNER, dict) else LEARNER, episodes=1, seed=0, max_steps=200
    )
    counts = run.simulation(START, rollouts=100).counts
    assert len(counts) <= 8, counts


def test_ranges_of_what_it_has_not_met_exclude_what_it_knows():
    """Ends that it met are named after what they pay; a range that contains one of these numbers is of other rewards."""
    run = wf.train(Noisy(), LEARNER, episodes=3, seed=0, max_steps=200)
    known, counts = run.labels.ending_names, run.simulation(START, rollouts=100).counts
    assert len(known) > 1
    others = [name for name in counts if name not in (*known, "timed out")]
    assert others
    assert all(name.startswith("ended with another reward, ") for name in others)
