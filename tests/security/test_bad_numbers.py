"""Numbers of the wrong type are rejected before they reach compiled code, and no data is lost (attack 4, 20)."""

import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import whatfor as wf
from whatfor.beliefs import BeliefMap
from whatfor.learners import Transition
from whatfor.worlds import table

STEP = {"step_size": 0.5, "discount": 0.9}
LABELS = wf.Labels.plain(3, 2)


def small(**options):
    ledger = wf.Ledger(n_states=3, n_actions=2, **options)
    origin = {"origin": 0} if options.get("order") == "replayed" else {}
    ledger.record(0, 1, 1.0, 2, 0, **STEP, **origin)
    return ledger


# -- the ledger: attack 4 -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"table": 0.9}, "table is 0.9; it must be a whole number"),
        ({"table": True}, "table is True; it must be a whole number"),
        ({"table": -0.5}, "table is -0.5"),
        ({"table": "0"}, "table is '0'"),
        ({"table": 2}, "table 2 is out of range"),
        ({"next_table": 0.9}, "next_table is 0.9; it must be a whole number"),
        ({"next_table": np.float64(1.0)}, "must be a whole number"),
        ({"next_table": -1}, "next_table -1 is out of range"),
        ({"next_state": None, "next_action": None, "next_table": 9}, "next_table 9 is out of range"),
        ({"state": 1.0}, "state is 1.0; it must be a whole number"),
        ({"state": False}, "state is False"),
        ({"action": np.array([0, 1])}, "action is .*must be a whole number"),
        ({"next_state": 1.5}, "state is 1.5"),
        ({"next_action": True}, "action is True"),
        ({"next_state": None, "ending": True}, "ending is True; it must be a whole number"),
        ({"next_state": None, "ending": -4.5}, "ending is -4.5"),
        ({"next_state": None, "ending": np.int64(-9)}, "-9 is not the code of an ending of this ledger"),
        ({"next_state": None, "ending": 0}, "0 is not the code of an ending of this ledger"),
        ({"next_state": None, "ending": "two\nlines"}, "an ending's name is 'two.nlines'; write it as one line"),
        ({"next_state": None, "timed_out": "False"}, "timed_out is 'False'; it must be True or False"),
        ({"next_state": None, "timed_out": 1}, "timed_out is 1; it must be True or False"),
        ({"reward": "1.0"}, "the reward is '1.0'.*Nothing was recorded"),
        ({"reward": None}, "the reward is None.*Nothing was recorded"),
        ({"step_size": "0.5"}, r"step_size is '0.5'; it must lie in \[0, 1\]"),
        ({"discount": None}, r"discount is None; it must lie in \[0, 1\]"),
        ({"lambda_": math.nan}, r"lambda_ is nan; it must lie in \[0, 1\]"),
    ],
)
def test_an_update_of_wrong_types_is_rejected_and_leaves_the_ledger_unchanged(update, message):
    ledger = small(n_tables=2)
    before = ledger.values()
    line = {"state": 1, "action": 0, "reward": 0.5, "next_state": 2, "next_action": 1, **STEP, **update}
    with pytest.raises(ValueError, match=message):
        ledger.record(**line)
    assert len(ledger) == 1
    assert np.array_equal(ledger.values(), before)
    assert ledger.endings == ["timed out", "terminated"]


def test_numpys_whole_numbers_are_whole_numbers():
    ledger = wf.Ledger(n_states=np.int64(3), n_actions=np.uint8(2), n_tables=np.int32(2))
    ledger.record(np.int64(0), np.uint8(1), np.float32(1.0), np.array(2), 0, table=np.int8(1), **STEP)
    ledger.record(0, 0, 1, None, ending=np.int64(-3), **STEP)
    assert (ledger[0].table, ledger[0].state, ledger[0].next_state, ledger[1].ending) == (1, 0, 2, "terminated")


@pytest.mark.parametrize("origin", [0.5, True, -1, 2**31, "1"])
def test_an_origin_is_the_number_of_an_experience(origin):
    ledger = small(order="replayed")
    with pytest.raises(ValueError, match=r"origin is .*; it must be a whole number from 0 to 2147483647"):
        ledger.record(0, 0, 1.0, None, origin=origin, **STEP)
    assert len(ledger) == 1


