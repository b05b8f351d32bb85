"""Runs in other worlds: what does not fit is refused before compiled code runs, and the run does not change."""

import subprocess
import sys
import textwrap

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import whatfor as wf
from whatfor.axes import Ending
from whatfor.labels import Axis
from whatfor.worlds import World, table
from whatfor.worlds.adapter import NoTwin
from whatfor.worlds.gymnasium import twin


class Plain(gym.Env):
    """The size of FrozenLake, without names for its endings."""

    observation_space, action_space = spaces.Discrete(16), spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return int(self.np_random.integers(16)), 0.0, bool(self.np_random.random() < 0.2), False, {}


def in_child(script):
    """The output of a script, run in a child process: a failed check would corrupt memory."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


# -- endings: attack 2 --------------------------------------------------------------------

LAKE = r"'fell into a hole', 'reached the goal'"


@pytest.mark.parametrize("learner", [wf.QLearning(), wf.Sarsa(), wf.DoubleQLearning(), wf.MonteCarlo()])
def test_training_is_not_resumed_in_a_world_with_other_endings(learner, tmp_path):
    """attack 2: the heap was corrupted by endings that the ledger has no names for."""
    run = wf.train(Plain(), learner, episodes=50, seed=0)
    before, lines = run.tables.copy(), len(run.ledger)
    message = f"the run's episodes end with endings that have no names, and those of this environment with {LAKE}: pass one with the same endings"
    with pytest.raises(ValueError, match=message):
        wf.train(run, episodes=3_000, env=gym.make("FrozenLake-v1"))
    run.save(tmp_path / "run")
    for same in (run, wf.load(tmp_path / "run")):
        assert np.array_equal(same.tables, before)
        assert len(same.ledger) == lines
        assert len(wf.train(same, episodes=5, env=Plain()).history) == 55


def test_the_attack_ends_with_an_error_message():
    script = """
        import gymnasium as gym, numpy as np, whatfor as wf
        world = wf.worlds.table(np.zeros((16, 4), int), 0.0, True)
        run = wf.train(world, episodes=50, seed=0)
        try:
            later = wf.train(run, episodes=3000, env=gym.make("FrozenLake-v1"))
            print(later.outcomes(0))
        except ValueError as error:
            print(error)
    """
    assert "and those of this environment with 'fell into a hole'" in in_child(script)


def test_endings_in_another_order_are_other_endings():
    names = (Ending("won", reward=1.0), Ending("lost", reward=0.0))
    worlds = [
        table([[0, 0]], [[1.0, 0.0]], True, labels=wf.Labels(wf.Labels.plain(1, 2).axes, ("a", "b"), endings=order))
        for order in (names, names[::-1])
    ]
    run = wf.train(worlds[0], episodes=20, seed=0)
    with pytest.raises(ValueError, match="end with 'won', 'lost', and those of this environment with 'lost', 'won'"):
        wf.train(run, episodes=5, env=worlds[1])
    assert len(wf.train(run, episodes=5, env=worlds[0]).history) == 25


def test_fewer_endings_are_allowed():
    run = wf.train("FrozenLake-v1", episodes=50, seed=0, engine="python")
    more = wf.train(run, episodes=50, env=Plain())
    assert more.audit.residual <= 1e-12
    assert more.ledger.endings == run.ledger.endings


def test_playing_in_a_world_with_other_endings_uses_its_names():
    run = wf.train(table(np.zeros((16, 4), int), 0.0, True), episodes=50, seed=0)
    lake = gym.make("FrozenLake-v1")
    assert run.episode(14, env=lake).ending in ("fell into a hole", "reached the goal", "timed out")
    assert set(run.simulation(14, env=lake, rollouts=50).chances) <= {
        "fell into a hole",
        "reached the goal",
        "timed out",
    }
    assert run.comparison(14, env=lake, rollouts=50).simulated.rollouts == 50
    assert len(run.evaluate(5, env=lake).returns) == 5


def test_training_is_not_resumed_with_another_ledger():
    run = wf.train("FrozenLake-v1", episodes=50, seed=0)
    whole = run.ledger
    for other in (whole[:10], whole.until(49)):
        run.ledger = other
        with pytest.raises(ValueError, match="the run's ledger was changed after training"):
            wf.train(run, episodes=5)
    run.ledger = whole
    assert len(wf.train(run, episodes=5).history) == 55


# -- labels: attack 3 ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(8, 3), (2, 12), (24, 1), (6, 5), (5, 4)])
def test_labels_of_another_shape_are_refused(shape):
    """attack 3: with as many pairs as the table has, training segfaulted."""
    message = rf"labels= names {shape[0]} states and {shape[1]} actions; the table has 6 states and 4 actions"
    with pytest.raises(ValueError, match=message):
        table(np.full((6, 4), 5), 1.0, False, labels=wf.Labels.plain(*shape))
    entries = [[[(1.0, 5, 1.0, False)]] * 4] * 6
    with pytest.raises(ValueError, match=message):
        table(entries, labels=wf.Labels.plain(*shape))


def test_worlds_are_checked_on_creation():
    world = table(np.full((6, 4), 5), 1.0, False)
    rows = world.arrays.table

    def changed(labels=world.labels, **columns):
        return World(labels, world.arrays._replace(table=rows._replace(**columns)))

    assert changed().labels == world.labels
    for labels, columns, message in (
        (wf.Labels.plain(12, 2), {}, "the labels name 12 states and 2 actions, the table has 6 and 4"),
        (world.labels, {"next_state": rows.next_state + 1}, "next states that do not exist"),
        (world.labels, {"next_state": rows.next_state - 6}, "next states that do not exist"),
        (world.labels, {"next_state": rows.next_state[:-1]}, "columns of the table have different lengths"),
        (world.labels, {"first": rows.first + 1}, "columns of the table have different lengths"),
        (world.labels, {"ending": rows.ending - 4}, "endings that the labels do not name"),
        (world.labels, {"ending": rows.ending - 1}, "endings that the labels do not name"),
        (world.labels, {"ending": rows.ending + 1}, "endings that the labels do not name"),
        (world.labels, {"start": rows.start[:-1]}, "the labels name 6 states"),
        (world.labels, {"guide": rows.guide[:3]}, "guide does not fit its start"),
    ):
        with pytest.raises(ValueError, match=message):
            changed(labels, **columns)


def test_cartpole_is_checked_on_creation():
    world = wf.worlds.cartpole()
    other = wf.worlds.cartpole(bins=(3, 3, 6, 4))
    for labels, arrays in ((other.labels, world.arrays), (world.labels, other.arrays)):
        with pytest.raises(ValueError, match="CartPole's bins are"):
            World(labels, arrays)
    with pytest.raises(ValueError, match="labels for CartPole need four axes"):
        World(wf.Labels.plain(162, 2), world.arrays)


# -- CartPole's bins: attack 21 -----------------------------------------------------------


def test_infinite_and_nan_positions_stay_within_the_bins():
    """attack 21: a force of 1e306 led past an axis's own edges, and to a segfault."""
    script = """
        import gymnasium as gym, whatfor as wf
        env = gym.make("CartPole-v1")
        env.unwrapped.force_mag = 1e306
        bounds = [(-2.4, 2.4), (-2.5, 2.5), (-0.2, 0.2), (-1, 1)]
        runs = [
            wf.train(env, episodes=200, seed=0, bins=(1, 1, 5000, 1), bounds=bounds, engine=engine)
            for engine in ("compiled", "python")
        ]
        print(runs[0].engine, (runs[0].tables == runs[1].tables).all(), runs[0].ledger.lines.cell.max() < 10_000)
    """
    assert in_child(script) == "compiled True True\n"


