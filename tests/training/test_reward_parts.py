"""Parts of the reward, as the environment reports them in ``info``: recorded with every update, and used by name."""

import math
from itertools import product

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from saved import assert_same
from whatfor.learners.parts import PartsWriter
from whatfor.ledger.parts import REST, reward_parts
from whatfor.worlds.terms import RewardTerms

LEARNERS = {
    "q": (wf.QLearning(step_size=0.3), None),
    "sarsa": (wf.Sarsa(step_size=wf.visit_count()), None),
    "double q": (wf.DoubleQLearning(draw="step"), None),
    "monte carlo": (wf.MonteCarlo(), None),
    "λ": (wf.LambdaReturns(lambda_=0.7), None),
    "replay": (wf.QLearning(), wf.Replay(batch=2)),
    "replay, latest": (wf.DoubleQLearning(), wf.Replay(capacity=37, batch=3)),
    "replay, first": (wf.QLearning(), wf.Replay(capacity=60, keep="first")),
}
KEYS = ["terms/goal", "terms/energy", "shaping"]


class Walk(gym.Env):
    """A walk to the right, whose every reward is a sum of other random terms; episodes may be cut by a limit."""

    observation_space, action_space = gym.spaces.Discrete(6), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(5))
        return self.at, {}

    def step(self, action):
        self.at = max(0, self.at + (1 if action else -1))
        goal, energy, shaping = self.np_random.normal(size=3)
        info = {"terms": {"goal": goal, "energy": np.float32(energy)}, "shaping": np.asarray(shaping), "more": "text"}
        return self.at, float(goal + np.float32(energy) + shaping) + 0.25, self.at == 5, False, info


class WrongSign(gym.Env):
    """Home is to the right, and so is what the shaping term punishes: its sign is wrong."""

    observation_space, action_space = gym.spaces.Discrete(8), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(7))
        return self.at, {}

    def step(self, action):
        before, self.at = self.at, int(np.clip(self.at + (1 if action else -1), 0, 7))
        terms = {"goal": float(self.at == 7), "energy": -0.01, "shaping": -0.3 * (self.at - before)}
        return self.at, sum(terms.values()), self.at == 7, False, {"reward_terms": terms}


for name, entry in {"Walk": Walk, "WrongSign": WrongSign}.items():
    gym.register(f"test/{name}-v0", entry_point=entry, max_episode_steps=25)


def walked(which, episodes=40, **more):
    learner, replay = LEARNERS[which]
    return wf.train("test/Walk-v0", learner, episodes=episodes, seed=3, replay=replay, reward_parts=KEYS, **more)


@pytest.fixture(scope="module")
def wrong():
    """An agent that the shaping term keeps away from home."""
    keys = {name: f"reward_terms/{name}" for name in ("goal", "energy", "shaping")}
    learner = wf.QLearning(step_size=0.2, discount=0.95, exploration=0.3)
    return wf.train("test/WrongSign-v0", learner, episodes=400, seed=0, reward_parts=keys)


def mismatch(run):
    """How far the rest of any update's reward is from the 0.25 that no part covers."""
    return float(np.abs(reward_parts(run.ledger)[REST] - 0.25).max())


# -- recorded with every update --------------------------------------------------------------


@pytest.mark.parametrize("which", LEARNERS)
def test_every_update_has_the_parts_of_its_own_experience(which):
    run = walked(which)
    assert run.ledger.parts == ("goal", "energy", "shaping")
    assert mismatch(run) < 1e-14  # every reward is unique, so the parts of any other would not fit
    assert run.engine == "python"
    assert "info" in run.settings["engine_reason"]


@pytest.mark.parametrize(
    ("which", "rule", "broken"),
    [
        ("λ", "write", lambda self, memory, _, first, row: self.ledger.writable().parts.__setitem__(slice(first, int(memory.counters[0])), row)),
        ("replay, latest", "_slot", lambda _self, experience: experience * 0),
    ],
)  # fmt: skip
def test_parts_of_another_experience_would_be_seen(monkeypatch, which, rule, broken):
    monkeypatch.setattr(PartsWriter, rule, broken)
    assert mismatch(walked(which)) > 0.1


@pytest.mark.parametrize("which", LEARNERS)
def test_recording_parts_does_not_change_what_is_learned(which):
    learner, replay = LEARNERS[which]
    plain = wf.train("test/Walk-v0", learner, episodes=40, seed=3, replay=replay)
    assert np.array_equal(plain.tables, walked(which).tables)


