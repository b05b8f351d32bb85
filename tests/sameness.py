"""Learners for the tests of engines and of saving, and the comparison of two runs."""

import numpy as np

import whatfor as wf

SETTINGS = {"step_size": 0.3, "discount": 0.95, "exploration": wf.linear(1.0, 0.1, episodes=40)}
LEARNERS = {
    "q": wf.QLearning(**SETTINGS),
    "q, averaging": wf.QLearning(**{**SETTINGS, "step_size": wf.visit_count(0.7)}),
    "q, from 2": wf.QLearning(**SETTINGS, initial=2.0),
    "sarsa": wf.Sarsa(**SETTINGS),
    "double q by episode": wf.DoubleQLearning(**SETTINGS, draw="episode"),
    "double q by step": wf.DoubleQLearning(**SETTINGS, draw="step"),
    "monte carlo": wf.MonteCarlo(**SETTINGS),
    "lambda": wf.LambdaReturns(**SETTINGS, lambda_=0.7),
}
REPLAYS = {
    "growing": wf.Replay(batch=2),
    "ring": wf.Replay(capacity=100, batch=2, warmup=20),
    "first": wf.Replay(capacity=150, keep="first"),
}
CASES = [(name, None) for name in LEARNERS] + [
    (name, replay) for name in ("q", "double q by episode", "double q by step") for replay in REPLAYS
]


def assert_same_learning(one, other):
    """Assert that tables, history and ledger are bit-for-bit identical."""
    assert np.array_equal(one.tables, other.tables)
    assert np.array_equal(one.history.returns, other.history.returns)
    assert np.array_equal(one.history.lengths, other.history.lengths)
    assert (one.ledger is None) == (other.ledger is None)
    if one.ledger is not None:
        for name, mine, its in zip(one.ledger.lines._fields, one.ledger.lines, other.ledger.lines, strict=True):
            assert np.array_equal(mine, its), name
        assert np.array_equal(one.ledger.breaks, other.ledger.breaks)
        assert np.array_equal(one.ledger.origins, other.ledger.origins)
        assert np.array_equal(one.ledger.final_states, other.ledger.final_states)
        assert one.ledger.endings == other.ledger.endings
