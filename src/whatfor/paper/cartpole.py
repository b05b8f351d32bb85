"""Figures 4, S6, S9 and S10: CartPole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.distance import distance
from whatfor.explanations import Comparison, Intention
from whatfor.labels import Labels
from whatfor.layouts import Layout, Panels
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.paper.agents import MIN_BALANCED_STEPS, Agents, RunOf, balanced_steps
from whatfor.paper.evidence import Claim, Seen
from whatfor.paper.figure import Figure, Picture
from whatfor.question import layout_of
from whatfor.runs import Run

#: Position, velocity and angular velocity in the middle bins, the angle between -4 and 0 degrees.
CARTPOLE_STATE = 79
MIDDLE_BIN = 1  # of the cart's position
CARTPOLE_ROLLOUTS = 1_000
#: Visits at a larger distance than this do not match; two simulations are closer to each other.
MIN_MISMATCH = 0.1
#: A belief with so many times as many states as a single simulation (the mean of some) is "much more uncertain".
MUCH_MORE, SINGLE_ROLLOUTS = 1.5, 20
#: One simulation in its place covers more states than each of so many others by chance, in 1 of 51 agents.
OTHER_ROLLOUTS = 50


def _q(agents: Agents) -> Run:
    return agents.cartpole_q


def _mc(agents: Agents) -> Run:
    return agents.cartpole_mc


def figure_4(agents: Agents) -> Figure:
    """Belief beside simulation, Q-learning."""
    return believed_and_simulated(
        "4", "Q-learning", agents.cartpole_q.comparison(CARTPOLE_STATE, rollouts=CARTPOLE_ROLLOUTS)
    )


def figure_s6(agents: Agents) -> Figure:
    """Belief beside simulation, Monte Carlo."""
    comparison = agents.cartpole_mc.comparison(CARTPOLE_STATE, rollouts=CARTPOLE_ROLLOUTS)
    return believed_and_simulated(
        "S6", "Monte Carlo", comparison,
        note="Monte Carlo visits the same bin many times in an episode, so with a constant step size of 0.1 its belief rests on one or two episodes. "
        "Its mismatch is mostly chance, and not evidence for the paper's explanation.",
    )  # fmt: skip


def believed_and_simulated(
    id: str,
    method: str,
    comparison: Comparison,
    *,
    others: dict[str, tuple[Intention, str, str]] | None = None,
    note: str = "",
) -> Figure:
    """Belief beside simulation, for any agent; ``others``: further beliefs by file, with their titles and captions."""
    believed, simulated = comparison.believed.visits, comparison.simulated.visits
    shown = {
        "belief": ("belief", believed, f"What the agent expects of {comparison.labels.actions[comparison.action]!r}."),
        "simulation": ("forward simulation", simulated, f"What follows in {CARTPOLE_ROLLOUTS:,} rollouts that start anywhere in the bin."),
        **{file: (title, why.visits, caption) for file, (why, title, caption) in (others or {}).items()},
    }  # fmt: skip
    return Figure(
        id=id,
        title=f"CartPole: belief beside forward simulation ({method})",
        claim="Only states with the cart in the middle are shown, since it rarely drifts away. Belief and simulation do not match: "
        "the physics is deterministic but chaotic, and the agent, which observes bins, is much less certain about the future.",
        pictures=tuple(
            Picture.of(f"{id}-{file}", middle_states(comparison.labels, numbers, title), caption)
            for file, (title, numbers, caption) in shown.items()
        ),
        answers=(str(comparison),),
        note=note,
    )  # fmt: skip


def middle_states(labels: Labels, visits: NDArray[np.float64], title: str) -> Layout:
    """All states with the cart in the middle: a grid of pole angle and swing for each speed of the cart."""
    whole = map_of(Map(labels, visits, title=title, state=CARTPOLE_STATE))
    assert isinstance(whole, Panels)
    first = MIDDLE_BIN * whole.columns
    return replace(
        whole, panels=whole.panels[first : first + whole.columns], row_heads=whole.row_heads[MIDDLE_BIN : MIDDLE_BIN + 1]
    )  # fmt: skip


def middle_share(labels: Labels, visits: NDArray[np.float64]) -> float:
    """The share of visits with the cart in the middle."""
    return float(visits.sum(axis=1).reshape(labels.shape)[MIDDLE_BIN].sum() / max(visits.sum(), 1e-300))


def n_states(visits: NDArray[np.float64]) -> float:
    """The number of states that visits cover: exp of their entropy."""
    by_state = visits.sum(axis=1)
    chances = by_state / max(by_state.sum(), np.finfo(float).tiny)
    chances = chances[chances > 0.0]
    return float(np.exp(-(chances * np.log(chances)).sum())) if len(chances) else 0.0


def stays_in_the_middle(run_of: Callable[..., Run]) -> Callable[..., Seen]:
    """Whether an agent balances the pole and expects to do it in the middle."""

    def measure(agents: Agents) -> Seen:
        run = run_of(agents)
        share = middle_share(run.labels, run.intention(CARTPOLE_STATE).visits)
        return Seen(share > 0.5 and balanced_steps(run) >= MIN_BALANCED_STEPS, share)

    return measure


def does_not_match(run_of: Callable[..., Run]) -> Callable[..., Seen]:
    """Whether belief and simulation differ, by more than two simulations do."""

    def measure(agents: Agents) -> Seen:
        run = run_of(agents)
        why = run.intention(CARTPOLE_STATE)
        simulated, again = (
            run.simulation(CARTPOLE_STATE, why.action, rollouts=CARTPOLE_ROLLOUTS, seed=seed).visits for seed in (0, 1)
        )
        apart = distance(why.visits, simulated)
        balanced = balanced_steps(run) >= MIN_BALANCED_STEPS
        return Seen(bool(apart > max(MIN_MISMATCH, 3.0 * distance(again, simulated)) and balanced), apart)

    return measure


def is_less_certain(run_of: Callable[..., Run], others: int = 0) -> Callable[..., Seen]:
    """Whether a belief covers many more states than one simulation, which runs the same each time, and more than each of some others."""

    def measure(agents: Agents) -> Seen:
        run = run_of(agents)
        believed, single = n_states(run.intention(CARTPOLE_STATE).visits), _single_simulations(run, SINGLE_ROLLOUTS, 0)
        ratio = believed / float(np.mean(single))
        more = ratio > MUCH_MORE and (not others or believed > max(_single_simulations(run, others, 2)))
        return Seen(more and balanced_steps(run) >= MIN_BALANCED_STEPS, ratio)

    return measure


def _single_simulations(run: Run, rollouts: int, seed: int) -> list[float]:
    """The number of states that each of some simulations covers."""
    played = run.playing.simulated(None, rollouts, seed, None).rollouts(
        run.situation(CARTPOLE_STATE), run.best(CARTPOLE_STATE)
    )
    paths = [played.pair[a:b] // run.labels.n_actions for a, b in zip(played.first, played.first[1:], strict=False)]
    return [n_states(np.bincount(path)[:, None].astype(float)) for path in paths]


# -- contrast at state 79 ------------------------------------------------------------------


def figure_s9(agents: Agents) -> Figure:
    """Contrast at state 79, Monte Carlo."""
    return _contrast("S9", "Monte Carlo", "push right", agents.cartpole_mc)


def figure_s10(agents: Agents) -> Figure:
    """Contrast at state 79, Q-learning."""
    return _contrast("S10", "Q-learning", "push left", agents.cartpole_q)


def _contrast(id: str, method: str, papers: str, run: Run) -> Figure:
    contrast = run.contrast(CARTPOLE_STATE)
    return Figure(
        id=id,
        title=f"CartPole: contrast at state 79 ({method})",
        claim=f"The paper's agent prefers to {papers}: the other action leads towards states at the edges, where it may fall.",
        pictures=(
            Picture.of(f"{id}-contrast", layout_of(contrast, facets="here")),
            Picture.of(f"{id}-parts", layout_of(contrast, show="parts"), "What each state-action pair adds to the gap."),
        ),
        answers=(str(contrast),),
        note="The state is a bin of many situations, in which the pole leans to the left. With a constant step size the better action changes during training.",
    )  # fmt: skip


def _prefers(run_of: RunOf, action: str) -> Callable[[Agents], Seen]:
    def measure(agents: Agents) -> Seen:
        run = run_of(agents)
        values, wanted = run.values[CARTPOLE_STATE], run.labels.action(action)
        gap = float(values[wanted] - values[1 - wanted])
        return Seen(gap > 0.0 and balanced_steps(run) >= MIN_BALANCED_STEPS, gap)

    return measure


def _avoids_edges(run_of: RunOf) -> Callable[[Agents], Seen]:
    def measure(agents: Agents) -> Seen:
        contrast = run_of(agents).contrast(CARTPOLE_STATE)
        more = _at_the_edges(contrast.instead) - _at_the_edges(contrast.chosen)
        return Seen(more > 0.0 and balanced_steps(run_of(agents)) >= MIN_BALANCED_STEPS, more)

    return measure


def _at_the_edges(which: Intention) -> float:
    """The share of expected visits with the pole or the cart in an outermost bin."""
    visits = which.visits.sum(axis=1).reshape(which.labels.shape)
    inner = visits[1:-1, :, 1:-1, :].sum()
    return float(1.0 - inner / max(visits.sum(), 1e-300))


_STABLE = f"the agent balances the pole for {MIN_BALANCED_STEPS:.0f} of 200 steps"


def simulation_claims(figure: str, run_of: Callable[..., Run], unbalanced: str, others: int) -> tuple[Claim, ...]:
    """The claims about belief and simulation, for any agent; ``unbalanced``: the wrong mechanism that lets the pole fall."""
    of_each = f" on average, and more than each of {others} others"
    return (
        Claim(figure, "The cart rarely drifts away from the middle.", f"most expected visits have the cart in the middle; {_STABLE}", "share of visits in the middle", stays_in_the_middle(run_of), unbalanced),
        Claim(figure, "Belief and forward simulation do not match.", f"their relative distance is above {MIN_MISMATCH:g} and three times that of two simulations of {CARTPOLE_ROLLOUTS:,} rollouts; {_STABLE}", "distance",
              does_not_match(run_of), "forward simulation in place of the belief"),
        Claim(figure, "The agent is much less certain about the future than a simulation, which runs the same each time.",
              f"its belief covers over {MUCH_MORE:g} times as many states (exp of the entropy) as a single simulation{of_each}; {_STABLE}", "ratio", is_less_certain(run_of, others), "one forward simulation in place of the belief"),
    )  # fmt: skip


CLAIMS = (
    *(claim for figure, run_of in (("4", _q), ("S6", _mc)) for claim in simulation_claims(figure, run_of, "trained on the negated reward", OTHER_ROLLOUTS)),
    *(claim for figure, run_of, action in (("S9", _mc, "push right"), ("S10", _q, "push left")) for claim in (
        Claim(figure, f"It prefers to {action} in state 79.", f"this action has the higher value; {_STABLE}", "gap", _prefers(run_of, action), "trained on the negated reward"),
        Claim(figure, "The other action leads towards the edges.", f"after it, a larger share of visits has cart or pole in an outermost bin; {_STABLE}", "difference of shares", _avoids_edges(run_of), "trained on the negated reward"),
    )),
)  # fmt: skip
