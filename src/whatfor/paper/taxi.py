"""Figures 5, 7 and the animation of 5: Taxi."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whatfor.beliefs import value_iteration
from whatfor.explanations import Contrast, Intention
from whatfor.explanations.phrases import LIKELY
from whatfor.layouts import Layout, Panels
from whatfor.paper.agents import Agents
from whatfor.paper.figure import Check, Figure, Picture, residual_of
from whatfor.question import layout_of
from whatfor.runs import Run

TAXI_START = "taxi at row 0, column 3; passenger at Y; destination R"
POINTS_SHOWN = 6  # points of the episode in a still picture
#: Printed value of the best action, and the steps before delivery after the best and after the second-best one.
PRINTED_VALUES = {"ambiguity": (7.7147, 5, 5), "bounce": (11.87, 3, 5), "failure": (-2.3744, 13, 14)}
PRINTED_PRECISION = 5e-5
#: The spread of visits is checked only if delivery is at least this likely.
MIN_DELIVERED = 0.99
NUMBER_WORDS = {2: "Two", 3: "Three"}


def value_after(steps: int) -> float:
    """The return of n steps of -1 and a delivery, with a discount of 0.9.

    >>> round(value_after(5), 4)
    7.7147
    """
    return float(30.0 * 0.9**steps - 10.0)


def figure_5(agents: Agents) -> Figure:
    """Beliefs at points along an episode."""
    return along_an_episode("5", "Q-learning", agents.taxi, _episode_checks)


def figure_a5(agents: Agents) -> Figure:
    """The animation of figure 5."""
    return moving("A5", "5", "Q-learning", agents.taxi, _episode_checks)


Checks = Callable[[Run, list[Intention]], tuple[Check, ...]]


def along_an_episode(id: str, method: str, run: Run, checks: Checks, **more: Any) -> Figure:
    """Beliefs at points along an episode, for any agent."""
    along = episode(run)
    steps = np.unique(np.linspace(0, len(along) - 1, POINTS_SHOWN).astype(int)).tolist()
    spreads = [spread(along[step]) for step in steps]
    boards = tuple(_board(along[step], step) for step in steps)
    return Figure(
        id=id,
        title=f"Taxi: beliefs along an episode ({method})",
        claim="Yellow: the passenger is not aboard; green: the passenger is aboard. Intentions become clearer over time: outward and "
        "return journey, overlaid at first, collapse to the shortest path to the goal.",
        pictures=(Picture.of(f"{id}-episode", Panels("What the taxi expects, as it drives", TAXI_START, boards, columns=3)),),
        checks=(*checks(run, along), Check(
            "number of cells it expects to visit (exp of the entropy of its visits), at each point",
            "fewer and fewer",
            ", ".join(f"{x:.1f}" for x in spreads),
            run.outcomes(TAXI_START).chances.get("delivered", 0.0) > MIN_DELIVERED and len(spreads) > 1 and all(np.diff(spreads) < 0.0),
        )),
        answers=(str(along[0]),),
        **more,
    )  # fmt: skip


def moving(id: str, still: str, method: str, run: Run, checks: Checks, **more: Any) -> Figure:
    """The animation of a figure along an episode."""
    along = episode(run)
    return Figure(
        id=id,
        title=f"Taxi: the animation of figure {still} ({method})",
        claim=f"The beliefs of figure {still} at every step of the episode.",
        pictures=(Picture(f"{id}-episode", tuple(_board(why, step) for step, why in enumerate(along))),),
        checks=checks(run, along),
        **more,
    )


def figure_7(agents: Agents) -> Figure:
    """Three contrasts, found by searching all states."""
    cases = tuple(
        Case(kind, f"{printed:g} = 30 · 0.9^{steps} − 10", value_after(steps), value_after(after))
        for kind, (printed, steps, after) in PRINTED_VALUES.items()
    )
    return contrasts(
        "7",
        "Q-learning",
        agents.taxi,
        cases,
        within=(1e-6, 0.05),
        note="The paper's second-best values (7.0777, 7.6599, −5.204) come from an agent that had not converged; in the limit they are "
        "7.7147 (a tie), 7.7147 and −3.1370. The cases are found by searching all states. The paper's east/south tie is at row 0, column 2, passenger "
        "aboard, destination B, which is on no optimal trajectory. A greedy agent rarely tries the second route there, so the search finds other ties of the same value.",
    )


@dataclass(frozen=True)
class Case:
    """A case of contrast in the paper."""

    kind: str
    printed: str
    best: float  # the value of the best action, in the limit
    second: float  # the value of the second-best action


#: A description of each kind of case, and its name in figures.
KINDS = {
    "ambiguity": ("two different but equally good routes", "two equally good routes"),
    "bounce": ("the other action leads away and back again", "a bounce back"),
    "failure": ("the other action leaves the taxi where it is", "a failure where the taxi is stuck"),
}
CaseChecks = Callable[[Run, Case, Contrast | None], tuple[Check, ...]]


def contrasts(
    id: str,
    method: str,
    run: Run,
    cases: tuple[Case, ...],
    *,
    within: tuple[float, float],
    case_checks: CaseChecks = lambda run, case, shown: (),
    **more: Any,
) -> Figure:
    """Best action against second best, for any agent; ``within``: the tolerances of the two values, ``case_checks``: further checks."""
    found = search(run)
    pictures, checks, answers = [], [], []
    for case in cases:
        claim, candidates = KINDS[case.kind][0], found[case.kind]
        shown = min(candidates, key=lambda one, case=case: _off(one, case), default=None)  # type: ignore[misc]
        close = sum(abs(one.chosen.value - case.best) < max(within[0], PRINTED_PRECISION) for one in candidates)
        where = "none found" if shown is None else f"in {close} of {len(candidates)} such states"
        values = (np.inf, np.inf) if shown is None else (shown.chosen.value, shown.instead.value)
        checks += [
            Check(
                f"{case.kind}: {claim}; value of the best action",
                case.printed,
                f"{values[0]:.4f}, {where}",
                abs(values[0] - case.best) < within[0],
            ),
            Check(
                f"{case.kind}: value of the second-best action",
                f"{case.second:.4f} in the limit",
                f"{values[1]:.4f}",
                abs(values[1] - case.second) < within[1],
            ),
            *case_checks(run, case, shown),
        ]
        if shown is not None:
            pictures.append(Picture.of(f"{id}-{case.kind}", layout_of(shown), f"{case.kind.capitalize()}: {claim}."))
            answers.append(str(shown))
    kinds = [KINDS[case.kind][1] for case in cases]
    return Figure(
        id=id,
        title=f"Taxi: contrasts ({method})",
        claim="Best action against second best, five panels each: what is expected after each, after only one of them, and after both. "
        f"{NUMBER_WORDS[len(cases)]} cases: {', '.join(kinds[:-1])}{',' if len(cases) > 2 else ''} and {kinds[-1]}.",
        pictures=tuple(pictures),
        checks=tuple(checks),
        answers=tuple(answers),
        **more,
    )


def episode(run: Run) -> list[Intention]:
    """The intention at every step of a greedy episode."""
    steps = run.episode(TAXI_START)
    return [run.intention(state, action) for state, action in steps]


def _board(why: Intention, step: int) -> Layout:
    return replace(
        layout_of(why), title=f"step {step}: {why.labels.actions[why.action]}, value {why.value:.3f}", caption=""
    )


def spread(why: Intention) -> float:
    """The number of cells that the expected visits cover: exp of their entropy."""
    visits = why.visits.sum(axis=1)
    chances = visits[visits > 0.0] / max(visits.sum(), np.finfo(float).tiny)
    return float(np.exp(-(chances * np.log(chances)).sum()))


def search(run: Run) -> dict[str, list[Contrast]]:
    """All states where the second-best action is as good, leads back, or has no effect, by kind."""
    found: dict[str, list[Contrast]] = {"ambiguity": [], "bounce": [], "failure": []}
    tried = run.beliefs.tries
    assert tried is not None
    for state in np.flatnonzero((tried > 0).all(axis=1)).tolist():
        contrast = run.contrast(state)
        kind = _kind(contrast)
        if kind is not None:
            found[kind].append(contrast)
    return found


def _off(one: Contrast, case: Case) -> float:
    return abs(one.chosen.value - case.best) + abs(one.instead.value - case.second)


def _kind(contrast: Contrast) -> str | None:
    if contrast.tied:
        return "ambiguity" if contrast.different else None
    back = back_after(contrast)
    if back is None:
        return None
    return "failure" if back == 1 else "bounce"


def back_after(contrast: Contrast) -> int | None:
    """After how many steps it expects to be back after the second-best action; None: never.

    For a network this is estimated from its visits: those of the best action, with a detour before them.
    """
    best, other = contrast.chosen, contrast.instead
    if other.trust is None:
        return contrast.back_after(other)
    missed, detour = float(contrast.gained.sum()), float(contrast.lost.sum())
    back = other.visits[contrast.state, best.action] >= LIKELY and missed < (1.0 - LIKELY) * float(best.visits.sum())
    return round(detour) if back and detour >= 0.5 else None


def _episode_checks(run: Run, along: list[Intention]) -> tuple[Check, ...]:
    """Checks along the episode."""
    delivered = run.simulation(TAXI_START, rollouts=2)
    worst = max(residual_of(why) for why in along)
    best = float(value_iteration("Taxi-v4", discount=0.9)[along[0].state].max())
    return (
        Check("the episode", "picks up and delivers", f"{len(along)} steps, {', '.join(delivered.chances)}", set(delivered.chances) == {"delivered"}),
        Check("the shortest route: value at its start", f"{best:.4f} by value iteration", f"{along[0].value:.4f}", abs(along[0].value - best) < 1e-4),
        Check("earnings sum to the value, at every step", "to floating point", f"off by {worst:.1e}", worst < 1e-9 and run.values.any().item()),
    )  # fmt: skip
