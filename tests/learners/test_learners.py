"""Each rule against numbers computed by hand, and the public check for custom learners."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import whatfor as wf
from whatfor.learners.schedules import explorations
from whatfor.testing import check_learner
from whatfor.worlds import table

# Two steps to an end: 0 --(+1)--> 1 --(+2)--> end. One action, so nothing is left to chance.
CORRIDOR = table(next_state=[[1], [1]], reward=[[1.0], [2.0]], terminated=[[False], [True]])


def trained(learner, episodes, **more):
    return wf.train(CORRIDOR, learner, episodes=episodes, seed=0, **more)


def test_q_learning_by_hand():
    run = trained(wf.QLearning(step_size=0.5, discount=0.8), 2)
    # Episode 1: Q0 = .5 * (1 + .8 * 0) = .5, Q1 = .5 * 2 = 1. Episode 2: Q0 = .5 + .5 * (1 + .8 - .5), Q1 = 1 + .5 * (2 - 1).
    assert run.values.ravel().tolist() == pytest.approx([1.15, 1.5], abs=0)


def test_sarsa_with_one_action_is_q_learning():
    settings = {"step_size": 0.5, "discount": 0.8}
    assert np.array_equal(trained(wf.Sarsa(**settings), 5).values, trained(wf.QLearning(**settings), 5).values)


def test_monte_carlo_by_hand():
    run = trained(wf.MonteCarlo(step_size=wf.visit_count(), discount=0.8), 3)
    assert run.values.ravel().tolist() == [1 + 0.8 * 2, 2.0], "an average of equal returns is the return"
    assert [update.step for update in run.ledger] == [1, 0] * 3, "walked from the end to the start"
    assert run.ledger.lines.lambda_.tolist() == [1.0]


def test_lambda_returns_by_hand():
    run = trained(wf.LambdaReturns(step_size=0.5, discount=0.8, lambda_=0.25), 1)
    q1 = 0.5 * 2.0
    g0 = 1.0 + 0.8 * (0.75 * q1 + 0.25 * 2.0)
    assert run.values.ravel().tolist() == pytest.approx([0.5 * g0, q1], abs=1e-15)


def test_lambda_returns_at_lambda_0_and_1():
    """λ = 1 is Monte Carlo. λ = 0 is one-step learning, backwards."""
    world = wf.testing.random_world(5)
    settings = {"step_size": 0.3, "discount": 0.9, "exploration": 1.0}
    runs = [
        wf.train(world, learner, episodes=50, seed=1, time_limit="terminal")
        for learner in (wf.MonteCarlo(**settings), wf.LambdaReturns(lambda_=1.0, **settings))
    ]
    assert np.array_equal(runs[0].tables, runs[1].tables)


def test_double_q_learns_one_table_per_episode_and_bootstraps_from_the_other():
    run = trained(wf.DoubleQLearning(step_size=0.5, discount=0.8), 40)
    tables = np.array([update.table for update in run.ledger]).reshape(-1, 2)
    assert (tables[:, 0] == tables[:, 1]).all(), "drawn once an episode"
    assert set(tables[:, 0]) == {0, 1}
    bootstrapped = [update for update in run.ledger if update.next_table is not None]
    assert all(update.next_table == 1 - update.table for update in bootstrapped)
    assert np.array_equal(run.values, run.tables.mean(axis=0))
    by_step = trained(wf.DoubleQLearning(draw="step"), 40)
    pairs = np.array([update.table for update in by_step.ledger]).reshape(-1, 2)
    assert (pairs[:, 0] != pairs[:, 1]).any()


ENDLESS = table(next_state=[[0]], reward=[[1.0]])  # one state that only a time limit ends


@pytest.mark.parametrize("learner", [wf.QLearning, wf.Sarsa, wf.MonteCarlo, wf.LambdaReturns, wf.DoubleQLearning])
def test_time_limits_bootstrap_or_terminate(learner):
    settings = {"step_size": 0.5, "discount": 0.5}
    through = wf.train(ENDLESS, learner(**settings), episodes=400, seed=0, max_steps=3)
    assert through.values[0, 0] == pytest.approx(2.0, abs=1e-6), "1 / (1 - discount): the limit is not an end"
    assert not through.ledger.ended.any()
    ended = wf.train(ENDLESS, learner(**settings), episodes=400, seed=0, max_steps=3, time_limit="terminal")
    assert ended.ledger.timed_out.sum() == 400
    assert ended.values[0, 0] < 1.95
    assert through.ledger.n_episodes == ended.ledger.n_episodes == 400


def test_visit_count_gives_the_mean():
    world = table(next_state=[[[0, 0]]], reward=[[[0.0, 1.0]]], terminated=True, probability=[[[0.3, 0.7]]])
    run = wf.train(world, wf.QLearning(step_size=wf.visit_count(), discount=1.0), episodes=1000, seed=0)
    assert run.values[0, 0] == pytest.approx(run.history.returns.mean(), abs=1e-12)
    assert run.ledger.lines.step_size[:4].tolist() == [1.0, 1 / 2, 1 / 3, 1 / 4]


@pytest.mark.parametrize("decay", [1e308, -1.0, float("nan"), "0.9"])
def test_a_decay_above_1_is_refused(decay):
    """The fuzzer forged 1e308, and training raised OverflowError."""
    with pytest.raises(ValueError, match=r"decay is .*; exploration is multiplied by it, so it must lie in \[0, 1\]"):
        wf.exponential(1.0, 0.0, decay=decay)


def test_schedules():
    assert [wf.linear(1.0, 0.1, episodes=250)(i) for i in (0, 250, 9_999)] == [1.0, 0.1, 0.1]
    falling = wf.exponential(1.0, 0.05, decay=0.9999)
    assert falling(1_000) == pytest.approx(0.9999**1_000)
    assert falling(100_000) == 0.05


@pytest.mark.parametrize(
    "schedule",
    [
        0.3,
        wf.linear(1.0, 0.1, episodes=20),
        wf.linear(1.0, 0.1, episodes=1),
        wf.exponential(1.0, 0.05, decay=0.9),
        wf.exponential(0.5, 0.5, decay=0.9),
        wf.exponential(1.0, 0.0, decay=0.9),
        lambda episode: 1 / (episode + 1),
        0.4,
    ],
)
def test_schedules_do_not_depend_on_how_training_is_split(schedule):
    """Exploration depends on the number of the episode only."""
    one_by_one = [schedule(i) if callable(schedule) else schedule for i in range(60)]
    for cut in (0, 7, 21, 59):
        stretches = [explorations(schedule, 0, cut), explorations(schedule, cut, 60 - cut)]
        assert np.concatenate(stretches).tolist() == one_by_one


def test_exploration_must_be_a_probability():
    with pytest.raises(ValueError, match=r"exploration is 1\.5 in episode 3"):
        explorations(lambda episode: episode / 2, 0, 5)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_exploration_has_its_frequency(epsilon):
    """A frequency within 5 standard errors: wrong once in 1.7 million seeds."""
    world = table(next_state=np.zeros((1, 4), int), reward=[[1.0, 0.0, 0.0, 0.0]], terminated=True)
    learner = wf.QLearning(step_size=0.5, discount=0.0, exploration=epsilon, initial=0.5)
    run = wf.train(world, learner, episodes=20_000, seed=3)
    others = (run.ledger.lines.cell[100:] != 0).mean()
    expected = epsilon * 3 / 4
    assert abs(others - expected) <= 5 * np.sqrt(expected * (1 - expected) / 19_900) + 1e-12


def test_ties_are_broken_by_the_seed_and_evenly():
    """Counts of four equal actions within 5 standard errors."""
    world = table(next_state=np.zeros((1, 4), int), reward=np.zeros((1, 4)), terminated=True)
    runs = [wf.train(world, wf.QLearning(exploration=0.0), episodes=8_000, seed=seed) for seed in (0, 0, 1)]
    cells = [run.ledger.lines.cell for run in runs]
    assert np.array_equal(cells[0], cells[1])
    assert not np.array_equal(cells[0], cells[2])
    counts = np.bincount(cells[0], minlength=4)
    assert np.abs(counts - 2_000).max() <= 5 * np.sqrt(8_000 * 0.25 * 0.75)


def test_replay_records_when_experiences_happened_and_were_applied():
    run = wf.train(
        wf.testing.random_world(2), wf.QLearning(exploration=1.0), episodes=30, seed=0, replay=wf.Replay(batch=2)
    )
    made, _ = run.ledger.episodes_and_steps()
    applied = np.searchsorted(run.ledger.episode_starts, np.arange(len(run.ledger)), side="right") - 1
    assert (made <= applied).all()
    assert (made < applied).any()
    assert len(run.ledger) == 2 * run.history.lengths.sum()
    # Each origin always has the same experience.
    for origin in np.unique(run.ledger.origins):
        mine = run.ledger.origins == origin
        assert len({*zip(run.ledger.lines.cell[mine], run.ledger.lines.reward[mine], strict=True)}) == 1


def test_small_fixed_buffer_is_collected_first_and_never_changes():
    fixed = wf.Replay(capacity=25, keep="first", batch=3)
    run = wf.train(wf.testing.random_world(2), wf.QLearning(exploration=1.0), episodes=60, seed=0, replay=fixed)
    origins = run.ledger.origins
    assert set(origins) == set(range(25)), "all of the first 25 experiences and nothing else"
    steps = np.cumsum(run.history.lengths)
    first_applied = np.searchsorted(run.ledger.episode_starts, 0, side="right") - 1
    assert steps[first_applied] >= 25, "learning began when the buffer was full"


def test_ring_buffer_drops_the_oldest():
    run = wf.train(
        wf.testing.random_world(2), wf.QLearning(exploration=1.0), episodes=60, seed=0, replay=wf.Replay(capacity=10)
    )
    newest = np.arange(len(run.ledger))  # one replayed update per step
    age = newest - run.ledger.origins
    assert age.min() >= 0
    assert age.max() == 9


@pytest.mark.parametrize(
    "learner",
    [
        wf.QLearning(),
        wf.QLearning(step_size=wf.visit_count(), initial=2.0),
        wf.Sarsa(discount=1.0),
        wf.DoubleQLearning(),
        wf.DoubleQLearning(draw="step"),
        wf.MonteCarlo(),
        wf.LambdaReturns(lambda_=0.5),
    ],
    ids=repr,
)
def test_built_in_learners_keep_the_contract(learner):
    check_learner(learner)


@dataclass(frozen=True)
class Own:
    """A custom Q-learning; ``flaw`` breaks it in one way."""

    flaw: str = ""
    discount: float = 0.9
    exploration: float = 0.3
    n_tables: int = 1
    order: str = "forwards"

    def start(self, n_states, n_actions, *, ledger, generator):
        if self.flaw == "own dice":
            generator = np.random.default_rng()
        return OwnAgent(self, np.zeros((1, n_states, n_actions)), ledger, generator)


@dataclass
class OwnAgent:
    learner: Own
    tables: np.ndarray
    ledger: object
    dice: np.random.Generator
    epsilon: float = field(default=0.0)

    def act(self, state):
        if self.dice.random() < self.epsilon:
            return int(self.dice.integers(self.tables.shape[2]))
        return int(self.tables[0, state].argmax())

    def begin(self, state, exploration):
        self.epsilon = exploration
        return self.act(state)

    def observe(self, step):
        values, flaw = self.tables[0], self.learner.flaw
        best = int(values[step.next_state].argmax())
        ended = step.terminated if flaw == "forgets the limit" else step.following is None
        following = 0.0 if ended else values[step.next_state, best]
        values[step.state, step.action] += 0.2 * (step.reward + 0.9 * following - values[step.state, step.action])
        if self.ledger is not None:
            if flaw == "learns from recording":
                values[step.state, step.action] += 1e-3
            recorded = 0.3 if flaw == "wrong step size" else 0.2
            where = (None, None) if ended else (step.next_state, best)
            how = (step.ending or None) if ended else None
            if flaw != "forgets to record":
                self.ledger.record(
                    step.state, step.action, step.reward, *where, step_size=recorded, discount=0.9, ending=how
                )
            if step.truncated and not ended and flaw != "forgets the episode":
                self.ledger.new_episode()
        return 99 if flaw == "impossible action" else self.act(step.next_state)


def test_custom_learner_keeps_the_contract_and_trains():
    check_learner(Own())
    ended = wf.train(wf.testing.random_world(0), Own(), episodes=30, seed=0, max_steps=3, time_limit="terminal")
    assert ended.ledger.timed_out.sum() > 0
    run = wf.train("FrozenLake-v1", Own(), episodes=20, seed=0)
    assert run.engine == "python"
    assert "Own" in run.settings["engine_reason"]
    assert run.audit.residual < 1e-12


@pytest.mark.parametrize(
    ("flaw", "message"),
    [
        ("own dice", "two runs with the same seed differ"),
        ("wrong step size", "give other values"),
        ("learns from recording", "give other values"),
        ("forgets to record", "no update was recorded"),
        ("forgets the episode", "new_episode"),
        ("forgets the limit", "bootstrap from transition.following"),
        ("impossible action", "chose action 99"),
    ],
)
def test_check_learner_reports_flaws(flaw, message):
    with pytest.raises(AssertionError, match=message):
        check_learner(Own(flaw))
