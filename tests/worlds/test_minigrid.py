"""MiniGrid's worlds: keys, names, endings, boards, and how to enter a state."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whatfor as wf
from saved import assert_same, through_disk
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import WALL
from whatfor.maps import map_of, picture_of, places_of
from whatfor.worlds.making import make_env
from whatfor.worlds.minigrid import ACTIONS, enter, key_of

LEARNER = wf.QLearning(step_size=0.5, discount=0.95, exploration=wf.linear(1.0, 0.1, episodes=150))


@pytest.fixture(scope="module")
def door_key():
    return wf.train("MiniGrid-DoorKey-5x5-v0", LEARNER, episodes=400, seed=0)


@pytest.fixture(scope="module")
def empty():
    return wf.train("MiniGrid-Empty-5x5-v0", LEARNER, episodes=150, seed=0)


def start_of(run):
    return run.playing.player.start(0)


def test_the_state_that_an_environment_is_in_is_asked_about_by_its_key(door_key, tmp_path):
    env = gym.make("MiniGrid-DoorKey-5x5-v0")
    observation, _ = env.reset(seed=0)
    for run in (door_key, through_disk(door_key, tmp_path / "run")):
        with pytest.raises(ValueError, match=r"does not show the whole state .* whatfor.worlds.minigrid.key_of\(env\)"):
            run.intention(observation)
        key = run.labels.observation(0)
        enter(env, run.labels)(env, 0, np.random.default_rng(0))
        assert run.intention(key_of(env)).state == run.labels.index(key) == 0


def test_the_cells_of_a_board_are_square(door_key):
    figure = wf.draw(door_key.intention(start_of(door_key)))
    titles = {ax.get_title() for ax in figure.axes}
    assert any(title.startswith("carrying the yellow key") for title in titles)
    figure.draw_without_rendering()
    boxes = [ax.get_window_extent() for ax in figure.axes if "door" in ax.get_title()]
    assert len(boxes) > 1
    assert all(box.width == pytest.approx(box.height, rel=0.02) for box in boxes)


def test_it_learns_to_reach_the_goal_and_says_so(door_key):
    assert door_key.evaluate(30).mean > 0.9
    assert door_key.audit.residual == 0.0
    said = str(door_key.intention(start_of(door_key)))
    assert "it expects to pick up the yellow key" in said
    assert "to open the door" in said
    assert "to reach the goal" in said
    assert door_key.labels.actions == ACTIONS


def test_words_name_what_varies(door_key, empty):
    assert empty.labels.words(0) == "row 1, column 1, facing right"
    words = door_key.labels.words(start_of(door_key).index)
    assert words.startswith("row ")
    assert "carrying nothing; door locked; around: yellow key at row " in words
    assert "; door at row " in words, "the layouts differ by the place of the door"
    assert "mission" not in words
    for labels in (door_key.labels, empty.labels):
        assert [labels.index(labels.words(state)) for state in range(labels.n_states)] == list(range(labels.n_states))


QUESTIONS = {
    "intention": {}, "contrast": {}, "outcomes": {}, "timeline": {}, "provenance": {}, "simulation": {"rollouts": 20},
    "comparison": {"rollouts": 20}, "chance": {"event": "reached the goal"}, "change": {"since": 20},
    "parts": {"parts": {"success": lambda state, action, reward: reward}},
}  # fmt: skip


@pytest.mark.parametrize("world", ["door_key", "empty"])
def test_every_question_is_answered_before_and_after_saving(world, request, tmp_path):
    run = request.getfixturevalue(world)
    again = through_disk(run, tmp_path / "run")
    assert_same(again, run)
    state = run.labels.words(start_of(run).index)
    for name, more in QUESTIONS.items():
        assert str(again.ask(name, state, **more)) == str(run.ask(name, state, **more))
    assert run.simulation(state, rollouts=20).chances == {"reached the goal": 1.0}


def test_a_resumed_run_goes_on_identically(empty, tmp_path):
    more = wf.train(through_disk(empty, tmp_path / "run"), episodes=20)
    assert np.array_equal(more.tables, wf.train(empty, episodes=20).tables)


def test_the_board_has_walls_door_key_and_goal(door_key):
    at = start_of(door_key).index
    layout, places = picture_of(door_key.labels, at)
    letters = [letter for letter, *_ in layout.marks]
    assert (letters.count(WALL), letters.count("D"), letters.count("G"), letters.count("K")) == (18, 1, 1, 1)
    row, column = layout.marked
    assert places[row][column] == at
    assert all(places[r][c] == -1 for letter, r, c, _ in layout.marks if letter == WALL)
    numbers = np.arange(door_key.values.size, dtype=float).reshape(door_key.values.shape)
    panels = map_of(Map(door_key.labels, numbers, state=at))
    labels = door_key.labels
    states = {state for grid in places_of(labels, at) for cells in grid for state in cells} - {-1}
    assert {labels.values(state)[6] for state in states} == {labels.values(at)[6]}, "one layout"
    assert len(panels.panels) == len(places_of(labels, at)) == 4
    here = map_of(Map(labels, numbers, state=at), facets="here")
    assert [grid.title for grid in here.panels] == [*ACTIONS]


def test_the_numbers_on_a_board_are_those_of_its_states(empty):
    numbers = np.random.default_rng(0).random(empty.values.shape)
    grid = map_of(Map(empty.labels, numbers, state=0))
    assert np.isclose(np.sum(grid.numbers), numbers.sum())
    rows = {}
    for state in range(empty.labels.n_states):
        key = empty.labels.observation(state)
        rows[key[:2]] = rows.get(key[:2], 0.0) + numbers[state].sum()
    assert all(np.isclose(grid.numbers[row][column], total) for (row, column), total in rows.items())


@settings(max_examples=15)
@given(seed=st.integers(0, 2**16))
@pytest.mark.parametrize("id", ["MiniGrid-DoorKey-5x5-v0", "MiniGrid-UnlockPickup-v0", "MiniGrid-Fetch-5x5-N2-v0"])
def test_a_state_that_is_entered_goes_on_as_the_one_that_was_met(id, seed):
    """The same key, and the same keys, rewards and ends after the same actions."""
    env, other = (make_env(id).unwrapped for _ in range(2))
    dice = np.random.default_rng(seed)
    env.reset(seed=seed % 5)
    env.action_space.seed(seed)
    for _ in range(int(dice.integers(60))):
        if any(env.step(int(dice.integers(6)))[2:4]):
            env.reset(seed=seed % 5)
    key = key_of(env)
    labels = _labels_with(key)
    other.reset(seed=seed % 5)
    enter(other, labels)(other, 0, dice)
    assert key_of(other) == key
    for action in dice.integers(6, size=30).tolist():
        mine, its = env.step(action), other.step(action)
        assert key_of(env) == key_of(other)
        assert mine[2] == its[2]
        assert (mine[1] > 0) == (its[1] > 0)
        if mine[2]:
            break


def _labels_with(key):
    from whatfor.labels import Labels
    from whatfor.states import DiscoveredStates
    from whatfor.structure import structure_of
    from whatfor.worlds.minigrid_board import AXES

    states = DiscoveredStates.of([[value] for value in key])
    return Labels(states.axes(AXES), ("go",), observed="nested", structure=structure_of(key), states=states)


def test_a_state_of_a_world_that_does_not_come_back_cannot_be_entered():
    run = wf.train("MiniGrid-FourRooms-v0", LEARNER, episodes=2, seed=0, max_steps=10)
    with pytest.raises(ValueError, match=r"1,000 resets gave no world .*ReseedWrapper"):
        run.simulation(0, rollouts=2)


@pytest.mark.filterwarnings("ignore:.*A seed has been passed to `ReseedWrapper.reset`")
def test_worlds_that_come_back_can_be_wrapped():
    from minigrid.wrappers import ReseedWrapper

    env = ReseedWrapper(gym.make("MiniGrid-FourRooms-v0"), seeds=[3])
    run = wf.train(env, LEARNER, episodes=3, seed=0, max_steps=30)
    assert {run.labels.axes[i].size for i in (6, 7)} == {1}, "one layout and one mission"
    assert run.simulation(0, rollouts=3).within == {"timed out": 3}


@pytest.mark.parametrize(
    ("id", "endings"),
    [
        ("MiniGrid-LavaGapS5-v0", ("walked into lava", "reached the goal")),
        ("MiniGrid-Unlock-v0", ("failed", "succeeded")),
        ("MiniGrid-Dynamic-Obstacles-5x5-v0", ("failed", "hit an obstacle", "reached the goal")),
    ],
)
def test_endings_are_told_by_what_they_pay(id, endings):
    run = wf.train(id, wf.QLearning(exploration=1.0), episodes=15, seed=0, max_steps=40)
    assert run.labels.ending_names == endings
    assert run.audit.residual == 0.0
    for update in run.ledger:
        if update.ending in endings:
            assert (update.reward > 0) == (update.ending == endings[-1])


def test_an_own_key_replaces_the_one_of_the_adapter():
    run = wf.train("MiniGrid-Empty-5x5-v0", LEARNER, episodes=5, seed=0, state_of=lambda seen: seen["image"].tobytes())
    assert len(run.labels.axes) == 1
    assert run.labels.ending_names == ("failed", "reached the goal")
    assert run.settings["world"]["discovered"] == "state_of"
