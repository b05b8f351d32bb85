"""Observation, index and words of every state can be converted into each other."""

import ast
import json
import re

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import (
    DiscretizeObservation,
    TimeAwareObservation,
    TransformAction,
    TransformObservation,
    TransformReward,
)

import whatfor as wf
from whatfor.axes import Axis, Ending, LastStep
from whatfor.labels import Labels
from whatfor.text import speaking_shell
from whatfor.worlds.cartpole import BINS, BOUNDS
from whatfor.worlds.gymnasium import labels_of
from whatfor.worlds.making import binned

ACROBOT = [(-1, 1), (-1, 1), (-1, 1), (-1, 1), (-4, 4), (-9, 9)]


class Shows(gym.Env):
    """An environment with an observation space and nothing else."""

    def __init__(self, space, actions=None):
        self.observation_space, self.action_space = space, actions or spaces.Discrete(2)


SPACES = {
    "discrete": spaces.Discrete(4),
    "discrete from 3": spaces.Discrete(5, start=3),
    "discrete from -2": spaces.Discrete(5, start=-2),
    "multidiscrete": spaces.MultiDiscrete([2, 3], start=[1, -4]),
    "tuple": spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3, start=5))),
}
ALL = {
    "taxi": lambda: labels_of(gym.make("Taxi-v4")),
    "blackjack": lambda: labels_of(gym.make("Blackjack-v1")),
    "cartpole": lambda: wf.worlds.cartpole().labels,
    "frozen lake": lambda: labels_of(gym.make("FrozenLake-v1", map_name="8x8")),
    "cliff": lambda: labels_of(gym.make("CliffWalking-v1")),
    "chain": lambda: wf.worlds.chain().labels,
    "mountain car": lambda: labels_of(binned(gym.make("MountainCar-v0"), 10, None)),
    "mountain car, fine": lambda: labels_of(binned(gym.make("MountainCar-v0"), 40, None)),
    "acrobot": lambda: labels_of(binned(gym.make("Acrobot-v1"), 3, ACROBOT)),
    **{name: (lambda space=space: labels_of(Shows(space))) for name, space in SPACES.items()},
}


@pytest.fixture(scope="module")
def taxi():
    return ALL["taxi"]()


@pytest.fixture(scope="module")
def blackjack():
    return ALL["blackjack"]()


@pytest.fixture(scope="module")
def cartpole():
    return ALL["cartpole"]()


@pytest.mark.parametrize("name", ALL)
def test_observations_and_words_lead_back_to_the_state(name):
    labels = ALL[name]()
    states = range(labels.n_states)
    assert [labels.index(labels.observation(state)) for state in states] == [*states]
    words = [labels.words(state) for state in states]
    assert len(set(words)) == labels.n_states, "two states with the same words"
    assert [labels.index(text) for text in words] == [*states]


@pytest.mark.parametrize("name", ALL)
def test_labels_survive_json(name):
    labels = ALL[name]()
    again = Labels.from_json(json.loads(json.dumps(labels.to_json())))
    assert again == labels
    assert again.words(labels.n_states - 1) == labels.words(labels.n_states - 1)


@pytest.mark.parametrize("name", SPACES)
def test_observations_belong_to_the_space_they_came_from(name):
    space, labels = SPACES[name], ALL[name]()
    space.seed(0)
    assert all(space.contains(labels.observation(state)) for state in range(labels.n_states))
    assert {labels.index(space.sample()) for _ in range(300)} == set(range(labels.n_states))


def test_taxi_reads_as_gymnasium_decodes_it(taxi):
    env = gym.make("Taxi-v4").unwrapped
    assert taxi.words(env.encode(0, 3, 2, 0)) == "taxi at row 0, column 3; passenger at Y; destination R"
    assert taxi.words(env.encode(4, 0, 4, 3)) == "taxi at row 4, column 0; passenger aboard; destination B"
    assert [taxi.values(state) for state in range(500)] == [tuple(env.decode(state)) for state in range(500)]


def test_blackjack_reads_as_its_observation(blackjack):
    assert blackjack.words(blackjack.index((14, 1, 1))) == "player 14, dealer ace, usable ace"
    assert blackjack.words(blackjack.index((21, 10, 0))) == "player 21, dealer 10, no usable ace"
    assert blackjack.observation(blackjack.index((14, 1, 1))) == (14, 1, 1)


