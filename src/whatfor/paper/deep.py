"""Figures 4 (its DQN), 6, S11 and the animation of 6: the paper's deep agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs import ExactBeliefs
from whatfor.beliefs.distance import distance
from whatfor.explanations import Trust
from whatfor.paper.agents import TAXI_ID
from whatfor.paper.cartpole import (
    CARTPOLE_ROLLOUTS,
    CARTPOLE_STATE,
    OTHER_ROLLOUTS,
    believed_and_simulated,
    simulation_claims,
)
from whatfor.paper.deep_agents import DeepAgents, Recipe
from whatfor.paper.deep_wrong import DEEP_WRONG
from whatfor.paper.evidence import DEEP_LEVEL, Claim, ClaimResult, Seen
from whatfor.paper.figure import Figure
from whatfor.paper.jobs import OnPiece, in_processes
from whatfor.paper.presets import WorldName
from whatfor.paper.study import RIGHT, UNTRAINED, Makers, Measured, OnShare, measure_claims, measure_seed, results_of
from whatfor.paper.taxi import (
    TAXI_START,
    Case,
    along_an_episode,
    contrasts,
    ends_on_the_shortest_path,
    moving,
    optimal_values,
    overlaid_at_first,
    several_routes_collapse,
    states_of,
    tells,
)  # fmt: skip
from whatfor.runs import Run
from whatfor.text import percent

#: The largest mean error of values, and between two tied ones; without a discount, n steps of -1 and a delivery return 20 - n.
VALUE_TOLERANCE = 0.25
#: A state with at least this many expected visits is on the route.
MIN_ROUTE_VISITS = 0.5
#: A network spreads its visits a little, so a single path and several routes have wider limits than those of a table.
SEVERAL_ROUTES, ONE_ROUTE = 1.25, 1.1
PRINTED_CASES = (
    Case("ambiguity", "south", "west", 15.0, 15.0, None, "two distinct but equally good policies", VALUE_TOLERANCE, MIN_ROUTE_VISITS),
    Case("bounce", "south", "west", 18.0, 16.0, 2, "the other action leads away and back again", VALUE_TOLERANCE, MIN_ROUTE_VISITS),
)  # fmt: skip
#: Earnings and Q agree if they differ by at most this share of Q's range, on average over this many states.
MAX_EARNINGS_GAP, CHECKED_STATES = 0.05, 40
#: Visits at a smaller relative distance from the exact ones of the policy are about right.
MAX_VISITS_DISTANCE = 0.25

#: An example state for each agent.
EXAMPLES: dict[str, str | int] = {"taxi": TAXI_START, "cartpole": CARTPOLE_STATE}


def figure_4d(agents: DeepAgents) -> Figure:
    """Figure 4 for the DQN: what it learned to expect beside simulation, beside what playing its policy gives, and beside tabular Q-learning."""
    run, table = agents.cartpole_learned, agents.tabular.cartpole_q
    comparison = run.comparison(CARTPOLE_STATE, rollouts=CARTPOLE_ROLLOUTS)
    action = run.labels.actions[comparison.action]
    tabular, preset = table.intention(CARTPOLE_STATE, comparison.action), agents.preset_of("cartpole")
    played = agents.cartpole.intention(CARTPOLE_STATE, comparison.action)
    apart = [percent(distance(why.visits, comparison.simulated.visits)) for why in (comparison.believed, played)]
    return believed_and_simulated(
        "4D", "DQN", comparison,
        others={
            "settled": (played, "settled belief", f"What playing its policy gives after {action!r}, by the network that settled when training had ended: "
                        f"{apart[1]} off the simulation, where the belief that was learned alongside is {apart[0]} off."),
            "tabular": (tabular, "belief of tabular Q-learning", f"What the tabular agent of figure 4 expects after {action!r}."),
        },
        note=f"{trust_sentences(run, agents.cartpole, agents.cartpole_regression)} {note(agents, 'cartpole')} The time limit counts as an end, as in the paper's code; without a discount there would be no finite value. "
        f"Such a value grows by at most 1 with each sync of the target network, and there were {preset.steps // preset.sync} syncs; this is a part of the mismatch. Another part is Huber's loss, as in the paper: transitions between bins look "
        "random, and with this loss Q and its beliefs are biased towards medians.",
    )  # fmt: skip


def figure_6(agents: DeepAgents) -> Figure:
    """Figure 5 for the DQN: beliefs at points along an episode."""
    notes = f"{trust_sentences(agents.taxi_learned, agents.taxi, agents.taxi_regression)} {note(agents, 'taxi')}"
    return along_an_episode("6", "DQN", agents.taxi, note=notes)


def figure_a6(agents: DeepAgents) -> Figure:
    """The animation of figure 6."""
    return moving("A6", "6", "DQN", agents.taxi, note=note(agents, "taxi"))


def figure_s11(agents: DeepAgents) -> Figure:
    """The first two contrasts of figure 7, for the DQN."""
    shown = "The printed pairs of actions are shown, each at a state that has their values in the limit (15 and 15, 18 and 16)."
    return contrasts("S11", "DQN", agents.taxi, PRINTED_CASES, 1.0, f"{shown} {note(agents, 'taxi')}")


# -- claims --------------------------------------------------------------------------------


def _consistent(run_of: Callable[[DeepAgents], Run]) -> Callable[[DeepAgents], Seen]:
    def measure(agents: DeepAgents) -> Seen:
        run = run_of(agents)
        states = _visited(run, agents.seed)
        pairs = [(run.situation(state), action) for state in states for action in range(run.labels.n_actions)]
        values = np.array([run.values_at(at)[action] for at, action in pairs])
        earned = np.array([run.beliefs.row(at, action).earnings.sum() for at, action in pairs])
        gap = float(np.abs(earned - values).mean() / max(np.ptp(values), 1e-12))
        return Seen(gap <= MAX_EARNINGS_GAP, gap)

    return measure


def _visited(run: Run, seed: int) -> list[int]:
    """States that the agent has learned in, drawn at random."""
    tries = run.beliefs.tries
    assert tries is not None
    there = np.flatnonzero(tries.sum(axis=1) > 0)
    drawn = np.random.default_rng(seed).permutation(there)[:CHECKED_STATES]
    return [int(state) for state in drawn]


def _like_its_policy(agents: DeepAgents) -> Seen:
    """The mean distance between visits and the exact ones of its policy, along the episode of the figure."""
    run = agents.taxi
    exact = ExactBeliefs(TAXI_ID, run.policy, discount=1.0)
    off = [
        distance(run.beliefs.row(run.situation(state), action).visits, exact.visits(state, action))
        if exact.has_finite_visits(state, action) else np.inf
        for state, action in ((run.situation(observation).index, action) for observation, action in run.episode(TAXI_START))
    ]  # fmt: skip
    return Seen(float(np.mean(off)) <= MAX_VISITS_DISTANCE, float(np.mean(off)))


def _values(case: Case) -> Callable[[DeepAgents], Seen]:
    def measure(agents: DeepAgents) -> Seen:
        off = float(np.mean([np.abs(errors).mean() for errors in value_errors(agents.taxi, case)]))
        return Seen(off < VALUE_TOLERANCE, off)

    return measure


def _story(case: Case) -> Callable[[DeepAgents], Seen]:
    def measure(agents: DeepAgents) -> Seen:
        found = [agents.taxi.contrast(state, case.best, case.second) for state in states_of(case, 1.0)]
        share = float(np.mean([tells(one, case) for one in found]))
        return Seen(share > 0.5, share)

    return measure


def value_errors(run: Run, case: Case) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The errors of the best and of the second-best values, in all states with the true values of a case."""
    best = optimal_values(1.0)
    seconds = (best == case.second_value).sum(axis=1) > (case.value == case.second_value)
    asked = (best.max(axis=1) == case.value) & seconds & is_unfinished(run)
    of_best, of_second = (
        np.abs(run.values[asked][best[asked] == worth] - worth) for worth in (case.value, case.second_value)
    )
    return of_best, of_second


