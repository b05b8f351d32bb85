"""Whatever rests on beliefs says when they are not to be trusted, without a line of its own."""

from dataclasses import replace

import numpy as np
import pytest

import whatfor as wf
from whatfor.beliefs.trust import Trust
from whatfor.explanation import PLAYED
from whatfor.question import QUESTIONS, why_not

GIVEN = {"chance": {"event": "terminated"}, "change": {"since": 10}, "lead": {"times": 1}}


@pytest.fixture
def resting(lead):
    """The toy question, as one that needs beliefs."""
    QUESTIONS["lead"] = replace(QUESTIONS["lead"], needs=frozenset({"beliefs"}))


@pytest.fixture(scope="module")
def faulty():
    """A run whose last states were recorded as next states."""
    ledger = wf.Ledger(n_states=3, n_actions=2)
    for i in range(40):
        ledger.record(0, i % 2, 0.0, 1, 0, step_size=0.5, discount=0.9)
        ledger.record(1, 0, 1.0, 2, 0, step_size=0.5, discount=0.9)
        ledger.record(1, 1, 0.5, 2, 0, step_size=0.5, discount=0.9)
        ledger.new_episode()
    return wf.Run(labels=wf.Labels.plain(3, 2), values=ledger.values(), ledger=ledger)


def answers(run, state):
    """The answers to all questions that a run can answer without playing."""
    for name, question in QUESTIONS.items():
        if why_not(run, question) is None and "play" not in question.needs:
            yield name, run.ask(name, state, **GIVEN.get(name, {}))


def test_every_answer_says_once_what_seems_to_be_wrong_with_the_ledger(faulty):
    (fault,) = faulty.audit.faults
    asked = []
    for name, why in answers(faulty, 0):
        assert str(why).splitlines().count(fault) == 1, name
        assert why.to_json()["sentences"].count(fault) == 1, name
        asked.append(name)
    assert {"intention", "contrast", "provenance", "parts", "timeline"} <= {*asked}


def test_a_question_that_needs_beliefs_says_so_without_a_line_of_its_own(faulty, resting):
    why = faulty.ask("lead", 0, times=1)
    assert str(why).splitlines() == [*why.sentences(), *faulty.audit.faults]
    assert why.to_json()["sentences"] == str(why).splitlines()


def test_an_estimate_says_how_far_it_can_be_trusted(resting):
    run = wf.train("FrozenLake-v1", episodes=50, seed=0)
    source = run.beliefs.as_of(updates=len(run.ledger))
    source.trust = Trust.of(run.labels, np.zeros(3), np.ones(3), distance=None, states=0, updates=5, discount=0.9)
    why = run.believing(source).ask("lead", 0, times=1)
    assert str(why).splitlines() == [*why.sentences(), *source.trust.sentences()]
    assert "Unreliable" in str(why)


def test_an_answer_from_playing_the_policy_is_not_called_learned(resting):
    run = wf.train("FrozenLake-v1", wf.QLearning(discount=0.9), episodes=50, seed=0)
    played = run.believing(wf.ExactBeliefs("FrozenLake-v1", run.policy, discount=0.9))
    why = played.ask("lead", 0, times=1)
    assert str(why).splitlines() == [*why.sentences(), PLAYED]
    for name in ("intention", "contrast", "outcomes", "change"):
        given = {"since": played} if name == "change" else {}
        assert PLAYED not in str(played.ask(name, 0, **given)), "they say it in their own words"


def test_an_answer_of_a_sound_ledger_has_no_caveats(resting):
    run = wf.train("FrozenLake-v1", episodes=50, seed=0)
    for _, why in answers(run, 0):
        assert str(why).splitlines() == "\n".join(why.sentences()).splitlines()


def test_a_comparison_says_what_seems_to_be_wrong_with_the_ledger(faulty):
    world = wf.worlds.table(
        next_state=[[1, 1], [2, 2], [2, 2]], reward=[[0.0, 0.0], [1.0, 0.5], [0.0, 0.0]], terminated=[[0, 0], [1, 1], [1, 1]]
    )  # fmt: skip
    run = wf.Run(labels=wf.Labels.plain(3, 2), values=faulty.values, ledger=faulty.ledger, env=world)
    (fault,) = run.audit.faults
    for name in ("comparison", "change", "outcomes"):
        assert str(run.ask(name, 0, **GIVEN.get(name, {}))).splitlines().count(fault) == 1, name
    assert fault in str(run.findings())
