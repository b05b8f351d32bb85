"""Counterfactual runs: without episodes, with other rewards, replayed and relearned."""

import json
import re

import numpy as np
import pytest

import whatfor as wf
from planted import LAKE, TAXI, with_bad_episode
from whatfor.explorer.desk import Desk
from whatfor.question import QUESTIONS


@pytest.fixture(scope="module")
def lake():
    return wf.train("FrozenLake-v1", LAKE, episodes=1_000, seed=0)


def ask_everything(run, state=0):
    """Every question, with the parameters that some need."""
    needed = {"change": {"since": 100}, "chance": {"event": "row 3"}, "comparison": {"rollouts": 20}}
    return {name: run.ask(name, state, **needed.get(name, {})) for name in QUESTIONS}


def test_a_corridor_by_hand():
    """One Monte Carlo episode, rewards 1 and 2: without it, the value is the initial value."""
    world = wf.worlds.table([[1], [0]], [[1.0], [2.0]], [[False], [True]])
    run = wf.train(world, wf.MonteCarlo(step_size=0.5, discount=0.8), episodes=1, seed=0)
    why = run.provenance(0)
    assert why.value == pytest.approx(1.3)
    assert why.most_influential() == [(0, pytest.approx(1.3))]
    assert why.weights @ why.rewards == pytest.approx(1.3), "the account"
    assert run.without([0]).values[0, 0] == 0.0
    assert "too few episodes to estimate a standard error" in str(why)


def test_an_episode_is_more_than_its_updates():
    """Updates of 0, of 1 and itself, of 1, at step 0.5: without the last episode the value is 0, so it takes away 0.75."""
    ledger = wf.Ledger(n_states=1, n_actions=1)
    ledger.record(0, 0, 0.0, None, step_size=0.5, discount=1.0)
    ledger.record(0, 0, 1.0, 0, 0, step_size=0.5, discount=1.0)
    ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
    why = wf.Run(labels=wf.Labels.plain(1, 1), values=[[0.75]], ledger=ledger).provenance(0)
    assert why.most_influential() == [(1, 0.75)]
    assert why.deletion.updates.tolist() == [0.0, 0.25, 0.25], "each alone"


@pytest.mark.parametrize("how", ["replay", "relearn"])
def test_every_question_is_answered_and_says_what_it_is_about(lake, how):
    other = lake.without([998, 999], how=how)
    for name, answer in ask_everything(other).items():
        assert str(answer).startswith(f"Counterfactual: the run without episodes 998, 999 ({how}ed"), name
        assert answer.to_json()["premise"] in str(answer)
        assert answer.residual is None, name
        assert name == "comparison" or answer.badge() is None, name
    assert "without episodes 998, 999" in repr(other)
    assert Desk(other).ask("run", {})["premise"] == other.origin.premise, "the page says so once"
    assert other.as_of(500).intention(0).premise is not None
    assert other.as_of(500).values.tolist() == lake.as_of(500).values.tolist(), "episodes keep their numbers"
    with pytest.raises(ValueError, match="cannot be resumed: it is the run without"):
        wf.train(other, episodes=1)


def test_a_counterfactual_run_is_saved_with_its_premise(lake, tmp_path):
    lake.without([3]).save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run")
    assert np.array_equal(loaded.tables, lake.without([3]).tables)
    assert "without episode 3 (replayed)" in repr(loaded)
    again = loaded.without([5])
    assert not np.isin(again.ledger.episodes_and_steps()[0][again.ledger.applied], [3, 5]).any()
    far = lake.without(range(500))
    far.save(tmp_path / "far")
    with pytest.raises(ValueError, match="load the original run"):
        wf.load(tmp_path / "far").without([600], how="relearn")


def assert_same_answers(one, other):
    """Every question has the same answer, bit for bit."""
    assert np.array_equal(one.tables, other.tables)
    assert repr(one) == repr(other)
    for (name, answer), loaded in zip(ask_everything(one).items(), ask_everything(other).values(), strict=True):
        assert json.dumps(answer.to_json()) == json.dumps(loaded.to_json()), name


