"""Answers in corner cases: shifted observations, other worlds, time limits, no discount."""

import json
import warnings

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from whatfor.labels import Axis
from whatfor.testing import random_world


class Shifted(gym.Env):
    """States 5 to 8 in a row; the last step ends the episode."""

    observation_space = gym.spaces.Discrete(4, start=5)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 5
        return self.at, {}

    def step(self, action):
        self.at += 1
        return min(self.at, 8), float(self.at), self.at == 9, False, {}


def enter(env, state, rng):
    env.unwrapped.at = 5 + state


@pytest.fixture(scope="module")
def shifted():
    return wf.train(Shifted(), wf.QLearning(step_size=0.5, discount=1.0, exploration=0.5), episodes=50, seed=0)


def test_every_question_is_about_the_state_that_was_named(shifted):
    value = shifted.intention(6).value
    assert shifted.change(6, since=40).after.value == value
    assert shifted.contrast(6).chosen.value == value
    assert shifted.simulation(6, rollouts=2, enter=enter).value == pytest.approx(7 + 8 + 9)
    steps = shifted.episode(6, enter=enter)
    assert [observation for observation, _ in steps] == [6, 7, 8]
    assert [shifted.intention(*step).state for step in steps] == [1, 2, 3]


def test_another_world_is_used_for_one_comparison_only(tmp_path):
    labels = wf.Labels((Axis("state", 1),), ("go",))
    own, other = (
        wf.worlds.table(next_state=[[0]], reward=[[reward]], terminated=True, labels=labels) for reward in (1.0, -1.0)
    )
    wf.train(own, wf.QLearning(step_size=0.1, discount=1.0), episodes=500, seed=0).save(tmp_path / "run")
    run = wf.load(tmp_path / "run")
    assert run.comparison(0, env=other).verdict == "different environment"
    assert run.comparison(0).verdict == "agrees"
    assert wf.train(run, episodes=200).values[0, 0] == pytest.approx(1.0)


def test_a_custom_training_loop_is_compared_with_the_world_passed():
    env, ledger, values = gym.make("FrozenLake-v1", is_slippery=False), wf.Ledger(16, 4), np.zeros((16, 4))
    dice = np.random.default_rng(0)
    for episode in range(2_000):
        state, done = env.reset(seed=episode)[0], False
        while not done:
            action = int(dice.integers(4))
            following, reward, ended, cut, _ = env.step(action)
            best = int(values[following].argmax())
            values[state, action] += 0.5 * (
                reward + (not ended) * 0.9 * values[following, best] - values[state, action]
            )
            ledger.record(state, action, reward, None if ended else following, best, step_size=0.5, discount=0.9)
            state, done = following, ended or cut
    run = wf.Run(labels=wf.Labels.plain(16, 4), values=values, ledger=ledger)
    comparison = run.comparison(0, env=env)
    assert comparison.verdict in ("agrees", "off-policy targets", "initial value")
    assert comparison.measures[0].exact == pytest.approx(0.9**5)
    assert {measure.name for measure in comparison.measures} == {"value", "ended with 0", "ended with +1"}
    with pytest.raises(ValueError, match="pass the environment of the run as env="):
        run.simulation(0)


def test_a_limit_that_counts_as_an_end_is_part_of_reality():
    world = wf.worlds.table(next_state=[[0]], reward=[[1.0]], terminated=False, max_steps=5)
    learner = wf.MonteCarlo(step_size=wf.visit_count(), discount=1.0)
    run = wf.train(world, learner, episodes=400, seed=0, time_limit="terminal")
    comparison = run.comparison(0)
    assert comparison.exact is None, "the table does not know the limit"
    assert comparison.simulated.chances == {"timed out": 1.0}


def test_a_limit_that_is_bootstrapped_past_truncates_no_rollout():
    world = wf.worlds.table(next_state=[[0]], reward=[[1.0]], terminated=False, max_steps=50)
    run = wf.train(world, wf.QLearning(step_size=0.5, discount=0.99), episodes=200, seed=0)
    assert run.values[0, 0] == pytest.approx(100.0)
    assert run.simulation(0, rollouts=2).value == pytest.approx(100.0, abs=0.01)


@pytest.mark.parametrize("kind", [wf.Sarsa, wf.MonteCarlo, wf.DoubleQLearning, wf.LambdaReturns])
def test_learners_that_bootstrap_from_other_actions_lag_and_are_not_called_wrong(kind):
    verdicts = []
    for seed in range(12):
        learner = kind(step_size=wf.visit_count(0.8), discount=0.9, exploration=0.2)
        run = wf.train(random_world(seed), learner, episodes=1_000, seed=seed)
        verdicts.append(run.comparison(0, rollouts=20).verdict)  # against the exact future; some rollouts never end
    assert verdicts.count("differs") <= 2
    assert verdicts.count("off-policy targets") + verdicts.count("initial value") >= 6, (
        "they did learn about another policy"
    )


def test_a_rare_outcome_that_never_happened_is_not_called_a_difference():
    world = wf.worlds.table(next_state=[[[0, 0]]], reward=[[[0.0, 1.0]]], terminated=True, probability=[[[0.99, 0.01]]])
    learner = wf.QLearning(step_size=wf.visit_count(), discount=1.0)
    verdicts = [wf.train(world, learner, episodes=100, seed=seed).comparison(0).verdict for seed in range(60)]
    assert verdicts.count("differs") <= 6