@pytest.mark.parametrize("experiences", [-5, 1.5, True, "2", 3])
def test_experiences_are_counted_upwards(experiences):
    """attack 10: ``new_episode(-5)`` saved a run that could not be loaded."""
    ledger = small(order="replayed")
    ledger.new_episode(experiences=4)
    with pytest.raises(ValueError, match=r"experiences is .*; it must be a whole number from 4"):
        ledger.new_episode(experiences=experiences)
    assert len(ledger.breaks) == 1


@pytest.mark.parametrize("name", ["n_states", "n_actions", "n_tables"])
@pytest.mark.parametrize("count", [2.5, 0, -1, True, "3", math.nan])
def test_a_ledgers_sizes_are_whole_numbers(name, count):
    with pytest.raises(ValueError, match=rf"{name} is .*; it must be a whole number of at least 1"):
        wf.Ledger(**{"n_states": 3, "n_actions": 2, name: count})


def test_positions_in_a_ledger_are_whole_numbers():
    ledger, audit = small(), wf.Audit(small())
    for call in (ledger.until, ledger.episode, lambda x: audit.as_of(episodes=x), lambda x: audit.as_of(updates=x)):
        for wrong in (0.5, True, "1"):
            with pytest.raises(ValueError, match="must be a whole number"):
                call(wrong)
    with pytest.raises(ValueError, match="updates is -1"):
        audit.as_of(updates=-1)


# -- beliefs ---------------------------------------------------------------------------------