def is_unfinished(run: Run) -> NDArray[np.bool_]:
    """(S,) The states of Taxi in which the passenger is not at the destination."""
    labels = run.labels
    return np.array([labels.values(s)[2] != labels.values(s)[3] for s in range(labels.n_states)])


def _cartpole_learned(agents: DeepAgents) -> Run:
    return agents.cartpole_learned


def _taxi_learned(agents: DeepAgents) -> Run:
    return agents.taxi_learned


def _consistency(figure: str, run_of: Callable[[DeepAgents], Run]) -> Claim:
    return Claim(
        figure,
        "Without a guarantee, beliefs are still consistent with Q.",
        f"earnings differ from Q by at most {percent(MAX_EARNINGS_GAP)} of its range on average, in {CHECKED_STATES} visited states",
        "mean difference, as a share",
        _consistent(run_of),
        "beliefs of other states",
    )


DEEP_CLAIMS = (
    *simulation_claims("4D", _cartpole_learned, "choosing the worst action", OTHER_ROLLOUTS),
    _consistency("4D", _cartpole_learned),
    Claim("6", "Outward and return journey are overlaid at first, and separate later.", "at the start it expects some places both without and with the passenger; at the last step only with",
          "places expected both ways", lambda agents: overlaid_at_first(agents.taxi), "beliefs of other states"),
    Claim("6", "Several potential routes collapse to a single one.", f"at the start the belief covers at least {SEVERAL_ROUTES:g} times the states of a single path, in the last third at most {ONE_ROUTE:g} times",
          "times, at the start", lambda agents: several_routes_collapse(agents.taxi, 1.0, SEVERAL_ROUTES, ONE_ROUTE), "beliefs of other states"),
    Claim("6", "The beliefs end on the shortest path to the goal.", f"the episode is as short as possible, and in its last third the belief is a single path (within {percent(ONE_ROUTE - 1.0)})",
          "times the states of a single path, at most", lambda agents: ends_on_the_shortest_path(agents.taxi, 1.0, ONE_ROUTE), "beliefs of other states"),
    Claim("6", "Its beliefs are those of its policy.", f"along the episode, visits are within {MAX_VISITS_DISTANCE:g} of the exact ones of its policy (relative distance, mean)",
          "distance", _like_its_policy, "beliefs of other states"),
    _consistency("6", _taxi_learned),
    *(claim for case, printed in zip(PRINTED_CASES, ("14.9908 and 14.9858", "17.9323 and 15.9981"), strict=True) for claim in (
        Claim("S11", f"The values of the two actions are {printed} ({case.kind}; true: {case.value:g} and {case.second_value:g}).", f"over all states with these values, the mean error is below {VALUE_TOLERANCE:g}",
              "mean error", _values(case), "values with a discount of 0.9"),
        Claim("S11", f"{case.kind.capitalize()} ({case.best} against {case.second}): {case.says}.", "its beliefs show that in most states that have these values and actions",
              "share of these states", _story(case), "beliefs of other states"),
    )),
)  # fmt: skip