@pytest.mark.parametrize("bins", [(3, 3, 6, 3), (1, 1, 50, 1), (1, 1, 1, 1), (40, 2, 3, 1)])
def test_bins_are_the_same_as_in_gymnasium_for_every_number(bins):
    from whatfor.worlds.stepping import bin_of

    world = wf.worlds.cartpole(bins=bins)
    generator = np.random.default_rng(0)
    odd = np.array([-np.inf, np.inf, np.nan, 1e306, -1e306, 0.0, -0.0, 2.4, -2.4, 1e-300])
    bodies = np.concatenate([generator.choice(odd, size=(200, 4)), generator.normal(scale=2, size=(200, 4))])
    with np.errstate(over="ignore"):
        expected = world.labels.indices(bodies.astype(np.float32))
    found = [bin_of(world.arrays.cart, body) for body in bodies]
    assert found == expected.tolist()


def test_multidiscrete_bins_have_no_twin():
    """The compiled twin read edges that such labels do not have, and put every observation into the first bins."""
    bounds = spaces.Box(-3.0, 3.0, (4,))
    env = gym.wrappers.TransformObservation(gym.make("CartPole-v1"), lambda seen: np.clip(seen, -3, 3), bounds)
    several = gym.wrappers.DiscretizeObservation(env, 3, multidiscrete=True)
    assert wf.train(several, episodes=20, seed=0).engine == "python"
    inner = gym.make("CartPole-v1")
    inner.observation_space = bounds
    with pytest.raises(NoTwin, match="observed as several numbers"):
        twin(gym.wrappers.DiscretizeObservation(inner, 3, multidiscrete=True))