def test_state_79_of_cartpole_is_the_middle_with_the_pole_a_little_left(cartpole):
    assert cartpole.n_states == 162
    assert cartpole.words(79) == (
        "cart at -0.8 to 0.8, moving at -0.83 to 0.83; pole at -4° to 0°, swinging at -0.33 to 0.33"
    )
    assert cartpole.index(np.array([0.0, 0.0, np.radians(-2), 0.0])) == 79


@pytest.mark.parametrize(
    ("bins", "bounds"), [(BINS, BOUNDS), ((1, 4, 2, 5), ((-1, 1), (-2, 3), (-0.1, 0.2), (-4, -1)))]
)
def test_cartpole_bins_are_gymnasiums(bins, bounds):
    """Random observations, inside and outside the bounds, and every edge itself."""
    low, high = (np.array(side, np.float32) for side in zip(*bounds, strict=True))
    oracle = DiscretizeObservation(Shows(spaces.Box(low, high)), bins)
    labels = wf.worlds.cartpole(bins, bounds).labels
    seen = np.random.default_rng(0).normal(scale=2 * np.maximum(-low, high), size=(2_000, 4)).astype(np.float32)
    for axis, edges in enumerate(oracle.bin_edges):
        seen[: len(edges), axis] = edges
    seen[10], seen[11] = low, high
    assert [labels.index(row) for row in seen] == [oracle.observation(row) for row in seen]


def test_the_observation_of_a_bin_lies_inside_it():
    env = binned(gym.make("Acrobot-v1"), 3, ACROBOT)
    labels = labels_of(env)
    for state in range(0, labels.n_states, 37):
        low, high = env.revert_observation(state)
        middle = labels.observation(state)
        assert (low < middle).all()
        assert (middle < high).all()


@pytest.mark.parametrize(
    "text",
    [
        "taxi at row 0, column 3; passenger at Y; destination R",
        "  Taxi at  ROW 0, column 3; passenger at y; destination r ",
        "destination R; passenger Y; column 3; row 0",
        "row=0, column=3, passenger=Y, destination=R",
        "row=0 column=3 passenger=Y destination=R",
        "row 0 column 3 passenger at Y destination R",
        "row: 0; column: 3; passenger: 2; destination: 0",
        "(0, 3, 2, 0)",
        "0 3 2 0",
        "68",
    ],
)
def test_taxi_understands(taxi, text):
    assert taxi.index(text) == gym.make("Taxi-v4").unwrapped.encode(0, 3, 2, 0)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("player 10, dealer 7, usable ace", (10, 7, 1)),
        ("player 10, dealer 7, no usable ace", (10, 7, 0)),
        ("no usable ace, dealer ace, player 12", (12, 1, 0)),
        ("usable ace; dealer 10; player 12", (12, 10, 1)),
        ("player=14 dealer=7 ace=1", (14, 7, 1)),
        ("player 14 dealer 10 no usable ace", (14, 10, 0)),
        ("(10, 7, 0)", (10, 7, 0)),
        ("328", (14, 10, 0)),
    ],
)
def test_blackjack_understands(blackjack, text, seen):
    assert blackjack.index(text) == blackjack.index(seen)
    assert blackjack.observation(blackjack.index(text)) == seen


