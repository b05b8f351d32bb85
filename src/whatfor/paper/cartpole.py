"""Figures 4 and S6 to S10: CartPole."""

from __future__ import annotations

from collections.abc import Callable

from whatfor.explanations import Comparison, Intention
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.paper.agents import MIN_BALANCED_STEPS, Agents, balanced_steps
from whatfor.paper.figure import Check, Figure, Picture, residual_of
from whatfor.paper.tables import recovered
from whatfor.question import layout_of
from whatfor.runs import Run
from whatfor.text import percent

#: Position, velocity and angular velocity in the middle bins, the angle between -4 and 0 degrees.
CARTPOLE_STATE = 79
MIDDLE_BIN = 1  # of the cart's position
CARTPOLE_ROLLOUTS = 1_000
#: Visits at a larger distance than this do not match.
MIN_MISMATCH = 0.1


def figure_4(agents: Agents) -> Figure:
    """Belief beside simulation, Q-learning."""
    return _believed_and_simulated("4", "Q-learning", agents.cartpole_q)


def figure_s6(agents: Agents) -> Figure:
    """Belief beside simulation, Monte Carlo."""
    return _believed_and_simulated("S6", "Monte Carlo", agents.cartpole_mc)


def _believed_and_simulated(id: str, method: str, run: Run) -> Figure:
    comparison = run.comparison(CARTPOLE_STATE, rollouts=CARTPOLE_ROLLOUTS)
    return believed_and_simulated(
        id, method, comparison, balanced_steps(run),
        (
            Check("distance between expected and simulated visits", "a mismatch", f"{percent(comparison.distance)}; {comparison.verdict}",
                  comparison.distance > MIN_MISMATCH and comparison.verdict == "differs"),
            Check("earnings sum to the value", "to floating point", f"off by {residual_of(comparison):.1e}", residual_of(comparison) < 1e-9 * max(1.0, abs(comparison.believed.value)) and comparison.believed.value > 1.0),
        ),
        note="Monte Carlo visits the same bin many times in an episode. With a constant step size of 0.1 its belief is based on about "
        f"{comparison.episodes or 0.0:.1f} episodes, too few to distinguish a mismatch from chance." if comparison.verdict == "too few" else "",
    )  # fmt: skip


def believed_and_simulated(
    id: str,
    method: str,
    comparison: Comparison,
    steps: float,
    checks: tuple[Check, ...],
    *,
    others: dict[str, tuple[Intention, str, str]] | None = None,
    note: str = "",
) -> Figure:
    """Belief beside simulation, for any agent.

    ``steps``: how long it balances the pole. ``others``: further beliefs by file, with their titles and captions.
    """
    believed, simulated = comparison.believed.visits, comparison.simulated.visits
    shown = {
        "belief": ("belief", believed, f"What the agent expects of {comparison.labels.actions[comparison.action]!r}."),
        "simulation": ("forward simulation", simulated, f"What follows in {CARTPOLE_ROLLOUTS:,} rollouts that start anywhere in the bin."),
        **{file: (title, why.visits, caption) for file, (why, title, caption) in (others or {}).items()},
    }  # fmt: skip
    middle = believed.sum(axis=1).reshape(comparison.labels.shape)[MIDDLE_BIN].sum() / max(believed.sum(), 1e-300)
    return Figure(
        id=id,
        title=f"CartPole: belief beside forward simulation ({method})",
        claim="Only states with the cart in the middle are shown, since it rarely drifts away. Belief and simulation do not match: "
        "the physics is deterministic but chaotic, and the agent, which observes bins, is much less certain about the future.",
        pictures=tuple(
            Picture.of(f"{id}-{file}", map_of(Map(comparison.labels, numbers, title=title, state=CARTPOLE_STATE), facets="here"), caption)
            for file, (title, numbers, caption) in shown.items()
        ),
        checks=(
            Check("steps that the greedy agent balances the pole", "reasonably stable", f"{steps:.0f} of 200", steps >= MIN_BALANCED_STEPS),
            Check("share of expected visits with the cart in the middle", "most of them", f"{percent(middle)}", bool(middle > 0.5) and steps >= MIN_BALANCED_STEPS),
            *checks,
        ),
        answers=(str(comparison),),
        note=note,
    )  # fmt: skip


def figure_s7(agents: Agents) -> Figure:
    """Q-table and recovered table, Monte Carlo."""
    return recovered("S7", "CartPole", "Monte Carlo", agents.cartpole_mc)


def figure_s8(agents: Agents) -> Figure:
    """Q-table and recovered table, Q-learning."""
    return recovered("S8", "CartPole", "Q-learning", agents.cartpole_q)


def figure_s9(agents: Agents) -> Figure:
    """Contrast at state 79, Monte Carlo."""
    return _contrast("S9", "Monte Carlo", "push right", agents.cartpole_mc)


def figure_s10(agents: Agents) -> Figure:
    """Contrast at state 79, Q-learning."""
    return _contrast("S10", "Q-learning", "push left", agents.cartpole_q)


def _contrast(id: str, method: str, papers: str, run: Run) -> Figure:
    contrast = run.contrast(CARTPOLE_STATE)
    best = run.labels.actions[contrast.chosen.action]
    edges = [_at_the_edges(which) for which in (contrast.instead, contrast.chosen)]
    return Figure(
        id=id,
        title=f"CartPole: contrast at state 79 ({method})",
        claim=f"The paper's agent prefers to {papers}: the other action leads towards states at the edges, where it may fall.",
        pictures=(
            Picture.of(f"{id}-contrast", layout_of(contrast, facets="here")),
            Picture.of(f"{id}-parts", layout_of(contrast, show="parts"), "What each state-action pair adds to the gap."),
        ),
        checks=(
            Check("which action is better", papers, f"{best} by {contrast.gap:.3g}" + (", not settled" if contrast.unsettled else ""), best == papers and contrast.gap > 0.0),
            Check("share of expected visits at the edges, after the other action and after the better one", "more after the other one",
                  f"{percent(edges[0])}, {percent(edges[1])}", edges[0] > edges[1]),
            Check("the parts of the two futures sum to the gap", "explained by where the other leads", f"off by {residual_of(contrast):.1e}",
                  contrast.gap > 0.0 and residual_of(contrast) < 1e-9 * contrast.magnitude),
        ),
        answers=(str(contrast),),
        note="The state is a bin of many situations, and with a constant step size the better action changes during training: "
        "another seed may prefer the other one.",
    )  # fmt: skip


def _at_the_edges(which: Intention) -> float:
    """The share of expected visits with the pole or the cart in an outermost bin."""
    visits = which.visits.sum(axis=1).reshape(which.labels.shape)
    inner = visits[1:-1, :, 1:-1, :].sum()
    return float(1.0 - inner / max(visits.sum(), 1e-300))


CARTPOLE_FIGURES: dict[str, Callable[[Agents], Figure]] = {
    "4": figure_4, "S6": figure_s6, "S7": figure_s7, "S8": figure_s8, "S9": figure_s9, "S10": figure_s10,
}  # fmt: skip
