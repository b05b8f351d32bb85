"""Why belief and reality differ: parts that sum to the difference, and three tests of causes."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import multinomial

import whatfor as wf
from whatfor.beliefs.altered import evidence_against_play, evidence_against_table
from whatfor.beliefs.experience import count_steps, experiences_of, played_steps
from whatfor.explanations.causes import RATE, maximisation_bias
from whatfor.explanations.measure_builder import MeasureBuilder
from whatfor.explanations.measures import Measure
from whatfor.question import layout_of
from whatfor.testing import random_world
from whatfor.text import percent

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from calibration import LEFT, Walk, enter, example_6_7

LEARNERS = [
    wf.QLearning(step_size=0.3, discount=0.9, exploration=0.5, initial=0.7),
    wf.Sarsa(step_size=0.3, discount=0.9, exploration=0.5),
    wf.DoubleQLearning(step_size=0.3, discount=0.9, exploration=0.5, initial=-0.4),
    wf.MonteCarlo(step_size=0.3, discount=0.9, exploration=0.5),
    wf.LambdaReturns(step_size=0.3, discount=0.9, lambda_=0.7, exploration=0.5, initial=0.7),
]


REPLAY = wf.Replay(capacity=40, keep="first")


@pytest.mark.parametrize(
    ("learner", "replay"),
    [(learner, None) for learner in LEARNERS] + [(learner, REPLAY) for learner in LEARNERS if learner.supports_replay],
    ids=lambda one: type(one).__name__,
)
def test_noise_lag_and_initial_value_sum_to_the_difference(learner, replay):
    """For the value, every chance and every visit; each part is computed by itself."""
    seen = []
    for seed in range(3):
        run = wf.train(random_world(seed), learner, episodes=80, max_steps=30, seed=seed, replay=replay)
        for state in range(3):
            comparison = run.comparison(state, rollouts=20)
            for measure in comparison.all_measures:
                assert measure.exact is not None
                assert sum(measure.terms.values()) == pytest.approx(measure.difference, abs=1e-9), measure
                seen.append([abs(term) for term in measure.terms.values()])
    noise, off_policy, initial = np.max(seen, axis=0)
    assert noise > 0.01
    assert max(off_policy, initial) > 0.01, "an identity between zeros proves nothing"


@pytest.fixture(scope="module")
def small_buffer():
    """Blackjack from 500 fixed experiences, replayed 20 times each and more."""
    learner = wf.QLearning(step_size=0.1, discount=1.0, exploration=0.5)
    replay = wf.Replay(capacity=500, keep="first", batch=4)
    return wf.train(wf.worlds.blackjack(), learner, episodes=6_000, seed=0, replay=replay)


def test_replay_does_not_make_experiences_more_distinct(small_buffer):
    experiences = experiences_of(small_buffer.ledger)
    assert experiences.times.sum() <= 500 < len(small_buffer.ledger) / 20
    assert small_buffer.audit.experienced.counts.sum() == experiences.times.sum()


def test_a_small_buffer_is_recognised_as_too_little_data(small_buffer):
    """Where the believed chance of a bust is far off, and not where it is right."""
    hit, off, recognised = small_buffer.labels.action("hit"), 0, 0
    for state in np.flatnonzero(small_buffer.audit.tries[:, hit])[::4].tolist():
        comparison = small_buffer.comparison(state, hit, rollouts=20)
        bust = next((measure for measure in comparison.measures if measure.name == "bust"), None)
        few = next(cause for cause in comparison.causes if cause.name == "too little data")
        if bust is not None and abs(bust.difference) > 0.15:
            off += 1
            recognised += few.holds
        if bust is not None and abs(bust.difference) < 0.03:
            assert "bust" not in few.measures
        if comparison.verdict == "too little data":
            assert comparison.found[0].name == "too little data"
            assert "a test detects too little data (" in str(comparison)
            assert comparison.experiences < 30
            assert comparison.badge().kind == "off"
            assert "(too little data)" in wf.question.layout_of(comparison).title
    assert off >= 15
    assert recognised >= 0.7 * off


def test_a_well_trained_agent_has_enough_data():
    learner = wf.QLearning(step_size=0.1, discount=1.0, exploration=0.3)
    run = wf.train(wf.worlds.blackjack(), learner, episodes=60_000, seed=1)
    for hand in ("player 10, dealer 7, no usable ace", "player 14, dealer 10, no usable ace"):
        comparison = run.comparison(hand, rollouts=20)
        assert not [cause for cause in comparison.found if cause.rate is not None]
        assert comparison.experiences > 50


def test_maximisation_bias_is_recognised_and_not_under_double_q_learning():
    """A small version of the study of ``make calibration``."""
    estimates, world = {"step_size": 0.1, "discount": 1.0, "exploration": 0.1}, example_6_7()
    found = {}
    for kind in (wf.QLearning, wf.DoubleQLearning):
        comparisons = [
            wf.train(world, kind(**estimates), episodes=300, seed=seed).comparison(0, LEFT, rollouts=20)
            for seed in range(16)
        ]
        found[kind] = [one for one in comparisons if "maximisation bias" in [cause.name for cause in one.found]]
    assert len(found[wf.QLearning]) >= 8
    assert len(found[wf.DoubleQLearning]) <= 2
    bias = next(cause for cause in found[wf.QLearning][0].found if cause.name == "maximisation bias")
    assert bias.effect > 0.0
    assert bias.evidence > 1.6
    assert "because it prefers actions whose noisy estimates are high" in str(found[wf.QLearning][0])


def test_a_difference_within_the_sampling_error_of_play_is_no_maximisation_bias():
    learner = wf.QLearning(step_size=0.1, discount=1.0, exploration=0.1)
    run = wf.train(example_6_7(), learner, episodes=300, seed=1)
    at, chosen = run.resolve(0, LEFT)
    exact = run.playing.player.exact(None, 0, LEFT)
    builder = MeasureBuilder(
        run.audit, run.expects(at, chosen), run.simulation(0, LEFT, rollouts=20), exact, run.policy
    )
    value = builder.value(0.05)
    assert maximisation_bias(builder, value).holds
    for error, holds in ((0.0, True), (0.1 * value.difference, True), (value.difference, False)):
        played = replace(value, exact=None, simulated=value.exact, simulated_error=error)
        assert maximisation_bias(builder, played).holds == holds


def test_learners_without_a_bootstrap_cannot_have_the_bias():
    run = wf.train(example_6_7(), wf.MonteCarlo(step_size=0.1, discount=1.0, exploration=0.1), episodes=300, seed=0)
    assert "maximisation bias" not in [cause.name for cause in run.comparison(0, LEFT, rollouts=20).causes]


def test_a_changed_world_whose_table_is_unknown_is_recognised_by_play():
    learner = wf.QLearning(step_size=wf.visit_count(0.8), discount=0.95, exploration=0.2)
    run = wf.train(Walk(0.1), learner, episodes=400, seed=0)
    changed, same = (run.comparison(4, env=Walk(wind), enter=enter, rollouts=300) for wind in (0.5, 0.1))
    assert changed.exact is None
    assert changed.verdict == "different environment"
    assert "different environment" not in [cause.name for cause in same.found]
    assert "its recorded transitions do not match those of the rollouts" in str(changed)


class Doors(gym.Env):
    """Two doors lead to rooms that look alike; in one of them the next step pays 1, in the other -1."""

    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.door = None
        return 0, {}

    def step(self, action):
        if self.door is None:
            self.door = action
            return 1, 0.0, False, False, {}
        return 1, 1.0 if self.door else -1.0, True, False, {}


def test_states_that_hide_something_are_not_called_a_different_environment():
    """It said that a test detects a different environment, which was the same one."""
    learner = wf.QLearning(step_size=0.1, discount=0.95, exploration=1.0)
    run = wf.train(Doors(), learner, episodes=1_000, seed=0, progress=False)
    hidden = run.comparison(0, "action 1")
    assert hidden.verdict == "different environment"
    assert "a test detects a different environment, or states that hide something (" in str(hidden)
    assert "(different environment or hidden state)" in layout_of(hidden).title


def test_a_step_that_a_table_cannot_make_is_evidence_enough():
    slippery, firm = (gym.make("FrozenLake-v1", is_slippery=slips) for slips in (True, False))
    learner = wf.QLearning(step_size=0.1, discount=0.95, exploration=1.0)
    run = wf.train(slippery, learner, episodes=200, seed=0)
    experiences = experiences_of(run.ledger)
    assert evidence_against_table(experiences, wf.beliefs.exact.known_world(firm).table) == np.inf
    assert evidence_against_table(experiences, wf.beliefs.exact.known_world(slippery).table) < np.log(1.0 / RATE)


def test_the_evidence_against_the_same_world_is_rarely_strong():
    """An e-value: its mean is at most 1, so it exceeds 20 in at most 5 % of samples; shown against a table and against play."""
    chances = [0.5, 0.3, 0.2]
    world = wf.worlds.table(
        next_state=[[[0, 0, 0]]], reward=[[[0.0, 1.0, 2.0]]], terminated=True, probability=[[chances]]
    )
    against_table, against_play = [], []
    for seed in range(400):
        counts, other = multinomial(60, chances).rvs(2, random_state=seed)
        samples = [_steps(np.repeat([0.0, 1.0, 2.0], one)) for one in (counts, other)]
        against_table.append(evidence_against_table(samples[0], world.table))
        against_play.append(evidence_against_play(*samples))
    for evidence in (against_table, against_play):
        assert np.mean(np.exp(evidence)) < 1.3, "1 at most, and what chance adds"
        assert np.mean(np.array(evidence) > np.log(1.0 / RATE)) <= 0.05
    altered = _steps(np.repeat([0.0, 1.0, 2.0], [10, 10, 40]))
    assert evidence_against_table(altered, world.table) > np.log(1.0 / RATE)
    assert evidence_against_play(altered, samples[0]) > np.log(1.0 / RATE)


def _steps(rewards):
    """Steps of one pair that end the episode."""
    zeros = np.zeros(len(rewards), np.int64)
    return count_steps(zeros, zeros, zeros - 3, rewards)


def test_played_steps_are_counted_by_what_followed():
    beliefs = wf.SimulatedBeliefs(wf.worlds.chain(), [0, 0, 1], discount=1.0, rollouts=5)
    steps = played_steps(beliefs.rollouts(0, 1), 2)
    assert steps.pair.tolist() == [1, 5]
    assert steps.next_state.tolist() == [2, 0]
    assert steps.times.tolist() == [5, 5]
    assert steps.ending[0] == 0 > steps.ending[1]


def test_a_rarely_tried_action_is_called_too_low_only_if_it_is():
    """With initial values of 0 and rewards of -1, what was hardly tried is too high."""
    learner = wf.QLearning(step_size=0.1, discount=1.0, exploration=0.1)
    run = wf.train("CliffWalking-v1", learner, episodes=300, seed=0)
    seen = set()
    for state in range(0, 36, 4):
        for action in range(4):
            comparison = run.comparison(state, action, rollouts=20)
            if comparison.verdict != "rarely tried" or comparison.greedy:
                continue
            value, text = comparison.measures[0], str(comparison)
            assert ("too low" in text) == (value.difference < -value.notable), text
            assert ("too high" in text) == (value.difference > value.notable), text
            assert ("unlucky estimate" in text) <= (value.noise < min(value.off_policy, value.initial)), text
            assert ("optimistic" in text) <= (value.initial > max(0.0, value.noise, value.off_policy)), text
            seen.add(np.sign(value.difference) * (abs(value.difference) > value.notable))
    assert 1.0 in seen


def test_parts_of_a_difference_have_one_form():
    measure = Measure("won", 0.2, 1.0, 0.01, 1.0, 0.02, noise=-0.004, off_policy=0.2, initial=-0.996, tolerance=0.1)
    assert measure.terms_text(percent) == "off-policy targets +20 points, initial values -100 points"
    estimated = replace(measure, exact=None, off_policy=-0.05, noise=0.03, initial=0.0)
    assert estimated.terms_text(percent) == "estimated: off-policy targets -5.0 points, rest +3.0 points"


def test_nothing_is_tested_where_states_are_bins():
    """What follows a bin depends on how it was entered, so no test would keep its rate."""
    run = wf.train(wf.worlds.cartpole(), wf.QLearning(step_size=0.1, discount=0.95), episodes=200, seed=0)
    comparison = run.comparison(79, rollouts=100)
    assert {cause.name for cause in comparison.causes} <= {"off-policy targets", "initial value"}


def test_causes_are_part_of_the_json(small_buffer):
    form = json.loads(
        json.dumps(small_buffer.comparison("player 12, dealer 5, no usable ace", "hit").to_json(), allow_nan=False)
    )
    few = next(cause for cause in form["causes"] if cause["name"] == "too little data")
    assert few["rate"] == RATE
    assert {"holds", "measures", "measure", "effect", "size", "evidence", "text"} <= set(few)
    assert form["experiences"] > 0.0
    for measure in form["measures"]:
        total = measure["noise"] + measure["off_policy"] + measure["initial"]
        assert total == pytest.approx(measure["difference"], abs=1e-9)


def test_a_small_alteration_with_overwhelming_evidence_is_named_where_belief_and_reality_differ():
    """Rewards are the same, and a wind is a little stronger: the value changes by less than a notable amount."""
    learner = wf.QLearning(step_size=wf.visit_count(0.8), discount=0.9, exploration=0.3)
    run = wf.train(Walk(wind=0.1), learner, episodes=2_000, seed=0)
    changed = run.comparison(6, 1, rollouts=2_000, env=Walk(wind=0.2), enter=enter)
    (altered,) = (cause for cause in changed.causes if cause.name == "different environment")
    assert altered.size < 1.0, "its effect is below a notable one"
    assert altered.is_evident
    assert changed.verdict == "different environment"
    same = run.comparison(6, 1, rollouts=2_000, env=Walk(wind=0.1), enter=enter)
    assert not any(cause.is_evident for cause in same.causes if cause.name == "different environment")


def test_a_difference_below_a_notable_one_is_slight():
    """A value of 1.976 instead of 2 that still rests on its initial value; a large rest is not slight."""
    one = np.zeros((1, 1, 1))
    world = wf.worlds.table(one.astype(int), one + 2.0, one == 0, probability=one + 1.0)
    long, short = (
        wf.train(world, wf.QLearning(step_size=step, discount=1.0), episodes=42, seed=0).comparison(0)
        for step in (0.1, 0.02)
    )
    assert long.measures[0].believed == pytest.approx(1.976, abs=1e-3)
    for comparison, slight in ((long, True), (short, False)):
        assert comparison.verdict == "initial value", comparison
        assert comparison.slight == comparison.numbers()["slight"] == slight
        assert (" differs slightly from " in str(comparison)) == slight
        assert "; the rest of the difference is within sampling error." in str(comparison)


def test_a_value_whose_sampling_error_is_unknown_does_not_agree():
    """Few experiences make most of its spread, so nothing can be told from sampling error."""
    run = wf.train(Walk(0.1), wf.QLearning(step_size=0.4, discount=0.95, exploration=0.2), episodes=200, seed=3)
    told = run.comparison(4, rollouts=100, enter=enter)
    assert told.episodes > 5.0
    assert not np.isfinite(told.measures[0].tolerance)
    assert (told.verdict, told.badge().kind) == ("too few", "unknown")
    assert "a few episodes account for most of the spread of its value, too few to tell a difference" in str(told)


def test_what_is_not_judged_names_no_part_as_a_further_cause():
    run = wf.train("CliffWalking-v1", wf.QLearning(step_size=0.2, discount=0.95, exploration=0.2), episodes=5, seed=0)
    told = run.comparison("row 3, column 0", rollouts=20)
    assert told.verdict == "rarely tried"
    assert {"initial value"} == {cause.name for cause in told.found}
    assert "Also" not in str(told)
    assert "it still rests on initial values" in str(told)
