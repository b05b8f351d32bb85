"""Deep runs answer like any run, and say how far they can be trusted."""

from __future__ import annotations

import json
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from small_agents import CONCEPTS, ENDINGS, SMALL, cart, lake, learned

import whatfor as wf
from whatfor.deep import BeliefCallback, BeliefSettings, learn_after
from whatfor.explanations import Intention, Trust
from whatfor.explanations.phrases import Plan
from whatfor.question import layout_of
from whatfor.testing import check_beliefs

UPRIGHT = np.array([0.0, 0.0, 0.01, 0.0], np.float32)


def test_a_countable_deep_run_answers_everything_but_the_ledgers_questions() -> None:
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
    for ask in ("provenance", "timeline", "parts"):
        with pytest.raises(ValueError, match="needs the ledger of a tabular run; a network keeps none"):
            getattr(run, ask)(0)
    for told in (why, contrast, comparison, run.outcomes(0)):
        assert json.dumps(told.to_json(), allow_nan=False)
        assert told.to_json()["trust"]["grade"] == run.trust.grade  # type: ignore[union-attr]
        layout_of(told)


def test_a_run_over_concepts_is_asked_by_observation_and_by_words() -> None:
    model, run = cart()
    why = run.intention(UPRIGHT)
    own = model.q_net(model.policy.obs_to_tensor(UPRIGHT[None])[0]).detach().numpy()[0]
    assert np.allclose(why.values, own)
    assert run.labels.words(why.state) == "not pole left; cart middle; swing -0.5 to 0.5"
    other = run.intention(UPRIGHT + np.float32([0.0, 0.4, 0.0, 0.0]))
    assert other.state == why.state  # the same cell
    assert not np.array_equal(other.visits, why.visits)  # seen with other eyes
    assert run.intention(run.labels.words(why.state)).state == why.state
    assert set(run.outcomes(UPRIGHT).chances) == {"terminated", *ENDINGS}


def test_simulation_plays_the_network_itself_from_the_very_observation() -> None:
    model, run = cart()
    played = run.simulation(UPRIGHT, rollouts=3)
    env, total = gym.make("CartPole-v1"), 0.0
    env.reset(seed=0)
    env.unwrapped.state = np.array(UPRIGHT, np.float64)  # type: ignore[attr-defined]
    seen, steps, over = UPRIGHT, 0, False
    while not over:
        action = int(model.predict(seen, deterministic=True)[0])
        seen, reward, terminated, truncated, _ = env.step(action)
        total, steps, over = total + 0.9**steps * float(reward), steps + 1, terminated or truncated
    assert played.length == steps
    assert played.value == pytest.approx(total)
    assert len(run.episode(UPRIGHT)) == steps
    assert run.evaluate(episodes=3).lengths.min() >= 1
    assert run.comparison(UPRIGHT, rollouts=3).exact is None


def test_two_observations_of_one_cell_are_played_apart() -> None:
    _, run = cart()
    beliefs = wf.SimulatedBeliefs("CartPole-v1", run.beliefs, discount=0.9, rollouts=2)
    leaning = np.array([0.0, 0.0, 0.2, 0.0], np.float32)
    one, two = run.situation(UPRIGHT), run.situation(leaning)
    assert one.index == two.index
    assert one != two
    assert beliefs.value(one, 0) != beliefs.value(two, 0)


def test_asking_does_not_move_the_agent() -> None:
    weights = []
    for asks in (False, True):
        model, beside = learned("CartPole-v1", CONCEPTS, steps=300)
        if asks:
            beside.run.simulation(UPRIGHT, rollouts=3)
            beside.run.evaluate(episodes=2)
        model.learn(300, callback=beside, reset_num_timesteps=False)
        weights.append([p.detach().clone() for p in model.q_net.parameters()])
    assert all((a == b).all() for a, b in zip(*weights, strict=True))


