"""Bad input: each gets a clear error, and nothing is lost."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import textwrap
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import whatfor as wf
from whatfor.question import layout_of
from whatfor.training import watch

STEP = {"step_size": 0.5, "discount": 0.9}
LEARNERS = {
    "q": wf.QLearning(**STEP),
    "sarsa": wf.Sarsa(**STEP),
    "double q": wf.DoubleQLearning(**STEP, draw="step"),
    "monte carlo": wf.MonteCarlo(**STEP),
    "lambda": wf.LambdaReturns(**STEP),
}
CASES = [(name, None) for name in LEARNERS] + [("q", wf.Replay()), ("double q", wf.Replay(capacity=20, batch=2))]


class Moody(gym.Env):
    """Three states; in its 40th step it does something bad."""

    def __init__(self, mood=None, observations=None, actions=None):
        self.observation_space = observations or spaces.Discrete(3)
        self.action_space = actions or spaces.Discrete(2)
        self.mood, self.steps = mood, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        self.steps += 1
        seen, reward = int(self.np_random.integers(3)), float(self.np_random.normal())
        ended = bool(self.np_random.random() < 0.15)
        if self.steps == 40 and self.mood is not None:
            seen, reward = self.mood(seen, reward)
        return seen, reward, ended, False, {}


def fails(seen, reward):
    raise OSError("the robot's cable came out")


def interrupts(seen, reward):
    os.kill(os.getpid(), signal.SIGINT)
    return seen, reward


MOODS = {
    "nan": (lambda seen, reward: (seen, math.nan), "the environment returned the reward nan"),
    "inf": (lambda seen, reward: (seen, -math.inf), "the environment returned the reward -inf"),
    "beyond": (lambda seen, reward: (3, reward), "returned state 3, which is out of range: 0 to 2"),
    "below": (lambda seen, reward: (-1, reward), "returned state -1, which is out of range: 0 to 2"),
    "error": (fails, "OSError: the robot's cable came out"),
}


def assert_usable(run, tmp_path):
    """The run adds up, can be loaded, and resumes identically from memory and from disk."""
    assert np.isfinite(run.tables).all()
    assert run.audit.residual <= 1e-12
    run.save(tmp_path / "run")
    again = wf.load(tmp_path / "run")
    assert np.array_equal(again.tables, run.tables)
    assert again.stopped == run.stopped
    more = wf.train(run, episodes=30)
    assert len(more.history) == len(run.history) + 30
    assert more.stopped is None
    assert more.audit.residual <= 1e-12
    later = (
        wf.train(again, env=Moody(), episodes=30)
        if run.settings["world"]["kind"] == "object"
        else wf.train(again, episodes=30)
    )
    assert np.array_equal(later.tables, more.tables)
    assert np.array_equal(later.ledger.episode_starts, more.ledger.episode_starts)


@pytest.mark.parametrize(("learner", "replay"), CASES)
@pytest.mark.parametrize("mood", MOODS)
def test_an_environment_that_fails_leaves_the_run_so_far(mood, learner, replay, tmp_path):
    bad, message = MOODS[mood]
    calm = wf.train(Moody(), LEARNERS[learner], episodes=100, seed=3, replay=replay)
    with pytest.raises(wf.TrainingStopped, match=message) as stopped:
        wf.train(Moody(bad), LEARNERS[learner], episodes=100, seed=3, replay=replay)
    run = stopped.value.run
    assert message in run.stopped
    if run.ledger.order == "backwards":  # an unfinished episode has no updates
        assert run.history.lengths.sum() == len(run.ledger) < 39
    else:
        assert run.history.lengths.sum() == 39, "every step until then"
    assert run.ledger.n_episodes == len(run.history)
    whole = len(run.history) - 1
    assert np.array_equal(run.history.returns[:whole], calm.history.returns[:whole])
    assert 0 < len(run.ledger) <= 39 * (replay.batch if replay else 1)
    assert np.array_equal(run.ledger.lines.cell, calm.ledger.lines.cell[: len(run.ledger)])
    assert_usable(run, tmp_path)


@pytest.mark.parametrize(("result", "said"), [((0, 0.0, False, {}), "4"), (None, "NoneType")])
def test_a_step_must_return_5_values(result, said):
    class Old(Moody):
        def step(self, action):
            return result

    with pytest.raises(wf.TrainingStopped, match=rf"must return 5 values \(observation, .*\), not {said}"):
        wf.train(Old(), episodes=2, seed=0)


def test_an_environment_that_fails_at_once_leaves_an_empty_run(tmp_path):
    class Broken(Moody):
        def reset(self, *, seed=None, options=None):
            raise RuntimeError("no power")

    with pytest.raises(wf.TrainingStopped, match="stopped in episode 1 of 10: RuntimeError: no power") as stopped:
        wf.train(Broken(), episodes=10, seed=0)
    assert (len(stopped.value.run.history), len(stopped.value.run.ledger)) == (0, 0)
    stopped.value.run.save(tmp_path / "run")
    assert len(wf.load(tmp_path / "run").ledger) == 0


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_a_listener_that_fails_leaves_the_run_so_far(engine, tmp_path):
    def listener(ledger, first):
        raise RuntimeError("the listener broke")

    with pytest.raises(wf.TrainingStopped, match="the listener broke") as stopped:
        wf.train("FrozenLake-v1", episodes=100, seed=0, engine=engine, listeners=[listener])
    assert len(stopped.value.run.ledger) > 0
    assert_usable(stopped.value.run, tmp_path)


# -- Ctrl-C ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("learner", "replay"), CASES)
def test_ctrl_c_in_the_middle_of_an_episode_returns_the_run_so_far(learner, replay, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(UserWarning, match="interrupted in episode .* of 100; the run so far is returned"):
        run = wf.train(Moody(interrupts), LEARNERS[learner], episodes=100, seed=3, replay=replay)
    assert run.stopped.startswith("interrupted")
    if run.ledger.order != "backwards":
        assert run.history.lengths.sum() == 40, "the step under way is finished"
    assert run.ledger.n_episodes == len(run.history)
    assert signal.getsignal(signal.SIGINT) is before
    assert_usable(run, tmp_path)


@pytest.mark.parametrize(("learner", "replay"), CASES)
def test_ctrl_c_stops_the_compiled_engine(learner, replay, tmp_path):
    """A signal during compiled code is handled when it returns."""
    looks = []

    def listener(ledger, first):
        looks.append(len(ledger))
        if len(looks) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(UserWarning, match="interrupted"):
        run = wf.train(
            "Taxi-v4", LEARNERS[learner], episodes=20_000, seed=3, replay=replay, listeners=[listener], max_steps=30
        )
    assert run.engine == "compiled"
    assert 0 < len(run.history) < 20_000
    assert run.history.lengths[:-1].max() <= 30
    assert_usable(run, tmp_path)


def test_a_second_ctrl_c_raises_at_once():
    with watch.Watch(1, lambda: 0) as look:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(watch.Interrupted):
            look()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("begun", "returned"),
    [(0, "int"), ((0, {}, 0), "3"), (np.zeros(2), "ndarray"), ((0, 1), "tuple")],
)
def test_a_reset_that_does_not_return_observation_and_info(monkeypatch, begun, returned):
    monkeypatch.setattr(Moody, "reset", lambda self, *, seed=None, options=None: begun)
    with pytest.raises(
        wf.TrainingStopped, match=rf"reset\(\) .*must return 2 values \(observation, info\), not {returned}\."
    ):
        wf.train(Moody(), episodes=1, seed=0)


# -- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [wf.QLearning, wf.Sarsa, wf.DoubleQLearning, wf.MonteCarlo, wf.LambdaReturns])
@pytest.mark.parametrize("number", [-0.1, 1.1, math.nan, math.inf])
@pytest.mark.parametrize("name", ["step_size", "discount"])
def test_step_size_and_discount_lie_between_0_and_1(learner, name, number):
    with pytest.raises(ValueError, match=rf"{name} is {number}; it must lie in \[0, 1\]"):
        learner(**{name: number})


@pytest.mark.parametrize(
    ("learner", "parameters", "message"),
    [
        (wf.LambdaReturns, {"lambda_": 1.5}, r"lambda_ is 1.5; it must lie in \[0, 1\]"),
        (wf.QLearning, {"exploration": 1.5}, r"exploration is 1.5; it is a probability and must lie in \[0, 1\]"),
        (wf.Sarsa, {"initial": math.nan}, "initial is nan; it must be a finite number"),
        (wf.QLearning, {"step_size": wf.visit_count(2.0)}, r"power=2.0.*\(0, 1\]"),
        (
            wf.QLearning,
            {"step_size": wf.linear(1, 0, episodes=9)},
            r"a number in \[0, 1\] or visit_count\(\), not Linear",
        ),
        (wf.MonteCarlo, {"step_size": "visit-count"}, "step_size must be a number .* not 'visit-count'"),
        (wf.DoubleQLearning, {"draw": "day"}, "draw is 'episode' or 'step', not 'day'"),
    ],
)
def test_a_learner_checks_its_parameters_when_it_is_made(learner, parameters, message):
    with pytest.raises(ValueError, match=message):
        learner(**parameters)


@pytest.mark.parametrize(
    ("learner", "settings", "message"),
    [
        (
            wf.QLearning(exploration=wf.linear(1, -1, episodes=10)),
            {"episodes": 20},
            r"exploration is -0\.\d+ in episode 6",
        ),
        (wf.Sarsa(), {"replay": wf.Replay()}, "Sarsa is on-policy and does not support experience replay"),
        (wf.QLearning(), {"replay": wf.Replay(keep="first")}, "needs a capacity"),
        (wf.QLearning(), {"replay": wf.Replay(capacity=0)}, "capacity is 0"),
        (wf.QLearning(), {"replay": wf.Replay(capacity=5, warmup=6)}, "never learn"),
        (wf.QLearning(), {"episodes": -1}, "episodes is -1"),
        (wf.QLearning(), {"max_steps": 0}, "max_steps is 0; an episode has at least one step"),
        (wf.QLearning(), {"engine": "fast"}, "engine is 'auto', 'python' or 'compiled', not 'fast'"),
        (wf.QLearning(), {"time_limit": "never"}, "time_limit is 'bootstrap' or 'terminal', not 'never'"),
        (wf.QLearning(), {"bins": 3}, r"bins= is for continuous .*: leave it out"),
        (wf.QLearning(), {"bounds": [(0, 1)]}, "bounds needs bins"),
        (wf.QLearning, {}, r"QLearning is a class, not a learner: pass QLearning\(\.\.\.\)"),
        ("q-learning", {}, "is not a learner: pass e.g."),
    ],
)
def test_invalid_settings_are_refused(learner, settings, message):
    with pytest.raises(ValueError, match=message):
        wf.train("FrozenLake-v1", learner, **{"episodes": 10, "seed": 0, **settings})


@pytest.mark.parametrize(
    ("world", "settings", "message"),
    [
        (
            lambda: "CartPole-v1",
            {},
            r"observations are continuous .*bins=10, and bounds=.*: dimensions 1 and 3 .* are unbounded; or pass state_of=",
        ),
        (lambda: "MountainCar-v0", {}, r"observations are continuous .*bins=10; or pass state_of="),
        (
            lambda: "CartPole-v1",
            {"bins": (4, 4)},
            "bins has length 2, but observations have 4 dimensions: pass 4 numbers, or one for all",
        ),
        (lambda: "CartPole-v1", {"bins": 3}, r"dimensions 1 and 3 \(counted from 0\) are unbounded: pass bounds="),
        (lambda: "MountainCar-v0", {"bins": (3, 3, 3)}, "bins has length 3, but observations have 2 dimensions"),
        (lambda: "MountainCar-v0", {"bins": 0}, "bins"),
        (lambda: "MountainCar-v0", {"bins": (3, -1)}, "bins"),
        (
            lambda: "MountainCar-v0",
            {"bins": 3, "bounds": [(0, 1)]},
            r"bounds has length 1, but observations have 2 dimensions: pass 2 \(low, high\) pairs",
        ),
        (lambda: "MountainCar-v0", {"bins": 3, "bounds": [(1, 0), (0, 1)]}, "low must be less than high"),
        (
            lambda: Moody(observations=spaces.Dict(a=spaces.Text(3))),
            {},
            "observations must be Discrete, MultiDiscrete.*pass state_of=",
        ),
        (lambda: Moody(observations=spaces.Box(0, 255, (7, 7, 3), np.uint8)), {}, "147 whole numbers.*pass state_of="),
        (lambda: Moody(observations=spaces.Text(3)), {}, "observations must be Discrete, MultiDiscrete"),
        (
            lambda: Moody(actions=spaces.Box(-1, 1)),
            {},
            "actions must be Discrete.*in a gymnasium.ActionWrapper, whose action_space is Discrete",
        ),
        (lambda: Moody(actions=spaces.MultiDiscrete([2, 2])), {}, "actions must be Discrete"),
        (
            lambda: Moody(actions=spaces.Discrete(2, start=1)),
            {},
            r"actions must start at 0, and here they start at 1: pass gymnasium.wrappers.TransformAction\(env, lambda action: action \+ 1, gymnasium.spaces.Discrete\(2\)\)",
        ),
        (
            lambda: Moody(observations=spaces.Discrete(20_000_000)),
            {},
            "this environment needs 20,000,000 states.*or pass state_of=lambda state: state, to number only those",
        ),
        (
            type("Bare", (gym.Env,), {}),
            {},
            "Bare has no observation_space: set it in its class, or in __init__",
        ),
        (lambda: Moody, {}, r"train\(\) takes an environment, and Moody is a class: pass Moody\(\)"),
        (lambda: gym.make_vec("Taxi-v4", num_envs=2), {}, "vector environment.*gymnasium.make"),
        (object, {}, "train.. takes an environment's id, a gymnasium.Env"),
        (wf.worlds.chain, {"bins": 3}, "a whatfor world has discrete states already"),
    ],
)
def test_unsupported_environments_are_refused(world, settings, message):
    with pytest.raises(ValueError, match=message):
        wf.train(world(), episodes=1, seed=0, **settings)


def test_bins_may_be_a_numpy_number():
    runs = [wf.train("MountainCar-v0", bins=bins, episodes=2, seed=0) for bins in (3, np.int64(3), np.array([3, 3]))]
    assert np.array_equal(runs[0].tables, runs[1].tables)
    assert np.array_equal(runs[0].tables, runs[2].tables)


# -- the ledger ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"state": 3}, "state 3 is out of range: this ledger has states 0 to 2"),
        ({"state": -1}, "state -1 is out of range"),
        ({"action": 2}, "action 2 is out of range: this ledger has actions 0 to 1"),
        ({"action": -1}, "action -1 is out of range"),
        ({"next_state": 3}, "next_state 3 is out of range"),
        ({"next_action": 2}, "next_action 2 is out of range"),
        ({"next_action": None}, "next_action is missing"),
        ({"table": 1}, "table 1 is out of range: this ledger has 1; pass n_tables="),
        ({"state": 0.5}, "0.5|integer"),
        ({"reward": math.nan}, "the reward is nan.*Nothing was recorded"),
        ({"reward": math.inf}, "the reward is inf.*Nothing was recorded"),
        ({"step_size": 1.5}, r"step_size is 1.5; it must lie in \[0, 1\]"),
        ({"step_size": -0.1}, r"step_size is -0.1; it must lie in \[0, 1\]"),
        ({"step_size": math.nan}, r"step_size is nan; it must lie in \[0, 1\]"),
        ({"discount": 1.01}, r"discount is 1.01; it must lie in \[0, 1\]"),
        ({"lambda_": 2.0}, r"lambda_ is 2.0; it must lie in \[0, 1\]"),
        ({"ending": "won"}, "next_state=None.*record it like any other step"),
        ({"origin": 3}, "order='replayed'"),
        ({"next_state": None, "ending": "won", "origin": 3}, "order='replayed'"),
    ],
)
def test_an_invalid_update_is_refused_and_does_not_change_the_ledger(update, message):
    ledger = wf.Ledger(n_states=3, n_actions=2)
    ledger.record(0, 1, 1.0, 2, 0, **STEP)
    before = ledger.values()
    line = {"state": 1, "action": 0, "reward": 0.5, "next_state": 2, "next_action": 1, **STEP, **update}
    with pytest.raises((ValueError, TypeError), match=message):
        ledger.record(**line)
    assert len(ledger) == 1
    assert np.array_equal(ledger.values(), before)
    assert ledger.endings == wf.Ledger(n_states=3, n_actions=2).endings


def test_a_step_size_of_0_is_a_target_only():
    ledger = wf.Ledger(n_states=1, n_actions=1)
    ledger.record(0, 0, 5.0, None, step_size=0.0, discount=1.0)
    assert ledger.values().tolist() == [[[0.0]]]
    run = wf.train(wf.worlds.chain(), wf.QLearning(step_size=0.0), episodes=5, seed=0)
    assert not run.values.any()
    assert len(run.ledger) == 10


# -- time limits -----------------------------------------------------------------------------

LOOP = wf.worlds.table([[0]], [[1.0]], max_steps=5)


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_a_truncation_without_a_discount_warns_once_and_names_the_fix(engine, tmp_path):
    with pytest.warns(UserWarning, match="time_limit='terminal'.*discount below 1") as warned:
        run = wf.train(LOOP, wf.QLearning(discount=1.0), episodes=20, seed=0, engine=engine)
    assert len(warned) == 1
    run.save(tmp_path / "run")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wf.train(run, episodes=5)
        wf.train(wf.load(tmp_path / "run"), episodes=5)
        wf.train(LOOP, wf.QLearning(discount=1.0), episodes=5, seed=0, engine=engine, time_limit="terminal")
        wf.train(LOOP, wf.QLearning(discount=0.99), episodes=5, seed=0, engine=engine)
        wf.train(wf.worlds.chain(), wf.QLearning(discount=1.0), episodes=5, seed=0, engine=engine)


class Cut(gym.Env):
    """Cuts its episodes itself, after some steps, without a wrapper; None: never."""

    observation_space, action_space = gym.spaces.Discrete(1), gym.spaces.Discrete(1)

    def __init__(self, after):
        self.after = after

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return 0, {}

    def step(self, action):
        self.steps += 1
        return 0, 1.0, False, self.steps == self.after, {}


def test_the_default_limit_is_named_only_where_it_cut_an_episode():
    wf.train(Cut(5), wf.QLearning(discount=0.5), episodes=3, seed=0)  # warnings are errors
    with pytest.warns(UserWarning, match="2 of 2 episodes were cut at max_steps=10,000"):
        wf.train(Cut(None), wf.QLearning(discount=0.5), episodes=2, seed=0)


def test_a_time_limit_is_terminal_only_on_request():
    """Two episodes of 5 steps at step size 1: if terminal, the value is one reward, else it grows with every step."""
    settings = {"episodes": 2, "seed": 0}
    learner = wf.QLearning(step_size=1.0, discount=0.5)
    ended = wf.train(LOOP, learner, time_limit="terminal", **settings)
    went_on = wf.train(LOOP, learner, time_limit="bootstrap", **settings)
    assert ended.values.tolist() == [[1.0]]
    assert went_on.values.tolist() == [[sum(0.5**n for n in range(10))]]
    assert ended.ledger.timed_out.sum() == 2
    assert not went_on.ledger.ended.any()


# -- resuming with other settings ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", 1),
        ("bins", 3),
        ("bounds", [(0, 1)]),
        ("max_steps", 5),
        ("replay", wf.Replay()),
        ("time_limit", "nonsense"),
        ("time_limit", "bootstrap"),
        ("engine", "python"),
        ("record", True),
    ],
)
def test_settings_of_a_run_cannot_be_changed_on_resuming(name, value):
    run = wf.train("FrozenLake-v1", episodes=2, seed=0, record=False)
    with pytest.raises(ValueError, match=f"{name}= was set when this run was started"):
        wf.train(run, episodes=2, **{name: value})


class Custom:
    """A learner that is not built in; it learns nothing."""

    exploration, discount, n_tables, order, supports_replay = 0.1, 0.9, 1, "forwards", False

    def start(self, n_states, n_actions, *, ledger, generator):
        inner = wf.QLearning(step_size=0.0).start(n_states, n_actions, ledger=ledger, generator=generator)

        class Agent:
            tables = inner.tables

            def __getattr__(self, name):
                return getattr(inner, name)

        return Agent()


def test_a_run_that_cannot_be_resumed_says_why():
    run = wf.train("FrozenLake-v1", episodes=20, seed=0)
    with pytest.raises(ValueError, match=r"it is an earlier time of another run \(as_of\); resume that run"):
        wf.train(run.as_of(10), episodes=3)
    with pytest.raises(ValueError, match="'q' is not a learner: pass"):
        wf.train(run, "q", episodes=3)
    with pytest.raises(ValueError, match="Custom is not one of the built-in learners; train a new run"):
        wf.train(wf.train("FrozenLake-v1", Custom(), episodes=2, seed=0), episodes=3)
    with pytest.raises(ValueError, match="it was built from a custom training loop; continue that loop"):
        wf.train(wf.Run(labels=run.labels, values=run.values, ledger=run.ledger), episodes=3)


@pytest.mark.parametrize("record", [True, False])
def test_a_run_of_two_discounts_is_not_played_with_one(record, tmp_path):
    run = wf.train("FrozenLake-v1", wf.QLearning(discount=0.95), episodes=20, seed=0, record=record)
    more = wf.train(run, wf.Sarsa(discount=0.5), episodes=20)
    more.save(tmp_path / "run")
    for resumed in (more, wf.load(tmp_path / "run")):
        assert repr(resumed).startswith("Run(QLearning, then Sarsa, 40 episodes")
        assert [one["until"] for one in resumed.settings["earlier_learners"]] == [20]
        with pytest.raises(ValueError, match=r"several discounts \(0.5, 0.95\)"):
            resumed.simulation(0, rollouts=5)
    assert run.simulation(0, rollouts=5).discount == 0.95
    if record:
        assert more.as_of(20).simulation(0, rollouts=5).discount == 0.95
    again = wf.train(more, episodes=5)
    assert again.settings["learner"]["name"] == "Sarsa"


def test_exploration_may_change_on_resuming(tmp_path):
    run = wf.train("Taxi-v4", wf.QLearning(exploration=1.0), episodes=10, seed=0)
    learner = wf.QLearning(exploration=0.0)
    more = wf.train(run, learner, episodes=10)
    assert more.audit.residual <= 1e-12
    more.save(tmp_path / "run")
    last = wf.train(wf.load(tmp_path / "run"), episodes=10)
    assert np.array_equal(last.tables, wf.train(more, learner, episodes=10).tables)


def test_another_learner_or_world_is_refused_or_adds_up():
    """In a child process: a failed check would corrupt memory."""
    script = textwrap.dedent(
        """
        import json, os
        import gymnasium as gym
        import whatfor as wf

        def outcome(work):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                run = None
                try:
                    run = work()
                except BaseException as error:
                    result = f"{type(error).__name__}: {error}"
                if run is not None:
                    result = f"resumed, off by {wf.Audit(run.ledger, values=run.tables).residual}"
                os.write(writing, result.encode())
                os._exit(0)
            os.close(writing)
            _, status = os.waitpid(child, 0)
            with os.fdopen(reading) as pipe:
                return os.waitstatus_to_exitcode(status), pipe.read()

        run = wf.train("Taxi-v4", wf.QLearning(step_size=0.3), episodes=30, seed=0)
        stepped = wf.train("Taxi-v4", wf.QLearning(step_size=0.3), episodes=30, seed=0, engine="python")
        counted = wf.train("Taxi-v4", wf.QLearning(step_size=wf.visit_count()), episodes=30, seed=0)
        buffered = wf.train("Taxi-v4", wf.QLearning(step_size=0.3), episodes=30, seed=0, replay=wf.Replay())
        cases = {
            "double q": (run, wf.DoubleQLearning(step_size=0.3), None),
            "counted": (run, wf.QLearning(step_size=wf.visit_count()), None),
            "not counted": (counted, wf.QLearning(step_size=0.3), None),
            "step size": (run, wf.QLearning(step_size=0.1), None),
            "discount": (run, wf.QLearning(step_size=0.3, discount=0.5), None),
            "sarsa": (run, wf.Sarsa(step_size=0.3), None),
            "monte carlo": (run, wf.MonteCarlo(step_size=0.3), None),
            "sarsa with replay": (buffered, wf.Sarsa(step_size=0.3), None),
            "smaller world": (run, None, gym.make("FrozenLake-v1")),
            "larger world": (wf.train("FrozenLake-v1", episodes=30, seed=0), None, gym.make("Taxi-v4")),
            "larger world, stepped": (
                wf.train("FrozenLake-v1", episodes=30, seed=0, engine="python"), None, gym.make("Taxi-v4")
            ),
            "smaller world, stepped": (stepped, None, gym.make("FrozenLake-v1")),
            "as many pairs": (
                wf.train("FrozenLake-v1", episodes=30, seed=0), None, wf.worlds.table([[0, 0]] * 32, 1.0, True)
            ),
        }
        results = {
            name: outcome(lambda: wf.train(before, learner, env=env, episodes=300))
            for name, (before, learner, env) in cases.items()
        }
        print(json.dumps(results))
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    refused = {name for name, (_, result) in results.items() if result.startswith("ValueError")}
    adds_up = {
        name
        for name, (_, result) in results.items()
        if result.startswith("resumed") and float(result.split()[-1]) < 1e-9
    }
    assert refused | adds_up == set(results), results
    assert refused >= {"double q", "counted", "monte carlo", "sarsa with replay", "as many pairs"}
    assert refused >= {name for name in results if "world" in name}
    assert "and this learner in this environment has 6,000: resume it with" in results["double q"][1]
    assert "it has 1 table and is recorded forwards, and this learner has 1 table" in results["monte carlo"][1]
    assert "16 states and 4 actions: pass the environment of the run as env=" in results["smaller world"][1]


