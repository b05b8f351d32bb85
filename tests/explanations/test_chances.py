"""Chances of events and parts of the reward, on fixed cases."""

import json
import re

import numpy as np
import pytest

import whatfor as wf
from taxi_runs import START, train_taxi

LEARNERS = {
    "q": wf.QLearning(exploration=0.5),
    "sarsa": wf.Sarsa(exploration=0.5),
    "double q": wf.DoubleQLearning(exploration=0.5),
    "monte carlo": wf.MonteCarlo(exploration=0.5),
    "lambda": wf.LambdaReturns(exploration=0.5, lambda_=0.6),
}


@pytest.fixture(scope="module")
def taxi(taxi_50k):
    return taxi_50k


def test_a_trained_taxi_expects_its_passenger_aboard(taxi):
    for state in ("taxi at row 2, column 2; passenger at G; destination B", START):
        chance = taxi.chance(state, event="passenger aboard")
        assert chance.probability == pytest.approx(1.0, abs=1e-3)
        expected = "it expects 'passenger aboard' with a probability of"
        assert re.search(rf"{expected} (> 99|100) % \(tried {chance.tries:,} times\)", str(chance))
        assert "Otherwise" not in str(chance)


def test_the_order_of_a_ride(taxi):
    """It drives to Y in row 4, picks up and delivers, in this order."""
    way = ["row 4, column 0", "passenger aboard", "delivered"]
    for earlier, later in ((0, 1), (0, 2), (1, 2)):
        right = taxi.chance(START, event=way[earlier], before=way[later])
        assert right.probability == pytest.approx(1.0, abs=1e-3)
        wrong = taxi.chance(START, event=way[later], before=way[earlier])
        assert wrong.probability == pytest.approx(0.0, abs=1e-3)
        assert wrong.otherwise[way[earlier]] == pytest.approx(1.0, abs=1e-3)
    assert re.search("it expects 'delivered' before 'passenger aboard' with a probability of (< 0.1|0) %", str(wrong))
    assert re.search(r"(> 99|100) %  passenger aboard$", str(wrong), re.MULTILINE)


def test_visits_and_earnings_are_those_of_the_route(taxi):
    """Thirteen steps, the last six of them with the passenger: five at -1 and the delivery."""
    chance = taxi.chance(START, event="passenger aboard")
    steps = 0.9 ** np.arange(8, 13)
    assert chance.visits == pytest.approx(steps.sum(), abs=1e-2)
    assert chance.earnings == pytest.approx(-steps[:-1].sum() + 20 * steps[-1], abs=1e-1)


def test_an_event_that_already_holds_is_reported_and_not_counted(taxi):
    aboard = "taxi at row 0, column 0; passenger aboard; destination R"
    chance = taxi.chance(aboard, "drop off", event="passenger aboard")
    assert (round(chance.probability, 3), round(chance.visits, 3), chance.earnings) == (0.0, 0.0, 0.0)
    assert "'passenger aboard' already holds here; the answer is about what follows this step." in str(chance)
    assert re.search(r"(> 99|100) %  delivered$", str(chance), re.MULTILINE)
    assert "already" not in str(taxi.chance(START, event="passenger aboard"))


def test_untried_is_unknown_and_an_unknown_share_is_reported():
    run = train_taxi(1)
    state, action = next((s, a) for s in range(500) for a in range(6) if run.ledger.tries()[s, a] == 0)
    chance = run.chance(state, action, event="delivered")
    assert (chance.probability, chance.otherwise, chance.unknown) == (0.0, {}, 1.0)
    assert str(chance).endswith("was never tried: whether 'delivered' follows is unknown.")
    world = wf.worlds.table(next_state=[[1], [1]], reward=[[0.0], [1.0]], terminated=[[False], [True]])
    little = wf.train(world, wf.QLearning(step_size=0.1, discount=1.0), episodes=5, seed=0).chance(0, event="state 1")
    assert (little.probability, little.unknown) == (pytest.approx(1 - 0.9**5), pytest.approx(0.9**5))
    assert "41 % to 100 % (tried 5 times)" in str(little)
    assert "59 %  unknown: it still rests on initial values" in str(little)


def test_a_probability_beside_an_unknown_share_is_a_range():
    """A third of the weight is still on an initial value: the probability of what was not seen is not 0."""
    ledger = wf.Ledger(n_states=2, n_actions=1)
    ledger.record(0, 0, 1.0, None, step_size=2 / 3, discount=1.0)
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)
    assert "it expects 'state 1' with a probability of 0 % to 33 % (tried 1 time)" in str(
        run.chance(0, event="state 1")
    )


