"""A table without a ledger: what playing its greedy policy gives, exactly or by rollouts."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import whatfor as wf
from whatfor.axes import Axis
from whatfor.question import layout_of
from whatfor.testing import random_world


class Corridor(gym.Env):
    """Five places; the last one pays, and every step may slip."""

    observation_space, action_space = spaces.Discrete(5), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self.at, {}

    def step(self, action):
        slips = self.np_random.random() < 0.2
        self.at = min(4, max(0, self.at + (0 if slips else 2 * action - 1)))
        return self.at, float(self.at == 4), self.at == 4, False, {}


RIGHT = np.tile([0.0, 1.0], (5, 1))


@pytest.fixture(scope="module")
def trained():
    return wf.train("FrozenLake-v1", wf.QLearning(discount=0.95), episodes=1_000, seed=0)


def test_a_known_world_is_answered_exactly(trained):
    run = wf.Run(values=trained.values, env="FrozenLake-v1", discount=0.95)
    exact = wf.ExactBeliefs("FrozenLake-v1", trained.policy, discount=0.95)
    best = run.best(0)
    why = run.intention(0)
    assert why.value == exact.value(0, best)
    assert np.array_equal(why.visits, exact.visits(0, best))
    assert dict(run.outcomes(0).chances) == exact.outcomes(0, best)
    contrast = run.contrast(0)
    assert contrast.gap == pytest.approx(exact.value(0, contrast.one.action) - exact.value(0, contrast.other.action))
    for answer in (why, contrast, run.outcomes(0), run.simulation(0, rollouts=20)):
        assert "playing its policy" in str(answer).lower()
        assert "expects" not in str(answer)
    assert run.labels == trained.labels


def test_an_unknown_world_is_answered_by_rollouts(tmp_path):
    run = wf.Run(values=RIGHT, env=Corridor(), discount=0.9)
    why = run.intention(2)
    step = 0.8 * 0.9 / (1.0 - 0.2 * 0.9)  # a step ahead, after any number of slips
    assert abs(why.value - step * 0.8 / (1.0 - 0.2 * 0.9)) <= 5.0 * why.error
    assert "standard error" in str(why)
    assert run.outcomes(2).chances == {"terminated": 1.0} or sum(run.outcomes(2).chances.values()) == pytest.approx(1.0)
    assert str(run.intention(2)) == str(wf.Run(values=RIGHT, env=Corridor(), discount=0.9).intention(2))
    assert run.evaluate(50).mean == 1.0
    run.save(tmp_path / "run")
    with pytest.raises(ValueError, match="pass the environment of the run as env="):
        wf.load(tmp_path / "run").intention(2)
    loaded = wf.load(tmp_path / "run", env=Corridor())
    for question in ("intention", "contrast", "outcomes", "simulation"):
        assert str(loaded.ask(question, 2)) == str(run.ask(question, 2))
    loaded.report(tmp_path / "page.html", episodes=1)
    assert loaded.evaluate(50).mean == 1.0
    with pytest.raises(ValueError, match="5 states and 2 actions, and this environment has 16 states"):
        wf.load(tmp_path / "run", env="FrozenLake-v1")


def test_the_environment_of_a_loaded_run_is_that_of_all_questions_and_of_training(tmp_path):
    run = wf.train(Corridor(), episodes=20, seed=0)
    run.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run", env=Corridor())
    assert str(loaded.simulation(2, rollouts=20)) == str(run.simulation(2, rollouts=20))
    assert np.array_equal(wf.train(loaded, episodes=20).values, wf.train(Corridor(), episodes=40, seed=0).values)
    loaded.save(tmp_path / "again")
    assert str(wf.load(tmp_path / "again", env=Corridor()).intention(2)) == str(run.intention(2))


def test_a_run_that_contains_its_world_needs_no_environment(tmp_path):
    world = random_world(0)
    wf.train(world, episodes=5, seed=0).save(tmp_path / "run")
    with pytest.raises(ValueError, match="contains its world: leave it out"):
        wf.load(tmp_path / "run", env=world)


def test_it_is_saved_loaded_and_reported(trained, tmp_path, whatfor):
    run = wf.Run(values=trained.values, env="FrozenLake-v1", discount=0.95)
    run.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run")
    assert str(loaded.contrast(0)) == str(run.contrast(0))
    loaded.report(tmp_path / "page.html", episodes=2)
    assert (tmp_path / "page.html").stat().st_size > 10_000
    code, out, err = whatfor("explain", tmp_path / "run", "--state", 0)
    assert code == 0, err
    assert "playing its policy after" in out


def test_a_table_world_is_a_world(tmp_path):
    world = wf.worlds.chain()
    run = wf.Run(values=[[2.0, 1.0], [2.0, 1.0], [1.0, 2.0]], env=world, discount=1.0)
    assert run.intention("the start", "up").value == 2.0


def test_when_whether_and_which_rewards_are_answered_exactly(trained):
    run = wf.Run(values=trained.values, env="FrozenLake-v1", discount=0.95)
    why, timeline = run.intention(0), run.timeline(0, horizon=5)
    assert timeline.visits.sum(axis=0) + timeline.remainder == pytest.approx(why.visits)
    assert timeline.unaccounted < 1e-9
    goal = run.chance(0, event="reached the goal")
    assert goal.probability == pytest.approx(run.outcomes(0).chances["reached the goal"])
    assert run.chance(0, event="row 3, column 3").probability == pytest.approx(goal.probability)
    first = run.chance(0, event="row 1", before="reached the goal")
    assert first.probability == pytest.approx(1.0)
    parts = run.parts(0)
    assert parts.totals == pytest.approx({"reward +1": why.value})
    assert parts.residual is None
    other = run.parts(0, instead=1)
    assert sum(other.gaps.values()) == pytest.approx(why.value - run.intention(0, 1).value)
    for answer in (timeline, goal, first, parts, other):
        assert "playing its policy" in str(answer).lower()
        assert "expect" not in str(answer)
        assert "interval" not in str(answer), "it is exact"
        assert "expect" not in layout_of(answer).title
    with pytest.raises(ValueError, match="there are no updates that it could have a number for"):
        run.parts(0, parts={"x": np.zeros(3)})
    assert run.parts(0, parts={"half": lambda s, a, r: r / 2}).rest == pytest.approx(why.value / 2)


def test_when_whether_and_which_rewards_are_answered_by_rollouts():
    run = wf.Run(values=RIGHT, env=Corridor(), discount=0.9)
    timeline = run.timeline(2, horizon=3)
    assert timeline.rollouts == 1_000
    assert timeline.visits[1, 2, 1] == pytest.approx(0.9 * 0.2, abs=0.05)
    assert "95 % interval" in str(timeline)
    chance = run.chance(2, event=lambda place: place == 3)
    assert chance.probability == 1.0
    assert "(95 % interval > 99 % to 100 %)" in str(chance)
    parts = run.parts(2)
    assert parts.totals["reward +1"] == pytest.approx(run.intention(2).value)
    assert parts.errors["reward +1"] == pytest.approx(run.intention(2).error)
    assert "reward +1 (standard error" in str(parts)
    assert run.parts(2, instead=0).errors["reward +1"] > parts.errors["reward +1"]
    for answer in (timeline, chance, parts):
        assert "playing its policy" in str(answer).lower()
        assert "expect" not in str(answer)


def test_discovered_states_need_labels():
    env = Corridor()
    env.observation_space = spaces.MultiDiscrete([10_000, 10_000])  # too many to be a table
    with pytest.raises(ValueError, match=r"states of this environment are discovered during training.*pass labels="):
        wf.Run(values=RIGHT, env=env, discount=0.9)


def test_discovered_states_come_with_the_labels(tmp_path):
    """Its keys are texts, so that the environment alone does not tell which row is which."""
    run = wf.train(Corridor(), episodes=200, seed=0, state_of=lambda place: f"place {place}")
    table = wf.Run(values=run.values, labels=run.labels, env=Corridor(), discount=0.9)
    assert table.timeline(0, horizon=3).rollouts == 1_000
    assert sum(table.parts(0).totals.values()) == pytest.approx(table.intention(0).value)
    assert table.chance(0, event=[run.labels.index("place 3")]).probability == pytest.approx(1.0)
    table.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run", env=Corridor(), state_of=lambda place: f"place {place}")
    assert str(loaded.timeline(0)) == str(table.timeline(0))


def test_bins_come_with_the_labels_or_with_the_environment(tmp_path):
    bounds = [(-2.4, 2.4), (-2.0, 2.0), (-0.2, 0.2), (-3.0, 3.0)]
    run = wf.train("CartPole-v1", episodes=100, seed=0, bins=(3, 3, 6, 3), bounds=bounds)
    table = wf.Run(values=run.values, labels=run.labels, env="CartPole-v1", discount=0.9)
    assert table.evaluate(5).returns.tolist() == run.evaluate(5).returns.tolist()
    table.save(tmp_path / "run")
    assert str(wf.load(tmp_path / "run").outcomes(80)) == str(table.outcomes(80))
    binned = gym.wrappers.DiscretizeObservation(gym.make("MountainCar-v0"), 5)
    assert wf.Run(values=np.zeros((25, 3)), env=binned, discount=0.9).evaluate(1).mean == -200.0
    assert wf.Labels.of(binned).shape == (5, 5)
    with pytest.raises(ValueError, match="bins has length 4, but observations have 2 dimensions"):
        wf.Run(values=run.values, labels=run.labels, env="MountainCar-v0", discount=0.9)
    with pytest.raises(ValueError, match=r"observations of this environment are not discrete .*: wrap the environment"):
        wf.Labels.of("MountainCar-v0")


def test_bins_of_unequal_width_cannot_be_played():
    edges = ((-1.2, 0.0, 0.6), (-0.07, 0.0, 0.07))
    labels = wf.Labels(
        tuple(Axis(name, 2, edges=row) for name, row in zip("xv", edges, strict=True)), tuple("abc"), observed="bins"
    )
    with pytest.raises(ValueError, match="not equally wide"):
        wf.Run(values=np.zeros((4, 3)), labels=labels, env="MountainCar-v0", discount=0.9)


def test_equal_rollouts_have_no_standard_error(monkeypatch):
    """It stated one of 8.909e-16, the rounding of a mean."""
    monkeypatch.setattr("whatfor.players.TablePlay.rollouts", 20)
    run = wf.Run(
        values=np.tile([1.0, 0.0, 0.0], (25, 1)),
        env=gym.wrappers.DiscretizeObservation(gym.make("MountainCar-v0"), 5),
        discount=0.99,
    )
    why = run.intention(10)
    assert (why.error, run.simulation(10, rollouts=20).value_error) == (0.0, 0.0)
    assert "(discounted), the same in all rollouts; its Q-value is 1." in str(why)


def test_findings_do_not_tell_of_expectations():
    for run in (
        wf.Run(values=RIGHT, env=Corridor(), discount=0.9),
        wf.Run(values=np.full((16, 4), 5.0) + np.eye(16, 4), env="FrozenLake-v1", discount=0.9),
    ):
        found = run.findings()
        assert "its Q-value is" in str(found)
        assert "expect" not in str(found)
        assert all(one.question != "comparison" for one in found)


def test_findings_of_a_policy_that_may_never_end():
    run = wf.Run(values=np.random.default_rng(0).random((500, 6)), env="Taxi-v4", discount=1.0)
    assert run.findings()[0].kind == "loop", "without a discount, returns are infinite: no warning"


@pytest.mark.parametrize("question", ["provenance", "comparison"])
def test_what_needs_learning_is_refused(trained, question):
    run = wf.Run(values=trained.values, env="FrozenLake-v1", discount=0.95)
    with pytest.raises(ValueError, match=r"needs the ledger|a table without a ledger has no such belief"):
        run.ask(question, 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"env": "Taxi-v4", "discount": 0.9}, r"values has shape \(5, 2\); the environment has 500 states and 6 actions"),
        ({"env": "NoSuch-v0", "discount": 0.9}, "there is no environment 'NoSuch-v0'"),
        ({"discount": 0.9}, "pass env= or labels="),
        ({"env": Corridor(), "discount": 2}, r"discount is 2; it must lie in \[0, 1\]"),
        ({"env": "CartPole-v1", "discount": 0.9}, r"observations of this environment are not discrete .*pass labels=run.labels.*DiscretizeObservation\(env"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        wf.Run(values=RIGHT, **given)


def test_a_missing_discount_is_asked_for():
    run = wf.Run(values=RIGHT, env=Corridor())
    assert run.evaluate(5).mean == 1.0
    with pytest.raises(
        ValueError, match="intention needs the discount that its values were learned with: pass discount="
    ):
        run.intention(0)


class Fork(gym.Env):
    """A random walk over 15 places, which ends at either side; each side pays another reward. The colour of a place is random."""

    observation_space, action_space = spaces.MultiDiscrete([15, 8]), spaces.Discrete(2)

    def seen(self):
        return np.array([self.at, self.np_random.integers(8)])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 7
        return self.seen(), {}

    def step(self, action):
        self.at += 1 if self.np_random.random() < 0.55 else -1
        ended = self.at in (0, 14)
        return self.seen(), (5.0 if self.at else -3.0) * ended, ended, False, {}


def test_unnamed_endings_are_told_by_what_they_pay():
    """It said "to end with 'ended with +5'", and "terminated" among the chances of other events."""
    run = wf.Run(values=np.tile([1.0, 0.0], (120, 1)), env=Fork(), discount=0.9)
    chances = run.outcomes((7, 0)).chances
    assert set(chances) == {"ended with +5", "ended with -3"}
    assert "leads it to end with +5 (" in str(run.intention((7, 0))).splitlines()[0]
    assert ") or -3 (" in str(run.intention((7, 0))).splitlines()[0]
    otherwise = run.chance((7, 0), event="x0 2").otherwise
    assert set(otherwise) == {"ended with +5"}, "the way to -3 is past state 2"
    assert run.chance((7, 0), event="x0 2").unaccounted < 1e-9


def test_the_decisions_of_two_tables_are_compared_though_neither_was_updated():
    values = np.random.default_rng(0).random((16, 4))
    run, other = (wf.Run(values=sign * values, env="FrozenLake-v1", discount=0.95) for sign in (1, -1))
    assert [one[0] for one in sorted(run.change(0, since=other).flips)] == [*range(16)]
    assert "The best action differs between the two runs in 16 states:" in str(run.change(0, since=other))
    assert "The best action is the same in every state." in str(run.change(0, since=run))


class Slope(gym.Env):
    """Six places in a row: each side ends, by either action; the right one pays."""

    observation_space, action_space = spaces.Discrete(6), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 3
        return self.at, {}

    def step(self, action):
        self.at += 1 if self.np_random.random() < 0.5 + 0.3 * action else -1
        ended = self.at in (0, 5)
        return self.at, (5.0 if self.at else -3.0) * ended, ended, False, {}


def test_few_unnamed_endings_are_told_by_what_they_pay_too():
    """Each last step was an ending of its own: "end by action 1 in state 4 (+5) or end by action 0 in state 1 (-3)"."""
    run = wf.Run(values=np.tile([0.0, 1.0], (6, 1)), env=Slope(), discount=0.9)
    assert set(run.outcomes(3).chances) == {"ended with +5", "ended with -3"}