def test_questions_with_unknown_names_list_the_choices():
    run = wf.train("Taxi-v4", episodes=2, seed=0)
    with pytest.raises(ValueError, match="state 500 is out of range: there are states 0 to 499"):
        run.intention(500)
    with pytest.raises(ValueError, match="no action 'fly'; the actions are south, north"):
        run.intention(0, "fly")
    with pytest.raises(ValueError, match="episodes is 0; it must be a whole number of at least 1"):
        run.evaluate(0)
    for since in (1.5, True):
        with pytest.raises(ValueError, match=f"since is {since!r}; it must be a whole number"):
            run.change(0, since=since)
    with pytest.raises(ValueError, match=r"parts must be a dictionary of names and functions .*not \[1\]"):
        run.parts(0, parts=[1])
    for play in (run.simulation, run.comparison, run.episode):
        with pytest.raises(ValueError, match=r"enter must be a function .*, not 3"):
            play(0, enter=3)
    for rollouts in (0, 1):
        for play in (run.simulation, run.comparison):
            with pytest.raises(ValueError, match=f"rollouts is {rollouts}; it must be a whole number of at least 2"):
                play(0, rollouts=rollouts)
    unrecorded = wf.train("Taxi-v4", episodes=2, seed=0, record=False)
    with pytest.raises(ValueError, match=r"needs the ledger.*record=True"):
        unrecorded.provenance(0)
    with pytest.raises(ValueError, match=r"'\(0, 0, 0\)' has 3 numbers; a state has 4"):
        run.intention("(0, 0, 0)")
    with pytest.raises(ValueError, match="player is a number from 0 to 31"):
        wf.worlds.blackjack().labels.index("player 99, dealer 2, no usable ace")
    with pytest.raises(
        ValueError, match=r"needs 7[0-9.]+ GiB, and the limit is 8 GiB\. To allow it, set WHATFOR_MAX_BYTES="
    ):
        run.timeline(0, horizon=16_000_000)
    with pytest.raises(ValueError, match="intention has only one picture: leave out show="):
        layout_of(run.intention(0), show="parts")
    nowhere = wf.Run(labels=run.labels, values=run.values, settings=run.settings | {"learner": {"name": "mine"}})
    with pytest.raises(
        ValueError, match="simulation needs the discount that its values were learned with: pass discount= to Run"
    ):
        nowhere.simulation(0)