SOURCES = {
    "audit": lambda: wf.Audit(small()),
    "map": lambda: BeliefMap.from_ledger(small()),
    "exact": lambda: wf.ExactBeliefs(table(np.zeros((3, 2), int), 1.0, True), [0, 0, 0], discount=0.9),
    "simulated": lambda: wf.SimulatedBeliefs(
        table(np.zeros((3, 2), int), 1.0, True, start=[1 / 3] * 3), [0, 0, 0], discount=0.9, rollouts=2
    ),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("question", ["visits", "earnings", "value"])
@pytest.mark.parametrize(("state", "action"), [(1.7, 0), (0, 1.5), (-1, 0), (0, -1), (3, 0), (0, 2), (True, 0)])
def test_beliefs_take_only_states_and_actions_that_exist(source, question, state, action):
    beliefs = SOURCES[source]()
    getattr(beliefs, question)(1, 0)
    with pytest.raises(
        ValueError, match=r"must be a whole number|out of range|there is no action|action must be an integer"
    ):
        getattr(beliefs, question)(state, action)


def test_a_belief_map_accepts_only_ledgers_of_its_shape():
    """A second, larger ledger would have been added to the tables of the first."""
    beliefs = BeliefMap(LABELS)
    beliefs(small(), 0)
    larger = wf.Ledger(n_states=1_000, n_actions=2)
    doubled = small(n_tables=2)
    for other in (larger, doubled):
        for _ in range(3):
            other.record(2, 1, 1.0, None, **STEP)
        with pytest.raises(ValueError, match=r"the ledger has 1000 states|the ledger has 2 tables"):
            beliefs(other, 0)
    assert beliefs.value(0, 1) == 0.5


@pytest.mark.parametrize("horizon", [2.5, -1, True, math.inf])
def test_a_horizon_is_a_whole_number(horizon):
    with pytest.raises(ValueError, match=r"horizon is .*; it must be a whole number"):
        wf.Audit(small()).visits_by_depth(0, 1, horizon)


@pytest.mark.parametrize(
    "settings",
    [{"rollouts": 2.5}, {"rollouts": True}, {"seed": 1.5}, {"seed": -1}, {"max_steps": math.nan}, {"max_steps": 2.5},
     {"discount": math.nan}, {"discount": "1"}],
)  # fmt: skip
def test_a_simulations_settings_are_numbers(settings):
    (name, value) = next(iter(settings.items()))
    with pytest.raises(ValueError, match=rf"{name} is {value!r}; it must"):
        wf.SimulatedBeliefs(wf.worlds.chain(), [0, 0, 1], **{"discount": 1.0, **settings})


@pytest.mark.parametrize("policy", [[0.0, 0.0, 1.0], [0, 0, 2], [0, 0, -1], ["0", "0", "1"], [True, False, True]])
def test_a_policy_names_actions(policy):
    with pytest.raises(ValueError, match="policy names actions that do not exist"):
        wf.ExactBeliefs(wf.worlds.chain(), policy, discount=1.0)


# -- labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [1.5, 1.0, True, np.float64(1), None, -1, 2, "2", "²", [1]])
def test_an_action_is_an_index_or_a_name(action):
    with pytest.raises(ValueError, match=r"action must be an integer|there is no action"):
        LABELS.action(action)


@pytest.mark.parametrize("index", [1.7, 1.0, True, -1, 3, None, "1"])
def test_a_checked_index_is_a_whole_number(index):
    with pytest.raises(ValueError, match=r"must be a whole number|out of range"):
        LABELS.check_state(index)


@pytest.mark.parametrize("seen", [1.7, True, math.nan, math.inf, np.bool_(True), None, -1])
def test_a_state_is_not_rounded(seen):
    with pytest.raises((ValueError, OverflowError), match=r"is not a|out of range|infinity"):
        LABELS.index(seen)


def test_an_observation_in_bins_consists_of_numbers():
    labels = wf.worlds.cartpole().labels
    assert labels.index([0.0, 0.0, 0.0, math.inf]) == labels.index([0.0, 0.0, 0.0, 9.0])
    for wrong in ([0.0, 0.0, 0.0, math.nan], [0.0, "1", 0.0, 0.0], [None, 0.0, 0.0, 0.0]):
        with pytest.raises(ValueError, match="not a number"):
            labels.index(wrong)
    with pytest.raises(ValueError, match="an observation has 5 numbers; a state has 4"):
        labels.indices(np.zeros((2, 5)))


# -- environments ----------------------------------------------------------------------------


class Odd(gym.Env):
    """Three states; from the fifth step on, one part of each step is invalid."""

    def __init__(self, space=None, first=0, **odd):
        self.observation_space = space or spaces.Discrete(3)
        self.action_space = spaces.Discrete(2)
        self.first, self.odd, self.steps = first, odd, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.first, {}

    def step(self, action):
        self.steps += 1
        step = {"seen": self.first, "reward": 1.0, "terminated": self.steps % 3 == 0, "truncated": False}
        return *(step | (self.odd if self.steps >= 5 else {})).values(), {}


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"seen": 1.7}, "the environment returned the observation 1.7, which is not a state: states are whole numbers"),
        ({"seen": "1"}, "the environment returned the observation '1', which is not a state"),
        ({"seen": None}, "the environment returned the observation None, which is not a state"),
        ({"seen": np.float32(1)}, "which is not a state"),
        ({"seen": 3}, "returned state 3, which is out of range: 0 to 2"),
        ({"terminated": "False"}, "the environment's terminated is 'False'; it must be True or False"),
        ({"terminated": None}, "the environment's terminated is None"),
        ({"truncated": "no"}, "the environment's truncated is 'no'; it must be True or False"),
        ({"truncated": 1}, "the environment's truncated is 1"),
        ({"reward": "1.0"}, "the environment returned the reward '1.0'; rewards must be finite numbers"),
        ({"reward": None}, "the environment returned the reward None"),
        ({"reward": 1j}, "the environment returned the reward 1j"),
        ({"reward": math.nan}, "the environment returned the reward nan"),
    ],
)
def test_an_invalid_step_stops_training_and_keeps_the_run(odd, message):
    with pytest.raises(wf.TrainingStopped, match=message) as stopped:
        wf.train(Odd(**odd), episodes=100, seed=0)
    run = stopped.value.run
    assert len(run.ledger) == run.history.lengths.sum() == 4
    assert run.audit.residual <= 1e-12


@pytest.mark.parametrize(
    ("space", "first", "seen"),
    [
        (spaces.MultiDiscrete([2, 2]), np.array([0, 1]), np.array([0.0, 1.0])),
        (spaces.MultiDiscrete([2, 2]), np.array([0, 1]), np.array([0, 2])),
        (spaces.MultiDiscrete([2, 2]), np.array([0, 1]), np.array([0, 1, 0])),
        (spaces.Tuple([spaces.Discrete(2)] * 2), (0, 1), (0, 0.5)),
        (spaces.Tuple([spaces.Discrete(2)] * 2), (0, 1), (0,)),
        (spaces.Tuple([spaces.Discrete(2)] * 2), (0, 1), 1),
    ],
)
def test_observations_that_leave_their_space_stop_training(space, first, seen):
    with pytest.raises(wf.TrainingStopped, match="which is not a state of 2 whole numbers"):
        wf.train(Odd(space, first, seen=seen), episodes=100, seed=0)


