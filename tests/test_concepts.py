"""Concepts given in words, by an ending, a condition or states."""

import numpy as np
import pytest

import whatfor as wf
from test_labels import ALL


@pytest.fixture(scope="module")
def taxi():
    return ALL["taxi"]()


@pytest.fixture(scope="module")
def blackjack():
    return ALL["blackjack"]()


@pytest.mark.parametrize("name", ALL)
def test_the_words_of_a_state_are_true_there_and_nowhere_else(name):
    labels = ALL[name]()
    for state in range(0, labels.n_states, max(1, labels.n_states // 40)):
        assert np.flatnonzero(labels.where(labels.words(state)).states).tolist() == [state]


@pytest.mark.parametrize(
    ("text", "count", "holds"),
    [
        ("passenger aboard", 100, lambda row, column, passenger, destination: passenger == 4),
        ("Aboard", 100, lambda row, column, passenger, destination: passenger == 4),
        ("row 4, column 0", 20, lambda row, column, passenger, destination: (row, column) == (4, 0)),
        ("column 0 and taxi at row 4", 20, lambda row, column, passenger, destination: (row, column) == (4, 0)),
        (
            "passenger at Y; destination Y",
            25,
            lambda row, column, passenger, destination: (passenger, destination) == (2, 2),
        ),
    ],
)
def test_words_about_some_of_the_axes(taxi, text, count, holds):
    concept = taxi.where(text)
    assert concept.states.tolist() == [holds(*taxi.values(state)) for state in range(500)]
    assert (concept.states.sum(), concept.name, concept.endings) == (count, text, ())


@pytest.mark.parametrize(("text", "at", "value"), [("player 20", 0, 20), ("dealer ace", 1, 1), ("no usable ace", 2, 0)])
def test_words_in_blackjack(blackjack, text, at, value):
    states = blackjack.where(text).states
    assert states.tolist() == [blackjack.values(state)[at] == value for state in range(704)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "banana",
            "unknown event 'banana'. Give values: row is one of 0, 1, 2, 3, 4; column is one of",
        ),
        ("passenger not aboard", "cannot parse 'passenger not' in 'passenger not aboard'"),
        ("row 4 or row 3", "cannot parse 'or row 3' in 'row 4 or row 3'"),
        ("passenger aboard, delivered", "cannot parse 'delivered' in 'passenger aboard, delivered'"),
        ("row 9", "row cannot be '9'; row is one of 0, 1, 2, 3, 4"),
        ("", "unknown event ''. Give values: row is one of 0, 1, 2, 3, 4; column"),
        ("68", "or name an ending: timed out, terminated, delivered"),
    ],
)
def test_errors_list_the_choices(taxi, text, message):
    with pytest.raises(ValueError, match=r"\S") as error:
        taxi.where(text)
    assert message in str(error.value)


def test_endings_by_name(taxi, blackjack):
    assert taxi.where(" Delivered").endings == ("delivered",)
    assert not taxi.where("delivered").states.any()
    assert taxi.where("timed out").endings == ("timed out",)
    assert blackjack.where("terminated").endings == ("terminated", "bust", "won", "drew", "lost"), (
        "any end by the world"
    )
    with pytest.raises(ValueError, match="stolen"):
        taxi.where("stolen")
    assert taxi.where("stolen", endings=["stolen"]).endings == ("stolen",)


def test_conditions_and_states(blackjack):
    def nearly_there(seen):
        player, _, _ = seen
        return player >= 20

    concept = blackjack.where(nearly_there)
    assert concept.name == "nearly_there"
    assert np.array_equal(concept.states, [blackjack.values(state)[0] >= 20 for state in range(704)])
    assert blackjack.where(lambda seen: True).name == "the condition"
    states = np.flatnonzero(concept.states)
    for given in (concept.states, states, states.tolist(), set(states.tolist()), concept.states.tolist(), concept):
        assert np.array_equal(blackjack.where(given).states, concept.states)
    assert not blackjack.where([]).states.any()
    mask = concept.states.copy()
    kept = blackjack.where(mask)
    mask[:] = False
    assert kept.states.any(), "the concept has its own copy"


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ((10, 7, 0), "a list of state indices, e.g. "),
        (3, "3 is not an event"),
        (None, "None is not an event"),
        ([0, 704], "state 704 is out of range: there are states 0 to 703"),
        ({-1}, "state -1 is out of range"),
        ([0.5], "whole numbers"),
        (np.ones(3, bool), r"one value for each of 704 states; its shape is \(3,\)"),
        (lambda seen: seen[0], r"the condition returns 0 for \(0, 0, 0\); it must return True or False"),
    ],
)
def test_what_is_not_a_concept_is_rejected(blackjack, what, message):
    with pytest.raises(ValueError, match=message):
        blackjack.where(what)


def test_concepts_combine():
    one, two = wf.Concept("one", np.array([1, 1, 0], bool), ("won",)), wf.Concept("two", np.array([0, 1, 0], bool))
    assert ((one & two).states.tolist(), (one & two).endings) == ([False, True, False], ())
    assert ((one | two).states.tolist(), (one | two).endings) == ([True, True, False], ("won",))
    assert (one & two).name == "one and two"