# -- limits: attack 13, 14 ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("bins", "bounds"),
    [
        (1, [(1, 1.0000001), (0, 1)]),
        ((3, 3), [(1, 1.0000005), (0, 1)]),
        ((5_000_000, 1), [(-1.2, 0.6), (-0.07, 0.07)]),
        ((1, 100), [(-1, 1), (1e6, 1e6 + 1)]),
    ],
)
def test_bins_narrower_than_float32_are_refused(bins, bounds):
    """attack 14: drawing an observation from such a bin never ended."""
    with pytest.raises(ValueError, match=r"the bins of observation\[\d\] are too narrow.*fewer bins or wider bounds"):
        wf.train("MountainCar-v0", episodes=1, seed=0, bins=bins, bounds=bounds)


def test_drawing_observations_gives_up():
    from whatfor.axes import Axis
    from whatfor.labels import Labels
    from whatfor.worlds.entering import observations_in

    labels = Labels((Axis("x", 2, edges=(1.0, 1.00000001, 1.00000002)),), ("go",), observed="bins")
    with pytest.raises(ValueError, match="no observation was found in 'x 1'"):
        observations_in(labels, 1, 3, np.random.default_rng(0))


@pytest.mark.parametrize("bins", [(3, 3, 6, 300_000_000), [10**6] * 4, 10**9])
def test_too_many_bins_are_refused_before_they_are_created(bins):
    no_more = (
        "states, and the limit is 10,000,000. To allow it, set WHATFOR_MAX_STATES=|states, more than any table holds"
    )
    with pytest.raises(ValueError, match=no_more):
        wf.worlds.cartpole(bins=bins if isinstance(bins, (tuple, list)) else [bins] * 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: wf.Labels.plain(3_000, 2),
        lambda: wf.Labels((Axis("x", 50), Axis("y", 60)), ("go",)),
        lambda: table([[0]] * 3_000, [[1.0]] * 3_000),
    ],
)
def test_more_states_than_the_limit_are_refused_everywhere(make, monkeypatch):
    make()
    monkeypatch.setenv("WHATFOR_MAX_STATES", "2000")
    with pytest.raises(ValueError, match=r"3,000 states, and the limit is 2,000"):
        make()


def test_too_many_axes_are_refused():
    labels = wf.Labels(tuple(Axis(f"x{i:02}", 1) for i in range(63)), ("go",))
    assert labels.where("x62 0").states.tolist() == [True]
    assert labels.index(labels.words(0)) == labels.index([0] * 63) == 0
    with pytest.raises(ValueError, match="there are 64 axes; the limit is 63"):
        wf.Labels(tuple(Axis(f"x{i}", 1) for i in range(64)), ("go",))


@pytest.mark.parametrize("bins", [2.5, "3", [3, 2.5], True, [3, None], None])
def test_bins_are_whole_numbers(bins):
    with pytest.raises(ValueError, match=r"bins is .*; it must be a whole number|observations are continuous"):
        wf.train("MountainCar-v0", episodes=1, seed=0, bins=bins)


@pytest.mark.parametrize("bounds", [[("a", "b"), (0, 1)], [(0, 1), (0,)], [0, 1], "ab", [(None, 1), (0, 1)], 3])
def test_bounds_are_pairs_of_numbers(bounds):
    with pytest.raises(ValueError, match=r"bounds must be a \(low, high\) pair for each dimension"):
        wf.train("MountainCar-v0", episodes=1, seed=0, bins=3, bounds=bounds)