@pytest.mark.parametrize("path", ["a/path", "./runs/taxi/", "my run"])
def test_a_path_is_not_an_environment(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError, match=f"^'{path}' is neither the folder of a run nor the id of an environment. Pass an id"
    ):
        wf.train(path, wf.QLearning(), episodes=1)
    wf.train("FrozenLake-v1", wf.QLearning(), episodes=1).save(path)
    with pytest.raises(ValueError, match=rf"^'{path}' is the folder of a run, not .*train\(load\('{path}'\), ...\)"):
        wf.train(path, wf.QLearning(), episodes=1)


def test_actions_that_start_at_1_are_shifted_by_the_wrapper_that_the_message_names():
    """Whole numbers are indices of actions everywhere, so environments number them from 0."""

    class FromOne(Moody):
        def step(self, action):
            assert self.action_space.contains(action)
            return super().step(action)

    env = FromOne(actions=spaces.Discrete(2, start=1))
    with pytest.raises(ValueError, match="actions must start at 0") as caught:
        wf.train(env, wf.QLearning(), episodes=1)
    advice = re.search(r"gymnasium.wrappers.TransformAction\(.*Discrete\(2\)\)", str(caught.value))
    run = wf.train(eval(advice[0], {"gymnasium": gym, "env": env}), wf.QLearning(), episodes=9)
    assert set(run.ledger.lines.cell.tolist()) <= set(range(6))