@pytest.mark.parametrize("flag", [np.bool_(True), True])
def test_numpys_booleans_are_flags(flag):
    assert wf.train(Odd(terminated=flag), episodes=10, seed=0).stopped is None


# -- a learner at work in a loop of one's own ------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"state": 3}, "state is 3; it must be a whole number from 0 to 2"),
        ({"state": -1}, "state is -1"),
        ({"action": 2}, "action is 2; it must be a whole number from 0 to 1"),
        ({"next_state": 10**9}, "next_state is 1000000000"),
        ({"next_state": 1.5}, "next_state is 1.5"),
        ({"ending": -9}, "-9 is not the code of an ending"),
        ({"ending": -1}, "-1 is not the code of an ending"),
        ({"ending": 1}, "ending is 1"),
        ({"reward": math.inf}, "reward is inf"),
        ({"truncated": "no"}, "it must be True or False"),
    ],
)
def test_an_agent_validates_transitions(wrong, message):
    ledger = wf.Ledger(n_states=3, n_actions=2)
    agent = wf.QLearning().start(3, 2, ledger=ledger, generator=np.random.default_rng(0))
    agent.begin(0, 0.1)
    step = Transition(0, 0, 1.0, 1, False, False)
    agent.observe(step)
    with pytest.raises(ValueError, match=message):
        agent.observe(step._replace(**wrong))
    agent.observe(Transition(np.int64(1), np.int32(1), 1, np.int64(2), np.bool_(True), False, np.int64(-3)))
    agent.settle()
    assert len(ledger) == 2
    assert wf.Audit(ledger, values=agent.tables).residual <= 1e-12
    for wrong_start in ((3, 0.1), (0.5, 0.1), (0, math.nan), (0, 1.5)):
        with pytest.raises(ValueError, match="must"):
            agent.begin(*wrong_start)


def test_an_agent_can_begin_any_number_of_episodes():
    """Each start uses random numbers; without steps in between, they ran out of those drawn in advance."""
    agent = wf.DoubleQLearning().start(3, 2, ledger=None, generator=np.random.default_rng(0))
    assert {agent.begin(0, 1.0) for _ in range(200_000)} == {0, 1}


def test_an_agent_takes_only_a_ledger_of_its_shape():
    for ledger in (wf.Ledger(2, 2), wf.Ledger(3, 1), wf.Ledger(3, 2, n_tables=2)):
        with pytest.raises(ValueError, match="the learner has 1 tables, 3 states and 2 actions, its ledger"):
            wf.QLearning().start(3, 2, ledger=ledger, generator=np.random.default_rng(0))


class Stubborn:
    """A third-party learner that always takes one action, whether it exists or not."""

    discount, exploration, n_tables, order = 0.9, 0.0, 1, "forwards"

    def __init__(self, action):
        self.action = action

    def start(self, n_states, n_actions, *, ledger, generator):
        self.tables = np.zeros((1, n_states, n_actions))
        return self

    def begin(self, state, exploration):
        return self.action

    def observe(self, step):
        return self.action


@pytest.mark.parametrize("world", [wf.worlds.chain, lambda: gym.make("FrozenLake-v1")])
@pytest.mark.parametrize("action", [2**20, -1, 1.5, True])
def test_an_action_that_does_not_exist_never_reaches_the_world(world, action):
    with pytest.raises(wf.TrainingStopped, match=r"there is no action|action must be an integer"):
        wf.train(world(), Stubborn(action), episodes=3, seed=0, engine="python")