def test_the_bounds_of_a_range_are_said_in_words():
    """Nearly nothing is known of one ending, and nearly everything else is unknown."""
    ledger = wf.Ledger(n_states=2, n_actions=1)
    ledger.record(1, 0, 1.0, None, step_size=1.0, discount=1.0)
    ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
    ledger.record(0, 0, 1.0, 1, 0, step_size=0.002, discount=1.0)
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)
    assert "with a probability of 50 % to 100 %" in str(run.chance(0, event="terminated"))
    ledger.record(0, 0, 1.0, None, step_size=0.001, discount=1.0, ending="timed out")
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)
    assert "with a probability of 50 % to more than 99 %" in str(run.chance(0, event="terminated"))


def test_both_at_once_is_neither_before_the_other():
    world = wf.worlds.table(next_state=[[1], [1]], reward=[[0.0], [1.0]], terminated=[[False], [True]])
    run = wf.train(world, wf.QLearning(step_size=1.0, discount=1.0), episodes=5, seed=0)
    chance = run.chance(0, event="state 1", before=lambda seen: seen <= 1)
    assert (chance.probability, chance.otherwise) == (0.0, {"both at once": 1.0})


@pytest.mark.parametrize("name", LEARNERS)
def test_chances_of_endings_are_the_outcomes(name):
    run = wf.train(wf.worlds.blackjack(), LEARNERS[name], episodes=3_000, seed=0)
    hand = (14, 10, 0)
    for action in ("hit", "stick"):
        outcomes = run.outcomes(hand, action)
        for ending in ("bust", "won", "drew", "lost"):
            chance = run.chance(hand, action, event=ending)
            assert chance.probability == pytest.approx(outcomes.chances.get(ending, 0.0), abs=1e-12)
            assert chance.visits == 0.0
        assert run.chance(hand, action, event="terminated").probability == pytest.approx(
            sum(outcomes.chances.values()), abs=1e-12
        )


def test_endings_that_only_the_ledger_knows():
    ledger = wf.Ledger(n_states=1, n_actions=1)
    ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0, ending="fell")
    run = wf.Run(labels=wf.Labels.plain(1, 1), values=[[0.5]], ledger=ledger)
    assert run.chance(0, event="fell").probability == 0.5
    with pytest.raises(ValueError, match="or name an ending: timed out, terminated, fell"):
        run.chance(0, event="won")


def test_a_ledger_is_needed_and_one_of_the_same_world():
    with pytest.raises(ValueError, match="chance needs a ledger, or an environment: pass ledger=, or env="):
        wf.Run(labels=wf.Labels.plain(1, 2), values=[[0.0, 1.0]]).chance(0, event="state 0")
    audit = wf.Audit(wf.Ledger(n_states=3, n_actions=1))
    with pytest.raises(ValueError, match="'here' covers 2 states, the ledger has 3"):
        audit.arrivals(0, 0, [wf.Concept("here", np.ones(2, bool))])


def test_parts_of_a_ride(taxi):
    """Twelve steps at -1 and one delivery, discounted; and the rest that a part passed by the caller leaves."""
    split = taxi.parts(START)
    assert split.totals["reward -1"] == pytest.approx(-(0.9 ** np.arange(12)).sum(), abs=1e-2)
    assert split.totals["reward +20"] == pytest.approx(20 * 0.9**12, abs=1e-2)
    assert split.rest == pytest.approx(0.0, abs=1e-12)
    assert split.value == taxi.intention(START).value
    text = str(split)
    assert "covered by no part" not in text
    assert f"Sum: {split.value:.4g}, equal to the agent's Q-value up to rounding" in text
    fare = taxi.parts(START, parts={"fare": lambda state, action, reward: max(reward, 0.0)})
    assert fare.totals["fare"] == pytest.approx(split.totals["reward +20"], abs=1e-12)
    assert fare.rest == pytest.approx(split.totals["reward -1"] + split.totals["reward -10"], abs=1e-12)
    assert f"{fare.rest:+.4g}  covered by no part" in str(fare)
    drop = taxi.labels.index("taxi at row 0, column 0; passenger aboard; destination R"), 5
    assert fare.earnings["fare"][drop] == pytest.approx(fare.totals["fare"], abs=1e-3)


def test_a_function_is_called_once_for_each_different_step(taxi):
    calls = []
    taxi.parts(START, parts={"all": lambda *step: calls.append(step) or step[2]})
    assert len(calls) == len(set(calls)) > 10
    assert all(isinstance(state, int) and isinstance(action, int) for state, action, _ in calls)