@pytest.mark.parametrize(
    "text",
    [
        "swinging at -0.33 to 0.33; pole at -4° to 0°; moving at -0.83 to 0.83; cart at -0.8 to 0.8",
        "cart=-0.8 to 0.8; speed=-0.83 to 0.83; pole=-4° to 0°; swing=-0.33 to 0.33",
        "(0.1, -0.2, -0.01, 0.3)",
        "[0 0 -0.05 0]",
        "79",
    ],
)
def test_cartpole_understands(cartpole, text):
    assert cartpole.index(text) == 79


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("taxi", "column 3; passenger at Y; destination R", ["row", "0, 1, 2, 3, 4"]),
        ("taxi", "taxi at row 0, column 3; passenger at Y", ["destination", "R, G, Y, B"]),
        ("taxi", "row 0, column 3, destination R", ["passenger", "at R, at G, at Y, at B, aboard"]),
        ("taxi", "row 0, column 3, passenger at Y, destination X", ["destination", "'x'", "R, G, Y, B"]),
        ("taxi", "taxi at row 9, column 3; passenger at Y; destination R", ["row", "'9'", "0, 1, 2, 3, 4"]),
        ("taxi", "", ["row"]),
        ("taxi", "500", ["500", "0 to 499"]),
        ("taxi", "-1", ["-1", "0 to 499"]),
        ("taxi", "68.5", ["68.5"]),
        ("taxi", "(0, 3, 2)", ["3 numbers", "4"]),
        ("taxi", "(5, 3, 2, 0)", ["row 5", "0 to 4"]),
        ("blackjack", "player 12, dealer 7", ["ace", "no usable ace, usable ace"]),
        ("blackjack", "dealer ace, player 12", ["ace", "no usable ace, usable ace"]),
        ("blackjack", "dealer 7, usable ace", ["player"]),
        ("blackjack", "player 12, dealer 12, usable ace", ["dealer", "'12'", "ace, 2"]),
        ("blackjack", "(10.5, 7, 0)", ["10.5"]),
        ("blackjack", "usable ace, player 12", ["dealer", "nothing, ace, 2"]),
        ("blackjack", "dealer 7, player 10.5, usable ace", ["player", "10.5"]),
        ("acrobot", "x0 -1 to -0.33; x4 -4 to -1.33; x5 -9 to -3", ["x1", "-0.33 to 0.33"]),
        ("cartpole", "cart at -0.8 to 0.8", ["speed", "-0.83 to 0.83"]),
        ("cartpole", "0.1, 0.2", ["2 numbers", "4"]),
    ],
)
def test_errors_name_what_is_missing_and_the_choices(name, text, parts):
    labels = ALL[name]()
    with pytest.raises(ValueError, match=r"\S") as error:
        labels.index(text)
    missing = [part for part in parts if part.lower() not in str(error.value).lower()]
    assert not missing, str(error.value)


def test_errors_contain_a_working_example(taxi):
    with pytest.raises(ValueError, match="Write it like this: '") as error:
        taxi.index("somewhere")
    example = str(error.value).split("Write it like this: '")[1].split("'")[0]
    assert taxi.words(taxi.index(example)) == example


def test_a_state_that_is_not_whole_is_rejected(taxi, blackjack):
    for labels, seen in ((taxi, 3.5), (taxi, np.array(3.5)), (blackjack, (10.5, 7, 0)), (taxi, float("nan"))):
        with pytest.raises(ValueError, match="is not a whole number"):
            labels.index(seen)


@pytest.mark.parametrize("kind", [int, np.int64, np.int32, float, np.array])
def test_an_index_may_be_any_whole_number(taxi, kind):
    assert taxi.index(kind(68)) == 68


def test_actions_by_name_number_and_neither(taxi):
    assert [taxi.action(name) for name in taxi.actions] == [0, 1, 2, 3, 4, 5]
    assert (taxi.action("PICK UP "), taxi.action("4"), taxi.action(np.int64(4))) == (4, 4, 4)
    with pytest.raises(
        ValueError, match=r"no action 'fly'; the actions are south, north, east, west, pick up, drop off"
    ):
        taxi.action("fly")
    for number in (6, -1, "6"):
        with pytest.raises(ValueError, match=rf"no action {number}; the actions are 0 south, 1 north"):
            taxi.action(number)


def test_observations_that_do_not_start_at_zero_can_be_asked_about():
    """The best action is looked up by observation, not by index."""
    labels = labels_of(Shows(spaces.Discrete(5, start=-2)))
    values = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    ledger = wf.Ledger(n_states=5, n_actions=2)
    run = wf.Run(labels=labels, values=values, ledger=ledger)
    assert (run.best(-2), run.best(0)) == (0, 1)
    why = run.intention(-2)
    assert (why.state, why.action, why.value) == (0, 0, 1.0)
    last = run.intention(2)
    assert (last.state, last.action) == (4, 1)


