"""What goes on without end is told apart from what is unknown."""

import numpy as np
import pytest

import whatfor as wf
from circles import CIRCLE
from whatfor.beliefs.loops import MIN_STEP, endless_from
from whatfor.beliefs.situation import Situation
from whatfor.testing import random_world

LEARNERS = [
    wf.QLearning(step_size=0.3, discount=0.9, exploration=0.2),
    wf.QLearning(step_size=0.3, discount=0.0, exploration=0.2),
    wf.DoubleQLearning(step_size=0.3, discount=0.9, exploration=0.2),
    wf.Sarsa(step_size=0.3, discount=0.9, exploration=0.0),
    wf.LambdaReturns(step_size=0.3, discount=0.9, lambda_=0.5, exploration=0.0),
]


def row_of(ledger, state=0, action=0):
    return wf.Audit(ledger).row(Situation(state), action)


def steps(ledger, *pairs, times, step_size=0.3):
    """Record (state, next state) again and again; None: the episode ends."""
    for _ in range(times):
        for state, to in pairs:
            ledger.record(state, 0, -1.0, to, None if to is None else 0, step_size=step_size, discount=0.9)
    return ledger


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_circle_never_ends(learner):
    run = wf.train(CIRCLE, learner, episodes=300, seed=0)
    best = int(run.values[0].argmax())
    row = run.audit.row(Situation(0), best)
    assert sum(row.endings.values()) + row.endings_unknown == pytest.approx(1.0, abs=1e-12)
    assert row.endings["no recorded end"] > 0.99
    assert run.audit.never_ends(0, best) == row.endings["no recorded end"]


def test_a_replayed_circle_never_ends():
    replay = wf.Replay(capacity=500, batch=4)
    run = wf.train(CIRCLE, LEARNERS[0], episodes=300, seed=0, replay=replay)
    assert run.audit.row(Situation(0), 0).endings["no recorded end"] > 0.99


def test_a_few_updates_of_a_circle_are_unknown():
    """Most of the weight is still on initial values, as near as the discount looks."""
    row = row_of(steps(wf.Ledger(2, 1), (0, 1), (1, 0), times=2))
    assert "no recorded end" not in row.endings
    assert row.endings_unknown == pytest.approx(1.0)
    row = row_of(steps(wf.Ledger(2, 1), (0, 1), (1, 0), times=200))
    assert row.endings == {"no recorded end": pytest.approx(1.0, abs=1e-3)}


def test_a_circle_without_a_discount_never_ends():
    ledger = wf.Ledger(1, 1)
    for _ in range(2_000):
        ledger.record(0, 0, -1.0, 0, 0, step_size=0.3, discount=1.0)
    assert row_of(ledger).endings == {"no recorded end": pytest.approx(1.0, abs=1e-2)}


def test_what_leads_to_an_untried_pair_is_unknown_however_often_it_was_updated():
    row = row_of(steps(wf.Ledger(3, 1), (0, 1), (1, 2), times=200))
    assert not row.endings
    assert row.endings_unknown == pytest.approx(1.0)


def test_a_long_way_that_ends_is_no_circle():
    n = 60
    ledger = steps(wf.Ledger(n, 1), *((s, s + 1 if s < n - 1 else None) for s in range(n)), times=150, step_size=0.9)
    row = row_of(ledger)
    assert row.endings == {"terminated": pytest.approx(1.0)}


def test_half_of_a_future_may_go_on_without_an_end():
    ledger = steps(wf.Ledger(3, 1), (0, 1), (1, 1), (0, 2), (2, None), times=400, step_size=0.05)
    row = row_of(ledger)
    assert row.endings["no recorded end"] == pytest.approx(0.5, abs=0.05)
    assert row.endings["terminated"] == pytest.approx(0.5, abs=0.05)


def test_a_circle_after_a_way_that_ended_never_ends():
    """Without a discount its weight goes round until it arrives at the end from long ago."""
    ledger = steps(steps(wf.Ledger(2, 1), (0, 1), (1, None), times=50), (0, 1), (1, 0), times=300)
    assert wf.Audit(ledger).account(0, 0, discount=1.0).endings.sum() > 0.99
    row = row_of(ledger)
    assert row.endings == {"no recorded end": pytest.approx(1.0, abs=1e-3), "terminated": pytest.approx(0.0, abs=1e-3)}
    assert sum(row.endings.values()) + row.endings_unknown == pytest.approx(1.0, abs=1e-12)
    outcomes = wf.Audit(ledger).named_endings(Situation(0), 0, wf.Labels.plain(2, 1))[0]
    assert sum(outcomes.values()) == pytest.approx(1.0, abs=1e-12)


def test_an_event_in_the_circle_is_certain_and_one_beyond_it_never_happens():
    run = wf.train(CIRCLE, LEARNERS[0], episodes=300, seed=0)
    inside, outside = run.chance(0, 0, event="state 1"), run.chance(0, 0, event="state 2")
    assert inside.probability > 0.99
    assert outside.otherwise == {"no recorded end": pytest.approx(1.0)}
    for chance in (inside, outside):
        assert chance.probability + sum(chance.otherwise.values()) + chance.unknown == pytest.approx(1.0, abs=1e-12)


