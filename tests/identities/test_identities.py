"""Every identity on random worlds, for all learners, discounts, step sizes, initial values and replay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import identities
import whatfor as wf

unit = st.floats(0.0, 1.0)
step_sizes = st.one_of(st.floats(0.01, 1.0), st.just(1.0), st.builds(wf.visit_count, st.sampled_from([1.0, 0.7])))
common = {
    "step_size": step_sizes,
    "discount": st.one_of(st.sampled_from([0.0, 0.9, 1.0]), unit),
    "exploration": unit,
    "initial": st.sampled_from([0.0, 0.0, 1.5]),
}
one_step = st.one_of(
    st.builds(wf.QLearning, **common),
    st.builds(wf.DoubleQLearning, draw=st.sampled_from(["episode", "step"]), **common),
)
others = st.one_of(
    st.builds(wf.Sarsa, **common),
    st.builds(wf.MonteCarlo, **common),
    st.builds(wf.LambdaReturns, lambda_=unit, **common),
)
replays = st.one_of(
    st.builds(wf.Replay, batch=st.integers(1, 3)),
    st.builds(
        wf.Replay, capacity=st.integers(1, 20), batch=st.integers(1, 3), keep=st.sampled_from(["latest", "first"])
    ),
)
where = {
    "world": st.integers(0, 2**16),
    "noisy": st.booleans(),
    "time_limit": st.sampled_from(["bootstrap", "terminal"]),
    "seed": st.integers(0, 2**16),
}
cases = st.one_of(
    st.builds(identities.Case, learner=one_step, **where),
    st.builds(identities.Case, learner=others, **where),
    st.builds(identities.Case, learner=one_step, replay=replays, **where),
)


@pytest.mark.parametrize("check", identities.ALL, ids=lambda check: check.__name__)
@given(case=cases)
def test_holds(check, case):
    check(case)
