"""Agents whose episodes nearly all end badly."""

import numpy as np
import pytest

import whatfor as wf
from whatfor.axes import Axis, Ending
from whatfor.worlds import table

#: From state 0, 'go' leads to a prize and 'stop' to a pit; 'wait' is paid.
ENDINGS = (Ending("won", action=0, reward=1.0, phrase="win"), Ending("fell", action=1, reward=-1.0, phrase="fall"))
WORLD = table([[0, 0, 1], [1, 1, 1]], [[1.0, -1.0, 0.5], [1.0, -1.0, 0.0]], [[True, True, False], [True, True, False]])


def run_of(values, world=WORLD):
    return wf.Run(values=values, env=world, discount=0.9)


def kinds(run):
    return [one.kind for one in run.findings()]


def test_an_agent_that_ends_badly_is_found_in_a_known_world():
    (found,) = (one for one in run_of([[0.0, 1.0, 0.5], [0.0, 1.0, 0.5]]).findings() if one.kind == "ending")
    assert "100 % of its episodes" in found.sentence
    assert "0 % reach the best end (+1)" in found.sentence
    assert (found.state, found.question) == (0, "outcomes")
    assert "ending" not in kinds(run_of([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])), "it wins"


@pytest.mark.parametrize(("won", "found"), [(0, False), (2, False), (3, True)])
def test_where_only_experience_tells_training_must_have_reached_the_better_end(won, found):
    ledger = wf.Ledger(n_states=1, n_actions=2)
    for episode in range(50):
        wins = episode < won
        step = {"step_size": 0.1, "discount": 1.0, "ending": "won" if wins else "fell"}
        ledger.record(0, 0 if wins else 1, 1.0 if wins else -1.0, None, **step)
    labels = wf.Labels((Axis("state", 1),), ("go", "stop"), endings=ENDINGS)
    run = wf.Run(labels=labels, values=np.array([[-2.0, -1.0]]), ledger=ledger)
    assert ("ending" in kinds(run)) is found
    if found:
        (sentence,) = (one.sentence for one in run.findings() if one.kind == "ending")
        assert (
            "100 % of its episodes fall, and 0 % reach the best end (+1, which 3 episodes of training reached)"
            in sentence
        )


def test_where_every_end_pays_the_same_none_is_bad():
    same = table([[0, 0], [0, 0]], [[-1.0, -1.0], [-1.0, -1.0]], [[True, True], [True, True]])
    assert "ending" not in kinds(run_of([[0.0, 1.0], [0.0, 1.0]], same))