def test_a_learner_with_an_impossible_step_size_cannot_be_made():
    with pytest.raises(ValueError, match="step_size is -1; it must lie in"):
        wf.QLearning(step_size=-1)


@pytest.mark.parametrize(
    ("learner", "parameters", "message"),
    [
        (wf.QLearning, {"gamma": 0.9}, "QLearning has no parameter 'gamma'.*Did you mean discount="),
        (wf.Sarsa, {"replay": None}, r"Sarsa has no parameter 'replay'.*Pass replay= to train\(\)"),
        (wf.Sarsa, {"epsilon": 0.1}, "Did you mean exploration="),
        (wf.MonteCarlo, {"alpha": 0.1}, "Did you mean step_size="),
        (wf.LambdaReturns, {"lamda": 0.9}, "Did you mean lambda_="),
        (wf.QLearning, {"lam": 0.9}, "its parameters are step_size, discount, exploration, initial$"),
    ],
)
def test_parameters_under_other_names_are_recognised(learner, parameters, message):
    with pytest.raises(TypeError, match=message):
        learner(**parameters)


def test_parameters_are_given_by_name():
    with pytest.raises(TypeError, match=r"pass step_size=0\.1"):
        wf.QLearning(0.1)


def test_an_exploration_that_is_no_number_is_told_about_schedules():
    with pytest.raises(ValueError, match=r"a schedule such as linear\(1, 0\.1, episodes=250\)"):
        wf.QLearning(exploration="linear")


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (lambda seen: seen[:1], "not a state of 2 whole numbers: it has 1 number"),
        (lambda seen: np.append(seen, 0), "not a state of 2 whole numbers: it has 3 numbers"),
        (lambda seen: seen + 0.5, r"not a state of 2 whole numbers: \d.5 is not a whole number"),
        (lambda seen: seen * math.nan, "not a state of 2 whole numbers: nan is not a whole number"),
        (lambda seen: 7, "not a state of 2 whole numbers: it is a single int"),
        (lambda seen: seen + 5, "is out of range: 0 to 1"),
    ],
)
def test_an_observation_that_is_no_state_is_said_to_be_none_in_the_words_of_its_space(lie, message):
    class Lying(gym.Env):
        observation_space, action_space = spaces.MultiDiscrete([2, 2]), spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.steps = 0
            return np.array([0, 0]), {}

        def step(self, action):
            self.steps += 1
            seen = np.array([self.steps % 2, action])
            return (lie(seen) if self.steps > 5 else seen), 0.0, False, False, {}

    with pytest.raises(wf.TrainingStopped, match=message) as stopped:
        wf.train(Lying(), episodes=1, seed=0)
    assert len(stopped.value.run.ledger) == 5


def test_labels_of_too_many_states_are_not_told_what_training_takes():
    """Labels.of() said to pass state_of=, which only train() takes."""
    with pytest.raises(ValueError, match="needs 20,000,000 states, and the limit is 10,000,000") as error:
        wf.Labels.of(Moody(observations=spaces.Discrete(20_000_000)))
    assert "state_of" not in str(error.value)
