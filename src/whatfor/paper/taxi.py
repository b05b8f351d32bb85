"""Figures 5, 7 and the animation of 5: Taxi."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs import value_iteration
from whatfor.explanations import Contrast, Intention
from whatfor.layouts import Layout, Panels
from whatfor.paper.agents import EARLY_TAXI_EPISODES, TAXI_EPISODES, TAXI_ID, Agents
from whatfor.paper.cartpole import n_states
from whatfor.paper.evidence import ALL, Claim, Seen
from whatfor.paper.figure import Figure, Picture
from whatfor.question import layout_of
from whatfor.runs import Run

TAXI_START = "taxi at row 0, column 3; passenger at Y; destination R"
ABOARD = 4  # the passenger's place in a state
POINTS_SHOWN = 6  # points of the episode in a still picture
#: A belief over so many times the states of a single path covers several routes; below the second number it is one path.
SEVERAL_ROUTES, ONE_ROUTE = 1.1, 1.02
PRINTED_PRECISION = 5e-5
TIED = 1e-6
PRINTED_GAP = 7.7147 - 7.0777  # of two "equally good" policies
#: Expected visits from which a state is on a route, discounted by at most 0.9 ** 14.
MIN_ROUTE_VISITS = 0.1


def value_after(steps: int) -> float:
    """The return of n steps of -1 and a delivery, with a discount of 0.9.

    >>> round(value_after(5), 4)
    7.7147
    """
    return float(30.0 * 0.9**steps - 10.0)


def figure_5(agents: Agents) -> Figure:
    """Beliefs at points along an episode."""
    early = along_an_episode("5", "Q-learning", agents.early_taxi).pictures[0].frames[0]
    shown = along_an_episode("5", "Q-learning", agents.taxi, note=(
        f"After {TAXI_EPISODES:,} episodes the belief is a single path from the first step on: it covers exactly as many states as its remaining steps do. "
        f"Several routes are overlaid in some agents that have not converged; the second picture is after {EARLY_TAXI_EPISODES:,} episodes. The paper does not say how long it trained."
    ))  # fmt: skip
    return replace(
        shown,
        pictures=(*shown.pictures, Picture.of("5-early", early, f"The same after {EARLY_TAXI_EPISODES:,} episodes.")),
    )


def figure_a5(agents: Agents) -> Figure:
    """The animation of figure 5."""
    return moving("A5", "5", "Q-learning", agents.taxi)


def along_an_episode(id: str, method: str, run: Run, **more: Any) -> Figure:
    """Beliefs at points along an episode, for any agent."""
    along = episode(run)
    steps = np.unique(np.linspace(0, len(along) - 1, POINTS_SHOWN).astype(int)).tolist()
    boards = tuple(_board(along[step], step) for step in steps)
    return Figure(
        id=id,
        title=f"Taxi: beliefs along an episode ({method})",
        claim="Yellow: the passenger is not aboard; green: the passenger is aboard. Intentions become clearer over time: several potential routes, "
        "with the outward and the return journey overlaid, collapse to the single shortest path to the goal.",
        pictures=(Picture.of(f"{id}-episode", Panels("What the taxi expects, as it drives", TAXI_START, boards, columns=3)),),
        answers=(str(along[0]),),
        **more,
    )  # fmt: skip


def moving(id: str, still: str, method: str, run: Run, **more: Any) -> Figure:
    """The animation of a figure along an episode."""
    return Figure(
        id=id,
        title=f"Taxi: the animation of figure {still} ({method})",
        claim=f"The beliefs of figure {still} at every step of the episode. Its claims are those of figure {still}.",
        pictures=(Picture(f"{id}-episode", tuple(_board(why, step) for step, why in enumerate(episode(run)))),),
        **more,
    )


def episode(run: Run) -> list[Intention]:
    """The intention at every step of a greedy episode."""
    return [run.intention(state, action) for state, action in run.episode(TAXI_START)]


def _board(why: Intention, step: int) -> Layout:
    return replace(
        layout_of(why), title=f"step {step}: {why.labels.actions[why.action]}, value {why.value:.3f}", caption=""
    )


# -- claims along an episode ---------------------------------------------------------------


def routes_at(why: Intention, steps_left: int, discount: float) -> float:
    """How many times the states of a single path of the remaining steps a belief covers."""
    path = np.array([[discount**step] for step in range(max(steps_left, 1))])
    return n_states(why.visits) / n_states(path)


def shortest(run: Run, discount: float) -> int:
    """The number of steps of the shortest route from the start of the episode, of a converged agent."""
    best = optimal_values(discount)
    return len(Run(labels=run.labels, values=best, settings=run.settings, origin=run.origin).episode(TAXI_START))


def overlaid_at_first(run: Run) -> Seen:
    """Whether outward and return journey are both expected at the start, and only the return journey at the end."""
    along = episode(run)
    before, after = [_places(why) for why in (along[0], along[-1])]
    both = len(before[0] & before[1])
    return Seen(both > 0 and not after[0] and bool(after[1]), both)


def _places(why: Intention) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:
    """The taxi's places on the route, without and with the passenger aboard."""
    labels = why.labels
    on_route = [labels.values(int(s)) for s in np.flatnonzero(why.visits.sum(axis=1) >= MIN_ROUTE_VISITS)]
    without, aboard = ({tuple(v[:2]) for v in on_route if (v[2] == ABOARD) == is_aboard} for is_aboard in (False, True))
    return without, aboard