@pytest.mark.parametrize(
    ("id", "bins", "bounds", "first", "last"),
    [
        ("CartPole-v1", (3, 2, 6, 3), BOUNDS, "cart at less than -0.8, moving at less than 0; pole at less than -8°, swinging at less than -0.33", "cart at 0.8 or more, moving at 0 or more; pole at 8° or more, swinging at 0.33 or more"),
        ("MountainCar-v0", (4, 1), None, "x0 less than -0.75; x1 any", "x0 0.15 or more; x1 any"),
        ("Acrobot-v1", (2, 2, 2, 2, 3, 2), None, "x0 less than 0; x1 less than 0; x2 less than 0; x3 less than 0; x4 less than -4.19; x5 less than 0", "x0 0 or more; x1 0 or more; x2 0 or more; x3 0 or more; x4 4.19 or more; x5 0 or more"),
    ],
)  # fmt: skip
def test_the_words_of_end_bins_cover_what_is_clipped_into_them(id, bins, bounds, first, last):
    env = gym.make(id)
    env = binned(env, bins, bounds)
    labels = labels_of(env)
    assert (labels.words(0), labels.words(labels.n_states - 1)) == (first, last)
    assert [labels.index(labels.words(state)) for state in range(labels.n_states)] == list(range(labels.n_states))
    shuffled = [", ".join(reversed(re.split("[,;] ", labels.words(state)))) for state in range(labels.n_states)]
    assert [labels.index(text) for text in shuffled] == list(range(labels.n_states))
    far = np.full(env.unwrapped.observation_space.shape, 1e3, np.float32)
    assert labels.words(labels.index(far)) == last
    assert labels.words(labels.index(-far)) == first


def test_cartpole_with_more_observations_gets_plain_labels():
    env = binned(TimeAwareObservation(gym.make("CartPole-v1")), 2, [*BOUNDS, (0, 500)])
    assert labels_of(env).words(0).startswith("x0 less than 0; x1 less than 0;")


def test_endings_are_recognised_by_action_and_reward(blackjack, taxi):
    names = {(action, reward): blackjack.ending(action, reward) for action in (0, 1) for reward in (-1.0, 0.0, 1.0)}
    assert names == {
        (0, 1.0): "won",
        (0, 0.0): "drew",
        (0, -1.0): "lost",
        (1, -1.0): "bust",
        (1, 0.0): None,
        (1, 1.0): None,
    }
    assert blackjack.ending_names == ("bust", "won", "drew", "lost")
    assert taxi.ending(5, 20.0) == "delivered"
    assert Ending("any").fits(LastStep(None, 3, 0.1, None))
    assert Labels.plain(2, 2).ending(0, 1.0) is None


@pytest.mark.parametrize(
    ("rewards", "names"),
    [
        ((1, 0, 0), {0.0: "fell into a hole", 1.0: "reached the goal"}),
        ((5, -2, -1), {-2.0: "fell into a hole", 5.0: "reached the goal"}),
        ((1, 1, 0), {1.0: None}),
    ],
)
def test_frozen_lake_endings_depend_on_the_rewards_of_goal_and_holes(rewards, names):
    labels = labels_of(gym.make("FrozenLake-v1", reward_schedule=rewards))
    assert {reward: labels.ending(2, reward) for reward in names} == names


@pytest.mark.parametrize(
    ("wrapped", "action"),
    [
        (lambda env: TransformObservation(env, lambda seen: 499 - seen, env.observation_space), "south"),
        (lambda env: TransformAction(env, lambda action: 5 - action, env.action_space), "action 0"),
    ],
)
def test_names_are_dropped_if_a_wrapper_may_change_their_meaning(wrapped, action):
    labels = labels_of(wrapped(gym.make("Taxi-v4")))
    assert labels.words(68) == "state 68"
    assert labels.actions[0] == action