def test_a_run_stays_what_it_was_when_it_was_taken() -> None:
    model, beside = learned("CartPole-v1", CONCEPTS, steps=300)
    run = beside.run
    before = run.intention(UPRIGHT).to_json()
    assert beside.run is run  # nothing was learned since
    model.learn(300, callback=beside, reset_num_timesteps=False)
    assert run.intention(UPRIGHT).to_json() == before
    assert beside.run.intention(UPRIGHT).to_json() != before


def test_a_callback_belongs_to_one_agent() -> None:
    _, beside = learned("CartPole-v1", CONCEPTS, steps=200)
    from stable_baselines3 import DQN

    with pytest.raises(ValueError, match="was trained alongside another agent"):
        DQN("MlpPolicy", "CartPole-v1", device="cpu").learn(10, callback=beside)


def test_what_is_judged_is_spread_over_all_experience() -> None:
    from stable_baselines3 import DQN
    from stable_baselines3.common.env_util import make_vec_env

    beside = BeliefCallback(CONCEPTS, settings=SMALL)
    model = DQN("MlpPolicy", make_vec_env("CartPole-v1", n_envs=4, seed=0), seed=0, device="cpu", learning_starts=100)
    model.learn(800, callback=beside)
    seen, _ = beside.visited(40)
    assert len(seen) == 40
    assert model.replay_buffer is not None
    last = model.replay_buffer.observations[model.replay_buffer.pos - 1]
    assert (seen[-4:] == last).all()


def test_bad_observations_are_refused() -> None:
    _, run = cart()
    with pytest.raises(ValueError, match="NaN or infinite"):
        run.intention(np.full(4, np.nan, np.float32))


def test_an_observation_of_another_shape_is_no_cell() -> None:
    _, run = cart()
    for wrong in (np.zeros(3), (0, 0, 0), np.zeros((2, 4))):
        with pytest.raises(ValueError, match=r"an observation has the shape \(4,\)"):
            run.intention(wrong)


def test_a_pair_that_no_batch_held_is_a_guess_and_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _, callback = learned("FrozenLake-v1", steps=130)
    run = callback.run
    state, action = (int(at) for at in np.argwhere(run.beliefs.tries[:15] == 0)[0])  # type: ignore[attr-defined]
    told = run.comparison(state, action, rollouts=10)
    assert told.verdict == "unjudged"
    assert "it expects nothing" not in str(told)
    assert f"{told.measures[0].believed:.3f} believed" in str(told)
    contrast = run.contrast(state, action)
    assert f"{run.labels.actions[action].capitalize()} was in no batch it learned from here" in str(contrast)
    assert run.trust is not None
    assert run.trust.grade == "poor"
    monkeypatch.setattr(
        Intention, "plan", lambda _: Plan("to reach the goal", reason=True)
    )  # a reason, had it earned trust
    first = contrast.sentences()[0]
    assert first.endswith("; if its belief network were to be trusted, it expects to reach the goal.")
    assert "because" not in first


def test_an_environment_that_renders_is_known_all_the_same() -> None:
    """Stable-Baselines3 makes them so, from an id."""
    _, callback = learned("FrozenLake-v1")
    trust = callback.run.trust
    assert trust is not None
    assert trust.distance is not None


def test_visits_that_tell_another_story_than_earnings_are_told() -> None:
    told = Trust.of(
        lake().labels, np.arange(9.0), np.arange(9.0), by_visits=7.0, distance=0.0, states=1, updates=1, discount=1.0
    )
    assert told.grade == "poor"
    assert "visits times mean rewards 7 (87.5%)" in str(told)
    assert replace(told, by_visits=0.1).grade == "close"
    run = lake()
    belief = run.beliefs
    assert run.trust is not None
    pairs = [(s, a) for s, a in np.argwhere(belief.tries > 0)]  # type: ignore[attr-defined]
    apart = [abs((belief.visits(s, a) * belief.rewards()).sum() - run.values[s, a]) for s, a in pairs]  # type: ignore[attr-defined]
    assert min(apart) <= run.trust.by_visits <= max(apart)  # type: ignore[operator]


