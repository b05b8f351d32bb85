"""Points: the positions of states, and the width of their kernel."""

from __future__ import annotations

import numpy as np
import pytest

from whatfor.points import MAX_WIDTH, MIN_WIDTH, Points, fit_width, spread_of, squared_distances

ONE = {"spread": [1.0, 2.0], "width": 0.5}


def log_likelihood(points: np.ndarray, weights: np.ndarray, held_out: np.ndarray, width: float) -> float:
    """That of a mixture of Gaussians, by scipy."""
    from scipy.stats import multivariate_normal

    densities = [multivariate_normal.pdf(held_out, mean=point, cov=width**2) for point in points]
    return float(np.log(np.maximum(weights @ np.array(densities), 1e-300)).mean())


def test_a_fitted_width_is_better_on_held_out_states_than_a_third_and_three_times_itself() -> None:
    rng = np.random.default_rng(0)
    mixture = np.concatenate([rng.normal((-2.0, 0.0), 0.5, (600, 2)), rng.normal((2.0, 1.0), 0.2, (600, 2))])
    rng.shuffle(mixture)
    points, held_out, more = mixture[:300], mixture[300:800], mixture[800:]
    weights = np.full(300, 1 / 300)
    width = fit_width(points, weights, held_out, np.ones(2))
    likelihoods = [log_likelihood(points, weights, more, factor * width) for factor in (1 / 3, 1.0, 3.0)]
    assert likelihoods[1] == max(likelihoods)
    near = [log_likelihood(points, weights, held_out, factor * width) for factor in (0.98, 1.0, 1.02)]
    assert near[1] == max(near)


def test_the_width_of_one_gaussian_is_its_standard_deviation_in_units_of_the_spread() -> None:
    held_out = np.random.default_rng(1).normal(3.0, 0.8, (20_000, 1))
    width = fit_width(np.array([[3.0]]), np.ones(1), held_out, np.array([4.0]))
    assert width == pytest.approx(np.sqrt(((held_out - 3.0) ** 2).mean()) / 4.0, rel=1e-4)


def test_a_width_stays_in_its_range_and_points_without_weight_do_not_count() -> None:
    same = np.zeros((5, 1))
    assert fit_width(same, np.ones(5), same, np.ones(1)) == pytest.approx(MIN_WIDTH, rel=1e-3)
    assert fit_width(same, np.ones(5), same + 1e6, np.ones(1)) == pytest.approx(MAX_WIDTH, rel=1e-3)
    apart = np.array([[0.0], [1.0]])
    held_out = np.array([[0.9], [-0.9]])
    assert fit_width(apart, np.array([1.0, 0.0]), held_out, np.ones(1)) == pytest.approx(0.9, rel=1e-4)


def test_the_spread_of_a_number_that_does_not_vary_is_one() -> None:
    assert spread_of(np.array([[0.1, 1.0], [0.1, 3.0], [0.1, 5.0]])).tolist() == [1.0, np.sqrt(8.0 / 3.0)]


def test_small_distances_between_far_points_are_not_lost() -> None:
    assert squared_distances(np.array([[1e8]]), np.array([[1e8 + 0.5]])).tolist() == [[0.25]]


def test_points_are_equal_by_their_numbers() -> None:
    one, other = (Points(("x", "y"), [[0.0, 1.0]], **ONE) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Points(("x", "y"), [[0.0, 1.0]], spread=[1.0, 2.0], width=0.4)
    assert one != 3
    assert one.over(["y"]).positions.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"positions": [[0.0]]}, r"positions have the shape \(1, 1\); there are 2 axes"),
        ({"positions": np.zeros((0, 2))}, "positions have the shape"),
        ({"spread": [1.0, 0.0]}, "give a number above zero for each axis"),
        ({"spread": [1.0]}, "give a number above zero for each axis"),
        ({"positions": [[0.0, np.nan]]}, "impossible"),
        ({"width": 0.0}, "impossible"),
        ({"width": np.nan}, "impossible"),
        ({"error": -1.0}, "impossible"),
        ({"error": np.inf}, "impossible"),
    ],
)
def test_impossible_points_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Points(("x", "y"), **{"positions": [[0.0, 1.0]], **ONE, **change})


@pytest.mark.parametrize("axis", ["z", 2, -1])
def test_an_axis_that_does_not_exist_is_named(axis: object) -> None:
    with pytest.raises(ValueError, match=f"there is no axis {axis!r}; the axes are x, y, or 0 to 1"):
        Points(("x", "y"), [[0.0, 1.0]], **ONE).axis(axis)