@pytest.mark.parametrize("how", ["relearn", "replay"])
def test_a_run_with_changed_rewards_is_saved_with_them(lake, how, tmp_path):
    other = lake.repriced(lambda state, action, reward: 2.0 * reward - 0.01 * (action == 1), how=how)
    other.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run")
    assert_same_answers(other, loaded)
    loaded.save(tmp_path / "again")
    assert_same_answers(other, wf.load(tmp_path / "again"))
    with pytest.raises(ValueError, match="cannot be resumed: it is the run with changed rewards"):
        wf.train(loaded, episodes=1)
    with pytest.raises(ValueError, match="load the original run"):
        loaded.without([3], how="relearn")
    halved = loaded.repriced(lambda state, action, reward: reward / 2.0, how="replay")
    halved.save(tmp_path / "halved")
    assert_same_answers(halved, wf.load(tmp_path / "halved"))
    without = loaded.without([3])
    assert np.array_equal(without.tables, other.without([3]).tables)
    with pytest.raises(ValueError, match="load the original run"):
        without.repriced(lambda state, action, reward: reward)


def test_factors_on_parts_are_saved(lake, tmp_path):
    other = lake.repriced(factors={"reward +1": 0.5})
    other.save(tmp_path / "run")
    assert_same_answers(other, wf.load(tmp_path / "run"))
    ledger = wf.Ledger(2, 1, parts=["shaping"])
    for _ in range(20):
        ledger.record(0, 0, 1.0, 1, 0, step_size=0.5, discount=0.9, parts={"shaping": 0.25})
        ledger.record(1, 0, 2.0, None, step_size=0.5, discount=0.9, parts={"shaping": -0.5})
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)
    scaled = run.repriced(factors={"shaping": 3.0}, how="replay")
    both = scaled.repriced(lambda state, action, reward: reward + state, how="replay")
    for number, changed in enumerate((scaled, both)):
        changed.save(tmp_path / f"{number}")
        loaded = wf.load(tmp_path / f"{number}")
        assert np.array_equal(loaded.tables, changed.tables)
        assert (loaded.parts(0).totals, loaded.origin.factors) == (changed.parts(0).totals, {"shaping": 3.0})


def test_a_reward_that_was_not_saved_is_not_guessed(tmp_path):
    """The rewards of CartPole's transitions are no table: only those that were paid are saved."""
    run = wf.train(wf.worlds.cartpole(), LAKE, episodes=3, seed=0)
    run.repriced(lambda state, action, reward: reward / 2.0).save(tmp_path / "run")
    loaded, state = wf.load(tmp_path / "run"), int(run.ledger[0].state)
    assert loaded.intention(state).value > 0.0
    unknown = r"was not saved with it.*new reward for 1 in state \d+ after action [01] is unknown"
    with pytest.raises(ValueError, match=unknown):
        loaded.simulation(state, rollouts=2_000)


def test_relearning_equals_replaying_where_nothing_is_decided_again(lake):
    for learner in (wf.Sarsa(step_size=0.1, discount=0.95), wf.MonteCarlo(step_size=0.1, discount=0.95)):
        run = wf.train("FrozenLake-v1", learner, episodes=200, seed=1)
        relearned = run.without([20], how="relearn")
        assert np.array_equal(relearned.tables, run.without([20]).tables)
        assert "with a constant step size is the same as replayed" in repr(relearned)
    assert "the same as replayed" not in repr(lake.without([20], how="relearn"))
    assert not np.array_equal(lake.without(range(300), how="relearn").tables, lake.without(range(300)).tables)


