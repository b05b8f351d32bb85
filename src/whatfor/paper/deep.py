"""Figures 4 (its DQN), 6, S11 and the animation of 6: the paper's deep agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs import ExactBeliefs, SimulatedBeliefs, value_iteration
from whatfor.beliefs.distance import distance
from whatfor.beliefs.trust import CLOSE
from whatfor.explanations import Contrast, Intention, Trust
from whatfor.paper.agents import MIN_BALANCED_STEPS, balanced_steps
from whatfor.paper.cartpole import CARTPOLE_ROLLOUTS, CARTPOLE_STATE, MIN_MISMATCH, believed_and_simulated
from whatfor.paper.deep_agents import DeepAgents, WorldName
from whatfor.paper.figure import Check, Figure, residual_of
from whatfor.paper.taxi import TAXI_START, Case, along_an_episode, contrasts, moving
from whatfor.runs import Run
from whatfor.text import percent
from whatfor.worlds.cartpole import MAX_STEPS

#: Figure S11: the printed value of the best action. Without a discount, n steps of -1 and a delivery return 20 - n.
PRINTED_CASES = (
    Case("ambiguity", "14.9908 (true: 15)", 15.0, 15.0),
    Case("bounce", "17.9323 (true: 18)", 18.0, 16.0),
)
#: The largest error of a value.
VALUE_TOLERANCE = 0.1
#: The largest mean error of values, and of earnings, along a whole episode.
EPISODE_TOLERANCE = 0.5
#: In CartPole, the largest difference between earnings and value, as a share of the value.
MAX_RELATIVE_RESIDUAL = 0.05
#: An untrained agent lets the pole fall after about ten steps.
MIN_EXPECTED_STEPS = 50
#: Visits at a smaller distance than this have more in common than not.
MAX_DISTANCE = 1.0
#: A state with at least this many expected visits is on the route.
MIN_ROUTE_VISITS = 0.5

#: An example state for each agent.
EXAMPLES: dict[str, str | int] = {"taxi": TAXI_START, "cartpole": CARTPOLE_STATE}


def figure_4d(agents: DeepAgents) -> Figure:
    """Figure 4 for the DQN: belief beside simulation, and beside the belief of tabular Q-learning."""
    run, papers, table = agents.cartpole, agents.cartpole_regression, agents.tabular.cartpole_q
    comparison, steps = run.comparison(CARTPOLE_STATE, rollouts=CARTPOLE_ROLLOUTS), balanced_steps(run)
    why, action = comparison.believed, run.labels.actions[comparison.action]
    tabular = table.intention(CARTPOLE_STATE, comparison.action)
    real = table.comparison(CARTPOLE_STATE, comparison.action, rollouts=CARTPOLE_ROLLOUTS).distance
    heads = [why.visits, *([] if papers is None else [papers.intention(CARTPOLE_STATE, comparison.action).visits])]
    apart = [distance(visits, comparison.simulated.visits) for visits in heads]
    from_table = [distance(visits, tabular.visits) for visits in heads]
    stands, preset = steps >= MIN_BALANCED_STEPS, agents.preset_of("cartpole")
    return believed_and_simulated(
        "4D", "DQN", comparison, steps,
        (
            Check(f"distance between the visits expected after {action!r} and the simulated ones (relative L1)", "a mismatch",
                  f"{with_papers_head(apart)}; tabular Q-learning and its own simulation: {percent(real)}",
                  apart[0] > MIN_MISMATCH and stands),
            Check("distance between these visits and those that tabular Q-learning expects", "not given",
                  with_papers_head(from_table), from_table[0] < MAX_DISTANCE and stands),
            Check("expected steps, and simulated steps", "not given; the limit is 200", f"{why.visits.sum():.1f}, {comparison.simulated.visits.sum():.1f}",
                  bool(MIN_EXPECTED_STEPS < why.visits.sum() <= MAX_STEPS) and stands),
            Check("sum of earnings and value", "the same", f"off by {residual_of(why):.2f} of {why.value:.1f}", residual_of(why) < MAX_RELATIVE_RESIDUAL * why.value),
            *trust_checks(run, papers),
        ),
        others={"tabular": (tabular, "belief of tabular Q-learning", f"What the tabular agent of figure 4 expects after {action!r}.")},
        note=note(agents, "cartpole") + " The time limit counts as an end, as in the paper's code; without a discount there would be no finite value. Such a value grows by at most 1 "
        f"with each sync of the target network, and there were {preset.steps // preset.sync} syncs; this is a part of the mismatch. Another part is Huber's loss, as in the paper: transitions between bins look "
        "random, and with this loss Q and its beliefs are biased towards medians.",
    )  # fmt: skip


def figure_6(agents: DeepAgents) -> Figure:
    """Figure 5 for the DQN: beliefs at points along an episode."""
    return along_an_episode("6", "DQN", agents.taxi, _checks(agents), note=note(agents, "taxi"))


def figure_a6(agents: DeepAgents) -> Figure:
    """The animation of figure 6."""
    return moving("A6", "6", "DQN", agents.taxi, _checks(agents), note=note(agents, "taxi"))


def figure_s11(agents: DeepAgents) -> Figure:
    """The first two contrasts of figure 7, for the DQN."""
    run = agents.taxi
    return contrasts(
        "S11",
        "DQN",
        run,
        PRINTED_CASES,
        within=(VALUE_TOLERANCE, VALUE_TOLERANCE),
        case_checks=_case_checks,
        note=f"The cases are found by searching all states. A tie is a gap below 0.25 % of the range of values. {trust_sentences(run, agents.taxi_regression)} "
        + note(agents, "taxi"),
    )


def _case_checks(run: Run, case: Case, shown: Contrast | None) -> tuple[Check, ...]:
    """Checks of a case against the real environment."""
    if case.kind == "ambiguity":
        ways = [0, 0] if shown is None else [states_on_route(only, shown.state) for only in (shown.gained, shown.lost)]
        off = [np.inf] if shown is None else [_off_exact(run, which) for which in (shown.chosen, shown.instead)]
        return (
            Check(f"{case.kind}: states on only the one route, and on only the other", "two routes", f"{ways[0]}, {ways[1]}", min(ways) > 0),
            Check(f"{case.kind}: distance between the visits of each and the exact ones of its policy", "the same", ", ".join(f"{percent(x)}" for x in off), max(off) < CLOSE[2]),
            _all_states(run),
        )  # fmt: skip
    back = None if shown is None else _really_back(run, shown)
    words = "never" if back is None else f"after {back} steps"
    return (Check(f"{case.kind}: back in the same state, in the real environment", "a bounce", words, back == 2),)


def _all_states(run: Run) -> Check:
    """The errors of values over all such states, without selection."""
    off, _ = value_errors(run, PRINTED_CASES[0])
    return Check(
        "ambiguity: value of both routes, over all states where two have value 15",
        "14.9908, 14.9858 (true: 15, 15)",
        f"off by {off.mean():.3f} on average, {off.max():.3f} at most, of {len(off)} actions",
        bool(off.mean() < VALUE_TOLERANCE),
    )


def value_errors(run: Run, case: Case) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The errors of the best and of the second-best values, in all states with the true values of a case."""
    best = value_iteration("Taxi-v4", discount=1.0)
    seconds = (best == case.second).sum(axis=1) > (case.best == case.second)
    asked = (best.max(axis=1) == case.best) & seconds & is_unfinished(run)
    of_best, of_second = (np.abs(run.values[asked][best[asked] == worth] - worth) for worth in (case.best, case.second))
    return of_best, of_second


