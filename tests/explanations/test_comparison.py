"""Belief against reality: known answers, verdicts, and how often a right belief is called wrong."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest

import whatfor as wf
from taxi_runs import START, train_taxi
from whatfor.beliefs.noise import ahead, lag, sampling_error
from whatfor.explanations.comparison import RATE
from whatfor.labels import Axis
from whatfor.testing import random_world

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
    """What the noise and the lag of a belief stand on: it holds for every table, whatever the learner."""
    run = wf.train(random_world(seed), learner, episodes=60, max_steps=30, time_limit="terminal", seed=seed)
    ledger, lines = run.ledger, run.ledger.lines
    table = np.random.default_rng(seed).normal(size=ledger.n_cells)
    for state, action in ((0, 0), (3, 2)):
        weights = run.audit.weights(state, action)
        g, found, _ = ahead(ledger, np.arange(len(ledger)), table, None)
        errors = lines.reward + g * found - table[lines.cell]
        left = run.audit.account(state, action, method="scan").initial_weights.ravel()
        asked = table.reshape(ledger.n_tables, 5, 3)[:, state, action].mean()
        assert run.values[state, action] == pytest.approx(asked + weights @ errors - left @ table, abs=1e-9)


def test_lag_is_what_looks_ahead_along_other_actions():
    """One update that looked ahead along an action worth 1, where the policy now takes one worth 3: it lags by -2."""
    ledger = wf.Ledger(n_states=2, n_actions=2)
    ledger.record(0, 0, 0.0, 1, 0, step_size=1.0, discount=1.0)
    table, policy = np.array([0.0, 0.0, 1.0, 3.0]), np.array([[1.0, 0.0], [0.0, 1.0]])
    used, weights = np.zeros(1, int), np.ones(1)
    assert lag(ledger, used, weights, table, policy) == -2.0
    assert lag(ledger, used, weights, table, policy, discount=0.5) == -1.0
    assert sampling_error(ledger, used, weights, np.zeros(1), table) == (1.0, 1.0)


def test_an_experience_replayed_often_is_one_experience():
    world = wf.worlds.table(next_state=[[[0, 0]]], reward=[[[0.0, 1.0]]], terminated=True, probability=[[[0.5, 0.5]]])
    replay = wf.Replay(capacity=10, keep="first")
    run = wf.train(world, wf.QLearning(step_size=wf.visit_count(), discount=1.0), episodes=3_000, seed=0, replay=replay)
    account = run.provenance(0)
    assert account.effective == pytest.approx(10, abs=0.2)
    assert account.standard_error == pytest.approx(np.sqrt(run.values[0, 0] * (1 - run.values[0, 0]) / 10), rel=0.05)


def test_a_converged_belief_agrees_with_the_exact_future(taxi_50k):
    told = taxi_50k.comparison(START)
    assert told.verdict == "agrees"
    assert told.distance < 1e-3
    assert told.exact is not None
    assert {measure.name for measure in told.measures} == {"value", "delivered"}
    assert "they agree, as far as chance lets one tell" in str(told)
    form = json.loads(json.dumps(told.to_json()))
    assert form["against"] == "exact"
    assert form["measures"][0]["exact"] == pytest.approx(30 * 0.9**12 - 10)


def test_a_delusion_is_found_and_said():
    """An agent that learned of another world: it expects to win what is always lost."""
    labels = wf.Labels((Axis("state", 1),), ("go",))
    learned = wf.worlds.table(next_state=[[0]], reward=[[1.0]], terminated=True, labels=labels)
    other = wf.worlds.table(next_state=[[0]], reward=[[-1.0]], terminated=True, labels=labels)
    run = wf.train(learned, wf.QLearning(step_size=0.1, discount=1.0), episodes=500, seed=0)
    told = run.comparison(0, env=other)
    assert told.verdict == "differs"
    assert told.measures[0].difference == pytest.approx(2.0)
    assert "by more than chance and lag explain" in str(told)
    assert "agree" not in str(told)
    assert run.comparison(0).verdict == "agrees", "asked again, it is compared with its own world"


def test_noise_of_few_experiences_is_not_called_a_delusion():
    world = wf.worlds.table(next_state=[[[0, 0]]], reward=[[[0.0, 1.0]]], terminated=True, probability=[[[0.5, 0.5]]])
    verdicts = [
        wf.train(world, wf.QLearning(step_size=0.1, discount=1.0), episodes=300, seed=seed).comparison(0).verdict
        for seed in range(40)
    ]
    assert set(verdicts) <= {"agrees", "differs"}
    assert verdicts.count("differs") <= 6, "0.05 of 40, and what chance adds once in 10,000"


def test_rarely_tried_is_said_instead_of_judged():
    run = blackjack(0)
    told = run.comparison("player 20, dealer 9, no usable ace", "hit")
    assert told.rare
    assert told.verdict == "rarely tried"
    assert f"seldom ({told.tries:,} times)" in str(told)
    assert "tends to stay too low" in str(told)
    assert "chance" not in str(told), "no test is pretended"
    assert "they differ," not in str(told)
    assert not run.comparison("player 20, dealer 9, no usable ace", "stick").rare


def test_never_tried_is_unknown():
    run = train_taxi(3)
    state, action = next(
        (s, a) for s in range(500) for a in range(6) if run.audit.tries[s].any() and not run.audit.tries[s, a]
    )
    told = run.comparison(state, action)
    assert told.verdict == "unknown"
    assert str(told).endswith("it never tried that, so it expects nothing.")


@pytest.mark.long
def test_greedy_actions_are_called_wrong_no_more_often_than_stated():
    """A small version of benchmarks/calibration.py; fails by chance about once in 1,000 for a rate of exactly 0.05."""
    greedy = [run.comparison(hand, rollouts=20) for run in map(blackjack, range(24)) for hand in HANDS]
    judged = [told.verdict for told in greedy if not told.rare]
    wrong = judged.count("differs")
    assert binomtest(wrong, len(judged), RATE, alternative="greater").pvalue > 1e-3
    assert len(judged) > 60


def test_lag_explains_what_noise_does_not():
    """With steps of 1 / n a belief never forgets what it did before; without the lag, most would be called wrong."""
    runs = [blackjack(seed, wf.visit_count()) for seed in range(12)]
    found = [run.comparison(hand, rollouts=20) for run in runs for hand in HANDS]
    raw = sum(any(measure.differs for measure in told.judged) for told in found)
    beyond = sum(told.verdict == "differs" for told in found)
    assert raw >= 3 * max(beyond, 1)
    lagging = next(told for told in found if told.verdict == "lags")
    assert "explained by actions it would no longer take" in str(lagging)


def test_where_the_world_is_not_known_the_simulation_is_the_measure():
    run = wf.train(wf.worlds.cartpole(), wf.QLearning(step_size=0.1, discount=0.95), episodes=500, seed=0)
    told = run.comparison(79, rollouts=300)
    assert told.exact is None
    assert "300 rollouts" in str(told)
    assert told.measures[0].simulated_error > 0.0


def test_beliefs_without_a_ledger_are_compared_too():
    run = wf.train(wf.worlds.chain(), wf.QLearning(step_size=1.0, discount=1.0, exploration=1.0), episodes=100, seed=0)
    exact = wf.ExactBeliefs(wf.worlds.chain(), run.policy, discount=1.0)
    asked = wf.Run(labels=run.labels, values=run.values, beliefs=exact, settings=run.settings)
    told = asked.comparison("the start", "up")
    assert told.verdict == "unjudged"
    assert told.tries is None
    assert told.distance == 0.0
    assert "nobody knows how far this belief is off by chance" in str(told)


def test_one_episode_is_too_few_to_tell():
    """Monte Carlo comes by the same state many times an episode: with a constant step it forgets all earlier ones."""
    learner = wf.MonteCarlo(step_size=0.3, discount=1.0, exploration=0.1)
    run = wf.train(wf.worlds.cartpole(), learner, episodes=500, seed=0, time_limit="terminal")
    told = run.comparison(79, rollouts=100)
    assert told.episodes < 5
    assert told.verdict == "too few"
    assert "too few to tell a difference from chance" in str(told)
