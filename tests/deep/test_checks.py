"""How far a belief is from held-out play: beliefs whose error is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whatfor.beliefs.checked import Checked
from whatfor.beliefs.trust import Trust
from whatfor.deep.checks import Checks, check
from whatfor.deep.held_out import HeldOut, some_of
from whatfor.labels import Labels

CELLS, ACTIONS = 3, 2


def held_out(seed: int = 0, episodes: int = 20, situations: int = 5) -> HeldOut:
    """Futures of random numbers; the observation of a situation is its index. Every episode ends, in one of two ways."""
    rng, n = np.random.default_rng(seed), episodes * situations
    return HeldOut(
        steps=np.arange(n),
        episode=np.repeat(np.arange(episodes), situations),
        observations=np.arange(n, dtype=np.float64)[:, None],
        actions=rng.integers(ACTIONS, size=n),
        visits=rng.random((n, CELLS * ACTIONS)).astype(np.float32),
        returns=rng.normal(size=n),
        endings=np.eye(2)[rng.integers(2, size=n)],
        noise=np.zeros((n, 2)),
        measured=False,
        cut=0.0,
    )


NONE = some_of(held_out(), 0)


class Believing:
    """Believes what followed, times ``scale``, with sums that are ``shift`` too high; Q is ``q_shift`` too high."""

    def __init__(self, held: HeldOut, *, scale: Any = 1.0, shift: float = 0.0, q_shift: float = 0.0) -> None:
        self.held, self.scale, self.shift, self.q_shift = held, np.broadcast_to(scale, len(held)), shift, q_shift
        self.chances: NDArray[Any] = np.hstack([held.endings, np.zeros((len(held), 1))])

    def rows(self, observations: Any, actions: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        at = observations[:, 0].astype(int)
        shape = (len(at), CELLS, ACTIONS)
        visits = self.held.visits[at].astype(np.float64) * self.scale[at, None]
        earnings = np.zeros(shape)
        earnings[:, 0, 0] = self.held.returns[at] + self.shift
        return visits.reshape(shape), earnings

    def endings(self, observations: Any, actions: Any) -> NDArray[Any]:
        return self.chances[observations[:, 0].astype(int)]

    def q_values(self, observations: Any) -> NDArray[Any]:
        at = observations[:, 0].astype(int)
        return np.tile((self.held.returns[at] + self.q_shift)[:, None], (1, ACTIONS))


def checks_of(belief: Believing, other: HeldOut = NONE) -> Checks:
    found = check(belief, belief.held, other, 0)  # type: ignore[arg-type]
    assert found is not None
    return found


def trust_of(checked: Checked | None) -> Trust:
    sums = np.arange(9.0)
    return Trust.of(Labels.plain(2, 1), sums, sums, states=0, distance=None, updates=7, discount=0.9, source="evaluated", checked=checked)  # fmt: skip


def test_an_exact_belief_is_close() -> None:
    held = held_out()
    checked = checks_of(Believing(held), held).checked
    assert (checked.situations, checked.episodes) == (100, 20)
    numbers = ("visits", "visits_low", "visits_high", "averaged", "length", "endings", "other", "q_off", "total_off")
    assert [getattr(checked, name) for name in numbers] == pytest.approx([0.0] * len(numbers), abs=1e-6)
    assert checked.q == pytest.approx(checked.total) == pytest.approx(checked.played) == pytest.approx(held.returns.mean())  # fmt: skip
    assert (checked.grade, checked.verdict) == ("close", "neither is off")
    assert trust_of(checked).grade == "close"
    assert "More play" not in str(trust_of(checked))


@pytest.mark.parametrize(("scale", "off", "grade"), [(1.1, 0.1, "close"), (1.3, 0.3, "rough"), (0.4, 0.6, "poor")])
def test_visits_that_are_off_are_measured(scale: float, off: float, grade: str) -> None:
    checked = checks_of(Believing(held_out(), scale=scale)).checked
    assert checked.visits == pytest.approx(off, rel=1e-5)
    assert checked.averaged == pytest.approx(off, rel=1e-5)
    assert checked.length == pytest.approx(off, rel=1e-5)
    assert checked.other is None
    assert checked.grade == trust_of(checked).grade == grade
    if grade != "close":
        assert "settling=Settling(steps=..., updates=...)" in str(trust_of(checked))


def test_errors_that_cancel_out_are_off_in_single_futures_alone() -> None:
    held = held_out(episodes=200)
    checked = checks_of(Believing(held, scale=1.0 + 0.4 * np.where(np.arange(len(held)) % 2, 1.0, -1.0))).checked
    assert checked.visits == pytest.approx(0.4, rel=1e-5)
    assert checked.averaged < 0.05
    assert checked.grade == "rough"
    assert "Averages over situations are close, single futures are not" in str(trust_of(checked))


def test_chances_of_endings_are_compared_with_shares() -> None:
    belief = Believing(held_out())
    share = belief.held.endings[:, 0].mean()
    belief.chances = np.tile([share + 0.1, 1.0 - share - 0.1, 0.0], (len(belief.held), 1))
    checked = checks_of(belief).checked
    assert checked.endings == pytest.approx(0.1)
    assert checked.grade == "rough"
    belief.chances[:] = (share - 0.4, 1.0 - share, 0.4)  # what is unknown is missing from the first
    assert checks_of(belief).checked.endings == pytest.approx(0.4)
    assert checks_of(belief).checked.grade == "poor"
    half = Believing(replace(belief.held, endings=belief.held.endings * (np.arange(len(belief.held)) % 2)[:, None]))
    half.chances = belief.chances = np.hstack([belief.held.endings, np.zeros((len(belief.held), 1))])
    assert checks_of(half).checked.endings == pytest.approx(0.0), "those without an ending do not count"
    never = Believing(replace(belief.held, endings=np.zeros_like(belief.held.endings)))
    assert checks_of(never).checked.endings is None
    assert "chances of endings" not in str(trust_of(checks_of(never).checked))


def test_nothing_held_out_is_not_checked() -> None:
    assert check(Believing(held_out()), NONE, NONE, 0) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("q", "belief", "verdict"),
    [
        (0.0, 0.0, "neither is off"),
        (1.0, 0.0, "the agent's Q-values differ from what its policy earns; this belief does not"),
        (0.0, 1.0, "this belief differs from what the policy earns; the agent's Q-values do not"),
        (1.0, 1.0, "both the agent's Q-values and this belief differ from what its policy earns"),
    ],
)
def test_the_verdict_names_what_is_off(q: float, belief: float, verdict: str) -> None:
    checked = checks_of(Believing(held_out(), shift=belief, q_shift=q)).checked
    assert checked.verdict == verdict
    assert checked.grade == ("rough" if belief else "close"), "Q does not matter for the grade of a belief"
    text = str(trust_of(checked))
    assert text.endswith(f"{verdict}.") or "More play" in text
    means = [f"{number:.4g}" for number in (checked.q, checked.total, checked.played)]
    assert f"There Q says {means[0]} on average, this belief adds up to {means[1]}, and play gave {means[2]}" in text


def test_the_interval_holds_the_true_error_as_often_as_it_says() -> None:
    """Situations of one episode are alike: their errors have a part in common."""
    inside = 0
    for draw in range(200):
        rng, held = np.random.default_rng(1_000 + draw), held_out(draw, episodes=30, situations=6)
        common, own = rng.uniform(0.0, 0.4, 30).repeat(6), rng.uniform(0.0, 0.1, 180)  # 0.25 on average
        checked = checks_of(Believing(held, scale=1.0 + common + own)).checked
        inside += checked.visits_low <= 0.25 <= checked.visits_high
    assert 0.83 <= inside / 200 <= 0.95


def test_a_seed_gives_the_same_interval_again() -> None:
    held = held_out()
    scale = 1.0 + np.random.default_rng(0).random(len(held))
    ends = [(one.visits_low, one.visits_high) for one in (checks_of(Believing(held, scale=scale)).checked for _ in "12")]  # fmt: skip
    assert ends[0] == ends[1]
    assert ends[0][0] < ends[0][1]


def test_the_error_near_an_observation_is_that_of_situations_like_it() -> None:
    held = held_out()
    scale = np.where(np.arange(len(held)) < 50, 1.0, 2.0)
    checks = checks_of(Believing(held, scale=scale))
    assert checks.near(np.array([3.0])) == pytest.approx(0.0, abs=1e-6)
    assert checks.near(np.array([90.0])) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("distance", "endings", "grade"), [(0.05, 0.02, "close"), (0.05, 0.1, "rough"), (0.3, 0.0, "rough"), (0.6, 0.0, "poor"), (0.1, 0.3, "poor")]
)  # fmt: skip
def test_exact_visits_decide_where_they_are_known(distance: float, endings: float, grade: str) -> None:
    """Single futures of random environments are far off even for exact beliefs, and Q-values may be wrong."""
    noisy = checks_of(Believing(held_out(), scale=3.0)).checked
    assert noisy.grade == "poor"
    trust = replace(trust_of(noisy), distance=distance, endings_distance=endings, correlation=0.0, states=9)
    assert trust.grade == grade