def deep_study(
    claims: Sequence[Claim],
    agents: DeepAgents,
    seeds: int,
    on_progress: OnShare = lambda share: None,
    jobs: int = 1,
) -> list[ClaimResult]:
    """Measure claims about deep agents of several seeds; ``agents`` are those of the first one.

    Several ``jobs`` train the agents of several seeds at the same time.
    """
    bundles = [agents if seed == agents.seed else agents.with_seed(seed) for seed in range(seeds)]
    if jobs == 1:
        return measure_claims(claims, [_makers(right) for right in bundles], DEEP_LEVEL, on_progress)
    work = partial(_measure_in_process, [DEEP_CLAIMS.index(claim) for claim in claims])
    recipes = [right.recipe() for right in bundles]
    measured = in_processes(work, recipes, jobs, on_share=on_progress, on_piece=agents.on_progress)
    return results_of(claims, measured, DEEP_LEVEL)


def _measure_in_process(indexes: Sequence[int], recipe: Recipe, on_progress: OnPiece) -> Measured:
    """Train or load the agents of one seed, and measure the claims with these indexes."""
    agents = recipe.made()
    agents.on_progress = lambda name, share: on_progress(f"{name}, seed {recipe.seed}", share)
    return measure_seed([DEEP_CLAIMS[i] for i in indexes], _makers(agents))


def _makers(right: DeepAgents) -> Makers:
    wrong = {name: partial(make, right) for name, make in DEEP_WRONG.items()}
    return {RIGHT: lambda: right, UNTRAINED: right.untrained, **wrong}


# -- notes ---------------------------------------------------------------------------------


def trust_sentences(learned: Run, settled: Run, papers: Run | None) -> str:
    """How far the beliefs that were learned alongside can be trusted, by both heads, and those that settled."""
    names = ("What it learned alongside", "What the paper's head learned alongside the same agent")
    trusts: list[Any] = [run.trust for run in (learned, papers) if run is not None]
    sentences = [
        f"{name}: earnings {trust.mean_residual:.3g} off Q ({percent(trust.relative_gap)} of its range, correlation {trust.correlation:.3f}), "
        f"visits off the exact ones by {_distance_text(trust)}."
        for name, trust in zip(names, trusts, strict=False)
    ]
    after: Any = settled.trust
    sentences.append(
        f"What settled when training had ended: visits {after.off_play} held-out play of its policy, and off the exact ones by {_distance_text(after)}."
    )
    return " ".join(sentences)


def _distance_text(trust: Trust) -> str:
    return "an unknown amount" if trust.distance is None else f"{percent(trust.distance)} (over {trust.states} states)"


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
        f"{', '.join(str(n) for n in preset.layers)}, the belief network {belief}. The beliefs are those of the faithful head (amounts times a distribution, trained with cross-entropy and the {preset.loss} loss), "
        f"learned alongside the agent where they are compared with Q, and else settled by playing its policy when training has ended; the "
        f"paper's regression {regression}. As in the paper: Huber's loss for Q and for that regression, Adam with gradients clipped to ±1, no discount."
    )


DEEP_FIGURES: dict[str, Callable[[DeepAgents], Figure]] = {
    "4D": figure_4d, "6": figure_6, "S11": figure_s11, "A6": figure_a6,
}  # fmt: skip
