"""Density: closed forms against Monte Carlo and numerical integration, samples, and distances."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from whatfor.density import Density, density_of, energy_distance
from whatfor.labels import Labels
from whatfor.points import Points

#: Three Gaussians whose parameters are known.
POINTS = Points(("x", "y"), [[-1.0, 0.0], [0.5, 2.0], [2.0, -1.0]], spread=[1.0, 2.0], width=0.4)
WEIGHTS = np.array([1.0, 2.0, 5.0])
MIXTURE = Density.of(POINTS, WEIGHTS)
BOX = {"x": (-0.7, 1.6), "y": (-0.5, 2.5)}


def draws(n: int) -> np.ndarray:
    """Samples of the mixture itself."""
    rng = np.random.default_rng(0)
    chosen = rng.choice(3, size=n, p=WEIGHTS / 8.0)
    return POINTS.positions[chosen] + rng.normal(size=(n, 2)) * POINTS.kernel


def test_a_density_integrates_to_one_and_a_box_to_its_probability() -> None:
    whole, _ = dblquad(lambda y, x: MIXTURE.density([x, y]), -4, 5, -9, 10, epsabs=1e-8)
    assert whole == pytest.approx(1.0, abs=1e-6)
    box, _ = dblquad(lambda y, x: MIXTURE.density([x, y]), *BOX["x"], *BOX["y"], epsabs=1e-8)
    assert MIXTURE.probability(BOX) == pytest.approx(box, abs=1e-6)


def test_closed_forms_agree_with_samples() -> None:
    sample = draws(200_000)
    inside = np.logical_and.reduce(
        [(sample[:, at] > BOX[n][0]) & (sample[:, at] < BOX[n][1]) for at, n in enumerate("xy")]
    )
    assert MIXTURE.probability(BOX) == pytest.approx(inside.mean(), abs=1e-2)
    assert MIXTURE.cdf("y", 0.3) == pytest.approx((sample[:, 1] < 0.3).mean(), abs=1e-2)
    shares = [0.05, 0.25, 0.5, 0.75, 0.95]
    assert MIXTURE.quantiles("x", shares) == pytest.approx(np.quantile(sample[:, 0], shares), abs=2e-2)


def test_probabilities_of_boxes_that_cover_everything_sum_to_one() -> None:
    edges = [-np.inf, -1.0, 0.0, 0.7, np.inf]
    boxes = [{"x": (a, b), "y": (c, d)} for a, b in pairwise(edges) for c, d in pairwise(edges)]
    assert sum(MIXTURE.probability(box) for box in boxes) == pytest.approx(1.0, abs=1e-12)
    assert MIXTURE.probability({}) == 1.0


def test_quantiles_reverse_the_distribution_function() -> None:
    for x in np.linspace(-2.5, 3.5, 13):
        assert MIXTURE.quantiles("x", MIXTURE.cdf("x", x))[0] == pytest.approx(x, abs=1e-9)
    shares = np.linspace(0.01, 0.99, 20)
    found = [MIXTURE.cdf("y", y) for y in MIXTURE.quantiles("y", shares)]
    assert found == pytest.approx(shares, abs=1e-12)


def test_a_marginal_is_the_integral_over_the_other_axis() -> None:
    integral, _ = quad(lambda y: MIXTURE.density([0.3, y]), -9, 10, epsabs=1e-10)
    assert MIXTURE.marginal("x").density([0.3]) == pytest.approx(integral, abs=1e-6)
    assert MIXTURE.marginal("y", "x").density([0.1, 0.3]) == pytest.approx(MIXTURE.density([0.3, 0.1]))
    assert MIXTURE.density(np.zeros((3, 2))).shape == (3,)


def test_a_condition_has_the_weights_of_the_states_where_it_holds() -> None:
    assert MIXTURE.probability(lambda obs: obs[0] > 0.0) == 7 / 8
    assert MIXTURE.probability(lambda obs: obs[0] > 9.0) == 0.0


def test_samples_are_real_states_by_their_weights() -> None:
    sample = MIXTURE.sample(4_000, seed=1)
    assert {tuple(row) for row in sample} == {tuple(row) for row in POINTS.positions}
    assert (sample[:, 0] == 2.0).mean() == pytest.approx(5 / 8, abs=0.03)
    assert (sample == MIXTURE.sample(4_000, seed=1)).all()


def test_the_energy_distance_is_zero_for_the_same_distribution_and_known_for_two_points() -> None:
    assert MIXTURE.energy_distance(np.repeat(POINTS.positions, [1, 2, 5], axis=0)) == pytest.approx(0.0, abs=1e-12)
    one, other = np.array([[0.0], [2.0]]), np.array([[3.0]])
    # E|X - Y| = 2, E|X - X'| = 1, E|Y - Y'| = 0: (4 - 1) / 4
    assert energy_distance(one, other, np.full(2, 0.5), np.ones(1)) == pytest.approx(0.75)
    near, far = (MIXTURE.energy_distance(draws(500) + shift) for shift in (0.0, 1.0))
    assert 0.0 < near < far < 1.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.0, 0.0, 0.0], "all weights are zero"),
        ([1.0, 1.0], "give a weight of at least zero to each of the 3 points"),
        ([1.0, -1.0, 1.0], "at least zero"),
        ([1.0, np.nan, 1.0], "at least zero"),
    ],
)
def test_impossible_weights_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Density.of(POINTS, weights)


@pytest.mark.parametrize("share", [0.0, 1.0, np.nan])
def test_a_share_is_between_zero_and_one(share: float) -> None:
    with pytest.raises(ValueError, match="each must lie between 0 and 1"):
        MIXTURE.quantiles("x", share)


def test_states_that_are_not_points_have_no_density() -> None:
    answer = SimpleNamespace(labels=Labels.plain(3, 1), visits=np.ones((3, 1)))
    with pytest.raises(ValueError, match=r"train with cells=wf.deep.Anchors\(1024\)"):
        density_of(answer)
