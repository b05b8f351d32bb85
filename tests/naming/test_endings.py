"""Endings that are recognised by functions."""

import numpy as np
import pytest

import whatfor as wf
from own_worlds import HOME, LAVA, NAMES, START, Home, at_home, trained
from whatfor.axes import Ending, LastStep
from whatfor.ledger.ends import last_updates, with_names
from whatfor.naming.endings import FunctionEnding


def enter(env, state, rng):
    """Put the environment into a state."""
    row, column, env.unwrapped.key = wf.Labels.of(Home()).observation(state)
    env.unwrapped.at = (row, column)


def test_past_ends_are_named_by_the_state_they_ended_in():
    run = trained(names=NAMES)
    ledger = with_names(run.ledger, run.labels)
    last, finals = last_updates(ledger)
    where = [run.labels.observation(int(state))[:2] for state in finals]
    names = [ledger[int(at)].ending for at in last]
    assert names == [{HOME: "home", LAVA: "burned"}[cell] for cell in where]
    assert set(names) == {"home", "burned"}


def test_functions_of_the_whole_last_step():
    seen = []

    def from_left(observation, action, reward, last):
        seen.append((observation, action, reward, last))
        return at_home(last) and observation[1] == 2

    run = trained(names={"endings": {"from the left": from_left, "from above": at_home}})
    ledger = with_names(run.ledger, run.labels)
    last, _ = last_updates(ledger)
    assert {ledger[int(at)].ending for at in last} == {"from the left", "from above", "terminated"}
    for at in last:
        state = run.labels.observation(ledger[int(at)].state)
        assert (ledger[int(at)].ending == "from the left") == (ledger[int(at)].reward == 10.0 and state[1] == 2)
    assert all(tuple(map(type, one)) == (tuple, int, float, tuple) for one in seen)


def test_a_simulation_names_its_ends_by_the_functions():
    run = trained(names=NAMES)
    chances = run.simulation(START, enter=enter, rollouts=200).chances
    assert set(chances) <= {"home", "burned", "timed out"}
    assert sum(chances.values()) == pytest.approx(1.0)
    comparison = run.comparison(START, enter=enter, rollouts=200)
    assert {measure.name for measure in comparison.measures} <= {"value", "home", "burned", "timed out", "never ends"}
    whole = {
        "from the left": lambda observation, action, reward, last: at_home(last) and observation[1] == 2,
        "other": at_home,
    }
    from_here = run.named(endings=whole).simulation((3, 2, 1), "right", enter=enter, rollouts=100).chances
    assert from_here["from the left"] > 0.5  # also of rollouts that end with their first step


def test_a_saved_run_knows_its_recorded_ends_as_data(tmp_path):
    run = trained(names=NAMES)
    run.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run")
    assert [type(ending) for ending in loaded.labels.endings] == [Ending, Ending]
    homes = {run.labels.index((*HOME, 1))}
    assert {step.final_state for step in loaded.labels.endings[0].last_steps} == homes
    assert str(loaded.outcomes(START)) == str(run.outcomes(START))
    played = loaded.simulation(START, env=Home(), enter=enter, rollouts=50)
    assert played.chances == run.simulation(START, enter=enter, rollouts=50).chances
    assert not any(b"at_home" in file.read_bytes() for file in (tmp_path / "run").iterdir())


def test_an_ending_as_data_that_never_happened_fits_nothing():
    labels = wf.Names(endings={"won": at_home}).applied_to(wf.Labels.of(Home()))
    (ending,) = wf.Labels.from_json(labels.to_json()).endings
    assert ending.last_steps == ()
    assert not ending.fits(LastStep(0, 0, 1.0, 5))


def test_a_ledger_without_final_states_says_what_to_record():
    ledger = wf.Ledger(n_states=32, n_actions=4)
    ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9)
    run = wf.Run(labels=wf.Labels.of(Home()), values=np.zeros((32, 4)), ledger=ledger)
    with pytest.raises(ValueError, match=r"pass final_state= to ledger\.record\(\)"):
        run.named(NAMES)


def test_a_function_ending_is_unequal_to_one_with_another_function():
    one, other = FunctionEnding("won", condition=at_home), FunctionEnding("won", condition=lambda last: True)
    assert one != other
    assert one == FunctionEnding("won", condition=at_home)