def test_simulations_stop_at_stated_limits(monkeypatch):
    run = wf.train(table([[0]], [[1.0]], max_steps=200), wf.QLearning(discount=0.9), episodes=3, seed=0)
    with pytest.raises(ValueError, match="WHATFOR_MAX_ROLLOUTS=10000000"):
        run.simulation(0, rollouts=10_000_000)
    monkeypatch.setenv("WHATFOR_MAX_STEPS", "20000")
    assert run.simulation(0, rollouts=100).length == 200
    with pytest.raises(
        ValueError, match=r"needs more than 20,000 steps, which is the limit.*set WHATFOR_MAX_STEPS=200000$"
    ):
        run.simulation(0, rollouts=101)
    stepped = wf.train("CartPole-v1", episodes=3, seed=0, bins=3, bounds=[(-3, 3)] * 4, engine="python")
    monkeypatch.setenv("WHATFOR_MAX_STEPS", "2000")
    with pytest.raises(ValueError, match=r"needs more than 2,000 steps"):
        stepped.simulation(40, rollouts=500, enter=lambda env, state, generator: None)


def test_rollouts_of_a_network_stop_at_the_same_limit(monkeypatch):
    from whatfor.worlds.play import play

    class Zeros:
        """Always takes action 0."""

        search = None

        def begin(self, env):
            return env.reset(seed=0)[0], None

        def states(self, observations):
            return [0] * len(observations)

        actions = states

        def step(self, env, action):
            observation, reward, terminated, truncated, _ = env.step(action)
            return observation, reward, -3 if terminated else 0, truncated

    monkeypatch.setenv("WHATFOR_MAX_STEPS", "100")
    steps = list(play(Zeros(), [Plain()], rollouts=2, max_steps=50))
    assert {one.rollout for one in steps} == {0, 1}
    with pytest.raises(ValueError, match=r"needs more than 100 steps"):
        list(play(Zeros(), [Plain()], rollouts=200, max_steps=50))


def test_a_horizon_has_a_limit():
    run = wf.train("FrozenLake-v1", episodes=3, seed=0)
    with pytest.raises(ValueError, match=r"a horizon of 1,000,000,000 steps .*WHATFOR_MAX_BYTES="):
        run.timeline(0, horizon=10**9)


def test_reserved_space_is_halved_if_memory_is_short():
    """attack 13: space for 2^27 updates was reserved, even if memory was short."""
    script = """
        import resource
        import whatfor as wf
        settings = {"seed": 0, "engine": "compiled", "progress": False}
        wf.train("FrozenLake-v1", wf.QLearning(exploration=1.0), episodes=10, **settings)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (120 << 20),) * 2)
        run = wf.train("FrozenLake-v1", wf.QLearning(exploration=1.0), episodes=300_000, **settings)
        print(run.stopped, len(run.history), run.ledger.n_episodes)
    """
    assert in_child(script) == "None 300000 300000\n"


def test_a_column_that_starts_to_vary_releases_reserved_space(monkeypatch):
    from whatfor.ledger import store

    columns = store.Store()
    columns.expect("lambda_", 0.0)
    columns.reserve(10, expected=10_000)
    columns.append(0, 0, 1.0, 0.5, 0.9, 0.0, None)
    real = np.empty

    def short(shape, *args, **options):
        if np.prod(shape) > 100:
            raise MemoryError
        return real(shape, *args, **options)

    monkeypatch.setattr(store.np, "empty", short)
    columns.append(0, 0, 1.0, 0.5, 0.9, 1.0, None)
    assert columns.lines(2).lambda_.tolist() == [0.0, 1.0]
    columns.reserve(90, expected=10_000)
    assert 92 <= columns.capacity <= 100
    with pytest.raises(MemoryError):
        columns.reserve(200)
    assert columns.lines(2).reward.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("fickle", "phrase"), [(False, "deliver at R"), (True, "deliver the passenger")])
def test_a_destination_that_may_change_is_not_named_as_where_it_delivers(fickle, phrase):
    labels = wf.train(gym.make("Taxi-v4", fickle_passenger=fickle), wf.QLearning(), episodes=1, seed=0).labels
    state = labels.index("taxi at row 0, column 3; passenger at Y; destination R")
    assert labels.ending_phrase("delivered", state) == phrase