def test_the_final_state_of_an_episode_was_reached():
    ledger = wf.Ledger(3, 1)
    ledger.record(1, 0, 1.0, None, step_size=1.0, discount=0.9, final_state=2)
    ledger.record(0, 0, 0.0, 1, 0, step_size=1.0, discount=0.9)
    run = wf.Run(labels=wf.Labels.plain(3, 1), values=ledger.values(), ledger=ledger)
    assert run.chance(0, event="state 2").probability == 1.0
    for order in (wf.QLearning(discount=0.9), wf.MonteCarlo(discount=0.9)):
        lake = wf.train("FrozenLake-v1", order, episodes=300, seed=0)
        goal, ends = lake.chance(0, event=[15]).probability, lake.outcomes(0).chances.get("reached the goal", 0.0)
        assert goal == pytest.approx(ends, abs=1e-12)
        holes = lake.chance(0, event=[5, 7, 11, 12]).probability
        assert holes == pytest.approx(lake.outcomes(0).chances["fell into a hole"], abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_against_a_walk_of_the_latest_updates(seed):
    """With a step size of 1, the latest update of each pair is all it knows: walk them."""
    rng = np.random.default_rng(seed)
    ledger, latest = wf.Ledger(30, 1), {}
    for state in rng.integers(30, size=3_000).tolist():
        to = int(rng.integers(31)) if state not in latest or rng.random() < 0.01 else latest[state]
        latest[state] = to
        end = to == 30
        ledger.record(state, 0, 0.0, None if end else to, None if end else 0, step_size=1.0, discount=0.5)
    audit = wf.Audit(ledger)
    for state in latest:
        path = [state]
        while path[-1] in latest and path[-1] not in path[:-1]:
            path.append(latest[path[-1]])
        row = audit.row(Situation(state), 0)
        near = float(audit.account(state, 0).endings.sum() + audit.account(state, 0).initial_weights.sum())
        loops = path[-1] in path[:-1] and path[-1] != 30
        assert (row.endings.get("no recorded end", 0.0) > 0.5) == (loops and near < 0.5)


def test_a_rare_end_is_not_forgotten():
    """Ends with probability 0.05 a step: after some steps without one, it is still no loop."""
    world = wf.worlds.table(
        next_state=[[[1, 1]], [[0, 0]]],
        reward=[[[-1.0, -1.0]]] * 2,
        terminated=[[[False, True]]] * 2,
        probability=[[[0.95, 0.05]]] * 2,
    )
    learner = wf.QLearning(step_size=0.5, discount=0.95)
    said = [
        wf.train(world, learner, episodes=30, seed=seed, max_steps=25).outcomes(0).chances.get("no recorded end", 0.0)
        > 0.05
        for seed in range(40)
    ]
    assert sum(said) <= 4


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_the_quick_search_for_loops_misses_none(learner):
    """It says "no loop" only where the chain of all latest updates has none; and a memory of earlier answers changes nothing."""
    said = [0, 0]
    for seed in range(12):
        world = random_world(seed, states=12, actions=2)
        run = wf.train(world, learner, episodes=3 + 5 * seed, seed=seed, max_steps=10 + seed)
        ledger = run.ledger
        endless, loops = endless_from(ledger.lines, ledger.n_cells).chances, run.audit._loops
        for state, action in np.ndindex(ledger.n_states, ledger.n_actions):
            cells = run.audit._cells(state, action)
            none = loops._have_ways_out(cells, None)
            assert none == wf.Audit(ledger)._loops._have_ways_out(cells, None)
            assert not none or endless[cells].max() <= MIN_STEP
            said[none] += 1
    assert said[True] > 50


def loop_of(ledger, state=0):
    return wf.Audit(ledger).loop(state, 0)


def test_the_record_of_a_loop_counts_steps_since_the_last_way_out():
    """A way out was seen long ago: the steps before it do not count, and the chance of another is bounded by those after it."""
    ledger = steps(wf.Ledger(3, 1), (0, 1), (1, 0), times=100)
    steps(ledger, (1, None), (0, 2), (2, None), times=3)
    steps(ledger, (0, 1), (1, 0), times=400)
    loop = loop_of(ledger)
    assert loop.never == pytest.approx(1.0, abs=1e-3)
    assert loop.record.steps == 800
    assert loop.record.bound == pytest.approx(3 / 800)
    assert loop.record.repeats == 0, "the same pair led elsewhere once"


def test_the_bound_is_that_of_the_pair_that_was_recorded_least():
    """Half of the steps of the loop are made in a state that was recorded a tenth as often as the other."""
    ledger = steps(wf.Ledger(3, 1), (0, 1), (0, 2), (1, 0), times=4)  # so that chance decides
    steps(ledger, (0, 1), times=1_000)
    steps(ledger, (1, 0), times=96)
    assert loop_of(ledger).record.bound == pytest.approx(0.5 * 3 / 100)


def test_a_world_in_which_nothing_ever_led_elsewhere_is_called_so():
    ledger = steps(wf.Ledger(2, 1), (0, 1), (1, 0), times=30)
    assert loop_of(ledger).record.repeats == 58


def test_replayed_steps_count_once():
    run = wf.train(CIRCLE, LEARNERS[0], episodes=50, seed=0, replay=wf.Replay(capacity=500, batch=8))
    assert run.audit.loop(0, 0).record.steps <= len(run.history.returns) * 50
