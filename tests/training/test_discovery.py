"""States discovered during training: the same bits as with a table of all states, and errors that lose nothing."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

import identities
import whatfor as wf
from discovered_worlds import STATES, TableEnv, assert_permuted, discovered, key_of, listed, order_of, settings_of
from sameness import CASES, assert_same_learning
from saved import assert_same, through_disk
from whatfor import memory
from whatfor.document import StatesDocument
from whatfor.labels import Labels
from whatfor.maps import places_of
from whatfor.question import QUESTIONS
from whatfor.states import DiscoveredStates
from whatfor.stored_states import states_in, states_out
from whatfor.structure import Structure
from whatfor.worlds import discovering


@pytest.fixture(autouse=True)
def small_room(monkeypatch):
    """Tables that have to grow again and again."""
    monkeypatch.setattr(discovering, "FIRST_ROOM", 1)


@pytest.mark.parametrize(("learner", "replay"), CASES)
def test_discovery_changes_nothing_but_the_numbers_of_states(learner, replay, tmp_path):
    both = {"learner": learner, "replay": replay}
    run, other = discovered(**both), listed(**both)
    assert_permuted(run, other)
    assert run.audit.residual == 0.0
    assert run.engine == "python"
    compiled = wf.train(TableEnv().world, engine="compiled", **settings_of(**both))
    assert np.array_equal(compiled.tables, other.tables), "the engines agree"
    assert np.array_equal(discovered(**both, record=False).tables, run.tables)
    assert_permuted(run.as_of(20), other.as_of(20))
    assert_permuted(run.without([3, 17]), other.without([3, 17]))
    assert_permuted(run.without([3, 17], how="relearn"), other.without([3, 17], how="relearn"))
    doubled = [one.repriced(lambda state, action, reward: 2 * reward) for one in (run, other)]
    assert_permuted(*doubled)
    at, same = order_of(run)[0], run.labels.observation(0)
    mine, its = run.intention(same, 0), other.intention(at, 0)
    assert np.allclose(mine.visits, its.visits[order_of(run)], rtol=0, atol=1e-12)
    assert mine.value == its.value
    # resumed from memory and from disk, half of the episodes each
    half = discovered(**both, episodes=30)
    again = through_disk(half, tmp_path / "half")
    assert_same(again, half)
    assert_same_learning(wf.train(half, episodes=30), run)
    half.save(tmp_path / "half")
    loaded = wf.load(tmp_path / "half", state_of=key_of)
    resumed = wf.train(loaded, episodes=30, env=TableEnv())
    assert_same_learning(resumed, run)
    assert resumed.labels == run.labels
    assert half.audit.residual == 0.0, "the half is what it was"


class Found(identities.Case):
    """A case whose run discovers its states."""

    def run(self, **more):
        env = TableEnv(self.world, states=5)
        env.world = self.make_world()
        env.action_space = spaces.Discrete(env.world.labels.n_actions)
        return wf.train(
            env, self.learner, state_of=lambda state: (state, "x"), episodes=self.episodes, seed=self.seed,
            max_steps=self.max_steps, time_limit="terminal", replay=self.replay, **more,
        )  # fmt: skip


CHECKS = (
    identities.ledger_gives_the_learners_table,
    identities.earnings_sum_to_the_value,
    identities.endings_and_initial_weights_sum_to_one,
    identities.recording_does_not_change_the_learner,
    identities.many_rows_equal_single_rows,
    identities.resumed_training_equals_uninterrupted_training,
    identities.contrast_parts_sum_to_the_gap,
    identities.parts_and_the_rest_are_the_value,
    identities.weights_times_rewards_are_the_value,
    identities.timeline_and_remainder_are_the_visits,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("learner", [wf.DoubleQLearning, wf.LambdaReturns])
def test_identities_hold(check, learner):
    check(Found(learner(step_size=0.3, discount=0.9, exploration=0.5), world=3))


def test_the_order_of_discovery_is_that_of_the_seed():
    one, two, other = discovered(), discovered(), discovered(seed=8)
    assert one.labels == two.labels
    assert order_of(one) != order_of(other)


# -- labels ------------------------------------------------------------------------------------


def test_words_keys_indices_and_observations_mean_states(tmp_path):
    run = discovered()
    for labels in (run.labels, through_disk(run, tmp_path / "run").labels):
        for state in range(labels.n_states):
            assert labels.index(labels.words(state)) == state
            assert labels.index(labels.observation(state)) == state
            assert labels.index(state) == state
            assert labels.at(labels.values(state)) == state
        assert labels.axes[0].name == "x0"
        assert labels.axes[2].values == ("no", "yes")
        assert labels.axes[3].values[-1] == "none"
        assert labels.where("x1 a").states.sum() == sum(key_of(state)[1] == "a" for state in order_of(run))
        assert labels.where(lambda key: key[0] == 3).states.sum() == sum(state % 7 == 3 for state in order_of(run))
    met = run.labels.observation(0)
    with pytest.raises(ValueError, match="training met no state"):
        run.labels.index((6, "e", (False, 99.5), b"?"))
    assert run.labels.index(order_of(run)[0]) == order_of(run)[0] or met  # a whole number is an index


@pytest.mark.parametrize(
    ("state_of", "unmet"),
    [
        (key_of, (6, "e", (False, 99.5), b"?")),
        (lambda state: f"room {state}", "room 99"),
        (lambda state: state - 5, 99),
    ],
    ids=["tuples", "texts", "numbers"],
)
def test_a_text_means_what_its_index_and_its_key_mean(state_of, unmet):
    """As the command line has it: every text is read like the Python value that it writes."""
    labels = discovered(state_of=state_of, episodes=5).labels
    for state in range(labels.n_states):
        key = labels.observation(state)
        assert labels.index(key if isinstance(key, str) else repr(key)) == state
        if not isinstance(key, int):
            assert labels.index(str(state)) == state
    for unknown in (unmet, str(unmet)):
        with pytest.raises(ValueError, match=r"training met no state .*99"):
            labels.index(unknown)


def test_a_failing_state_of_is_named():
    with pytest.raises(ValueError, match=r"state_of= failed for the observation .*: ZeroDivisionError"):
        discovered(state_of=lambda state: 1 // 0)


def test_whole_numbers_as_keys_are_keys(tmp_path):
    run = discovered(state_of=lambda state: 1_000 + 50 * state)
    key = run.labels.observation(3)
    assert run.labels.index(key) == 3
    assert run.intention(key).state == 3
    assert through_disk(run, tmp_path / "run").intention(f"state {key}").state == 3


@pytest.mark.parametrize("kind", [str, lambda state: f"room {state}", lambda state: str(state).encode()])
def test_a_key_that_is_no_tuple_is_one_axis(kind, tmp_path):
    run = discovered(state_of=kind)
    again = through_disk(run, tmp_path / "run")
    assert [axis.name for axis in again.labels.axes] == ["state"]
    assert [again.labels.index(run.labels.observation(s)) for s in range(run.labels.n_states)] == list(range(run.labels.n_states))  # fmt: skip
    assert again.labels.index(again.labels.words(5)) == 5


def test_an_observation_finds_its_state_while_the_function_is_there(tmp_path):
    env = gym.wrappers.TransformObservation(TableEnv(), lambda state: np.array([state, 1.0]), spaces.Box(0, 99, (2,)))
    state_of = lambda seen: f"room {int(seen[0])}"  # noqa: E731
    run = discovered(env, state_of=state_of)
    seen = np.array([int(run.labels.observation(4).split()[1]), 1.0])
    assert run.intention(seen).state == 4
    run.save(tmp_path / "run")
    assert wf.load(tmp_path / "run", state_of=state_of).intention(seen).state == 4
    with pytest.raises(
        ValueError, match=r"pass the key of the state, or load the run with whatfor.load\(path, state_of="
    ):
        wf.load(tmp_path / "run").intention(seen)


def test_pictures_and_pages_of_discovered_states(tmp_path):
    run = discovered(state_of=lambda state: (state // 8, state % 8))
    answer = run.intention(0)
    grid = QUESTIONS["intention"].layout(answer)
    assert (len(grid.rows), len(grid.columns)) == (5, 8)
    assert np.isclose(np.sum(grid.numbers), answer.visits.sum())
    assert grid.marked == run.labels.values(0)
    cells = places_of(run.labels, 0)
    assert {cell for row in cells for cell in row} - {-1} == set(range(run.labels.n_states))
    run.report(tmp_path / "page.html", episodes=1, states=[0], enter=lambda env, state, rng: None)


def test_axes_that_would_be_huge_are_never_multiplied_out():
    run = discovered(state_of=lambda state: (state * 10**6, state * 10**7, state * 10**8))
    assert run.labels.is_dense is True
    wide = discovered(state_of=lambda state: tuple(state * 10**i + i for i in range(12)))
    assert wide.labels.is_dense is False
    assert type(QUESTIONS["intention"].layout(wide.intention(0))).__name__ == "Bars"
    assert wide.labels.where(f"x0 {wide.labels.observation(3)[0]}").states.tolist().count(True) == 1


# -- playing -----------------------------------------------------------------------------------


def enter_in(run):
    numbers = {key_of(state): state for state in range(STATES)}
    return lambda env, state, rng: setattr(env.unwrapped, "state", numbers[run.labels.observation(state)])


def test_play_may_meet_states_that_training_did_not():
    run = discovered(episodes=2)
    met = run.labels.n_states
    assert met < STATES
    simulated = run.simulation(0, rollouts=200, enter=enter_in(run))
    assert 0.0 < simulated.unmet < 1.0
    assert "states that training never met" in str(simulated)
    assert simulated.visits.shape == (met, 3)
    assert run.comparison(0, rollouts=50, enter=enter_in(run)).action is not None
    assert run.evaluate(20).mean == run.evaluate(20).mean
    assert run.labels.n_states == met, "what play discovers is not the run's"
    assert_same_learning(wf.train(run, episodes=30), discovered(episodes=32))


def test_runs_with_other_orders_are_compared_by_key():
    one, two = discovered(), discovered(seed=8, episodes=3)
    key = two.labels.observation(0)
    assert two.labels.n_states < one.labels.n_states
    there, back = one.change(key, since=two), two.change(key, since=one)
    assert there.after.value == one.intention(key).value
    assert there.before.value == two.intention(key).value
    assert there.after.value == back.before.value
    for state, was, now in there.flips:
        here = one.labels.observation(state)
        assert two.values[two.labels.index(here)].argmax() == was
        assert one.values[one.labels.index(here)].argmax() == now


# -- errors that lose nothing --------------------------------------------------------------------

STEP = 40


def going_wrong(after):
    """A key that is fine until the 40th step."""
    seen = []

    def state_of(state):
        seen.append(state)
        return after(state) if len(seen) > STEP else (state, "fine")

    return state_of


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (lambda state: [state], r"returned \[\d+\], which is not hashable: return tuple\(it\)"),
        (lambda state: np.array([state]), "which is not hashable: return tuple.it.ravel"),
        (lambda state: (state, {"a": 1}), "which is not hashable: return tuple.sorted"),
        (lambda state: {"row": state}, "which is not hashable: .*it\\[\"row\"\\]"),
        (lambda state: (state + 100, frozenset("a")), "frozenset cannot be saved: return a text"),
        (lambda state: (state, "fine", 3), "All keys of an environment are built alike: fill up with None, or return a text"),
        (lambda state: 5, "must be a tuple of 2, as in the first key"),
        (lambda state: (f"{state}", "fine"), "value 0 of an earlier key was .* return the same kind of value in every state"),
        (lambda state: (2**70, "fine"), r"does not fit into 64 bits: return str\(number\)"),
        (lambda state: (state, float("nan")), "is not a finite number"),
        (lambda state: (state, object()), "cannot be saved: return whole numbers"),
        (lambda state: (state, "\ud800"), "is not valid text"),
        (lambda state: 1 / 0, "ZeroDivisionError"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("learner", ["q", "lambda"])
def test_a_key_that_cannot_be_used_leaves_the_run_so_far(after, message, learner, tmp_path):
    with pytest.raises(wf.TrainingStopped, match=message) as stopped:
        discovered(state_of=going_wrong(after), learner=learner, episodes=500)
    run = stopped.value.run
    assert run.audit.residual == 0.0
    assert len(run.ledger) > 0
    assert_same(through_disk(run, tmp_path / "run"), run)
    assert run.intention(0).residual is not None


def test_more_states_than_the_limit_leave_the_run_so_far(monkeypatch, tmp_path):
    monkeypatch.setenv("WHATFOR_MAX_STATES", "20")
    with pytest.raises(
        wf.TrainingStopped, match=r"needs 21 states, and the limit is 20.*WHATFOR_MAX_STATES=21"
    ) as stopped:
        discovered()
    run = stopped.value.run
    assert run.labels.n_states == 20
    again = through_disk(run, tmp_path / "run")
    monkeypatch.setenv("WHATFOR_MAX_STATES", "100")
    more = wf.train(run, episodes=20)
    assert more.labels.n_states > 20
    assert again.labels == run.labels


def test_a_first_key_that_cannot_be_used_is_reported_as_it_is():
    with pytest.raises(ValueError, match=r"the key .* of a state cannot be used: it is empty"):
        discovered(state_of=lambda state: ())


@pytest.mark.parametrize(
    ("world", "settings", "message"),
    [
        (TableEnv, {"state_of": "row"}, "state_of must be a function"),
        (TableEnv, {"state_of": key_of, "bins": 3}, "state_of is for Gymnasium environments, and replaces bins"),
        (wf.worlds.chain, {"state_of": key_of}, "state_of is for Gymnasium environments"),
        (TableEnv, {"state_of": key_of, "engine": "compiled"}, "its states are discovered during training"),
        (TableEnv, {"state_of": key_of, "episodes": 0}, "pass episodes=1 or more"),
        (
            lambda: gym.make("CartPole-v1"),
            {},
            "or pass state_of=, a function that maps an observation to its state",
        ),
    ],
)
def test_what_cannot_be_discovered_is_refused(world, settings, message):
    with pytest.raises(ValueError, match=message):
        wf.train(world(), **{"episodes": 3, "seed": 0, **settings})


def test_a_learner_of_ones_own_needs_to_grow():
    class Fixed(wf.QLearning):
        def start(self, *args, **more):
            agent = super().start(*args, **more)
            return Proxy(agent)

    class Proxy:
        def __init__(self, agent):
            self.agent = agent

        tables = property(lambda self: self.agent.tables)

        def begin(self, *args):
            return self.agent.begin(*args)

        def observe(self, step):
            return self.agent.observe(step)

    with pytest.raises(ValueError, match=r"Proxy has no method grow\(n_states\)"):
        wf.train(TableEnv(), Fixed(), episodes=3, seed=0, state_of=key_of)


def test_loading_names_the_function_that_is_missing(tmp_path):
    run = discovered()
    run.save(tmp_path / "run")
    again = wf.load(tmp_path / "run")
    for use in (lambda: wf.train(again, episodes=1, env=TableEnv()), lambda: again.evaluate(3, env=TableEnv())):
        with pytest.raises(ValueError, match=r"load it with whatfor.load\(path, state_of=...\)"):
            use()
    listed(episodes=3).save(tmp_path / "other")
    with pytest.raises(ValueError, match="state_of= is for runs that were trained with it"):
        wf.load(tmp_path / "other", state_of=key_of)


# -- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", [True, False])
def test_a_warning_comes_before_memory_runs_out(monkeypatch, record):
    monkeypatch.setattr(memory, "MIN_BYTES", 1)
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    with pytest.warns(UserWarning, match=r"and .* GiB of memory are left: press Ctrl-C") as warned:
        discovered(record=record)
    assert len(warned) == 1


def test_keys_that_never_come_back_are_warned_about(monkeypatch):
    monkeypatch.setattr(discovering, "MANY", 30)
    counts = iter(range(10**6))
    with pytest.warns(UserWarning, match="met a new state, so hardly anything is learned twice: return a coarser key"):
        discovered(state_of=lambda state: next(counts), episodes=5)


# -- spaces ------------------------------------------------------------------------------------

SPACES = (
    spaces.MultiBinary(3),
    spaces.MultiBinary((2, 2)),
    spaces.Dict(door=spaces.Discrete(2), at=spaces.MultiDiscrete([3, 4])),
    spaces.Dict(door=spaces.Discrete(2, start=5), inner=spaces.Dict(a=spaces.MultiBinary(2), b=spaces.Discrete(2))),
    spaces.Tuple([spaces.Discrete(2), spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(1)])]),
    spaces.Box(-1, 2, (2,), np.int64),
    spaces.MultiDiscrete([[2, 3], [2, 2]]),
    spaces.Dict(a=spaces.MultiDiscrete([1000] * 4), b=spaces.Discrete(2)),
)


class Showing(gym.Env):
    """Shows a random observation of a space in every step."""

    action_space = spaces.Discrete(2)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), float(action), bool(self.np_random.random() < 0.1), False, {}


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_countable_space_is_flattened_to_axes(space, tmp_path):
    run = wf.train(Showing(space), episodes=20, seed=0)
    assert run.audit.residual == 0.0
    again = through_disk(run, tmp_path / "run")
    assert again.labels == run.labels
    for labels in (run.labels, again.labels):
        for state in range(0, labels.n_states, 7):
            seen = labels.observation(state)
            assert space.contains(_as(space, seen))
            assert labels.index(seen) == state
            assert labels.index(labels.words(state)) == state
        assert labels.where(lambda seen: True).states.all()


def _as(space, seen):
    """An observation with the number types of its space."""
    if isinstance(space, spaces.Dict):
        return {name: _as(space[name], seen[name]) for name in space}
    if isinstance(space, spaces.Tuple):
        return tuple(_as(part, one) for part, one in zip(space, seen, strict=True))
    return seen if isinstance(space, spaces.Discrete) else np.asarray(seen).astype(space.dtype)


def test_axes_are_named_from_keys():
    names = [[axis.name for axis in wf.train(Showing(space), episodes=1, seed=0).labels.axes] for space in SPACES]
    assert names[0] == ["x0", "x1", "x2"]
    assert names[2] == ["door", "at[0]", "at[1]"]
    assert names[3] == ["door", "inner a[0]", "inner a[1]", "inner b"]
    assert names[4] == ["x0", "x1[0]", "x1[1]"]


def test_a_large_space_is_discovered_and_a_small_one_is_not():
    small, large = (wf.train(Showing(space), episodes=20, seed=0) for space in (SPACES[2], SPACES[7]))
    assert small.labels.n_states == 24
    assert small.labels.discovered == 0
    assert large.labels.discovered == large.labels.n_states < 10**4
    assert large.settings["world"]["discovered"] == "space"


class Lying(Showing):
    def step(self, action):
        seen, *more = super().step(action)
        return (self.lie(seen) if self.np_random.random() < 0.05 else seen), *more


@pytest.mark.parametrize(
    ("space", "lie", "message"),
    [
        (SPACES[2], lambda seen: {**seen, "door": 7}, "7 is out of range: 0 to 1"),
        (SPACES[2], lambda seen: {"door": 1}, "must be a dictionary with 'door', 'at'"),
        (SPACES[2], lambda seen: 3, "must be a dictionary with"),
        (SPACES[4], lambda seen: (1, (0,)), "must be a tuple of 2"),
        (SPACES[0], lambda seen: [1, 0], "not a state of 3 whole numbers: it has 2 numbers"),
        (SPACES[7], lambda seen: {**seen, "b": 2}, "2 is out of range: 0 to 1"),
        (SPACES[7], lambda seen: {**seen, "b": "x"}, "x is not a whole number"),
    ],
)
def test_a_space_that_lies_leaves_the_run_so_far(space, lie, message, tmp_path):
    env = Lying(space)
    env.lie = lie
    with pytest.raises(wf.TrainingStopped, match=message) as stopped:
        wf.train(env, episodes=500, seed=0)
    assert_same(through_disk(stopped.value.run, tmp_path / "run"), stopped.value.run)


# -- states as data ------------------------------------------------------------------------------

SCALARS = st.one_of(st.integers(-50, 50), st.integers(-(2**63), 2**63 - 1))
COLUMN = st.one_of(*(st.lists(one, min_size=6, max_size=6) for one in (
    SCALARS, st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text)),
    st.binary(max_size=5), st.one_of(st.none(), st.integers(0, 3)),
)))  # fmt: skip


@settings(max_examples=25)
@given(columns=st.lists(COLUMN, min_size=1, max_size=4))
def test_any_keys_are_found_and_stored(columns):

    rows = list(dict.fromkeys(zip(*columns, strict=True)))
    states = DiscoveredStates.of([list(column) for column in zip(*rows, strict=True)])
    assert [states.find(row) for row in rows] == list(range(len(rows)))
    structure = Structure("tuple", parts=(Structure(),) * len(columns))
    axes = states.axes([f"x{i}" for i in range(len(columns))])
    labels = Labels(axes, ("go",), observed="nested", structure=structure, states=states)
    bare = Labels.from_json(labels.to_json())
    document, arrays = states_out(states)
    again = states_in(StatesDocument(**document), arrays, bare, None)
    assert again == states
    assert [again.row(state) for state in range(len(rows))] == rows
