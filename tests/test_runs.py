"""The answers of a run, and its errors."""

import re

import numpy as np
import pytest

import whatfor as wf
from taxi_runs import train_taxi
from whatfor.text import amount

LAKE = wf.QLearning(step_size=0.5, discount=0.9, exploration=0.3)


def test_an_intention_adds_up():
    run = wf.train("CliffWalking-v1", LAKE, episodes=500, seed=0)
    why = run.intention("row 3, column 0")
    assert why.action == run.values[36].argmax()
    assert why.value == run.values[36].max()
    assert why.residual == abs(why.earnings.sum() - why.value) < 1e-12
    assert why.visits.shape == why.earnings.shape == run.values.shape
    text = str(why)
    assert f"Its estimated return is {amount(why.value)}" in text
    assert f"Sum: {amount(why.value)}, equal to the agent's Q-value" in text
    assert "row 2, column 0: right" in text
    assert f"{int(run.ledger.tries()[36, why.action]):,} times" in text


def test_a_pair_that_was_never_tried_has_no_visits():
    run = wf.train("Taxi-v4", LAKE, episodes=2, seed=0)
    tries = run.ledger.tries()
    state, action = np.argwhere((tries == 0) & tries.any(axis=1)[:, None])[0]
    why = run.intention(int(state), int(action))
    assert why.visits.sum() == 0.0
    assert "never tried" in str(why)
    assert "never acted" in str(run.intention(int(np.flatnonzero(~tries.any(axis=1))[0])))


def test_an_ending_is_mentioned_only_if_one_was_learned():
    ledger = wf.Ledger(n_states=2, n_actions=1)
    ledger.record(0, 0, 1.0, 1, 0, step_size=0.5, discount=0.9)
    values = ledger.values()
    onward = wf.Run(labels=wf.Labels.plain(2, 1), values=values, ledger=ledger).intention(0)
    assert "It has not learned what follows." in str(onward)
    ledger.record(1, 0, 1.0, None, ending="won", step_size=0.5, discount=0.9)
    last = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger).intention(1)
    assert "it takes 'action 0'; it expects to end with 'won' (50 %); 50 % unknown." in str(last)
    assert "only once; its initial value still has a weight of 50 %." in str(last)
    assert last.chances == {"won": 0.5}


def test_a_repeated_step_is_distinguished_from_the_step_itself():
    world = wf.worlds.table(next_state=[[0]], reward=[[1.0]])
    run = wf.train(world, wf.QLearning(step_size=0.1, discount=0.5), episodes=1, seed=0, max_steps=8)
    why = run.intention(0)
    assert why.now == pytest.approx(1 - 0.9**8, abs=1e-12)
    assert why.expected() == [(0, 0, pytest.approx(why.visits.sum() - why.now))]


def test_the_share_of_initial_values_is_stated():
    learner = wf.QLearning(step_size=0.1, discount=0.9, initial=5.0)
    run = wf.train("FrozenLake-v1", learner, episodes=20, seed=0)
    why = run.intention(0)
    assert why.initial_share > 1.0
    assert why.earnings.sum() + why.initial_share == pytest.approx(why.value, abs=1e-12)
    assert "remaining from initial values" in str(why)


def test_states_and_actions_by_any_name():
    run = wf.train(wf.worlds.blackjack(), LAKE, episodes=200, seed=0)
    ways = [
        run.intention(state, action)
        for state, action in (((10, 7, 0), 1), ("player 10, dealer 7, no usable ace", "hit"), (234, "1"))
    ]
    assert len({(why.state, why.action) for why in ways}) == 1
    with pytest.raises(ValueError, match="the actions are stick, hit"):
        run.intention((10, 7, 0), "fold")


def test_evaluation_is_the_greedy_policy_with_an_interval(taxi_2k):
    compiled = taxi_2k.evaluate(200, seed=3)
    assert 6.5 < compiled.mean < 9.5, "the best policy gets 7.93 on average"
    assert compiled.low < compiled.mean < compiled.high
    before = taxi_2k.tables.copy()
    python = train_taxi(2_000, engine="python").evaluate(200, seed=3)
    assert np.array_equal(compiled.returns, python.returns), "the same world, stepped by either engine"
    assert np.array_equal(taxi_2k.tables, before)
    assert "95 % interval" in str(compiled)