def test_names_are_kept_if_only_rewards_change():
    labels = labels_of(TransformReward(gym.make("Taxi-v4"), lambda reward: 2 * reward))
    assert labels.words(68).startswith("taxi at row 0, column 3")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Labels((Axis("x", 2),), ("go", "Go ")), "two of the actions have the same name, 'go'"),
        (lambda: Axis("room", 3, ("hall", "den", "hall")), "two of the values of axis 'room' have the same name, 'hall' .0 and 2."),
        (lambda: Axis("room", 3, ("hall", "den")), "axis 'room' has 3 values and 2 names"),
    ],
)  # fmt: skip
def test_names_in_a_list_are_unique_and_complete(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_too_few_names_of_actions_are_refused_at_once():
    with pytest.raises(ValueError, match="names 3 states and 1 actions; the table has 3 states and 2"):
        wf.worlds.table(
            next_state=[[0, 1]] * 3, reward=[[0, 0]] * 3, terminated=True, labels=Labels((Axis("x", 3),), ("go",))
        )
    with pytest.raises(ValueError, match="1"):
        wf.Run(labels=Labels((Axis("x", 3),), ("go",)), values=np.zeros((3, 2)))


def test_words_of_a_function_may_repeat_and_an_ambiguous_one_lists_the_candidates():
    floors = Axis.by_function("floor", 4, lambda at: "cellar" if at == 0 else "upstairs", start=1)
    labels = Labels((floors, Axis("door", 2, ("open", "shut"))), ("go",))
    assert labels.words(3) == labels.words(5)
    assert labels.index("floor cellar, door shut") == 1
    with pytest.raises(
        ValueError, match=r"floor 'upstairs' is ambiguous: it is the word for 2, 3, 4. Write the number"
    ):
        labels.index("floor upstairs, door shut")
    assert labels.index("floor=3, door shut") == 5
    assert np.flatnonzero(labels.where("upstairs, door shut").states).tolist() == [3, 5, 7], "an event: any of them"
    assert Labels.from_json(labels.to_json()) == labels


def test_endings_may_be_recognised_by_the_final_state():
    labels = Labels((Axis("x", 3),), ("go",), endings=(Ending("left", state=0), Ending("right", reward=1.0, state=2)))
    assert [labels.ending(0, 1.0, state) for state in range(3)] == ["left", None, "right"]
    assert labels.ending(0, 1.0) is None
    with pytest.raises(ValueError, match="state 3 is out of range"):
        Labels((Axis("x", 3),), ("go",), endings=(Ending("far", state=3),))
    world = wf.worlds.table(
        next_state=[[0, 2]] * 3, reward=[[0.0, 1.0]] * 3, terminated=True,
        labels=Labels((Axis("x", 3),), ("a", "b"), endings=labels.endings),
    )  # fmt: skip
    run = wf.train(world, wf.QLearning(), episodes=50, seed=0)
    assert set(run.outcomes(0, 0).chances) == {"left"}
    assert set(run.outcomes(0, 1).chances) == {"right"}


def test_two_endings_that_are_recognised_by_the_same_are_refused():
    axes = Labels.plain(3, 2).axes
    with pytest.raises(ValueError, match="'won' is given twice: leave one out"):
        Labels(axes, ("l", "r"), endings=(Ending("won", action=0, reward=1.0), Ending("won", action=0, reward=1.0)))
    with pytest.raises(ValueError, match="'won' and 'lost' are recognised by the same"):
        Labels(axes, ("l", "r"), endings=(Ending("won", action=0, reward=1.0), Ending("lost", action=0, reward=1.0)))
    both = (Ending("won", reward=1.0), Ending("won", reward=2.0), Ending("a"), Ending("b"))
    assert len(Labels(axes, ("l", "r"), endings=both).endings) == 4, (
        "one name for two ways, and names without conditions"
    )


def test_an_error_lists_repeated_words_once():
    floors = Axis.by_function("floor", 12, lambda at: "low" if at < 8 else "high")
    with pytest.raises(ValueError, match=r"floor is one of low, high\."):
        Labels((floors,), ("go",)).index("floor nine")


def test_the_hint_how_to_write_a_nested_state_can_be_typed():
    space = spaces.Dict(
        robot=spaces.Dict(row=spaces.Discrete(5), column=spaces.Discrete(7)), loaded=spaces.MultiBinary(1)
    )

    class Warehouse(gym.Env):
        observation_space, action_space = space, spaces.Discrete(2)

    labels = wf.Labels.of(Warehouse())
    hint = labels.example()
    words, nested = hint.removeprefix("Write it like this: ").split(" or ")
    assert labels.index(ast.literal_eval(nested)) == labels.index(ast.literal_eval(words))
    with speaking_shell():
        _, numbers = labels.example().removeprefix("Write it like this: ").split(" or ")
    assert labels.index(numbers) == labels.index(ast.literal_eval(words))


def test_endings_without_a_name_of_their_own_are_called_what_they_are():
    labels = wf.Labels.plain(2, 1)
    step = labels.last_step(1, 0, 5.0)
    assert step == "ended by action 0 in state 1 (+5)"
    phrases = {name: labels.ending_phrase(name, 0) for name in ("terminated", "timed out", step, "out of fuel")}
    assert [*phrases.values()] == [
        "end the episode",
        "reach the time limit",
        "end by action 0 in state 1 (+5)",
        "end with 'out of fuel'",
    ]