def folded(run, column):
    """The tables that one column of rewards gives, update by update, in plain Python."""
    ledger, tables, before = run.ledger, np.zeros(run.tables.shape), 0.0
    for update, amount in zip(ledger, column, strict=True):
        after = 0.0
        if update.next_state is not None:
            after = tables[update.next_table, update.next_state, update.next_action]
        ended = update.ending is not None
        target = amount + (0.0 if ended else update.discount * ((1 - update.lambda_) * after + update.lambda_ * before))
        cell = update.table, update.state, update.action
        tables[cell] += update.step_size * (target - tables[cell])
        before = target
    return tables.mean(axis=0)


@pytest.mark.parametrize("which", LEARNERS)
def test_the_share_of_a_part_is_what_its_rewards_alone_would_have_taught(which):
    run = walked(which)
    tables = {name: folded(run, column) for name, column in reward_parts(run.ledger).items()}
    for state, action in product(range(5), range(2)):
        split = run.parts(state, action)
        assert split.totals == pytest.approx({name: table[state, action] for name, table in tables.items()}, abs=1e-12)
        assert abs(sum(split.totals.values()) - run.values[state, action]) <= 1e-12 * max(1.0, split.scale)
        assert split.residual <= 1e-12 * max(1.0, split.scale)


@pytest.mark.parametrize("which", LEARNERS)
def test_parts_are_kept_bit_for_bit(which, tmp_path):
    run = walked(which)
    half = walked(which, episodes=25)
    half.save(tmp_path / "half")
    more = wf.train(wf.load(tmp_path / "half"), episodes=15)
    assert_same(more, run)
    assert np.array_equal(more.ledger.part_columns, run.ledger.part_columns)
    assert np.array_equal(run.as_of(25).ledger.part_columns, half.ledger.part_columns)
    less = run.without([2])
    assert np.array_equal(less.ledger.part_columns, run.ledger.part_columns)
    less.save(tmp_path / "less")
    assert wf.load(tmp_path / "less").parts(1).totals == less.parts(1).totals
    cut = run.ledger[run.ledger.episode_starts[3] :] if run.ledger.order != "replayed" else run.ledger[10:]
    assert np.array_equal(cut.part_columns, run.ledger.part_columns[-len(cut) :])


# -- used by name ----------------------------------------------------------------------------


def test_parts_name_the_term_that_is_wrong(wrong):
    assert wrong.best(3) == 0  # away from home
    split = wrong.parts(6, "action 0", instead="action 1")
    gaps = split.gaps
    assert max(gaps, key=gaps.get) == "shaping"
    assert gaps["goal"] < -0.9  # it knows where home is
    assert sum(gaps.values()) == pytest.approx(wrong.values[6, 0] - wrong.values[6, 1], abs=1e-12)
    assert split.to_json()["instead"]["action"] == 1
    assert str(split).splitlines()[0].startswith("In 'state 6', the value ")
    assert " more than that of 'action 1'. The difference consists of:" in str(split)
    assert "equal to the difference between the agent's Q-values" in str(split)


@pytest.mark.parametrize("how", ["replay", "relearn"])
def test_factors_on_a_part_flip_the_decision(wrong, how):
    cured = wrong.repriced(factors={"shaping": 0.0}, how=how)
    flips = {state: (before, after) for state, before, after in cured.change(3, since=wrong).flips}
    assert flips[3] == (0, 1)
    assert cured.parts(3).totals["shaping"] == 0.0
    fresh = wf.Ledger(8, 2)
    terms = reward_parts(wrong.ledger)
    for update, goal, energy, rest in zip(wrong.ledger, terms["goal"], terms["energy"], terms[REST], strict=True):
        source = (update.next_state, update.next_action)
        more = {"ending": update.ending} if update.ending else {}
        fresh.record(
            update.state,
            update.action,
            goal + energy + rest,
            *source,
            step_size=update.step_size,
            discount=0.95,
            **more,
        )
    if how == "replay":
        assert np.allclose(fresh.values(), cured.tables, rtol=0, atol=1e-12)


def test_factors_may_be_put_on_one_after_another(wrong):
    once = wrong.repriced(factors={"shaping": -0.5, "energy": 2.0})
    twice = wrong.repriced(factors={"shaping": 0.25}).repriced(factors={"shaping": -2.0, "energy": 2.0})
    assert np.allclose(once.tables, twice.tables, rtol=0, atol=1e-12)
    everything = dict.fromkeys((*wrong.ledger.parts, REST), 3.0)
    assert np.allclose(wrong.repriced(factors=everything, how="replay").tables, 3.0 * wrong.tables, atol=1e-12)
    changed = wrong.repriced(lambda _s, _a, reward: 2 * reward)
    with pytest.raises(ValueError, match="put factors on the parts of the original run first"):
        changed.repriced(factors={"shaping": 0.0})
    assert wrong.repriced(factors={"shaping": 0}).repriced(lambda _s, _a, reward: -reward).values[6, 1] < 0.0