def test_parts_collected_in_a_custom_training_loop():
    ledger = wf.Ledger(n_states=2, n_actions=1, initial=1.0)
    ledger.record(1, 0, 5.0, None, step_size=0.5, discount=0.5)
    ledger.record(0, 0, -1.0, 1, 0, step_size=0.5, discount=0.5)
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values()[0], ledger=ledger)
    split = run.parts(0, parts={"food": [4.0, 0.0], "work": [0.0, -1.0]})
    assert split.totals == {"food": 0.5, "work": -0.5}
    assert (split.rest, split.initial_share, split.value, split.residual) == (0.125, 0.625, 0.75, 0.0)
    assert "remaining from initial values" in str(split)
    assert str(run.parts(0, parts={})).splitlines()[1] == "    +0.125  covered by no part"
    empty = wf.Run(labels=wf.Labels.plain(1, 1), values=[[0.0]], ledger=wf.Ledger(n_states=1, n_actions=1))
    assert "was never tried" in str(empty.parts(0))
    assert empty.parts(0, parts={"all": lambda *step: 1.0}).totals == {"all": 0.0}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ([1.0], r"parts\['x'\] has shape \(1,\); it must have shape \(n_updates,\) = \(\d+,\)"),
        (3.0, r"parts\['x'\] has shape \(\)"),
        ("fare", "part 'x' is str: give an array with a number for each update, or a function"),
        ({"a": 1}, "part 'x' is dict: give an array"),
        (
            lambda state, action, reward: float("nan"),
            r"part 'x' returned nan for \(\d+, \d, -1.0\); it must be a finite number",
        ),
        (lambda state, action, reward: None, "part 'x' returned None for"),
    ],
)
def test_wrong_parts_are_rejected(taxi, part, message):
    with pytest.raises(ValueError, match=message):
        taxi.parts(START, parts={"x": part})


def test_wrong_numbers_are_rejected(taxi):
    numbers = np.zeros(len(taxi.ledger))
    numbers[7] = np.inf
    with pytest.raises(ValueError, match="part 'x' is inf at update 7; parts are finite numbers"):
        taxi.parts(START, parts={"x": numbers})


def test_many_rewards_are_split_by_ending():
    run = wf.train(wf.testing.random_world(0), wf.QLearning(exploration=1.0), episodes=50, seed=0)
    split = run.parts(0)
    assert len(np.unique(run.ledger.lines.reward)) > 12
    assert {"gains on the way", "costs on the way"} <= {*split.totals}
    assert any(name.startswith("reward at ") for name in split.totals)
    assert split.rest == pytest.approx(0.0, abs=1e-12)
    assert split.residual < 1e-12
    with pytest.raises(ValueError, match=r"there are \d+ different rewards; name the parts: parts="):
        run.repriced(factors={"reward -1": 0.0})


def test_answers_are_json(taxi):
    for answer in (
        taxi.chance(START, event="passenger aboard"),
        taxi.chance(START, event="delivered", before=lambda seen: seen == 3),
        taxi.parts(START),
    ):
        form = json.loads(json.dumps(answer.to_json()))
        assert form["sentences"] == str(answer).splitlines()
        assert form.get("residual") == answer.residual
        assert (answer.unaccounted if answer.residual is None else answer.residual) < 1e-9
    assert taxi.chance(START, event="delivered", before=lambda seen: seen == 3).to_json()["before"] == "the condition"
    split = taxi.parts(START).to_json()
    assert sum(part["number"] for part in split["earnings"]["reward -1"]) == pytest.approx(split["totals"]["reward -1"])


def test_a_probability_below_the_unknown_one_is_a_range():
    """What it has learned of an event is no estimate of it while more is unknown."""
    run = wf.train("FrozenLake-v1", wf.QLearning(discount=0.95), episodes=60, seed=0)
    for state in np.flatnonzero(run.beliefs.tries.sum(axis=1)):
        answer = run.chance(int(state), event="reached the goal")
        if "is unknown" not in str(answer).splitlines()[0]:
            ranged = " % to " in str(answer).splitlines()[0]
            assert ranged == (answer.unknown > min(0.5, max(answer.probability, 5e-4)))


def test_an_unknown_event_shows_how_one_is_written():
    run = wf.train("FrozenLake-v1", episodes=1, seed=0)
    with pytest.raises(ValueError, match="Write it like this: 'row 2'"):
        run.chance(0, event="treasure")
    assert run.chance(4, event="row 2").event.name == "row 2"
    with pytest.raises(ValueError, match=r"3 is not an event.*e\.g\. \[3\]"):
        run.chance(0, event=3)
