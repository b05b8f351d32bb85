"""Cells: states, bins, clusters and concepts; names of endings and actions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from small_agents import CONCEPTS, ENDINGS

from whatfor.deep import Bins, Clusters, Concepts, States
from whatfor.deep.cells import make_partition
from whatfor.worlds.cartpole import BINS, BOUNDS, cartpole

BOX = spaces.Box(-10.0, 10.0, (4,))
NO_VISITS = np.zeros(0)


def test_countable_observations_are_their_own_cells() -> None:
    for space in (spaces.Discrete(12, start=3), spaces.MultiDiscrete([3, 4]), spaces.Box(0, 2, (2,), np.int64)):
        cells = States().partition(space, None, NO_VISITS)
        observations = np.array([space.sample() for _ in range(20)])
        index = cells.index(observations)
        assert cells.whole
        for observation, cell in zip(observations, index, strict=True):
            assert np.array_equal(cells.representative(int(cell)), observation)


def test_bins_match_those_of_gymnasium() -> None:
    env = gym.make("CartPole-v1")
    cells = Bins(BINS, BOUNDS).partition(env.observation_space, env, NO_VISITS)
    assert cells.labels == cartpole().labels
    from whatfor.worlds.making import binned

    wrapped = binned(gym.make("CartPole-v1"), BINS, BOUNDS)
    rng = np.random.default_rng(0)
    observations = rng.normal(size=(200, 4)).astype(np.float32)
    theirs = [int(wrapped.observation(np.clip(obs, *np.float32(BOUNDS).T))) for obs in observations]
    assert cells.index(observations).tolist() == theirs


def test_concepts_of_three_kinds_make_one_cell_for_each_combination() -> None:
    cells = Concepts(CONCEPTS).partition(BOX, None, NO_VISITS)
    assert cells.labels.n_states == 2 * 3 * 3
    observations = np.array([[0.0, 0.0, -0.1, 0.0], [0.5, 0.0, 0.1, 1.0]])
    words = [cells.labels.words(int(cell)) for cell in cells.index(observations)]
    assert words == ["pole left; cart middle; swing -0.5 to 0.5", "not pole left; cart right; swing 0.5 or more"]
    assert cells.labels.where("pole left").states.sum() == 9
    assert cells.labels.index(words[0]) == cells.index(observations)[0]
    assert not cells.whole


def test_clusters_are_of_visited_observations() -> None:
    rng = np.random.default_rng(0)
    visited = np.concatenate([rng.normal(at, 0.01, size=(50, 2)) for at in (-5.0, 0.0, 5.0)])
    cells = Clusters(3).partition(spaces.Box(-9, 9, (2,)), None, visited)
    index = cells.index(visited).reshape(3, 50)
    assert (index == index[:, :1]).all()
    assert len(set(index[:, 0].tolist())) == 3
    for cell in range(3):
        assert cells.index(np.asarray(cells.representative(cell))[None])[0] == cell


def test_endings_are_named_by_conditions_or_by_the_world() -> None:
    cells = make_partition(CONCEPTS, BOX, None, NO_VISITS, n_actions=2, endings=ENDINGS)
    assert cells.ending_names == ("terminated", "fell left", "fell right")
    assert cells.ending_index(np.array([0.0, 0.0, 0.3, 0.0]), 0, 1.0) == 2
    assert cells.ending_index(np.array([3.0, 0.0, 0.0, 0.0]), 0, 1.0) == 0
    env = gym.make("Taxi-v4")
    taxi = make_partition(None, env.observation_space, env, NO_VISITS, n_actions=6)
    assert taxi.ending_names[taxi.ending_index(np.int64(0), 5, 20.0)] == "delivered"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (None, "observations are not discrete"),
        ({}, "names no concept"),
        ({"a": 3}, "give a condition"),
        ({"a": (lambda obs: "x", ("y", "z"))}, "its names are y, z"),
        ({"a": lambda obs: obs}, "must return True or False"),
        ({"a": (lambda obs: 0.0, (1.0, 0.0))}, "each above the one before"),
        ({f"c{n}": lambda obs: True for n in range(20)}, "the maximum is"),
        (Bins, "is not understood"),
        (17, "is not understood"),
        (Bins((3, 3)), "bins has length 2"),
        (Clusters(5), "clusters"),
    ],
)
def test_invalid_cells_are_refused_with_the_reason(cells: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_partition(cells, BOX, None, np.zeros((2, 4)), n_actions=2).index(np.zeros((1, 4)))


def always(obs: object) -> bool:
    return True


@pytest.mark.parametrize("name", ["", " ", "a{b", "a}b", "0", "-1.5", "(1, 2)", " left", "far  left", 3])
def test_a_concept_needs_a_name_that_can_be_parsed(name: object) -> None:
    with pytest.raises(ValueError, match=r"^the concept .* needs another name: .*, e.g. \"moving left\"$") as refused:
        Concepts({"near": always, name: always}).partition(BOX, None, NO_VISITS)  # type: ignore[dict-item]
    assert repr(name) in str(refused.value)


@pytest.mark.parametrize(
    "name", ["speed > 0.5", "x: left", "v[0]", "a;b", "fast!", "Left", "2 left", "not left", "left"]
)
def test_other_names_of_concepts_can_be_parsed(name: str) -> None:
    for more in ({}, {"up": always, "side": (always, ("Far", "0", "at 0", "{x}"))}):
        labels = Concepts({name: always, **more}).partition(BOX, None, NO_VISITS).labels
        assert [labels.index(labels.words(cell)) for cell in range(labels.n_states)] == list(range(labels.n_states))


@pytest.mark.parametrize(
    ("concept", "message"),
    [
        ((always, ()), r"the concept 'side' has \(\) for its names or edges; write e.g. \(\"left\", \"right\"\)"),
        ((always, 3), "the concept 'side' has 3 for its names or edges"),
        ((always, "left"), "the concept 'side' has 'left' for its names or edges"),
        (
            (always, ("left", "Left")),
            "the concept 'side' has the name 'Left' twice, ignoring case; write every name once",
        ),
        ((always, ("left", "")), "the concept 'side' has the name ''; write words"),
        ((always, ("left", 1.0)), r"the edges of 'side' are \['left', 1.0\]; they must be finite numbers"),
        ((always, ((1.0,), (1.0, 2.0))), "the edges of 'side' are .*; they must be finite numbers"),
    ],
)
def test_invalid_names_and_edges_of_a_concept_are_refused(concept: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Concepts({"side": concept}).partition(BOX, None, NO_VISITS)


def test_two_concepts_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two concepts have the name 'Left', ignoring case; choose two names"):
        Concepts({"left": always, "Left": always}).partition(BOX, None, NO_VISITS)


@pytest.mark.parametrize("space", [spaces.MultiBinary(100), spaces.MultiDiscrete([10] * 30)])
def test_too_many_cells_are_refused(space: spaces.Space[Any]) -> None:
    with pytest.raises(ValueError, match=r"the maximum is|observations are not discrete|the limit is 10,000,000"):
        States().partition(space, None, NO_VISITS)


def test_there_must_be_a_name_for_each_action() -> None:
    assert make_partition(CONCEPTS, BOX, None, NO_VISITS, n_actions=2, actions=("l", "r")).labels.actions == ("l", "r")
    with pytest.raises(ValueError, match="actions names 3 actions; the agent has 2"):
        make_partition(CONCEPTS, BOX, None, NO_VISITS, n_actions=2, actions=("l", "m", "r"))


def test_the_error_of_a_concept_includes_its_name() -> None:
    for concept, message in (
        (lambda obs: obs[9] > 0.0, "the concept 'far' failed on .*IndexError"),
        ((lambda obs: float("nan"), (0.0, 1.0)), "the concept 'far' returns NaN"),
    ):
        cells = Concepts({"near": lambda obs: True, "far": concept}).partition(BOX, None, NO_VISITS)
        with pytest.raises(ValueError, match=message):
            cells.index(np.zeros((1, 4)))


def test_endings_are_checked() -> None:
    concepts = {"left": lambda obs: obs[0] < 0.0}
    with pytest.raises(ValueError, match="'left' is the name of a concept and of an ending"):
        make_partition(concepts, BOX, None, NO_VISITS, n_actions=2, endings={"left": lambda obs: obs[2] < 0.0})
    with pytest.raises(ValueError, match="give a dictionary"):
        make_partition(concepts, BOX, None, NO_VISITS, n_actions=2, endings=["left"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one"):
        make_partition(Clusters(0), BOX, None, NO_VISITS, n_actions=2)