def test_a_run_with_factors_is_played_with_them(wrong, tmp_path):
    def enter(env, state, _rng):
        env.unwrapped.at = state

    cured = wrong.repriced(factors={"shaping": 0.0})
    assert "100 %" in str(cured.simulation(5, rollouts=20, enter=enter))
    assert "simulated 0.99\n" in str(cured.comparison(6, "action 1", rollouts=20, enter=enter))
    assert "simulated 0.69\n" in str(wrong.comparison(6, "action 1", rollouts=20, enter=enter))
    cured.save(tmp_path / "cured")
    again = wf.load(tmp_path / "cured")
    assert str(again.intention(5)) == str(cured.intention(5))
    assert str(again.parts(5)) == str(cured.parts(5))
    played = again.simulation(5, rollouts=20, env=WrongSign(), enter=enter)
    assert str(played) == str(cured.simulation(5, rollouts=20, enter=enter))
    loop = wf.Run(labels=wrong.labels, values=wrong.values, ledger=wrong.ledger)
    with pytest.raises(ValueError, match="custom training loop"):
        loop.repriced(factors={"shaping": 0.0}, how="replay").simulation(5, rollouts=5, env=WrongSign(), enter=enter)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ({"shapin": 0}, "there is no part 'shapin' of the reward: the parts are 'goal', 'energy', 'shaping', 'rest'"),
        ({"shaping": math.nan}, "must be a finite number"),
        ({"goal": 1e308, "shaping": -1.7e308}, "too large"),
        ({}, 'e.g. factors={"goal": 0.5}'),
    ],
)
def test_unknown_parts_and_wrong_factors_are_refused(wrong, factors, message):
    large = wrong.repriced(factors={"goal": 100.0, "shaping": 100.0}, how="replay")
    with pytest.raises(ValueError, match=message):
        large.repriced(factors=factors, how="replay")


def test_own_parts_and_distinct_rewards_stay_possible(wrong):
    split = wrong.parts(3, parts={"all": lambda _s, _a, reward: reward})
    assert set(split.totals) == {"all"}
    plain = wf.train("FrozenLake-v1", episodes=200, seed=0)
    assert set(plain.parts(14).totals) == {"reward +1"}
    again = plain.repriced(factors={"reward +1": 2.0}, how="replay")
    assert np.allclose(again.tables, 2 * plain.tables)


# -- custom loops ----------------------------------------------------------------------------


def test_a_custom_loop_records_parts():
    ledger = wf.Ledger(n_states=2, n_actions=1)
    ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9, parts={"goal": 1.0, "shaping": 0.25})
    ledger.record(0, 0, -0.5, 1, 0, step_size=1.0, discount=0.9, parts={"shaping": -0.5, "goal": 0})
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)
    assert run.parts(0).totals == pytest.approx({"goal": 0.45, "shaping": -0.3875, "rest": -0.1125})
    assert ledger[1].parts == (0.0, -0.5)


def test_parts_of_a_custom_loop_need_not_be_small():
    ledger = wf.Ledger(n_states=1, n_actions=1)
    ledger.record(0, 0, 1.0, None, step_size=1.0, discount=0.9, parts={"up": 1e12, "down": 1.0 - 1e12})
    split = wf.Run(labels=wf.Labels.plain(1, 1), values=[[1.0]], ledger=ledger).parts(0)
    assert split.badge().kind == "exact"  # relative to the parts, which cancel


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (None, "records parts of the reward .*pass parts="),
        ({"goal": 1.0}, "has the parts 'goal', 'shaping'; this one has 'goal'"),
        ({"goal": 1.0, "shaping": 0.0, "more": 0.0}, "this one has 'goal', 'shaping', 'more'"),
        ({"goal": 1.0, "shaping": math.inf}, "part 'shaping' of the reward is inf"),
        ({"goal": 1.0, "shaping": "0"}, "part 'shaping' of the reward is '0'"),
        ({"goal": 1e308, "shaping": 1e308}, "too large"),
        ([1.0, 2.0], "must be a dictionary"),
    ],
)
def test_other_parts_than_the_first_are_refused_and_nothing_is_recorded(parts, message):
    ledger = wf.Ledger(n_states=2, n_actions=1)
    ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9, parts={"goal": 1.0, "shaping": 0.25})
    with pytest.raises(ValueError, match=message):
        ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9, parts=parts)
    assert len(ledger) == 1


