"""The answers of deep runs, and the quality that they report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from small_agents import CONCEPTS, ENDINGS, LITTLE, SMALL, cart, lake, settled, train_agent

import whatfor as wf
from whatfor.deep import BeliefCallback, Settling, learn_after
from whatfor.explanations import Intention, Trust
from whatfor.explanations.phrases import Expectation
from whatfor.question import layout_of
from whatfor.testing import check_beliefs
from whatfor.text import amount

UPRIGHT = np.array([0.0, 0.0, 0.01, 0.0], np.float32)


def test_a_countable_deep_run_answers_all_questions_that_need_no_ledger() -> None:
    run = lake()
    why = run.intention(0)
    assert why.value == pytest.approx(run.values[0].max())
    assert why.residual == pytest.approx(abs(why.earnings.sum() - why.value))
    assert why.visits[0, why.action] >= 1.0
    assert sum(run.outcomes(0).chances.values()) + run.outcomes(0).unknown == pytest.approx(1.0)
    contrast = run.contrast(0)
    assert contrast.gained.sum() - contrast.lost.sum() == pytest.approx(
        contrast.chosen.visits.sum() - contrast.instead.visits.sum()
    )
    comparison = run.comparison(0, rollouts=10)
    assert comparison.exact is not None
    assert comparison.verdict == "unjudged"
    assert run.simulation(0, rollouts=5).rollouts == 5
    check_beliefs(run.beliefs, 16, 4, tolerance=None)
    with pytest.raises(
        ValueError,
        match=r"needs the ledger, and this run has none: only tabular agents record one.* can answer intention, contrast, outcomes, timeline",
    ):
        run.provenance(0)
    exact = comparison.exact
    timeline = run.timeline(0, horizon=5)
    assert timeline.rollouts is None, "a known world is not played"
    assert timeline.visits.sum(axis=0) + timeline.remainder == pytest.approx(exact)
    for answer in (why, contrast, comparison, run.outcomes(0)):
        assert json.dumps(answer.to_json(), allow_nan=False)
        assert answer.to_json()["trust"]["grade"] == run.trust.grade  # type: ignore[union-attr]
        layout_of(answer)


def test_a_settled_run_answers_the_same_questions(tmp_path: Path) -> None:
    run = settled()[1].run
    answers = [run.ask(name, UPRIGHT) for name in ("intention", "contrast", "outcomes", "timeline", "parts")]
    answers += [
        run.simulation(UPRIGHT, rollouts=3),
        run.comparison(UPRIGHT, rollouts=3),
        run.change(UPRIGHT, since=run),
    ]
    for answer in answers:
        assert json.dumps(answer.to_json(), allow_nan=False)
        assert "nan" not in str(answer)
        layout_of(answer)
    assert answers[0].to_json()["trust"]["checked"]["verdict"] == run.trust.checked.verdict  # type: ignore[union-attr]
    run.report(tmp_path / "page.html", episodes=1)


def test_a_run_over_concepts_accepts_observations_and_words() -> None:
    model, run = cart()
    why = run.intention(UPRIGHT)
    own = model.q_net(model.policy.obs_to_tensor(UPRIGHT[None])[0]).detach().numpy()[0]
    assert np.allclose(why.values, own)
    assert run.labels.words(why.state) == "not pole left; cart middle; swing -0.5 to 0.5"
    other = run.intention(UPRIGHT + np.float32([0.0, 0.4, 0.0, 0.0]))
    assert other.state == why.state  # the same cell
    assert not np.array_equal(other.visits, why.visits)  # the network reads the observation, not the cell
    assert run.intention(run.labels.words(why.state)).state == why.state
    assert set(run.outcomes(UPRIGHT).chances) == {"terminated", *ENDINGS}


def test_simulation_plays_the_network_from_the_exact_observation() -> None:
    model, run = cart()
    simulation = run.simulation(UPRIGHT, rollouts=3)
    env, total = gym.make("CartPole-v1"), 0.0
    env.reset(seed=0)
    env.unwrapped.state = np.array(UPRIGHT, np.float64)  # type: ignore[attr-defined]
    observation, steps, done = UPRIGHT, 0, False
    while not done:
        action = int(model.predict(observation, deterministic=True)[0])
        observation, reward, terminated, truncated, _ = env.step(action)
        total, steps, done = total + 0.9**steps * float(reward), steps + 1, terminated or truncated
    assert simulation.length == steps
    assert simulation.value == pytest.approx(total)
    assert len(run.episode(UPRIGHT)) == steps
    assert run.evaluate(episodes=3).lengths.min() >= 1
    assert run.comparison(UPRIGHT, rollouts=3).exact is None


def test_two_observations_of_one_cell_are_simulated_separately() -> None:
    _, run = cart()
    beliefs = wf.SimulatedBeliefs("CartPole-v1", run.beliefs, discount=0.9, rollouts=2)
    leaning = np.array([0.0, 0.0, 0.2, 0.0], np.float32)
    one, two = run.situation(UPRIGHT), run.situation(leaning)
    assert one.index == two.index
    assert one != two
    assert beliefs.value(one, 0) != beliefs.value(two, 0)


def test_questions_do_not_change_the_training() -> None:
    weights = []
    for questions in (False, True):
        model, callback = train_agent("CartPole-v1", CONCEPTS, steps=300)
        if questions:
            callback.run.simulation(UPRIGHT, rollouts=3)
            callback.run.evaluate(episodes=2)
        model.learn(300, callback=callback, reset_num_timesteps=False)
        weights.append([p.detach().clone() for p in model.q_net.parameters()])
    assert all((a == b).all() for a, b in zip(*weights, strict=True))


def test_a_run_does_not_change_with_further_training() -> None:
    model, callback = train_agent("CartPole-v1", CONCEPTS, steps=300)
    run = callback.run
    before = run.intention(UPRIGHT).to_json()
    assert callback.run is run  # no update since
    model.learn(300, callback=callback, reset_num_timesteps=False)
    assert run.intention(UPRIGHT).to_json() == before
    assert callback.run.intention(UPRIGHT).to_json() != before


def test_a_callback_belongs_to_one_agent() -> None:
    _, callback = train_agent("CartPole-v1", CONCEPTS, steps=200)
    from stable_baselines3 import DQN

    with pytest.raises(ValueError, match="was trained alongside another agent"):
        DQN("MlpPolicy", "CartPole-v1", device="cpu").learn(10, callback=callback)


def test_checked_pairs_are_spread_over_the_replay_buffer() -> None:
    from stable_baselines3 import DQN
    from stable_baselines3.common.env_util import make_vec_env

    callback = BeliefCallback(CONCEPTS, settings=SMALL, settling=False)
    model = DQN("MlpPolicy", make_vec_env("CartPole-v1", n_envs=4, seed=0), seed=0, device="cpu", learning_starts=100)
    model.learn(800, callback=callback)
    observations, _ = callback.visited(40)
    assert len(observations) == 40
    assert model.replay_buffer is not None
    last = model.replay_buffer.observations[model.replay_buffer.pos - 1]
    assert (observations[-4:] == last).all()


def test_bad_observations_are_refused() -> None:
    _, run = cart()
    with pytest.raises(ValueError, match="NaN or infinite"):
        run.intention(np.full(4, np.nan, np.float32))


def test_an_observation_of_another_shape_is_refused() -> None:
    _, run = cart()
    for wrong in (np.zeros(3), (0, 0, 0), np.zeros((2, 4))):
        with pytest.raises(ValueError, match=r"an observation has the shape \(4,\)"):
            run.intention(wrong)


def test_an_answer_about_a_pair_without_samples_is_called_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    _, callback = train_agent("FrozenLake-v1", steps=130)
    run = callback.run
    state, action = (int(at) for at in np.argwhere(run.beliefs.tries[:15] == 0)[0])  # type: ignore[attr-defined]
    comparison = run.comparison(state, action, rollouts=10)
    assert comparison.verdict == "unjudged"
    assert "it expects nothing" not in str(comparison)
    assert f"value: estimated {amount(comparison.measures[0].believed)}, true" in str(comparison)
    contrast = run.contrast(state, action)
    assert f"{run.labels.actions[action]!r} was in no training batch: what it expects of it is a guess" in str(contrast)
    assert run.trust is not None
    assert run.trust.grade == "poor"
    reason = Expectation("to reach the goal", reason=True)  # with a poor grade, not stated as one
    monkeypatch.setattr(Intention, "expectation", lambda _: reason)
    first = contrast.sentences()[0]
    assert first.endswith("by an unreliable estimate, it expects to reach the goal.")
    assert "because" not in first


def test_an_environment_that_renders_has_exact_beliefs_too() -> None:
    """Stable-Baselines3 sets a render mode when it creates an environment from an id."""
    _, callback = train_agent("FrozenLake-v1")
    trust = callback.run.trust
    assert trust is not None
    assert trust.distance is not None


def test_visits_that_disagree_with_earnings_lower_the_grade() -> None:
    trust = Trust.of(
        lake().labels, np.arange(9.0), np.arange(9.0), by_visits=7.0, distance=0.0, states=1, updates=1, discount=1.0
    )
    assert trust.grade == "poor"
    assert "expected visits times mean rewards by 7 (88 %)" in str(trust)
    assert replace(trust, by_visits=0.1).grade == "close"
    run = lake()
    belief = run.beliefs
    assert run.trust is not None
    pairs = [(s, a) for s, a in np.argwhere(belief.tries > 0)]  # type: ignore[attr-defined]
    gaps = [abs((belief.visits(s, a) * belief.rewards()).sum() - run.values[s, a]) for s, a in pairs]  # type: ignore[attr-defined]
    assert min(gaps) <= run.trust.by_visits <= max(gaps)  # type: ignore[operator]


def test_an_environment_whose_state_cannot_be_set_is_played_until_it_is_in_the_same_cell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, callback = train_agent(gym.wrappers.RescaleObservation(gym.make("MountainCar-v0"), np.float32(-1), np.float32(1)), {"left": lambda obs: obs[0] < 0}, steps=200)  # fmt: skip
    assert callback.run.simulation(np.zeros(2, np.float32), rollouts=2).length > 0.0
    monkeypatch.setenv("WHATFOR_MAX_SEARCH", "10")
    with pytest.raises(ValueError, match=r"never reached it in 10 steps.*def enter\(env, state, rng\)"):
        callback.run.simulation(np.zeros(2, np.float32), rollouts=3)


def test_sentences_are_hedged_by_grade() -> None:
    run = lake()
    assert run.trust is not None
    close = replace(
        run.trust,
        correlation=0.99,
        mean_residual=0.001,
        value_range=1.0,
        distance=0.1,
        endings_distance=0.1,
        impossible=0.0,
    )
    texts = {}
    for name, trust in {
        "close": close,
        "rough": replace(close, distance=None, endings_distance=None),
        "poor": replace(close, correlation=0.1),
    }.items():
        assert trust.grade == name
        texts[name] = str(replace(run.intention(0), trust=trust))
    assert "roughly, it expects" in texts["rough"]
    assert "visit error not checked; run.comparison(state) checks it" in texts["rough"]
    assert "by an unreliable estimate, it expects" in texts["poor"]
    assert "Unreliable: over" in texts["poor"]
    assert "roughly" not in texts["close"]
    assert "relative L1 distance between its visits and the exact ones: 10 %" in texts["close"]


def test_earnings_that_match_q_do_not_make_up_for_wrong_visits() -> None:
    trust = Trust.of(
        wf.Labels.plain(2, 1), np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]),
        distance=1.36, states=2, updates=5, discount=1.0,
    )  # fmt: skip
    assert trust.mean_residual == 0.0
    assert trust.correlation == pytest.approx(1.0)
    assert trust.grade == "poor"


def test_values_out_of_reach_of_the_rewards_are_reported() -> None:
    trust = replace(lake().trust, impossible=0.4, distance=0.1, correlation=1.0, mean_residual=0.0)  # type: ignore[type-var]
    assert trust.grade == "poor"
    assert any("40 % of them cannot be reached by any sequence of the rewards" in line for line in trust.sentences())


def test_trust_measures_the_distance_to_the_exact_future_where_the_policy_is() -> None:
    """States that the policy does not come to count for nothing: their beliefs may well be wrong."""
    run = lake()
    assert run.trust is not None
    exact = wf.ExactBeliefs(run.playing.place().world, run.policy, discount=0.9)
    weights = np.zeros(16)
    weights[0] = 1.0
    weights += sum(0.9**step * _after(run.policy, step) for step in range(1, 300))
    visits, endings = [], []
    tried = np.flatnonzero(run.beliefs.tries.any(axis=1) & (weights > 0.0)).tolist()  # type: ignore[attr-defined]
    for state in tried:
        best = int(run.policy[state].argmax())
        true, chances = exact.visits(state, best), exact.outcomes(state, best)
        visits.append(np.abs(run.beliefs.visits(state, best) - true).sum() / true.sum())
        row = run.beliefs.row(wf.beliefs.situation.Situation(state), best)
        off = sum(abs(row.endings.get(name, 0.0) - chances.get(name, 0.0)) for name in {*row.endings, *chances})
        endings.append((off + row.endings_unknown) / 2.0)
    assert run.trust.states == len(tried)
    assert run.trust.distance == pytest.approx(np.average(visits, weights=weights[tried]))
    assert run.trust.endings_distance == pytest.approx(np.average(endings, weights=weights[tried]))


def _after(policy: np.ndarray, steps: int) -> np.ndarray:
    """(16,) Where FrozenLake without slipping is after some steps of a policy; ends leave it."""
    at = np.zeros(16)
    at[0] = 1.0
    table = gym.make("FrozenLake-v1", is_slippery=False).unwrapped.P  # type: ignore[attr-defined]
    for _ in range(steps):
        to = np.zeros(16)
        for state, action in np.argwhere(policy > 0.0):
            for chance, following, _, ended in table[state][action]:
                to[following] += 0.0 if ended else at[state] * policy[state, action] * chance
        at = to
    return at


def test_no_rewards_are_expected_of_a_sign_that_was_never_seen() -> None:
    """FrozenLake and CartPole never cost anything, so no action avoids a cost."""
    run = lake()
    pairs = np.argwhere(run.beliefs.tries > 0)  # type: ignore[attr-defined]
    assert len(pairs) > 20
    assert min(run.beliefs.earnings(s, a).min() for s, a in pairs.tolist()) == 0.0
    earnings = cart()[1].intention(UPRIGHT).earnings
    assert earnings.min() == 0.0
    assert earnings.max() > 0.0


def test_endings_far_from_the_exact_ones_lower_the_grade() -> None:
    """Visits and earnings that fit do not make up for how episodes are believed to end."""
    close = Trust.of(
        lake().labels, np.arange(9.0), np.arange(9.0), distance=0.0, endings_distance=0.1, states=1, updates=1, discount=1.0
    )  # fmt: skip
    assert close.grade == "close"
    assert "total variation distance of how episodes end: 10 % (means over 1 state, weighted by how often" in str(close)
    assert replace(close, endings_distance=0.33).grade == "rough"
    assert replace(close, endings_distance=0.8).grade == "poor"


def test_answers_learned_after_training_say_so() -> None:
    model, _ = cart()
    before = [p.clone() for p in model.q_net.parameters()]
    run = learn_after(model, CONCEPTS, endings=ENDINGS, settling=LITTLE)
    assert all((a == b).all() for a, b in zip(before, model.q_net.parameters(), strict=True))
    assert run.trust is not None
    assert run.trust.source == "evaluated"
    assert "not what it believed while it learned" in str(run.intention(UPRIGHT))


@pytest.mark.long
def test_beliefs_learned_after_training_are_close_to_the_exact_ones() -> None:
    model, _ = train_agent(gym.make("FrozenLake-v1", is_slippery=True), steps=400)
    run = learn_after(model, settling=Settling(steps=3_000, updates=2_500, exploration=0.3))
    assert run.trust is not None
    assert run.trust.distance is not None
    assert run.trust.distance < 0.25


def test_two_deep_runs_can_be_compared() -> None:
    one = lake()
    other = train_agent(gym.make("FrozenLake-v1", is_slippery=False), steps=300, seed=1)[1].run
    change = one.change(0, since=other)
    assert change.gap == pytest.approx(one.intention(0).value - other.intention(0).value)
