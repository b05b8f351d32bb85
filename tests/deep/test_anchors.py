"""Anchors: cells that are observations of the agent, saved, loaded, forged and asked about."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from small_agents import train_agent
from test_deep_saving import assert_same, contents
from test_forged import check_rejected
from test_forged_weights import forge_tensors

import whatfor as wf
from test_forgeries import forge_document
from whatfor.deep import Anchors, Clusters, density_of
from whatfor.deep.cells import make_partition
from whatfor.deep.inputs import nearest
from whatfor.density import energy_distance
from whatfor.layouts import Bars, Cloud, Panels
from whatfor.question import layout_of

BOX = spaces.Box(-10.0, 10.0, (2,))
UPRIGHT = np.zeros(4, np.float32)


@cache
def carts() -> wf.Run:
    """CartPole over anchors."""
    settings: dict[str, Any] = {"steps": 800, "endings": {"fell left": lambda obs: obs[2] < -0.2}}
    return train_agent("CartPole-v1", Anchors(40), **settings)[1].run


def visited(n: int = 2_000, seed: int = 0) -> np.ndarray:
    """A dense region, and a rare one far from it."""
    rng = np.random.default_rng(seed)
    dense, rare = rng.normal(0.0, 0.1, (n, 2)), rng.normal(5.0, 0.1, (n // 100, 2))
    return rng.permutation(np.concatenate([dense, rare])).astype(np.float32)


def test_anchors_are_observations_that_were_made_and_cover_rare_regions() -> None:
    observations = visited()
    cells = Anchors(30).partition(BOX, None, observations)
    anchors = np.stack([cells.representative(cell) for cell in range(30)])
    assert {tuple(row) for row in anchors} <= {tuple(row) for row in observations}
    assert len(np.unique(anchors, axis=0)) == 30
    assert (anchors[:, 0] > 3.0).any()
    assert cells.index(anchors).tolist() == list(range(30))


def test_an_observation_belongs_to_the_nearest_anchor_in_units_of_the_spread() -> None:
    rng = np.random.default_rng(1)
    observations = rng.normal(size=(500, 2)) * [1.0, 1_000.0]
    cells = Anchors(20).partition(spaces.Box(-1e5, 1e5, (2,), np.float64), None, observations)
    points = cells.labels.points
    assert points is not None
    distances = ((observations[:, None] - points.positions) / points.spread) ** 2
    assert cells.index(observations).tolist() == distances.sum(axis=2).argmin(axis=1).tolist()
    assert cells.centres is not None
    scaled, spread = (torch.as_tensor(part) for part in cells.centres)
    assert nearest(torch.as_tensor(observations), scaled, spread).tolist() == cells.index(observations).tolist()


@pytest.mark.parametrize("kind", [Anchors(20), Clusters(20)])
def test_a_number_that_never_varied_does_not_decide_which_cell_is_nearest(kind: Any) -> None:
    observations = np.column_stack([np.linspace(-1.0, 1.0, 400), np.full(400, 0.1)]).astype(np.float32)
    cells = kind.partition(BOX, None, observations)
    moved = observations + np.array([0.0, 0.3], np.float32)
    assert cells.index(moved).tolist() == cells.index(observations).tolist()


def test_the_same_seed_gives_the_same_anchors() -> None:
    one, same, other = (Anchors(30, seed=seed).partition(BOX, None, visited()).labels.points for seed in (0, 0, 1))
    assert one == same
    assert one != other


def test_the_error_of_the_resolution_is_stated_and_falls_with_more_anchors() -> None:
    errors = [Anchors(n).partition(BOX, None, visited()).labels.points.error for n in (10, 100, 1_000)]  # type: ignore[union-attr]
    assert errors == sorted(errors, reverse=True)
    assert 0.0 < errors[2] < 0.5 * errors[0]
    assert "States are told apart by about" in str(carts().intention(UPRIGHT))


def test_anchors_have_the_names_of_dimensions_where_they_are_known() -> None:
    env = gym.make("MountainCar-v0")
    observations = np.stack([env.observation_space.sample() for _ in range(100)])
    cells = make_partition(Anchors(5), env.observation_space, env, observations, n_actions=3)
    words = cells.labels.words(3)
    assert words.startswith("anchor 3 (position ")
    assert cells.labels.index(words) == 3
    assert cells.labels.actions == ("push left", "do not push", "push right")
    changed = gym.wrappers.TransformObservation(env, lambda obs: -obs, env.observation_space)
    unknown = make_partition(Anchors(5), env.observation_space, changed, observations, n_actions=3)
    assert unknown.labels.points is not None
    assert unknown.labels.points.names == ("x0", "x1")


@pytest.mark.parametrize(
    ("cells", "space", "message"),
    [
        (Anchors(0), BOX, "Anchors"),
        (Anchors(50), BOX, "50 anchors need at least as many different observations; the agent has visited 30, not counting a quarter that is held out: ask for fewer"),
        (Anchors(2), spaces.Discrete(4), "anchors are for continuous observations, a Box"),
    ],
)  # fmt: skip
def test_anchors_that_cannot_be_chosen_are_refused(cells: Anchors, space: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_partition(cells, space, None, visited()[:40], n_actions=2)


def test_no_observations_are_too_few() -> None:
    with pytest.raises(ValueError, match="the agent has visited 0"):
        make_partition(Anchors(5), BOX, None, np.zeros(0), n_actions=2)


def test_three_observations_are_enough_for_two_anchors() -> None:
    cells = Anchors(2).partition(BOX, None, visited()[:3])
    assert cells.labels.n_states == 2


@pytest.mark.parametrize("kind", [Anchors(5), Clusters(5)])
def test_observations_that_are_not_finite_are_refused(kind: Any) -> None:
    observations = visited()
    observations[7, 1] = np.nan
    with pytest.raises(ValueError, match="some visited observations hold NaN or infinite numbers"):
        kind.partition(BOX, None, observations)


def test_a_run_over_anchors_is_loaded_bit_for_bit(tmp_path: Path) -> None:
    run, endings = carts(), {"fell left": lambda obs: obs[2] < -0.2}
    run.save(tmp_path / "run")
    again = wf.load(tmp_path / "run", cells=endings)
    assert again.labels.points == run.labels.points
    assert_same(run, again, UPRIGHT)
    again.save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "run")


def test_the_density_of_an_answer_has_its_visits_as_weights() -> None:
    run = carts()
    why = run.intention(UPRIGHT)
    density = density_of(why)
    assert density.weights == pytest.approx(why.visits.sum(axis=1) / why.visits.sum())
    played = density_of(run.simulation(UPRIGHT, rollouts=20))
    assert played.points == density.points
    sample = played.sample(50)
    assert {tuple(row) for row in sample} <= {tuple(row) for row in played.points.positions}
    assert 0.0 < density.energy_distance(sample) < 1.0


def test_every_question_is_answered_over_anchors() -> None:
    run = carts()
    assert isinstance(layout_of(run.intention(UPRIGHT)), Cloud)
    assert isinstance(layout_of(run.contrast(UPRIGHT)), Panels)
    assert layout_of(run.contrast(UPRIGHT), show="parts").diverging  # type: ignore[union-attr]
    assert isinstance(layout_of(run.intention(UPRIGHT), facets="here"), Panels)
    fans = layout_of(run.timeline(UPRIGHT, horizon=5))
    assert isinstance(fans, Panels)
    assert [panel.y_axis for panel in fans.panels] == list(run.labels.points.names)  # type: ignore[union-attr]
    chosen = layout_of(run.intention(UPRIGHT), axes=("pole angle", "cart position"))
    assert (chosen.x_axis, chosen.y_axis) == ("pole angle", "cart position")  # type: ignore[union-attr]
    assert isinstance(layout_of(run.intention(UPRIGHT), axes=["pole angle"]), Bars)


FORGERIES: dict[str, tuple[str, torch.Tensor | None, str]] = {
    "examples of another shape": ("cells.examples", torch.zeros(40, 3), "do not fit observations|its cells|cannot be read"),
    "examples of another type": ("cells.examples", torch.zeros(40, 4).double(), "the numbers of its anchors do not fit"),
    "fewer examples": ("cells.examples", torch.zeros(39, 4), "it has 39 anchors; its labels name 40"),
    "no spread": ("cells.spread", torch.zeros(4).double(), "the spread of anchors must be above zero"),
    "a tiny spread": ("cells.spread", torch.full((4,), 1e-300).double(), "spread of anchors must be above zero|overflow"),
    "a width of zero": ("cells.kernel", torch.zeros(2).double(), "impossible"),
    "a negative error": ("cells.kernel", torch.tensor([0.1, -1.0]).double(), "impossible"),
    "a kernel of three": ("cells.kernel", torch.ones(3).double(), "the numbers of its anchors do not fit"),
    "no kernel": ("cells.kernel", None, "its cells has the tensors examples, spread, not"),
}  # fmt: skip


@pytest.mark.parametrize("case", FORGERIES)
def test_forged_anchors_are_refused(case: str, tmp_path: Path) -> None:
    name, tensor, message = FORGERIES[case]
    carts().save(tmp_path)
    forge_tensors(tmp_path, lambda tensors: tensors.pop(name) if tensor is None else tensors.update({name: tensor}))
    check_rejected(tmp_path, message)


@pytest.mark.parametrize(
    ("dimensions", "message"),
    [
        ([], r"positions have the shape \(40, 4\); there are 0 axes"),
        (["x"] * 4, "two dimensions of its observations have the same name"),
        (["a", "b", "c", 4], "expected `str`, got `int`"),
    ],
)
def test_forged_names_of_dimensions_are_refused(dimensions: list[Any], message: str, tmp_path: Path) -> None:
    carts().save(tmp_path)
    forge_document(tmp_path, lambda document: document["network"].update(dimensions=dimensions))
    check_rejected(tmp_path, message)


def test_other_cells_have_no_dimensions(tmp_path: Path) -> None:
    train_agent("CartPole-v1", Clusters(5), steps=200)[1].run.save(tmp_path)
    forge_document(tmp_path, lambda document: document["network"].update(dimensions=["x"]))
    check_rejected(tmp_path, "it names dimensions, which its clusters do not have")


def test_points_of_labels_are_as_many_as_states() -> None:
    labels = carts().labels
    with pytest.raises(ValueError, match="there are points for 40 states, and 3 states"):
        replace(wf.Labels.plain(3, 2), points=labels.points)


def test_a_condition_is_true_of_anchors_by_their_numbers() -> None:
    run = carts()
    leaning = run.labels.where(lambda obs: obs[2] > 0.05)
    assert leaning.states.tolist() == (run.labels.points.positions[:, 2] > 0.05).tolist()  # type: ignore[union-attr]
    assert 0 < leaning.states.sum() < 40
    answer = run.chance(UPRIGHT, event=lambda obs: abs(obs[2]) > 0.1).to_json()
    assert answer["question"] == "chance"


def test_an_error_shows_an_observation_that_can_be_asked_about() -> None:
    run = carts()
    with pytest.raises(ValueError, match=r"and 28 others. Write it like this: 'anchor 26 \(.*\)' or \[") as refused:
        run.intention("nowhere")
    example = str(refused.value).rpartition(" or ")[2]
    assert run.situation(example).index == 26


def test_a_comparison_states_how_far_the_states_are_apart() -> None:
    run = carts()
    answer = run.comparison(UPRIGHT, rollouts=20)
    points, believed = run.labels.points, density_of(run.intention(UPRIGHT))
    assert points is not None
    played = density_of(run.simulation(UPRIGHT, rollouts=20))
    states = points.positions / points.spread
    apart = energy_distance(states, states, believed.weights, played.weights)
    assert f"Energy distance between the states: {apart:.3f} (0: the same distribution" in str(answer)
