"""Names that are passed to train(), carried by an environment, or given afterwards."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import whatfor as wf
from own_worlds import NAMES, START, Home, Machine, NamedHome, at_home, trained
from whatfor.axes import Axis
from whatfor.layouts.map import Map
from whatfor.ledger.ends import with_names
from whatfor.maps import map_of


@pytest.fixture(scope="module")
def named():
    return trained(names=NAMES)


@pytest.fixture(scope="module")
def plain():
    return trained()


def test_names_are_in_the_answers(named):
    text = str(named.intention(START))
    assert "In 'row 3, column 0, without key', it" in text
    assert named.labels.action_phrase(0) == "moves up"
    assert named.labels.action_phrase(1) == "takes 'right'"
    assert set(named.outcomes(START).chances) <= {"home", "burned", "no recorded end"}
    assert "get home" in str(named.intention((0, 0, 1), "right"))


def test_names_change_nothing_but_names(named, plain):
    assert np.array_equal(named.values, plain.values)
    assert named.ledger.n_episodes == plain.ledger.n_episodes


@pytest.mark.parametrize("given", [NAMES, wf.Names(**NAMES)], ids=["dictionary", "Names"])
def test_a_run_is_named_afterwards_as_if_it_had_been_named_before(named, plain, given):
    later = plain.named(given)
    for question in ("intention", "outcomes", "contrast"):
        assert str(later.ask(question, START)) == str(named.ask(question, START))
    assert plain.labels.axes[0].name == "x0"  # the run itself keeps its names


def test_an_environment_carries_its_names(named):
    run = trained(NamedHome())
    assert str(run.outcomes(START)) == str(named.outcomes(START))
    assert run.labels == named.labels
    assert wf.Labels.of(NamedHome()) == wf.Labels.of(Home(), NAMES)


def test_labels_take_an_id():
    assert wf.Labels.of("FrozenLake-v1", {"actions": tuple("wsen")}).words(5) == "row 1, column 1"


def test_given_names_win(named):
    labels = wf.Labels.of(NamedHome(), {"actions": ("n", "e", "s", "w")})
    assert (labels.actions[0], labels.axes[0].name, labels.ending_names) == ("n", "row", named.labels.ending_names)


def test_a_wrapper_that_changes_observations_hides_the_names_inside():
    class Longer(gym.ObservationWrapper):
        def observation(self, observation):
            return observation

    assert wf.Labels.of(Longer(NamedHome())).axes[0].name == "x0"
    assert wf.Labels.of(gym.wrappers.TimeLimit(NamedHome(), 9)).axes[0].name == "row"
    outer = Longer(Home())
    outer.metadata = {"whatfor": {"axes": ("a", "b", "c")}}
    assert wf.Labels.of(outer).axes[2].name == "c"


def test_bins_are_named():
    names = {
        "axes": {"position": ("left", "middle", "right"), "speed": 2},
        "actions": ("push left", "wait", "push right"),
    }
    run = wf.train("MountainCar-v0", episodes=1, seed=0, bins=(3, 2), names=names, max_steps=5)
    assert run.labels.words(3).startswith("position middle; speed")


def test_one_number_is_split_into_axes():
    labels = wf.Names(axes={"row": 2, "side": ("left", "middle", "right")}).applied_to(wf.Labels.plain(6, 1))
    assert labels.words(5) == "row 1, side right"
    assert labels.index("row 1, side left") == labels.index(3) == 3


def test_axes_that_have_names_are_named_by_them():
    labels = wf.Names(axes={"column": ("west", "middle", "east")}).applied_to(
        wf.Labels.of(gym.make("FrozenLake-v1", desc=["SFH", "FFG"]))
    )
    assert [axis.name for axis in labels.axes] == ["row", "column"]
    assert labels.words(4) == "row 1, column middle"


def test_renaming_axes_renames_them_in_phrases():
    taxi = wf.Names(axes=("y", "x", "rider", "goal")).applied_to(wf.Labels.of(gym.make("Taxi-v4")))
    assert taxi.words(0) == "taxi at row 0, column 0; passenger at R; destination R"  # the words of its template
    assert taxi.ending_phrase("delivered", 0) == "deliver at R"
    assert taxi.milestones[0].axis == "rider"


def test_words_of_a_function_repeat_and_an_ambiguous_one_lists_the_candidates(plain):
    run = plain.named(
        names={"axes": NAMES["axes"]},
        words=lambda o: "home" if at_home(o) else f"{'key' if o[2] else 'no key'} at {o[:2]}",
    )
    assert run.labels.index("No key at (3, 0)") == run.labels.index(START)
    with pytest.raises(
        ValueError, match="'home' is ambiguous: these are the words for 'row 3, column 3, without key', 'row 3"
    ):
        run.labels.index("home")
    assert run.labels.index("row 3, column 3, with key") == run.labels.index((3, 3, 1))
    assert run.labels.where("home").states.sum() == 2


def test_everything_is_named_again_when_training_goes_on(named, tmp_path):
    named.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run")
    assert str(loaded.intention(START)) == str(named.intention(START))
    on = wf.train(named, episodes=200)
    assert on.labels.axes == named.labels.axes
    assert "terminated" not in on.outcomes(START).chances
    again = wf.train(loaded.named(NAMES), episodes=200, env=Home())
    assert str(again.outcomes(START)) == str(on.outcomes(START))
    assert np.array_equal(again.values, on.values)
    data = wf.train(loaded, episodes=200, env=Home())  # the recorded ends are known: here they are all there are
    assert str(data.outcomes(START)) == str(on.outcomes(START))
    carried = wf.train(loaded, episodes=200, env=NamedHome())
    assert str(carried.outcomes(START)) == str(on.outcomes(START))


def test_names_are_given_when_training_goes_on(plain):
    on = wf.train(plain, episodes=10, names=NAMES)
    assert on.labels.actions == NAMES["actions"]


def test_counterfactual_and_earlier_runs_keep_the_names(named):
    for other in (named.without([390]), named.as_of(300), named.repriced(lambda s, a, r: 2 * r)):
        assert other.labels.actions == NAMES["actions"]
        assert set(other.outcomes(START).chances) <= {"home", "burned", "no recorded end"}


def test_a_custom_loop_has_the_same_names():
    env, labels = Home(), wf.Labels.of(Home(), NAMES)
    values, ledger = np.zeros((labels.n_states, 4)), wf.Ledger(labels.n_states, 4)
    rng = np.random.default_rng(0)
    for episode in range(20):
        state, done = labels.index(env.reset(seed=episode)[0]), False
        while not done:
            action = int(rng.integers(4))
            observation, reward, done, *_ = env.step(action)
            following = labels.index(observation)
            best = int(values[following].argmax())
            values[state, action] += 0.5 * (
                reward + (0 if done else 0.9 * values[following, best]) - values[state, action]
            )
            end = {"next_state": None, "final_state": following} if done else {"next_state": following}
            ledger.record(state, action, reward, **end, next_action=best, step_size=0.5, discount=0.9)
            state = following
    run = wf.Run(labels=labels, values=values, ledger=ledger)
    assert run.audit.residual < 1e-12
    assert set(run.outcomes(START).chances) <= {"home", "burned"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (3, "names is a dictionary"),
        ({"endngs": {}}, "no key 'endngs'. Did you mean 'endings'"),
        ({"axes": ("row", "column")}, r"axes names 2 \(row, column\); the states of this environment have 3: x0 \(4 values\)"),
        ({"axes": {"row": 5, "column": 4, "key": 2}}, "axis 'row' has 5 values .* and 4 in the environment"),
        ({"axes": {"row": 4, "column": 4, "key": ("yes",)}}, "axis 'key' has 1 values"),
        ({"axes": ("row", "Row", "key")}, "two of the axes have the same name"),
        ({"axes": {"row": 4, "column": 4, "key": ("yes", "Yes")}}, "two of the values of axis 'key' have the same name"),
        ({"axes": 3}, "axes is a list of names"),
        ({"actions": ("up", "right")}, r"actions has 2 names \(up, right\); this environment has 4 actions"),
        ({"actions": ("up", "up", "down", "left")}, "two of the actions have the same name"),
        ({"verbs": {"fly": "flies"}}, "there is no action 'fly'"),
        ({"endings": {"won": {"action": "action 9"}}}, "there is no action 'action 9'"),
        ({"endings": {"won": {"whn": at_home}}}, "the ending 'won' has no key 'whn'. Did you mean 'when'"),
        ({"endings": {"won": lambda last: last > 3}}, "the condition of ending 'won' failed for .*TypeError"),
        ({"endings": {"won": lambda last: "yes"}}, "returns 'yes'"),
        ({"endings": {"won": lambda a, b: True}}, "must be a function of the last observation, or of"),
        ({"endings": {"Timed out": 1.0}}, "an ending cannot be called 'Timed out'"),
        ({"endings": {"won": "yes"}}, "the ending 'won' is 'yes'"),
        ({"endings": ["won"]}, "endings is a dictionary"),
        ({"milestones": {"see": {"x2": 7}}}, "it is one of 0, 1"),
        ({"milestones": {"see": {"y": 7}}}, "a milestone is about 'y'"),
        ({"milestones": 3}, "milestones is a dictionary"),
        ({"template": "at {place}"}, "the template has {place}, which is no axis"),
        ({"words": lambda last: 3}, "words= returns 3"),
        ({"words": lambda last: {}[last]}, "words= failed for"),
        ({"board": ("row", "column")}, "the board has the axes 'row' and 'column'; name two of the axes x0, x1, x2"),
        ({"board": "row"}, "board is a list of texts"),
        ({"walls": [(1, 1)]}, "walls and marks need a board"),
        ({**NAMES, "walls": [(4, 1)]}, "at row 4 and column 1; the board has row 0 to 3 and column 0 to 3"),
        ({**NAMES, "walls": [((0, 0), (2, 0))]}, "not beside each other"),
        ({**NAMES, "walls": 3}, "walls is a list of cells"),
        ({**NAMES, "marks": {"lava": 3}}, "the mark 'lava' is a list of cells"),
        ({**NAMES, "marks": {"lava": {"letter": "L"}}}, "the mark 'lava' is nowhere"),
        ({**NAMES, "marks": {"a": {"at": (0, 0), "letter": "x"}, "b": {"at": (0, 1), "letter": "X"}}}, "two of the letters"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error_before_training(names, message):
    with pytest.raises(ValueError, match=message):
        wf.train(Home(), episodes=10**9, names=names)


def test_the_error_says_if_the_names_are_those_of_the_environment():
    class Wrong(Home):
        metadata = {"whatfor": {"axes": ("a",)}}  # noqa: RUF012

    with pytest.raises(ValueError, match=r"metadata\['whatfor'\] of this environment: axes names 1"):
        wf.train(Wrong(), episodes=1)


def test_a_function_that_fails_later_loses_nothing():
    def fails(last):
        if last[0] == 3 and last[1] == 3:
            raise KeyError("home")
        return False

    with pytest.raises(
        wf.TrainingStopped, match="training is done, and the names cannot be given: the condition of ending 'won'"
    ) as stopped:
        trained(names={"endings": {"won": fails}})
    assert len(stopped.value.run.history) == 400
    assert stopped.value.run.named(NAMES).outcomes(START).chances["home"] > 0.0


def test_continuous_rewards_at_the_end():
    run = trained(Machine())
    names = list(run.outcomes((0, 0)).chances)
    assert names
    assert all(name.startswith("ended with") for name in names)
    named = run.named(endings={"sold": {"action": 2}, "broken": lambda last: last[0] == 3})
    assert set(named.outcomes((0, 0)).chances) <= {"sold", "broken", "no recorded end"}
    assert {"sold", "broken"} <= set(with_names(named.ledger, named.labels).endings)


def test_discovered_states_are_named_once_they_are_known(named, tmp_path):
    run = trained(names=NAMES, state_of=tuple)
    assert run.labels.discovered == run.labels.n_states < 32
    assert set(run.outcomes(START).chances) <= {"home", "burned", "no recorded end"}
    assert str(run.outcomes(START)) == str(named.outcomes(START))
    assert run.labels.words(run.labels.index(START)) == "row 3, column 0, without key"
    assert [panel.title for panel in map_of(Map(run.labels, np.zeros((run.labels.n_states, 4)))).panels] == [
        "without key",
        "with key",
    ]
    assert trained(NamedHome(), state_of=tuple).labels == run.labels
    run.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run")
    assert str(loaded.intention(START)) == str(run.intention(START))


def test_names_stay_when_more_states_are_discovered():
    run = trained(names={**NAMES, "axes": ("row", "column", "key"), "milestones": {}}, episodes=1, state_of=tuple)
    on = wf.train(run, episodes=300)
    assert on.labels.n_states > run.labels.n_states
    assert {mark.name for mark in on.labels.marks} == {"lava", "home"}
    assert ([axis.name for axis in on.labels.axes], on.labels.actions) == (["row", "column", "key"], NAMES["actions"])
    assert set(on.outcomes(START).chances) <= {"home", "burned", "no recorded end"}


def test_names_that_do_not_fit_discovered_states_lose_nothing():
    with pytest.raises(ValueError, match="actions has 1 name"):
        trained(names={"actions": ("up",)}, state_of=tuple)
    with pytest.raises(wf.TrainingStopped, match="the names cannot be given: axes names 2") as stopped:
        trained(names={"axes": ("row", "column")}, state_of=tuple)
    assert len(stopped.value.run.history) == 400
    assert stopped.value.run.named(axes=("row", "column", "key")).labels.axes[0].name == "row"


def test_parts_of_a_dictionary_are_named_by_their_keys():
    space = spaces.Dict(at=spaces.MultiDiscrete([2, 3]), door=spaces.Discrete(2))

    class Room(gym.Env):
        observation_space, action_space = space, spaces.Discrete(1)

    names = {"axes": {"door": ("door closed", "door open")}, "board": ("at[0]", "at[1]"), "marks": {"key": (1, 2)}}
    labels = wf.Labels.of(Room(), names)
    assert labels.words(1) == "at[0] 0, at[1] 0, door open"
    assert labels.board_axes == (0, 1)
    assert labels.index("at[0] 1, at[1] 2, door closed") == labels.index({"at": [1, 2], "door": 0})


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (("empty", "loaded"), ("x 0, loaded empty", "x 0, loaded")),
        (("not Loaded", "Loaded"), ("x 0, not Loaded", "x 0, Loaded")),
        (("twice", "loaded twice", "loaded"), ("x 0, loaded twice", "x 0, loaded loaded twice", "x 0, loaded")),
    ],
)
def test_a_value_that_says_the_name_of_its_axis_stands_alone(words, texts):
    """It said 'loaded loaded'; the name stays where another value would have the same words."""
    labels = wf.Labels((Axis("x", 3), Axis("loaded", len(words), words)), ("go",))
    assert tuple(map(labels.words, range(len(words)))) == texts
    assert [labels.index(labels.words(state)) for state in range(labels.n_states)] == list(range(labels.n_states))


def test_names_of_axes_in_another_order_are_refused(plain):
    env = Home()
    order = [axis.name for axis in wf.Labels.of(env).axes]
    assert wf.Labels.of(env, {"axes": order}).axes == wf.Labels.of(env).axes
    with pytest.raises(ValueError, match=f"order of the environment's observations, {order[0]}, {order[1]}"):
        wf.Labels.of(env, {"axes": [order[1], order[0], *order[2:]]})