@pytest.mark.parametrize(
    ("parts", "message"),
    [({"rest": 1.0}, "cannot be called 'rest'"), ({" ": 1.0}, "is empty"), ({"a\nb": 1.0}, "plain text"), ({3: 1.0}, "plain")],
)  # fmt: skip
def test_names_of_parts_are_checked(parts, message):
    ledger = wf.Ledger(n_states=2, n_actions=1)
    with pytest.raises(ValueError, match=message):
        ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9, parts=parts)
    ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9)
    with pytest.raises(ValueError, match="the first update of this ledger has no parts"):
        ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9, parts={"goal": 1.0})
    assert len(ledger) == 1


# -- what environments report ----------------------------------------------------------------


class Reports(Walk):
    """Reports what it is given, from the third step on; starts on the left."""

    def __init__(self, info):
        self.info, self.steps = info, 0

    def reset(self, **more):
        super().reset(**more)
        self.at = 0
        return 0, {}

    def step(self, action):
        self.steps += 1
        return *super().step(action)[:4], {"shaping": 0.5} if self.steps < 3 else self.info


@pytest.mark.parametrize("which", ["q", "λ", "replay"])
@pytest.mark.parametrize(
    ("info", "message"),
    [
        ({"energy": 1.0}, "info has no 'shaping' in this step, which is part 'shaping' of the reward; it has 'energy'"),
        (None, "it has no entries"),
        ({"shaping": math.nan}, "is nan; it must be a finite number"),
        ({"shaping": "0.5"}, "is '0.5'; it must be a finite number"),
        ({"shaping": True}, "is True; it must be a finite number"),
        ({"shaping": np.ones(2)}, "must be a finite number"),
        ({"shaping": {"near": 1.0}}, "is a dictionary: name its entries as parts of the reward .'shaping/near'"),
    ],
)
def test_a_part_that_is_missing_or_no_number_stops_training_and_loses_nothing(info, message, which, tmp_path):
    learner, replay = LEARNERS[which]
    with pytest.raises(wf.TrainingStopped, match=message) as stopped:
        wf.train(Reports(info), learner, episodes=10, seed=0, max_steps=2, replay=replay, reward_parts=["shaping"])
    run = stopped.value.run
    assert len(run.ledger) == (4 if replay else 2)
    assert np.array_equal(run.ledger.part_columns, np.full((len(run.ledger), 1), 0.5))
    run.save(tmp_path / "run")
    assert wf.load(tmp_path / "run").parts(run.ledger[0].state, run.ledger[0].action).residual < 1e-12


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("shaping", r"reward_parts is a list of keys of info, e.g. reward_parts=\['shaping'\]"),
        (3, "is a list of keys"),
        ([], "reward_parts is empty"),
        (["a/x", "b/x"], "'x' is twice"),
        (["rest"], "cannot be called 'rest'"),
        ([7], "plain text"),
        ({"a": 7}, "plain text"),
        ([f"p{i}" for i in range(101)], "the limit is 100"),
    ],
)
def test_wrong_reward_parts_are_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        wf.train("test/Walk-v0", episodes=1, reward_parts=given)


def test_where_there_is_no_info_it_is_said():
    with pytest.raises(ValueError, match="a whatfor world has none"):
        wf.train(wf.worlds.chain(), episodes=1, reward_parts=["x"])
    with pytest.raises(ValueError, match="which the compiled engine does not have"):
        wf.train("FrozenLake-v1", episodes=1, reward_parts=["prob"], engine="compiled")
    with pytest.raises(ValueError, match="record=False"):
        wf.train("FrozenLake-v1", episodes=1, reward_parts=["prob"], record=False)
    run = wf.train("FrozenLake-v1", episodes=5, seed=0, reward_parts=["prob"])  # it has a compiled twin
    assert (run.engine, run.ledger.parts) == ("python", ("prob",))
    with pytest.raises(ValueError, match="reward_parts= was set when this run was started"):
        wf.train(run, episodes=1, reward_parts=["prob"])
    assert wf.train(run, episodes=2).n_episodes == 7


def test_a_key_with_a_slash_may_be_literal():
    terms = RewardTerms.named(["reward/energy"])
    assert terms.parts_in({"reward/energy": 1}) == {"energy": 1.0}
    assert terms.parts_in({"reward": {"energy": np.float32(2)}}) == {"energy": 2.0}


def test_a_learner_of_its_own_gets_the_parts_with_every_step():
    from whatfor.learners.protocol import Transition

    ledger = wf.Ledger(2, 1, parts=("shaping",))
    agent = wf.QLearning().start(2, 1, ledger=ledger, generator=np.random.default_rng(0))
    agent.begin(0, 0.0)
    agent.observe(Transition(0, 0, 1.0, 1, False, False, 0, {"shaping": 0.5}))
    with pytest.raises(ValueError, match=r"step\.parts"):
        agent.observe(Transition(1, 0, 1.0, 1, False, False, 0))
    agent.settle()
    assert ledger[0].parts == (0.5,)
    assert len(ledger) == 1