def is_unfinished(run: Run) -> NDArray[np.bool_]:
    """(S,) The states of Taxi in which the passenger is not at the destination."""
    labels = run.labels
    return np.array([labels.values(s)[2] != labels.values(s)[3] for s in range(labels.n_states)])


def states_on_route(visits: NDArray[np.float64], here: int) -> int:
    """The number of other states that are likely to be visited."""
    return int((np.delete(visits, here, axis=0).sum(axis=1) >= MIN_ROUTE_VISITS).sum())


def _off_exact(run: Run, why: Intention) -> float:
    exact = ExactBeliefs("Taxi-v4", run.policy, discount=1.0)
    return (
        distance(why.visits, exact.visits(why.state, why.action))
        if exact.has_finite_visits(why.state, why.action)
        else np.inf
    )


def _really_back(run: Run, shown: Contrast) -> int | None:
    """The number of steps until its policy is in the same state again after the second-best action; None: never."""
    played = SimulatedBeliefs("Taxi-v4", run.policy, discount=1.0, rollouts=1).rollouts(
        shown.state, shown.instead.action
    )
    states = played.pair[1 : played.first[1]] // run.labels.n_actions
    back = np.flatnonzero(states == shown.state)
    return int(back[0]) + 1 if len(back) else None


def _checks(agents: DeepAgents) -> Callable[[Run, list[Intention]], tuple[Check, ...]]:
    def checks(run: Run, along: list[Intention]) -> tuple[Check, ...]:
        """Checks along an episode."""
        delivered = run.simulation(TAXI_START, rollouts=2)
        best = float(value_iteration("Taxi-v4", discount=1.0)[along[0].state].max())
        off = [abs(why.value - (best + step)) for step, why in enumerate(along)]
        gaps = [residual_of(why) for why in along]
        return (
            Check("the episode", "picks up and delivers", f"{len(along)} steps, {', '.join(delivered.chances)}", set(delivered.chances) == {"delivered"}),
            Check("the shortest route: the return of the episode", f"{best:g} by value iteration", f"{delivered.value:g}", delivered.value == best),
            Check("values along the episode", "the return of the remaining route", f"off by {np.mean(off):.3f} on average", float(np.mean(off)) < EPISODE_TOLERANCE),
            Check("sum of earnings and value, along the episode", "the same", f"off by {np.mean(gaps):.3f} on average, {np.max(gaps):.3f} at most",
                  float(np.mean(gaps)) < EPISODE_TOLERANCE and set(delivered.chances) == {"delivered"}),
            *trust_checks(run, agents.taxi_regression),
        )  # fmt: skip

    return checks


