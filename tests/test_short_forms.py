"""What a notebook or a prompt shows: a line for each answer, and pictures without any magic."""

import numpy as np
import pytest

import whatfor as wf
from steps_of_a_question import needed_by
from whatfor.question import QUESTIONS, layout_of

#: More than this is a dump.
MAX_SHORT = 400
MORE = {
    "chance": {"event": "delivered"},
    "change": {"since": 100},
    "simulation": {"rollouts": 5},
    "comparison": {"rollouts": 5},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_is_shown_by_its_first_sentence(taxi_2k, name):
    answer = taxi_2k.ask(name, 68, **{**needed_by(QUESTIONS[name], taxi_2k), **MORE.get(name, {})})
    short = repr(answer)
    assert len(short) <= MAX_SHORT
    assert "\n" not in short
    assert short.startswith(f"{type(answer).__name__}({answer.sentences()[0][:40]}")
    assert "array(" not in short
    assert repr(layout_of(answer)) == f"{type(layout_of(answer)).__name__}({layout_of(answer).title!r})"
    assert len(repr(layout_of(answer))) <= MAX_SHORT


def test_a_counterfactual_answer_says_so(run):
    answer = run.without([3]).intention(0)
    assert repr(answer).endswith(".; the run without episode 3 (replayed))")


def test_an_answer_of_somebody_else_has_a_short_form_too():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Mine(wf.explanations.Explanation):
        numbers_of_mine: tuple = tuple(range(10_000))

        def sentences(self):
            return ["It consists of:", "   1  one", "   2  two"]

        def numbers(self):
            return {}

    assert repr(Mine()) == "Mine(It consists of: 1 one ...)"


def test_a_finding_has_a_short_form():
    run = wf.train("FrozenLake-v1", wf.QLearning(), episodes=50, seed=0, progress=False)
    for one in run.findings():
        assert repr(one).startswith(f"Finding({one.kind}, {one.sentence[:40]}")
        assert len(repr(one)) <= MAX_SHORT


def test_everything_else_has_a_short_form(taxi_2k):
    shown = [
        taxi_2k, taxi_2k.labels, taxi_2k.ledger, taxi_2k.audit, taxi_2k.beliefs, taxi_2k.history, taxi_2k.evaluate(3),
        taxi_2k.episode(68), wf.worlds.blackjack(), wf.BeliefMap.from_ledger(taxi_2k.ledger[:0]), taxi_2k.explore(episodes=1),
        wf.ExactBeliefs(wf.worlds.chain(), [0, 0, 1], discount=1.0), wf.SimulatedBeliefs(wf.worlds.chain(), [0, 0, 1], discount=1.0),
    ]  # fmt: skip
    for one in shown:
        short = repr(one)
        assert len(short) <= MAX_SHORT, type(one)
        assert " object at 0x" not in short
        assert short.startswith(f"{type(one).__name__}(")
    assert repr(taxi_2k.evaluate(3)).startswith("Evaluation(mean undiscounted return ")
    assert repr(wf.Labels.plain(3, 2)) == "Labels(state (3); action 0, action 1)"


def test_a_figure_shows_itself(taxi_2k):
    """IPython asks an object for _repr_png_; for plain figures it needs pyplot's backend."""
    figure = wf.draw(taxi_2k.intention(68))
    png = figure._repr_png_()
    assert png.startswith(b"\x89PNG")
    width, height = np.frombuffer(png[16:24], ">u4")
    assert (width, height) == tuple((figure.get_size_inches() * 100).astype(int))