# -- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "settings", "message"),
    [
        (None, {"episodes": 2.5}, "episodes is 2.5; it must be a whole number"),
        (None, {"episodes": True}, "episodes is True"),
        (None, {"seed": 1.5}, "seed is 1.5; it must be a whole number"),
        (None, {"max_steps": math.nan}, "max_steps is nan; it must be a whole number"),
        (None, {"max_steps": 2.5}, "max_steps is 2.5"),
        (None, {"max_steps": 10**15}, "WHATFOR_MAX_STEPS=1000000000000000"),
        (None, {"replay": wf.Replay(capacity=2.5)}, "capacity is 2.5; it must be a whole number"),
        (None, {"replay": wf.Replay(capacity=10**12)}, "a replay buffer of this capacity needs"),
        (None, {"replay": wf.Replay(batch=1.5)}, "batch is 1.5; it must be a whole number"),
        (None, {"replay": wf.Replay(batch=10**9)}, "batch is 1000000000; it must be a whole number from 1 to 10000"),
        (None, {"replay": wf.Replay(warmup=1.5)}, "warmup is 1.5; it must be a whole number"),
        (wf.QLearning(exploration=lambda episode: "0.1"), {}, "exploration is '0.1' in episode 0"),
    ],
)
def test_settings_of_wrong_types_are_rejected(learner, settings, message):
    with pytest.raises(ValueError, match=message):
        wf.train("FrozenLake-v1", learner, **{"episodes": 3, "seed": 0, **settings})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"exploration": math.nan}, "exploration is nan"),
        ({"exploration": "0.1"}, "exploration is '0.1'; pass a number in"),
        ({"step_size": math.nan}, "step_size is nan"),
        ({"step_size": "0.1"}, "step_size must be a number in .*, not '0.1'"),
        ({"discount": True}, "discount is True"),
        ({"initial": "0"}, "initial is '0'; it must be a finite number"),
        ({"initial": 10**400}, "it must be a finite number"),
        ({"step_size": wf.visit_count("1")}, "power of visit_count.. is '1'"),
    ],
)
def test_a_learner_rejects_parameters_of_wrong_types(parameters, message):
    with pytest.raises(ValueError, match=message):
        wf.QLearning(**parameters)


def test_a_schedules_episodes_are_a_whole_number():
    with pytest.raises(ValueError, match=r"episodes is 2.5; it must be a whole number"):
        wf.linear(1.0, 0.1, episodes=2.5)


def test_questions_take_whole_numbers():
    run = wf.train("FrozenLake-v1", episodes=20, seed=0)
    for call in (
        lambda: run.evaluate(2.5),
        lambda: run.evaluate(3, seed=0.5),
        lambda: run.simulation(0, rollouts=10.5),
        lambda: run.comparison(0, seed=1.5),
        lambda: run.as_of(1.5),
        lambda: run.intention(1.7),
        lambda: run.intention(0, 1.5),
        lambda: run.timeline(0, horizon=2.5),
    ):
        with pytest.raises(ValueError, match=r"whole number|must be an integer"):
            call()


# -- tables ----------------------------------------------------------------------------------

ENTRY = (1.0, 0, 0.0, True)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, "1.0", "the probabilities of P holds text; it must hold numbers"),
        (0, True, "the probabilities of P holds bool values"),
        (1, 0.7, "the next states of P holds float64 values; it must hold whole numbers"),
        (1, "0", "the next states of P holds"),
        (1, None, "the next states of P holds Python objects"),
        (2, "0", "the rewards of P holds"),
        (3, "False", "terminated in P holds text; it must hold True and False"),
        (3, 0.0, "terminated in P holds float64"),
        (3, 2, "terminated in P holds 2 to 2"),
    ],
)
def test_the_entries_of_P_have_the_right_types(place, value, message):
    entry = [*ENTRY]
    entry[place] = value
    with pytest.raises(ValueError, match=message):
        table({0: {0: [tuple(entry)]}})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"terminated": "False"}, "terminated holds text"),
        ({"terminated": [["False"]]}, "terminated holds text"),
        ({"terminated": 0.5}, "terminated holds float64"),
        ({"reward": [["1"]]}, "reward holds text; it must hold numbers"),
        ({"probability": "1"}, "probability holds"),
        ({"next_state": [[0.7]]}, "next_state holds float64"),
        ({"next_state": [[False]]}, "next_state holds bool"),
        ({"next_state": [[0], [0, 0]]}, "next_state holds Python objects"),
        ({"start": True}, "start is True; it must be a whole number"),
        ({"start": 0.0}, "start is 0.0; it must be a whole number"),
        ({"start": ["1"]}, "start holds"),
        ({"max_steps": 2.5}, "max_steps is 2.5"),
        ({"max_steps": math.nan}, "max_steps is nan"),
        ({"max_steps": 10**15}, "WHATFOR_MAX_STEPS"),
    ],
)
def test_the_arrays_of_a_table_have_the_right_types(options, message):
    with pytest.raises(ValueError, match=message):
        table(**{"next_state": [[0]], "reward": 1.0, **options})