def test_worlds_that_are_tables_are_renamed(tmp_path):
    world = wf.worlds.table(
        [[1, 2], [1, 1], [2, 2]], [[1.0, -1.0], [0.0, 0.0], [0.0, 0.0]], [[True, True]] + [[False] * 2] * 2
    )
    run = wf.train(
        world,
        wf.QLearning(step_size=1.0, exploration=0.5),
        episodes=50,
        seed=0,
        names={"endings": {"one": lambda last: last == 1, "two": lambda last: last == 2}},
    )
    assert run.outcomes(0, 0).chances == run.simulation(0, 0, rollouts=20).chances == {"one": 1.0}
    assert run.outcomes(0, 1).chances == {"two": 1.0}
    assert "two: estimated 100 %, true 100 %" in str(run.comparison(0, 1, rollouts=50))
    run.save(tmp_path / "run")
    loaded = wf.train(wf.load(tmp_path / "run"), episodes=10)
    assert loaded.outcomes(0, 1).chances == {"two": 1.0}
    assert loaded.simulation(0, 1, rollouts=5).chances == {"two": 1.0}


def test_endings_that_the_world_names_are_renamed_saved_and_resumed(tmp_path):
    run = wf.train("FrozenLake-v1", episodes=300, seed=0).named(endings={"warm": 1.0, "wet": 0.0})
    run.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run")
    on = wf.train(loaded, episodes=100)
    assert set(on.outcomes(0).chances) <= {"warm", "wet", "timed out", "no recorded end"}
    assert on.labels.ending_names == ("warm", "wet")
    straight = wf.train("FrozenLake-v1", episodes=400, seed=0)
    assert np.array_equal(on.values, straight.values)
    assert str(on.outcomes(0)) == str(straight.named(endings={"warm": 1.0, "wet": 0.0}).outcomes(0))


def test_the_one_ending_of_cartpole_is_renamed():
    run = wf.train(wf.worlds.cartpole(bins=(1, 1, 3, 3)), episodes=50, seed=0).named(endings={"dropped": {}})
    state = run.labels.index([0.0, 0.0, 0.0, 0.0])
    assert "dropped" in run.simulation(state, rollouts=20).chances
    two = run.named(endings={"dropped": {"action": 0}, "lost": {"action": 1}})
    with pytest.raises(ValueError, match="the compiled CartPole knows one ending"):
        two.simulation(state, rollouts=20)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("walls", [[0, 0, 1]], "a wall is a cell, or two cells"),
        ("walls", [[0, 9]], "a wall or a mark is at"),
        ("walls", [[0, "x"]], "these are not labels"),
        ("board", ["row", "rwo"], "the board has the axes"),
        ("board", ["row", "row"], "the board has the axes"),
        ("state_words", ["here"], "words for 1 states"),
        ("state_words", ["\x1b[31m"] * 32, "control characters"),
        ("endings", [{"name": "won", "last_steps": [[99, 0, 1.0, 0]]}], "state 99 is out of range"),
        ("endings", [{"name": "won", "last_steps": [[0, 9, 1.0, 0]]}], "has action 9"),
        ("endings", [{"name": "won", "last_steps": [[0, 0, 1.0]]}], "these are not labels"),
        ("endings", [{"name": "won", "between": [float("nan"), None]}], "give a finite number"),
        ("endings", [{"name": "won", "condition": "print"}], None),
        ("marks", [{"state": None, "letter": "K", "name": "key"}], "give one of state= and cell="),
        ("marks", [{"state": None, "letter": "K", "name": "key", "cell": [0, -1]}], "cell of a mark"),
    ],
)
def test_forged_names_are_rejected(field, value, message):
    data = wf.Labels.of(Home(), NAMES).to_json()
    data[field] = value
    if message is None:  # an unknown entry means nothing
        assert type(wf.Labels.from_json(data).endings[0]) is Ending
        return
    with pytest.raises(ValueError, match=message):
        wf.Labels.from_json(data)


@pytest.mark.parametrize("name", ["timed out", "terminated", "never ends", "no recorded end"])
def test_an_ending_that_whatfor_names_itself_is_refused(name):
    with pytest.raises(
        ValueError, match=rf"an ending cannot be called '{name}': whatfor itself says so where .*Choose another"
    ):
        wf.Labels.of("FrozenLake-v1", {"endings": {name: 1.0}})