def trust_checks(ours: Run, papers: Run | None) -> tuple[Check, ...]:
    """The trust in beliefs over the visited states, beside those of the paper's head."""
    trusts = _trusts(ours, papers)
    trust, (correlation, gap, apart) = trusts[0], CLOSE
    gaps = [f"{percent(one.relative_gap)} ({one.mean_residual:.3g})" for one in trusts]
    checks = [
        Check("earnings and Q over the visited states: mean difference, as a share of Q's range", f"consistent; here at most {percent(gap)}", with_papers_head(gaps), trust.relative_gap <= gap),
        Check("correlation of earnings and Q", f"consistent; here at least {correlation:g}", with_papers_head([f"{one.correlation:.3f}" for one in trusts]),
              trust.correlation >= correlation and trust.relative_gap <= gap),
    ]  # fmt: skip
    if ours.labels.kind == "taxi":  # its world is a table, so the exact visits are known
        checks.append(Check(
            "distance between visits and the exact ones of its policy", f"not given; here at most {percent(apart)}", with_papers_head([_distance_text(one) for one in trusts]),
            trust.distance is not None and trust.distance <= apart,
        ))  # fmt: skip
    return tuple(checks)


def trust_sentences(ours: Run, papers: Run | None) -> str:
    """The same numbers in sentences."""
    names = ("Its belief", "The paper's head for the same agent")
    return " ".join(
        f"{name}: earnings {trust.mean_residual:.3g} off Q ({percent(trust.relative_gap)} of its range, correlation {trust.correlation:.3f}), "
        f"visits off the exact ones by {_distance_text(trust)}."
        for name, trust in zip(names, _trusts(ours, papers), strict=False)
    )


def with_papers_head(numbers: Sequence[float | str]) -> str:
    """A number, and the same number for the paper's head if it was trained.

    >>> with_papers_head([0.1, 0.25])
    "10 %; the paper's head: 25 %"
    """
    return "; the paper's head: ".join(x if isinstance(x, str) else percent(x) for x in numbers)


def _trusts(*runs: Run | None) -> list[Trust]:
    return [run.trust for run in runs if run is not None and run.trust is not None]


def _distance_text(trust: Trust) -> str:
    return "unknown" if trust.distance is None else f"{percent(trust.distance)} (over {trust.states} states)"


def note(agents: DeepAgents, name: WorldName) -> str:
    """The deviations from the paper."""
    preset = agents.preset_of(name)
    reads = (
        "the network reads a state one-hot, where the paper's reads its raw numbers (--inputs raw)"
        if agents.inputs == "one-hot"
        else "the network reads the raw numbers of a state, as the paper's does"
    )
    both = agents.both_heads or preset.both_heads
    regression = (
        "was trained alongside the same agent, on the same batches"
        if both
        else "was not trained, since it takes over half as long again (--both-heads)"
    )
    belief = "the paper's sizes" if preset.paper_beliefs else "layers of 256 and 128"
    return (
        f"Deviations: {reads}; {preset.environments} environments in parallel, {preset.steps:,} steps in total, batches of {preset.batch} (paper: 16); "
        f"learning rates of {preset.learning_rate:g} for Q (paper: 0.0001) and {preset.belief_rate:g} for beliefs, both decaying; Q has layers of "
        f"{', '.join(str(n) for n in preset.layers)}, the belief network {belief}. The beliefs are those of the faithful head (amounts times a distribution, trained with cross-entropy and the {preset.loss} loss); the "
        f"paper's regression {regression}. As in the paper: Huber's loss for Q and for that regression, Adam with gradients clipped to ±1, no discount."
    )


DEEP_FIGURES: dict[str, Callable[[DeepAgents], Figure]] = {
    "4D": figure_4d, "6": figure_6, "S11": figure_s11, "A6": figure_a6,
}  # fmt: skip
