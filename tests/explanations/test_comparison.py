"""Belief and reality: known answers, verdicts, and how often a correct belief is called wrong."""

import json
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import binomtest

import whatfor as wf
from taxi_runs import START, train_taxi
from whatfor.beliefs.noise import OneStepErrors, ahead, sampling_error
from whatfor.explanations.causes import RATE
from whatfor.labels import Axis
from whatfor.testing import random_world
from whatfor.text import percent

HANDS = (
    "player 10, dealer 7, no usable ace",
    "player 17, dealer 9, no usable ace",
    "player 14, dealer 10, no usable ace",
)


def blackjack(seed, step_size=None, exploration=0.1, episodes=100_000):
    learner = wf.QLearning(step_size=step_size or wf.visit_count(0.8), discount=1.0, exploration=exploration)
    return wf.train(wf.worlds.blackjack(), learner, episodes=episodes, seed=seed)


@pytest.mark.parametrize(
    "learner",
    [
        wf.QLearning(step_size=0.3, discount=0.9, exploration=0.5),
        wf.Sarsa(step_size=0.3, discount=0.9, exploration=0.5),
        wf.DoubleQLearning(step_size=0.3, discount=0.9, exploration=0.5),
        wf.MonteCarlo(step_size=0.3, discount=0.9, exploration=0.5),
        wf.LambdaReturns(step_size=0.3, discount=0.9, lambda_=0.7, exploration=0.5),
    ],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.parametrize("seed", range(3))
def test_a_belief_is_any_table_plus_weighted_one_step_errors(learner, seed):
    """The identity behind the noise and the off-policy part of a belief: it holds for every table and every learner."""
    run = wf.train(random_world(seed), learner, episodes=60, max_steps=30, time_limit="terminal", seed=seed)
    ledger, lines = run.ledger, run.ledger.lines
    table = np.random.default_rng(seed).normal(size=ledger.n_cells)
    for state, action in ((0, 0), (3, 2)):
        weights = run.audit.weights(state, action)
        g, bootstrapped = ahead(ledger, np.arange(len(ledger)), table, None)
        errors = lines.reward + g * bootstrapped - table[lines.cell]
        left = run.audit.account(state, action, method="scan").initial_weights.ravel()
        value = table.reshape(ledger.n_tables, 5, 3)[:, state, action].mean()
        assert run.values[state, action] == pytest.approx(value + weights @ errors - left @ table, abs=1e-9)


def test_the_off_policy_part_is_what_bootstraps_from_other_actions():
    """One update bootstrapped from an action of value 1, where the policy now takes one of value 3: the off-policy part is -2."""
    ledger = wf.Ledger(n_states=2, n_actions=2)
    ledger.record(0, 0, 0.0, 1, 0, step_size=1.0, discount=1.0)
    table, policy = np.array([0.0, 0.0, 1.0, 3.0]), np.array([[1.0, 0.0], [0.0, 1.0]])
    used, weights = np.zeros(1, int), np.ones(1)
    assert OneStepErrors(ledger, used, weights, policy).off_policy(table) == -2.0
    assert OneStepErrors(ledger, used, weights, policy, discount=0.5).off_policy(table) == -1.0
    assert sampling_error(ledger, used, weights, np.zeros(1), table) == (1.0, 1.0)


def test_no_target_is_off_policy_where_only_the_policy_was_followed():
    """With one action no target is off-policy; a sum over many updates has a rounding error, which is no cause of a difference."""
    rewards = [[0.1], [0.7], [-0.3]]
    world = wf.worlds.table(next_state=[[1], [2], [0]], reward=rewards, terminated=[[False]] * 3)
    run = wf.train(world, wf.QLearning(step_size=0.1, discount=0.9), episodes=50, max_steps=97, seed=0)
    weights, policy = run.audit.weights(0, 0), np.ones((3, 1))
    used = np.flatnonzero(weights)
    errors, table = OneStepErrors(run.ledger, used, weights[used], policy), np.random.default_rng(0).normal(size=3)
    assert errors.bootstrapped @ table != 0.0
    assert errors.off_policy(table) == 0.0


def test_an_experience_replayed_many_times_counts_once():
    world = wf.worlds.table(next_state=[[[0, 0]]], reward=[[[0.0, 1.0]]], terminated=True, probability=[[[0.5, 0.5]]])
    replay = wf.Replay(capacity=10, keep="first")
    run = wf.train(world, wf.QLearning(step_size=wf.visit_count(), discount=1.0), episodes=3_000, seed=0, replay=replay)
    account = run.provenance(0)
    assert account.effective == pytest.approx(10, abs=0.2)
    assert account.standard_error == pytest.approx(np.sqrt(run.values[0, 0] * (1 - run.values[0, 0]) / 10), rel=0.05)


def test_a_converged_belief_agrees_with_the_exact_future(taxi_50k):
    comparison = taxi_50k.comparison(START)
    assert comparison.verdict == "agrees"
    assert comparison.distance < 1e-3
    assert comparison.exact is not None
    assert {measure.name for measure in comparison.measures} == {"value", "delivered"}
    assert "does not differ from the exact future of its policy by more than sampling error." in str(comparison)
    form = json.loads(json.dumps(comparison.to_json()))
    assert form["against"] == "exact"
    assert form["measures"][0]["exact"] == pytest.approx(30 * 0.9**12 - 10)


def test_a_wrong_belief_is_found_and_reported():
    """An agent that learned in another world: it expects to win what is always lost."""
    labels = wf.Labels((Axis("state", 1),), ("go",))
    learned = wf.worlds.table(next_state=[[0]], reward=[[1.0]], terminated=True, labels=labels)
    other = wf.worlds.table(next_state=[[0]], reward=[[-1.0]], terminated=True, labels=labels)
    run = wf.train(learned, wf.QLearning(step_size=0.1, discount=1.0), episodes=500, seed=0)
    comparison = run.comparison(0, env=other)
    assert comparison.verdict == "different environment"
    assert comparison.measures[0].difference == pytest.approx(2.0)
    assert comparison.found[0].effect == pytest.approx(2.0)
    assert (
        "a test detects a different environment (+2 in 'value'; the terms below split the difference differently)"
        in str(comparison)
    )
    assert "Also" not in str(comparison), "what rests on initial values is tiny"
    assert "agree" not in str(comparison)
    assert run.comparison(0).verdict == "agrees", "without env=, it is compared with its own world"


def test_noise_of_few_experiences_is_not_called_a_difference():
    world = wf.worlds.table(next_state=[[[0, 0]]], reward=[[[0.0, 1.0]]], terminated=True, probability=[[[0.5, 0.5]]])
    verdicts = [
        wf.train(world, wf.QLearning(step_size=0.1, discount=1.0), episodes=300, seed=seed).comparison(0).verdict
        for seed in range(40)
    ]
    assert set(verdicts) <= {"agrees", "differs"}
    assert verdicts.count("differs") <= 6, "0.05 of 40, and what chance adds once in 10,000"


def test_a_rarely_tried_action_is_reported_and_not_judged():
    run = blackjack(0)
    comparison = run.comparison("player 20, dealer 9, no usable ace", "hit")
    assert comparison.rare
    assert comparison.verdict == "rarely tried"
    assert (
        f"was not tested against the exact future of its policy: it rarely tried this ({comparison.tries:,} times)"
        in str(comparison)
    )
    assert "sampling error" not in str(comparison), "no test is reported"
    assert "differs" not in str(comparison)
    assert not run.comparison("player 20, dealer 9, no usable ace", "stick").rare


def test_never_tried_is_unknown():
    run = train_taxi(3)
    state, action = next(
        (s, a) for s in range(500) for a in range(6) if run.audit.tries[s].any() and not run.audit.tries[s, a]
    )
    comparison = run.comparison(state, action)
    assert comparison.verdict == "unknown"
    assert str(comparison).endswith(f"it never tried {run.labels.actions[action]!r}, so it expects nothing.")


@pytest.mark.long
def test_greedy_actions_are_called_wrong_no_more_often_than_stated():
    """A small version of benchmarks/calibration.py; fails by chance about once in 1,000 for a rate of exactly 0.05."""
    greedy = [run.comparison(hand, rollouts=20) for run in map(blackjack, range(24)) for hand in HANDS]
    verdicts = [comparison.verdict for comparison in greedy if not comparison.rare]
    wrong = verdicts.count("differs")
    assert binomtest(wrong, len(verdicts), RATE, alternative="greater").pvalue > 1e-3
    assert len(verdicts) > 60


def test_off_policy_targets_explain_what_noise_does_not():
    """With step sizes of 1 / n a belief never forgets earlier actions; without the off-policy part, most would be called wrong."""
    runs = [blackjack(seed, wf.visit_count()) for seed in range(12)]
    comparisons = [run.comparison(hand, rollouts=20) for run in runs for hand in HANDS]
    raw = sum(any(measure.differs for measure in comparison.all_measures) for comparison in comparisons)
    beyond = sum(comparison.verdict == "differs" for comparison in comparisons)
    assert raw >= 3 * max(beyond, 1)
    lagging = next(comparison for comparison in comparisons if comparison.verdict == "off-policy targets")
    assert "most of all because of off-policy targets" in str(lagging)
    assert "they follow actions that its greedy policy does not take" in str(lagging)


def test_where_the_world_is_not_known_rollouts_are_compared_with():
    run = wf.train(wf.worlds.cartpole(), wf.QLearning(step_size=0.1, discount=0.95), episodes=500, seed=0)
    comparison = run.comparison(79, rollouts=300)
    assert comparison.exact is None
    assert "300 rollouts of its policy" in str(comparison)
    assert comparison.measures[0].simulated_error > 0.0


def test_beliefs_without_a_ledger_are_compared_too():
    run = wf.train(wf.worlds.chain(), wf.QLearning(step_size=1.0, discount=1.0, exploration=1.0), episodes=100, seed=0)
    exact = wf.ExactBeliefs(wf.worlds.chain(), run.policy, discount=1.0)
    other = wf.Run(labels=run.labels, values=run.values, beliefs=exact, settings=run.settings)
    comparison = other.comparison("the start", "up")
    assert comparison.verdict == "unjudged"
    assert comparison.tries is None
    assert comparison.distance == 0.0
    assert "the sampling error of this belief is unknown" in str(comparison)


def test_one_episode_is_too_few_to_judge():
    """Monte Carlo updates a state many times per episode: with a constant step size it forgets all earlier episodes."""
    learner = wf.MonteCarlo(step_size=0.3, discount=1.0, exploration=0.1)
    run = wf.train(wf.worlds.cartpole(), learner, episodes=500, seed=0, time_limit="terminal")
    comparison = run.comparison(79, rollouts=100)
    assert comparison.episodes < 5
    assert comparison.verdict == "too few"
    assert "too few to tell a difference from sampling error" in str(comparison)


class Sticky(gym.Env):
    """A corridor of seven steps, and a state that it is left from with probability 0.05, for a reward of 1."""

    observation_space, action_space = gym.spaces.Discrete(8), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return 0, {}

    def step(self, action):
        if self.state == 7:
            ended = self.np_random.random() < 0.05
            return 0 if ended else 7, float(ended), ended, False, {}
        self.state += 1
        return self.state, 0.0, False, False, {}


def test_weight_on_initial_values_may_explain_many_visits():
    """Most of the weight is on initial values, and nothing is known beyond: the many visits of the last state are no surprise."""
    learner = wf.QLearning(step_size=0.15, discount=0.99, exploration=0.3)
    run = wf.train(Sticky(), learner, episodes=40, seed=0)
    comparison = run.comparison(0, rollouts=500)
    assert comparison.believed.unknown > 0.8
    assert max(abs(measure.difference) for *_, measure in comparison.places) > 10.0
    assert not any(measure.differs for measure in comparison.all_measures)
    assert (comparison.verdict, comparison.badge().kind) == ("unjudged", "unknown"), "hardly anything could differ"
    text = str(comparison)
    assert "was not tested against 500 rollouts of its policy: 83 % of its weight is on initial values." in text
    assert "margin of the test" not in text
    wide = replace(comparison.measures[1], tolerance=1.2)
    assert "not judged: the margin of the test is over 100 points" in wide.with_verdict(percent)