def test_a_run_of_a_custom_loop_answers_what_it_can():
    ledger = wf.Ledger(n_states=2, n_actions=1)
    ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=[[0.5], [0.0]], ledger=ledger)
    assert repr(run) == "Run(custom loop, 1 episode, 1 update)"
    assert run.intention(0).residual == 0.0
    with pytest.raises(ValueError, match="custom training loop"):
        run.evaluate()
    with pytest.raises(ValueError, match="cannot be resumed"):
        wf.train(run, episodes=1)
    with pytest.raises(ValueError, match="needs a ledger, or an environment"):
        wf.Run(labels=run.labels, values=run.values).intention(0)
    for values, what in (([[1j]], "complex128 values"), ([["1"]], "text"), ([[None]], "Python objects")):
        with pytest.raises(ValueError, match=f"values holds {what}; it must hold numbers"):
            wf.Run(labels=wf.Labels.plain(1, 1), values=values)
    with pytest.raises(ValueError, match="values has shape"):
        wf.Run(labels=run.labels, values=np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"values has shape \(1, 1\); the ledger has 2 states and 1 action$"):
        wf.Run(labels=wf.Labels.plain(1, 1), values=[[0.5]], ledger=ledger)


def test_errors_about_arguments_name_the_method(taxi_2k):
    with pytest.raises(TypeError, match=r"run\.chance\(\) needs event=: the event, in words .*, e\.g\. event='"):
        taxi_2k.chance(0)
    with pytest.raises(TypeError, match=r"Run\.provenance\(\) got an unexpected keyword argument 'top'"):
        taxi_2k.provenance(0, top=3)


def test_the_evaluation_of_one_episode_has_no_interval(taxi_2k):
    assert re.fullmatch(r"mean undiscounted return \S+ over 1 episode", str(taxi_2k.evaluate(1)))


def test_questions_about_given_beliefs():
    world = wf.worlds.chain()
    exact = wf.ExactBeliefs(world, [0, 0, 1], discount=1.0)
    values = [[exact.value(s, a) for a in range(2)] for s in range(3)]
    run = wf.Run(labels=world.labels, values=values, beliefs=exact)
    assert run.intention("the start", "up").residual is None, "an exact solution is not what an agent learned"
    assert run.intention("the start", "down").visits[2, 1] == 1.0


def test_a_run_without_a_ledger_raises():
    run = wf.train("FrozenLake-v1", LAKE, episodes=20, seed=0, record=False)
    assert run.ledger is None
    with pytest.raises(ValueError, match="record=True"):
        run.provenance(0)


def test_earlier_intentions():
    run = wf.train("CliffWalking-v1", LAKE, episodes=300, seed=0)
    then = run.audit.as_of(episodes=10)
    stopped = wf.train("CliffWalking-v1", LAKE, episodes=10, seed=0)
    for action in range(4):
        assert np.array_equal(then.visits(36, action), stopped.audit.visits(36, action))
        assert then.value(36, action) == stopped.values[36, action]
    with pytest.raises(ValueError, match="one of episodes= or updates="):
        run.audit.as_of()
    earlier = run.as_of(10)
    assert np.array_equal(earlier.tables, stopped.tables)
    assert np.array_equal(earlier.history.returns, stopped.history.returns)
    assert str(earlier.intention(36)).splitlines()[:-1] == str(stopped.intention(36)).splitlines()[:-1]
    assert earlier.intention(36).residual is None, "the earlier table was not saved"
    assert "own table of that time was not saved" in str(earlier.intention(36))
    with pytest.raises(ValueError, match="the residual needs the learner's own table"):
        _ = earlier.audit.residual  # the ledger would be compared with itself
    with pytest.raises(ValueError, match="the run has 300 episodes; pass 0 to 300, not 301"):
        run.as_of(301)


def test_resumed_training_cannot_change_settings():
    run = wf.train("FrozenLake-v1", LAKE, episodes=5, seed=0)
    with pytest.raises(ValueError, match="seed= was set when this run was started"):
        wf.train(run, episodes=5, seed=1)
    with pytest.raises(ValueError, match="not a learner"):
        wf.train("FrozenLake-v1", "q-learning", episodes=5)
    with pytest.raises(ValueError, match="takes an environment's id"):
        wf.train(7, LAKE, episodes=5)
