"""Figures 5, 7 and the animation of 5: Taxi."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whatfor.beliefs import value_iteration
from whatfor.explanations import Contrast, Intention
from whatfor.layouts import Layout, Panels, layout_of
from whatfor.paper.agents import Agents
from whatfor.paper.figure import Check, Figure, Picture
from whatfor.runs import Run

START = "taxi at row 0, column 3; passenger at Y; destination R"
SHOWN = 6  # points of the episode in a still picture
#: Printed value of the best action, and the steps before delivery after the best and after the second-best one.
PRINTED = {"ambiguity": (7.7147, 5, 5), "bounce": (11.87, 3, 5), "failure": (-2.3744, 13, 14)}
DIGITS = 5e-5


def value_after(steps: int) -> float:
    """What n steps of -1 and a delivery are worth at a discount of 0.9.

    >>> round(value_after(5), 4)
    7.7147
    """
    return float(30.0 * 0.9**steps - 10.0)


def figure_5(agents: Agents) -> Figure:
    """Beliefs at points along an episode."""
    along = episode(agents.taxi)
    steps = np.unique(np.linspace(0, len(along) - 1, SHOWN).astype(int)).tolist()
    points = [along[step] for step in steps]
    spreads = [spread(why) for why in points]
    boards = tuple(_board(along[step], step) for step in steps)
    return Figure(
        id="5",
        title="Taxi: beliefs along an episode (Q-learning)",
        says="Yellow: the passenger is not aboard; green: it is. Intentions become clearer over time: outward and return "
        "journey, overlaid at first, collapse to the single shortest path to the goal.",
        pictures=(Picture.of("5-episode", Panels("What the taxi expects, as it drives", START, boards, columns=3)),),
        checks=(*_episode_checks(agents.taxi, along), Check(
            "cells it expects to visit, from point to point (exp of the entropy of its visits)",
            "fewer and fewer",
            ", ".join(f"{x:.1f}" for x in spreads),
            agents.taxi.outcomes(START).chances.get("delivered", 0.0) > 0.99 and all(np.diff(spreads) < 0.0),
        )),
        answers=(str(points[0]),),
    )  # fmt: skip


def figure_a5(agents: Agents) -> Figure:
    """The animation of figure 5."""
    along = episode(agents.taxi)
    return Figure(
        id="A5",
        title="Taxi: the animation of figure 5 (Q-learning)",
        says="The beliefs of figure 5 at every step of the episode.",
        pictures=(Picture("A5-episode", tuple(_board(why, step) for step, why in enumerate(along))),),
        checks=_episode_checks(agents.taxi, along),
    )


def figure_7(agents: Agents) -> Figure:
    """Three contrasts, found by searching all states."""
    found = search(agents.taxi)
    pictures, checks, answers = [], [], []
    for kind, says in (
        ("ambiguity", "two distinct but equally good ways"),
        ("bounce", "the other action leads away and back again"),
        ("failure", "the other action leaves the taxi stuck where it is"),
    ):
        printed, steps, after = PRINTED[kind]
        best, second = value_after(steps), value_after(after)
        cases = found[kind]
        case = min(cases, key=lambda case: _off(case, best, second), default=None)
        where = (
            "none found"
            if case is None
            else f"in {sum(abs(case.chosen.value - best) < DIGITS for case in cases)} of {len(cases)} such states"
        )
        values = (np.inf, np.inf) if case is None else (case.chosen.value, case.instead.value)
        checks += [
            Check(
                f"{kind}: {says}; value of the best action",
                f"{printed:g} = 30 · 0.9^{steps} − 10",
                f"{values[0]:.4f}, {where}",
                abs(values[0] - best) < 1e-6,
            ),
            Check(
                f"{kind}: value of the second-best action",
                f"{second:.4f} in the limit",
                f"{values[1]:.4f}",
                abs(values[1] - second) < 0.05,
            ),
        ]
        if case is not None:
            pictures.append(Picture.of(f"7-{kind}", layout_of(case), f"{kind.capitalize()}: {says}."))
            answers.append(str(case))
    return Figure(
        id="7",
        title="Taxi: contrasts (Q-learning)",
        says="Best action against second best, five panels each: what each expects, what only one of them does, what both do. "
        "Three cases: two equally good ways, a bounce back, and a failure where the taxi is stuck.",
        pictures=tuple(pictures),
        checks=tuple(checks),
        answers=tuple(answers),
        note="The paper's second-best values (7.0777, 7.6599, −5.204) are of an agent that had not converged; in the limit they are "
        "7.7147 (a tie), 7.7147 and −3.1370. The cases are found by searching all states. The paper's east/south tie is at row 0, column 2, passenger "
        "aboard, destination B, which lies on no optimal episode: a greedy agent hardly tries its second way, and the search finds other ties of the same value.",
    )


def episode(run: Run) -> list[Intention]:
    """What it intends at every step of a greedy episode."""
    steps = run.episode(START)
    return [run.intention(state, action) for state, action in steps]


def _board(why: Intention, step: int) -> Layout:
    return replace(
        layout_of(why), title=f"step {step}: {why.labels.actions[why.action]}, worth {why.value:.3f}", caption=""
    )


def spread(why: Intention) -> float:
    """How many cells the expected visits cover: exp of their entropy."""
    visits = why.visits.sum(axis=1)
    chances = visits[visits > 0.0] / max(visits.sum(), np.finfo(float).tiny)
    return float(np.exp(-(chances * np.log(chances)).sum()))


def search(run: Run) -> dict[str, list[Contrast]]:
    """All states where the second-best action is as good, leads back, or leads nowhere, by kind."""
    found: dict[str, list[Contrast]] = {"ambiguity": [], "bounce": [], "failure": []}
    tried = run.audit.tried
    for state in np.flatnonzero((tried > 0).all(axis=1)).tolist():
        contrast = run.contrast(state)
        kind = _kind(contrast)
        if kind is not None:
            found[kind].append(contrast)
    return found


def _off(case: Contrast, best: float, second: float) -> float:
    return abs(case.chosen.value - best) + abs(case.instead.value - second)


def _kind(contrast: Contrast) -> str | None:
    if contrast.tied:
        return "ambiguity" if contrast.different else None
    back = contrast.back_after(contrast.instead)
    if back is None:
        return None
    return "failure" if back == 1 else "bounce"


def _episode_checks(run: Run, along: list[Intention]) -> tuple[Check, ...]:
    """What holds at every point of the episode."""
    delivered = run.simulation(START, rollouts=2)
    worst = max(why.residual for why in along)
    best = float(value_iteration("Taxi-v4", discount=0.9)[along[0].state].max())
    return (
        Check("the episode", "picks up and delivers", f"{len(along)} steps, {', '.join(delivered.chances)}", set(delivered.chances) == {"delivered"}),
        Check("the shortest way: value at its start", f"{best:.4f} by value iteration", f"{along[0].value:.4f}", abs(along[0].value - best) < 1e-4),
        Check("earnings sum to the value, at every step", "to floating point", f"off by {worst:.1e}", worst < 1e-9 and run.values.any().item()),
    )  # fmt: skip