def several_routes_collapse(run: Run, discount: float, several: float = SEVERAL_ROUTES, one: float = ONE_ROUTE) -> Seen:
    """Whether a belief covers several routes at the start, and a single path in the last third of the episode."""
    along = episode(run)
    first, *rest = (routes_at(why, len(along) - step, discount) for step, why in enumerate(along))
    last = rest[-(len(along) // 3) :]
    return Seen(bool(first >= several and last and max(last) <= one), first)


def ends_on_the_shortest_path(run: Run, discount: float, one: float = ONE_ROUTE) -> Seen:
    """Whether the episode is as short as possible, and the belief a single path in its last third."""
    along = episode(run)
    covered = [routes_at(why, len(along) - step, discount) for step, why in enumerate(along)]
    last = covered[-(len(along) // 3) :] if len(along) >= 3 else [np.inf]
    return Seen(bool(len(along) == shortest(run, discount) and abs(np.array(last) - 1.0).max() <= one - 1.0), max(last))


# -- contrasts -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A case of contrast in the paper: two actions, and the values of both in the limit."""

    kind: str
    best: str
    second: str
    value: float
    second_value: float
    back: int | None  # after how many steps the second action leads back; None: never
    says: str
    max_gap: float = PRINTED_GAP  # between two "equally good" actions
    min_visits: float = MIN_ROUTE_VISITS  # from which a state is on a route


CASES = (
    Case("ambiguity", "east", "south", value_after(5), value_after(5), None, "two distinct but equally good policies"),
    Case("bounce", "south", "east", value_after(3), value_after(5), 2, "the other action leads away and back again"),
    Case("failure", "north", "east", value_after(13), value_after(14), 1, "the other action leaves the taxi where it is"),
)  # fmt: skip


@cache
def optimal_values(discount: float) -> NDArray[np.float64]:
    """The values of a converged agent."""
    return value_iteration(TAXI_ID, discount=discount)


def states_of(case: Case, discount: float = 0.9) -> list[int]:
    """All states where a converged agent has the values of a case, with its pair of actions, and no better second action."""
    from whatfor.worlds.taxi import LABELS

    best = optimal_values(discount)
    one, other = LABELS.action(case.best), LABELS.action(case.second)
    rest = np.delete(best, one, axis=1).max(axis=1)
    fits = np.isclose(best.max(axis=1), case.value) & np.isclose(best[:, one], case.value)
    fits &= np.isclose(best[:, other], case.second_value) & np.isclose(rest, case.second_value)
    unfinished = [LABELS.values(s)[2] != LABELS.values(s)[3] for s in range(LABELS.n_states)]
    return [int(state) for state in np.flatnonzero(fits & np.array(unfinished))]


def figure_7(agents: Agents) -> Figure:
    """Three contrasts, at the states that have the printed values and actions."""
    return contrasts("7", "Q-learning", agents.taxi, CASES, note=(
        "The printed pairs of actions are shown, each at the state that has the printed value in the limit. Only "
        + "; ".join(f"{len(states_of(case))} for the {case.kind}" for case in CASES)
        + " of the 400 states have them. The printed second-best values (7.0777, 7.6599, −5.204) are of an agent that had not converged; in the limit they are 7.7147 (a tie), 7.7147 "
        "and −3.1370. The state of the tie lies on no optimal trajectory, so a greedy agent rarely gets there. In the state of the bounce, two shortest routes follow after east: "
        "back again, or down the next column. Whether it bounces back is a matter of how the tie is broken."
    ))  # fmt: skip


def contrasts(id: str, method: str, run: Run, cases: tuple[Case, ...], discount: float = 0.9, note: str = "") -> Figure:
    """Best action against second best, for any agent."""
    pictures, answers = [], []
    for case in cases:
        shown = run.contrast(states_of(case, discount)[0], case.best, case.second)
        pictures.append(
            Picture.of(
                f"{id}-{case.kind}",
                layout_of(shown),
                f"{case.kind.capitalize()}: {case.best} against {case.second}; {case.says}.",
            )
        )
        answers.append(str(shown))
    return Figure(
        id=id,
        title=f"Taxi: contrasts ({method})",
        claim="Best action against second best, five panels each: what is expected after each, after only one of them, and after both. "
        + "Cases: " + "; ".join(f"{case.kind} ({case.says})" for case in cases) + ".",
        pictures=tuple(pictures),
        answers=tuple(answers),
        note=note,
    )  # fmt: skip


def _printed_value(case: Case) -> Callable[[Agents], Seen]:
    def measure(agents: Agents) -> Seen:
        run = agents.taxi
        values = [float(run.values[state, run.labels.action(case.best)]) for state in states_of(case)]
        off = max(abs(value - case.value) for value in values)
        return Seen(off < PRINTED_PRECISION, off)

    return measure


def _story(case: Case) -> Callable[[Agents], Seen]:
    def measure(agents: Agents) -> Seen:
        found = [agents.taxi.contrast(state, case.best, case.second) for state in states_of(case)]
        share = float(np.mean([tells(one, case) for one in found]))
        return Seen(share > 0.5, share)

    return measure


def _ambiguous_somewhere(agents: Agents) -> Seen:
    """Whether in some state two tied actions are each believed to start a shortest path of its own."""
    run, best = agents.taxi, optimal_values(0.9)
    right = np.isclose(run.values, best, rtol=0.0, atol=TIED) & np.isclose(best, best.max(axis=1, keepdims=True))
    tied = np.flatnonzero(right.sum(axis=1) > 1).tolist()
    return Seen(any(_two_paths(run, state, np.flatnonzero(right[state]).tolist()) for state in tied), len(tied))


def _two_paths(run: Run, state: int, actions: list[int]) -> bool:
    """Whether two actions are believed to start different paths, each as short as possible."""
    steps = round(float(np.log((optimal_values(0.9)[state].max() + 10.0) / 30.0) / np.log(0.9)))
    path = 0.9 ** np.arange(steps + 1)
    paths = set()
    for action in actions:
        visits = run.beliefs.visits(state, action)
        weights = np.sort(visits.sum(axis=1))[::-1]
        if np.allclose(weights[: len(path)], path, atol=0.01) and weights[len(path) :].sum() < 0.01:
            paths.add(tuple(np.flatnonzero(visits.sum(axis=1) > 0.5 * path[-1])))
    return len(paths) > 1


def tells(contrast: Contrast, case: Case) -> bool:
    """Whether the beliefs show what the paper says about a case."""
    if case.back is not None:
        return back_after(contrast) == case.back
    ways = [
        int((np.delete(only, contrast.state, axis=0).sum(axis=1) >= case.min_visits).sum())
        for only in (contrast.gained, contrast.lost)
    ]
    here = [which.visits[contrast.state].sum() for which in (contrast.chosen, contrast.instead)]
    return abs(contrast.gap) <= case.max_gap and min(ways) > 0 and bool(min(here) >= 0.5)  # fmt: skip


def back_after(contrast: Contrast) -> int | None:
    """After how many steps it expects to be back after the second-best action; None: never."""
    from whatfor.explanations.phrases import LIKELY

    best, other = contrast.chosen, contrast.instead
    if other.course is not None:
        return contrast.back_after(other)
    # A network's visits: those of the best action, with a detour before them.
    missed, detour = float(contrast.gained.sum()), float(contrast.lost.sum())
    back = other.visits[contrast.state, best.action] >= LIKELY and missed < (1.0 - LIKELY) * float(best.visits.sum())
    return round(detour) if back and detour >= 0.5 else None


CLAIMS = (
    Claim("5", "Outward and return journey are overlaid at first, and separate later.", "at the start it expects some places both without and with the passenger; at the last step only with",
          "places expected both ways", lambda agents: overlaid_at_first(agents.taxi), "beliefs of the present step alone", ALL),
    Claim("5", "Several potential routes collapse to a single one.", f"converged: at the start the belief covers at least {SEVERAL_ROUTES:g} times the states of a single path, in the last third at most {ONE_ROUTE:g} times",
          "times, at the start", lambda agents: several_routes_collapse(agents.taxi, 0.9), "beliefs read off the Q-table"),
    Claim("5", "Several potential routes collapse to a single one, for an agent that has not converged.", f"the same after {EARLY_TAXI_EPISODES:,} episodes",
          "times, at the start", lambda agents: several_routes_collapse(agents.early_taxi, 0.9), "beliefs read off the Q-table"),
    Claim("5", "The beliefs end on the shortest path to the goal.", "the episode is as short as possible, and in its last third the belief is a single path",
          "times the states of a single path, at most", lambda agents: ends_on_the_shortest_path(agents.taxi, 0.9), "beliefs of another policy", ALL),
    Claim("7", "Value ambiguity is real: two distinct and equally good policies are found.", f"in some state two actions have the best value (to {TIED:g}), and each is believed to start a shortest path of its own",
          "states with two such values", _ambiguous_somewhere, "beliefs of another policy", ALL),
    *(claim for case in CASES for claim in (
        Claim("7", f"The value of the best action ({case.kind}: {case.best}) is {case.value:.4f}.", f"in all {len(states_of(case))} states of this case the value is the printed one to {PRINTED_PRECISION:g}",
              "largest difference", _printed_value(case), "trained on the negated reward", form="{:.1e}"),
        Claim("7", f"{case.kind.capitalize()} ({case.best} against {case.second}): {case.says}.", "its beliefs show that in most states of this case",
              "share of these states", _story(case), "a shuffled ledger" if case.back == 1 else "beliefs of another policy"),
    )),
)  # fmt: skip