def test_beliefs_with_unknown_sampling_error_are_not_judged():
    world = wf.worlds.table(next_state=[[[0, 0]]], reward=[[[0.0, 1.0]]], terminated=True, probability=[[[0.5, 0.5]]])
    belief_map = wf.BeliefMap(world.labels)
    run = wf.train(world, wf.QLearning(step_size=0.1, discount=1.0), episodes=200, seed=0, listeners=[belief_map])
    other = wf.Run(labels=run.labels, values=run.values, beliefs=belief_map, settings=run.settings)
    comparison = other.comparison(0, env=world)
    assert comparison.verdict == "unjudged"
    assert json.loads(json.dumps(comparison.to_json(), allow_nan=False))["measures"][0]["tolerance"] is None


def test_noise_that_both_actions_share_does_not_count_for_the_gap():
    """Two actions, with rewards 1 and 0, lead into the same noisy state: the gap is as certain as the rewards."""
    noisy = [[[2, 2], [2, 2]], [[2, 2], [2, 2]]]
    world = wf.worlds.table(
        next_state=[[[1, 1], [1, 1]], *noisy],
        reward=[[[1.0, 1.0], [0.0, 0.0]], [[-9.0, 9.0], [-9.0, 9.0]], [[0.0, 0.0], [0.0, 0.0]]],
        terminated=[[[False] * 2] * 2, [[True] * 2] * 2, [[True] * 2] * 2],
        probability=[[[0.5, 0.5]] * 2] * 3,
    )
    learner = wf.QLearning(step_size=wf.visit_count(), discount=1.0, exploration=1.0)
    gaps = [wf.train(world, learner, episodes=2_000, seed=seed).contrast(0, 0, 1) for seed in range(40)]
    spread = np.std([contrast.gap for contrast in gaps])
    stated = np.mean([contrast.noise for contrast in gaps])
    assert 0.5 * spread < stated < 3.0 * spread
    assert gaps[0].chosen.error > 3.0 * stated, "each value alone is much less certain"


def test_without_any_discount_it_still_knows_what_follows():
    learner = wf.QLearning(step_size=1.0, discount=0.0, exploration=1.0)
    run = wf.train(wf.worlds.chain(), learner, episodes=100, seed=0)
    why = run.intention("the start", "up")
    assert len(why.course.pairs) == 2
    assert "not learned" not in str(why)


def test_every_answer_of_an_untrained_agent_is_json():
    run = wf.train("FrozenLake-v1", wf.QLearning(), episodes=2, seed=0)
    untrained = wf.train("FrozenLake-v1", wf.QLearning(), episodes=0, seed=0)
    for state in (0, 14):
        for agent in (run, untrained):
            answers = [agent.intention(state), agent.contrast(state), agent.outcomes(state), agent.timeline(state)]
            answers += [agent.provenance(state), agent.parts(state, parts={"all": lambda s, a, r: r})]
            answers += [agent.simulation(state, rollouts=5), agent.comparison(state, rollouts=5)]
            answers += [agent.change(state, since=0), agent.chance(state, event="reached the goal")]
            for answer in answers:
                json.dumps(answer.to_json(), allow_nan=False)
                assert str(answer)


def test_converged_values_have_no_spread_left():
    """Errors so small that their squares underflow raise no warning."""
    learner = wf.QLearning(step_size=0.8, discount=0.9, exploration=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = wf.train("Taxi-v4", learner, episodes=1_500, seed=0)
        for state in np.flatnonzero(run.audit.tries.any(axis=1))[::20].tolist():
            assert np.isfinite(run.provenance(state).standard_error)


def test_labels_that_are_not_texts_are_rejected():
    form = wf.worlds.chain().labels.to_json()
    for wrong in (
        {"verbs": "ab"},
        {"verbs": [1, 2]},
        {"verbs": ["goes"]},
        {"milestones": [{"axis": "x", "value": "y", "phrase": "z"}]},
        {"marks": [{"state": 0, "letter": 1, "name": "x"}]},
        {"marks": [{"state": "0", "letter": "A", "name": "x"}]},
        {"marks": [{"state": 99, "letter": "A", "name": "x"}]},
    ):
        with pytest.raises(ValueError, match=r"texts|verbs|milestone|mark|out of range"):
            wf.Labels.from_json({**form, **wrong})


def test_an_event_before_itself_is_rejected():
    run = wf.train("FrozenLake-v1", wf.QLearning(), episodes=2, seed=0)
    with pytest.raises(ValueError, match="cannot come before itself"):
        run.chance(0, event="row 1", before="row 1")
    row = np.arange(16) // 4 == 1
    assert run.chance(0, event=row, before=np.arange(16) == 1).unaccounted < 1e-12, "masks are compared as wholes"
    with pytest.raises(ValueError, match=r"horizon is 1\.5; it must be a whole number"):
        run.timeline(0, horizon=1.5)


def test_where_a_policy_may_never_end_no_value_is_infinite():
    """Undiscounted, and in some states its greedy policy runs in circles: the value is compared with rollouts."""
    learner = wf.QLearning(step_size=0.5, discount=1.0, exploration=0.1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "episodes were truncated")
        run = wf.train("CliffWalking-v1", learner, episodes=500, seed=0)
    comparison = run.comparison("row 3, column 0")
    assert comparison.verdict == "agrees"
    assert "inf" not in str(comparison)
    assert comparison.measures[0].actual == pytest.approx(-13.0)
