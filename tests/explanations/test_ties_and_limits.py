"""Ties, default limits and comparisons with nothing are said as they are."""

import numpy as np
import pytest

import whatfor as wf
from own_worlds import Endless
from whatfor.explanations.change import _times
from whatfor.explanations.measures import signed
from whatfor.explanations.phrases import not_significant
from whatfor.layouts.shapes import Panels
from whatfor.question import layout_of
from whatfor.text import percent, speaking_shell


@pytest.fixture(scope="module")
def tied():
    ledger = wf.Ledger(n_states=2, n_actions=3)
    for action in range(3):
        ledger.record(0, action, 1.0, None, step_size=0.5, discount=0.9)
    return wf.Run(labels=wf.Labels.plain(2, 3), values=[[0.5] * 3, [0.0] * 3], ledger=ledger)


def test_tied_actions_are_named_and_none_is_called_the_choice(tied):
    text = str(tied.intention(0))
    assert "'action 0', 'action 1' and 'action 2' are tied; if it takes " in text
    assert "In 'state 0', it takes" not in text
    text = str(tied.change(0, since=1))
    shown = tied.labels.actions[tied.best(0)]
    assert (
        f"'action 0', 'action 1' and 'action 2' are tied now (this answer takes {shown!r}); after 1 episode, its choice was"
        in text
    )


def test_an_untried_action_of_the_same_value_is_not_called_the_second_best():
    ledger = wf.Ledger(n_states=1, n_actions=2)
    ledger.record(0, 0, 0.0, None, step_size=0.5, discount=0.9)
    run = wf.Run(labels=wf.Labels.plain(1, 2), values=[[0.0, 0.0]], ledger=ledger)
    assert "return is 0 (discounted); 'action 1', with the same value, was never tried." in str(run.intention(0, 0))
    ledger.record(0, 0, -1.0, None, step_size=0.5, discount=0.9)
    run = wf.Run(labels=wf.Labels.plain(1, 2), values=[[-0.5, 0.0]], ledger=ledger)
    assert "'action 1', the best by value, was never tried." in str(run.intention(0, 0))


def test_large_standard_errors_have_no_exponent():
    assert not_significant(1.0, 102.0) == "not significant: two standard errors are 200"
    assert not_significant(0.0, 0.013) == "not significant: two standard errors are 0.026"


def test_actions_that_are_tied_at_both_times_are_named_once():
    run = wf.train("FrozenLake-v1", wf.QLearning(discount=0.95, exploration=1.0), episodes=20, seed=0)
    assert "'left', 'down', 'right' and 'up' are tied now, as they were after 10 episodes (this answer takes " in str(
        run.change(0, since=10)
    )


def test_training_warns_where_the_default_limit_cut_episodes(recwarn):
    learner = wf.QLearning(discount=0.9)
    with pytest.warns(UserWarning, match="3 of 3 episodes were cut at max_steps=10,000, the default where"):
        wf.train(Endless(), learner, episodes=3, seed=0)
    recwarn.clear()
    wf.train(Endless(), learner, episodes=3, seed=0, max_steps=50)
    wf.train("FrozenLake-v1", learner, episodes=3, seed=0)
    assert not recwarn.list


def test_a_change_from_nothing_draws_one_map_of_the_known_side():
    run = wf.train("FrozenLake-v1", wf.QLearning(discount=0.95), episodes=500, seed=0)
    first = run.as_of(1).ledger.tries().any(axis=1)
    state = int(np.flatnonzero(run.ledger.tries().any(axis=1) & ~first)[-1])
    change = run.change(state, since=1)
    assert "no experience after 1 episode" in str(change)
    drawn = layout_of(change)
    assert not isinstance(drawn, Panels) or len(drawn.panels) != 5
    assert run.labels.actions[run.best(state)] in drawn.title
    assert "nothing to compare: no experience before" in drawn.caption
    met = run.ledger.tries().any(axis=1).sum()
    for time in _times(run)[:-1]:
        assert run.as_of(int(time)).ledger.tries().any(axis=1).sum() >= 0.9 * met


def test_change_without_a_ledger_names_what_works():
    run = wf.train("FrozenLake-v1", wf.QLearning(), episodes=5, record=False, seed=0)
    with pytest.raises(
        ValueError, match=r"change since an episode .since=another run works without one. needs the ledger"
    ):
        run.change(0, since=2)


def test_small_sentences(tied):
    assert "computed, not estimated" in repr(tied.trust)
    assert signed(-0.0002, percent) == "0 points"
    run = wf.train("FrozenLake-v1", wf.QLearning(), episodes=2, seed=0)
    state, action = (int(x) for x in np.argwhere(run.ledger.tries())[0])
    assert "consists of:\n  no rewards\nSum: 0" in str(run.parts(state, action))
    whole = wf.train("FrozenLake-v1", wf.QLearning(discount=1.0), episodes=300, seed=0)
    assert "discounted" not in str(whole.intention(0))


def test_linear_says_how_to_write_it():
    with pytest.raises(TypeError, match=r"write linear\(1, 0.1, episodes=250\)"):
        wf.linear(1, 0.1, 250)
    with pytest.raises(ValueError, match="episodes is 0; it must be a whole number of at least 1"):
        wf.linear(1.0, 0.1, episodes=0)


def test_an_unknown_id_names_what_applies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="Pass an id such as") as unknown:
        wf.train("Lift-v0", episodes=1)
    assert "resume" not in str(unknown.value)
    (tmp_path / "Lift-v0").mkdir()
    (tmp_path / "Lift-v0" / "manifest.json").write_text("{}")
    with pytest.raises(ValueError, match=r"resume a saved run with train\(load\('Lift-v0'\)"):
        wf.train("Lift-v0", episodes=1)
    with speaking_shell(), pytest.raises(ValueError, match="or module:Id if a module registers it") as unknown:
        wf.train("Taxi-v9", episodes=1)
    assert "--module" not in str(unknown.value)
    with pytest.raises(ValueError, match=r"package for ALE\? Pass"):
        wf.train("ALE/Pong-v5", episodes=1)