def test_relearning_is_refused_where_the_rule_is_unknown(lake):
    custom = wf.Run(labels=lake.labels, values=lake.values, ledger=lake.ledger)
    with pytest.raises(ValueError, match="pass how='replay'"):
        custom.without([0], how="relearn")
    assert np.array_equal(custom.without([0]).tables, lake.without([0]).tables)
    changed = wf.train(lake, wf.Sarsa(step_size=0.1, discount=0.95), episodes=5)
    with pytest.raises(ValueError, match="this run has another learner, several"):
        changed.without([0], how="relearn")
    settings = {**lake.settings, "learner": {**lake.settings["learner"], "name": "QLearning"}}
    with pytest.raises(ValueError, match="not those of QLearning"):
        changed.derived(settings=settings).without([0], how="relearn")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda run: run.without(3), r"pass \[3\]"),
        (lambda run: run.without([]), "at least one episode"),
        (lambda run: run.without([1_000]), "episode 1,000 does not exist; episodes are 0 to 999"),
        (lambda run: run.without([0], how="forget"), "'replay' or 'relearn'"),
        (lambda run: run.repriced(), "pass one of reward= "),
        (lambda run: run.repriced({"reward +1": 0}), r"pass factors=\{'reward \+1': 0\}"),
        (lambda run: run.repriced(factors={"reward +2": 0.0}), r"the parts are 'reward \+1'"),
        (lambda run: run.repriced(factors={}), "factors is a dictionary"),
        (lambda run: run.repriced(5), r"a function of \(state, action, reward\)"),
        (lambda run: run.repriced(lambda state: 1), r"a function of \(state, action, reward\)"),
        (lambda run: run.repriced(lambda s, a, r: r, parts={}), "parts= names what factors= scales"),
        (lambda run: run.without(None), r"pass \[17\]"),
        (lambda run: wf.train("FrozenLake-v1", episodes=0).without([0]), "no episodes that could be left out"),
        (lambda run: run.repriced(lambda state, action, reward: float("nan")), "it must be a finite number"),
    ],
)
def test_bad_input_is_explained(lake, wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        wrong(lake)


def test_replayed_returns_are_refolded_with_their_targets():
    """A custom loop may replay λ-returns: the updates after a deleted one still see its target."""
    ledger, rng = wf.Ledger(3, 2, order="replayed"), np.random.default_rng(0)
    for episode in range(20):
        ledger.new_episode(3 * episode)
        for step in (2, 1, 0):
            end = step == 2
            to = (None, None) if end else (int(rng.integers(3)), int(rng.integers(2)))
            ledger.record(int(rng.integers(3)), int(rng.integers(2)), float(rng.normal()), *to, step_size=0.3, discount=0.9,
                          lambda_=0.0 if end else 0.7, origin=3 * episode + step)  # fmt: skip
    run = wf.Run(labels=wf.Labels.plain(3, 2), values=ledger.values(), ledger=ledger)
    deletion = run.provenance(0, 0).deletion
    assert deletion.exact.all()
    for episode in range(20):
        values, target = np.zeros(6), 0.0
        for i, (k, j, r) in enumerate(zip(ledger.lines.cell, ledger.lines.source, ledger.lines.reward, strict=True)):
            target = r if j < 0 else r + 0.9 * (0.3 * values[j] + 0.7 * target)
            values[k] += (i // 3 != episode) * 0.3 * (target - values[k])
        assert deletion.episodes[episode] == pytest.approx(run.values[0, 0] - values[0], abs=1e-12)


@pytest.mark.parametrize(("world", "learner"), [("Taxi-v4", TAXI), ("FrozenLake-v1", LAKE)])
def test_a_planted_bad_episode_is_ranked_first(world, learner):
    """One of the last 5 % of the rewards of any pair is wrong by 5 times the range: deleting its episode takes away most."""
    first = 0
    for seed in range(20):
        run = wf.train(world, learner, episodes=1_000, seed=seed, progress=False)
        wrong, state, episode = with_bad_episode(run, seed, most=len(run.ledger))
        ranked = wrong.provenance(state, int(run.values[state].argmax())).most_influential(1)
        first += [number for number, _ in ranked] == [episode]
    assert first >= 19


def test_a_planted_reward_flaw_is_named_and_repricing_flips_the_decision_back():
    """A shaping reward of 0.3 for bumping into the wall keeps an agent at the start; without it, it leaves."""
    right = wf.worlds.table(
        next_state=[[0, 1], [0, 1]], reward=[[0.0, 0.0], [0.0, 1.0]], terminated=[[False, False], [False, True]]
    )
    flawed = right.repriced(lambda pairs, rewards: np.where(pairs == 0, 0.3, rewards))
    learner = wf.QLearning(step_size=0.2, discount=0.9, exploration=0.5)
    run = wf.train(flawed, learner, episodes=300, seed=0, max_steps=30)
    assert run.best(0) == 0, "it stays for the shaping"
    parts = run.parts(0).totals
    assert max(parts, key=parts.get) == "reward +0.3"
    fixed = run.repriced(factors={"reward +0.3": 0.0})
    assert fixed.best(0) == 1
    change = fixed.change(0, since=run)
    assert sorted(change.flips) == [(0, 0, 1), (1, 0, 1)]
    assert "between the two runs in 2 states:" in str(change)
    assert "  state 0: 'action 1' instead of 'action 0'" in str(change)
    assert fixed.simulation(0, rollouts=20).value == pytest.approx(0.9), "played with the new rewards"


def test_a_change_between_discounts_says_so(lake):
    other = wf.train("FrozenLake-v1", wf.QLearning(discount=0.5), episodes=50, seed=0)
    assert "discounts differ (0.95 and 0.5)" in str(lake.change(0, since=other))
    assert "discounts differ" not in str(lake.change(0, since=lake.without([3])))


@pytest.mark.parametrize("learner", [LAKE, wf.DoubleQLearning(step_size=0.1, discount=0.95, exploration=0.3)])
def test_changes_can_be_combined_in_any_order(learner):
    """Relearning starts from what was recorded first, whatever was changed before."""
    run = wf.train("FrozenLake-v1", learner, episodes=300, seed=2)
    doubled = {"factors": {"reward +1": 2.0}}
    one = run.without(range(100)).repriced(**doubled)
    other = run.repriced(**doubled).without(range(100), how="relearn")
    assert np.array_equal(one.tables, other.tables)
    assert np.array_equal(one.tables, run.without(range(100), how="relearn").repriced(**doubled).tables)
    assert np.array_equal(
        one.as_of(200).tables, run.as_of(200).without(range(100), how="relearn").repriced(**doubled).tables
    )


def test_other_rewards_do_not_rename_endings(lake):
    """The goal is recognised by its reward of 1; without that reward it is still the goal."""
    without = lake.repriced(factors={"reward +1": 0.0}, how="replay")
    assert without.outcomes(0, 0).chances == pytest.approx(lake.outcomes(0, 0).chances)
    assert without.repriced(lambda s, a, r: 1.0 - r, how="replay").outcomes(0, 0).chances == pytest.approx(
        lake.outcomes(0, 0).chances
    )
    measures = {one.name: one for one in without.comparison(0, 0, rollouts=20).measures}
    assert "reached the goal" in measures


def test_deleted_experience_is_no_experience(lake):
    """An early run and the same run without what came later have the same tables; so have their answers the same numbers."""
    early, same = lake.as_of(50), lake.without(range(50, 1_000))
    assert np.array_equal(early.tables, same.tables)
    for state in (0, 4, 8):
        one, other = early.comparison(state, rollouts=20), same.comparison(state, rollouts=20)
        assert (one.verdict, one.experiences, one.tries) == (other.verdict, other.experiences, other.tries)
        assert early.chance(state, event="row 3").tries == same.chance(state, event="row 3").tries
    assert f"{int(same.ledger.applied.sum()):,} updates" in repr(same)


def test_endings_with_other_names_are_no_other_future():
    """The same ledger, whose endings were renamed, and renamed in another way of recognising them."""
    run = wf.train("CliffWalking-v1", wf.QLearning(step_size=0.5, discount=0.95), episodes=200, seed=0, max_steps=100)
    renamed = run.named(endings={"home": wf.labels.Ending("home", state=47)})
    for now, before in ((renamed, run), (run, renamed)):
        change = now.change("row 3, column 0", since=before)
        assert not change.different
        assert "the expected future is the same" in str(change)
        assert change.before.chances == change.after.chances


def test_returns_under_different_discounts_get_no_difference():
    one, other = (
        wf.train("CliffWalking-v1", wf.QLearning(step_size=0.5, discount=discount), episodes=100, seed=0, max_steps=100)
        for discount in (0.95, 0.9)
    )
    text = str(one.change("row 3, column 0", since=other))
    assert "so the estimated returns cannot be compared" in text
    assert re.search(r"The estimated return is \S+ here and \S+ in the other run \(discounted\)\.", text), text


def test_factors_advise_functions_alone_and_print_no_array():
    run = wf.train("FrozenLake-v1", wf.QLearning(), episodes=5, seed=0, max_steps=100)
    many = wf.Ledger(2, 1)
    for reward in range(20):
        many.record(0, 0, float(reward), None, step_size=0.1, discount=0.9)
    with pytest.raises(ValueError, match="there are 20 different rewards; name the parts") as error:
        wf.Run(labels=wf.Labels.plain(2, 1), values=many.values()[0], ledger=many).repriced(factors={"bad": 0.0})
    assert "array" not in str(error.value)
    with pytest.raises(TypeError, match=r"bad is a function of .* ndarray is not$"):
        run.repriced(factors={"bad": 0.0}, parts={"bad": np.zeros(1_000)})