def test_an_environment_that_cannot_be_entered_says_what_to_pass() -> None:
    _, beside = learned(gym.wrappers.RescaleObservation(gym.make("MountainCar-v0"), np.float32(-1), np.float32(1)), {"left": lambda seen: seen[0] < 0}, steps=200)  # fmt: skip
    with pytest.raises(ValueError, match="pass enter="):
        beside.run.simulation(np.zeros(2, np.float32), rollouts=2)


def test_sentences_hedge_by_how_far_beliefs_can_be_trusted() -> None:
    run = lake()
    assert run.trust is not None
    close = replace(run.trust, correlation=0.99, residual=0.001, value_range=1.0, distance=0.1, impossible=0.0)
    said = {}
    for name, trust in {
        "close": close,
        "rough": replace(close, distance=None),
        "poor": replace(close, correlation=0.1),
    }.items():
        assert trust.grade == name
        said[name] = str(replace(run.intention(0), trust=trust))
    assert "roughly, it expects" in said["rough"]
    assert "how far visits are off is not known here" in said["rough"]
    assert "if its belief network were to be trusted" in said["poor"]
    assert "Not to be relied on" in said["poor"]
    assert "roughly" not in said["close"]
    assert "visits are 10% off the exact ones" in said["close"]


def test_a_small_gap_to_q_does_not_make_visits_right() -> None:
    trust = Trust.of(
        wf.Labels.plain(2, 1), np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]),
        distance=1.36, states=2, updates=5, discount=1.0,
    )  # fmt: skip
    assert trust.residual == 0.0
    assert trust.correlation == pytest.approx(1.0)
    assert trust.grade == "poor"


def test_values_that_no_rewards_could_bring_are_told() -> None:
    trust = replace(lake().trust, impossible=0.4, distance=0.1, correlation=1.0, residual=0.0)  # type: ignore[type-var]
    assert trust.grade == "poor"
    assert any("40.0% of its values lie beyond" in line for line in trust.sentences())


def test_trust_measures_the_distance_to_exact_visits() -> None:
    run = lake()
    assert run.trust is not None
    exact = wf.ExactBeliefs(run.playing.place().world, run.policy, discount=0.9)
    tried = run.beliefs.tries.any(axis=1)  # type: ignore[attr-defined]
    apart = []
    for state in np.flatnonzero(tried).tolist():
        best = int(run.policy[state].argmax())
        true = exact.visits(state, best)
        apart.append(np.abs(run.beliefs.visits(state, best) - true).sum() / true.sum())
    assert run.trust.distance == pytest.approx(np.mean(apart))


def test_an_agent_explained_after_training_is_labelled_so() -> None:
    model, _ = cart()
    before = [p.clone() for p in model.q_net.parameters()]
    run = learn_after(model, CONCEPTS, endings=ENDINGS, steps=300, updates=50)
    assert all((a == b).all() for a, b in zip(before, model.q_net.parameters(), strict=True))
    assert run.trust is not None
    assert run.trust.source == "evaluated"
    assert "not what it believed while it learned" in str(run.intention(UPRIGHT))


@pytest.mark.long
def test_beliefs_learned_after_training_are_close_to_the_exact_ones() -> None:
    model, _ = learned(gym.make("FrozenLake-v1", is_slippery=True), steps=400)
    run = learn_after(model, steps=3_000, updates=2_500, settings=BeliefSettings(exploration=0.3, learning_rate=3e-3))
    assert run.trust is not None
    assert run.trust.distance is not None
    assert run.trust.distance < 0.25


def test_two_deep_runs_can_be_compared() -> None:
    one = lake()
    other = learned(gym.make("FrozenLake-v1", is_slippery=False), steps=300, seed=1)[1].run
    change = one.change(0, since=other)
    assert change.gap == pytest.approx(one.intention(0).value - other.intention(0).value)
