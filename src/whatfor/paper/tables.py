"""Figures S2, S3, S7, S8 and Theorem 2: Q-tables recovered from beliefs, and beliefs that start at random."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs import Audit, BeliefMap
from whatfor.beliefs.distance import distance
from whatfor.beliefs.exact import known_world
from whatfor.beliefs.transitions import transition_matrix
from whatfor.layouts import Bars, Layout, Series
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.paper.agents import TAXI_ID, Agents
from whatfor.paper.evidence import ALL, Claim, Seen
from whatfor.paper.figure import Figure, Picture
from whatfor.runs import Run

#: The rewards of Blackjack's outcomes.
PAYS = {"won": 1.0, "drew": 0.0, "lost": -1.0, "bust": -1.0}
#: Pairs whose value is recovered, drawn at random for each seed; the picture shows all of them.
CHECKED_PAIRS = 60
ROUNDING = 1e-9
#: Beliefs that start at random: the relative distance of "does not match" and "matches".
MIN_EARLY_ERROR, MAX_LATE_ERROR = 0.1, 0.01
EARLY_EPISODES, BLACKJACK_UPTO, ALL_EPISODES = 20, 60_000, 10**9
BLACKJACK_POINTS, CARTPOLE_POINTS, MAX_SHOWN = (2_000, 5_000, 10_000, 20_000, 60_000), (20, 100, 500, 2_000, 5_000), 5.0
#: Pairs with fewer updates have not forgotten their random start.
MIN_UPDATES = 200


def recovered(id: str, world: str, method: str, run: Run) -> Figure:
    """The learner's own table, and the table that its beliefs add up to."""
    pairs = tried_pairs(run)
    table = np.zeros_like(run.values)
    table[tuple(np.array(pairs, np.int64).reshape(-1, 2).T)] = values_from_beliefs(run, pairs)
    pictures: list[Picture] = []
    for name, numbers in (("learned", run.values), ("recovered", table)):
        for shown in _by_action(run, numbers, f"{name.capitalize()} Q-table"):
            pictures.append(Picture.of(f"{id}-{name}-{len(pictures)}", shown))
    return Figure(
        id=id,
        title=f"{world}: Q-table and the table recovered from beliefs ({method})",
        claim="The two tables are the same up to floating-point errors.",
        pictures=tuple(pictures),
        note=f"All {len(pairs):,} state-action pairs of seed 0: the largest difference is {np.abs(table - run.values).max():.1e}.",
    )


def tried_pairs(run: Run) -> list[tuple[int, int]]:
    """The pairs that were updated at least once."""
    return [(int(s), int(a)) for s, a in np.argwhere(run.audit.tries > 0)]


def values_from_beliefs(run: Run, pairs: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Beliefs times rewards: 1 for every step of CartPole, one for each of Blackjack's four outcomes, Taxi's own."""
    rows = run.audit.accounts(pairs)
    if run.labels.kind == "blackjack":
        pay = np.array([PAYS.get(name, 0.0) for name in run.audit.ledger.endings])
        return np.array([row.endings @ pay for row in rows])
    if run.labels.kind == "cartpole":
        return np.array([row.visits.sum() for row in rows])
    _, rewards = transition_matrix(known_world(TAXI_ID).table, run.labels.n_actions)
    return np.array([float((row.visits * rewards).sum()) for row in rows])


def _recovers(run_of: Callable[[Agents], Run]) -> Callable[[Agents], Seen]:
    def measure(agents: Agents) -> Seen:
        run = run_of(agents)
        pairs = tried_pairs(run)
        if not pairs:
            return Seen(False, np.inf)
        drawn = np.random.default_rng(agents.seed).permutation(len(pairs))[:CHECKED_PAIRS]
        pairs = [pairs[i] for i in drawn]
        learned = np.array([run.values[pair] for pair in pairs])
        off = float(np.abs(values_from_beliefs(run, pairs) - learned).max() / max(1.0, np.abs(learned).max()))
        return Seen(off < ROUNDING, off)

    return measure


def _by_action(run: Run, numbers: NDArray[np.float64], title: str) -> list[Layout]:
    """The layouts of a table: one layout if it shows actions, otherwise one per action."""
    unknown = run.audit.tries == 0
    if run.labels.kind == "blackjack":
        return [map_of(Map(run.labels, numbers, title=title, quantity="value", diverging=True, unknown=unknown))]
    shown: list[Layout] = []
    for action, name in enumerate(run.labels.actions):
        only = np.zeros_like(numbers)
        only[:, action] = numbers[:, action]
        shown.append(map_of(Map(run.labels, only, title=f"{title}: {name}", quantity="value", unknown=unknown)))
    return shown


# -- Theorem 2 without a figure ----------------------------------------------------------------


def figure_t2(agents: Agents) -> Figure:
    """Beliefs that start at random instead of at zero."""
    pictures = []
    for name, run, points in (
        ("Blackjack", agents.blackjack_q, BLACKJACK_POINTS),
        ("CartPole", agents.cartpole_q, CARTPOLE_POINTS),
    ):
        off = [random_start_error(agents, run, min(n, run.audit.ledger.n_episodes)) for n in points]
        bars = Bars(
            f"{name}: a belief map that starts at random", "Q-learning, seed 0", tuple(f"after {n:,} episodes" for n in points),
            (Series("relative distance", tuple(float(min(x, MAX_SHOWN)) for x in off)),), f"distance from the map that starts at zero (at most {MAX_SHOWN:g} shown)",
        )  # fmt: skip
        pictures.append(
            Picture.of(
                f"T2-random-{name.lower()}",
                bars,
                "Relative distance of expected visits, over the pairs updated most often.",
            )
        )
    return Figure(
        id="T2",
        title="Theorem 2: consistency, and a random start of the belief map",
        claim="If the belief map starts at zero, it is consistent with Q at every iteration, in every environment and for double Q-learning. If it starts "
        "at random, the equality does not hold, but the map converges to the true visits.",
        pictures=tuple(pictures),
        note=f"The random map has up to {agents.max_initial_visit:g} visits in each entry. Only pairs with at least {MIN_UPDATES} updates are judged; others keep a part of their start. On "
        "CartPole, without a discount, a random start is handed from state to state and leaves only where episodes end.",
    )  # fmt: skip


def random_start_error(agents: Agents, run: Run, episodes: int) -> float:
    """The mean relative distance between a map that starts at random and one that starts at zero, after some episodes."""
    ledger, pairs = run.audit.ledger.until(episodes), run.labels.n_states * run.labels.n_actions
    if not len(ledger):
        return np.inf
    start = np.random.default_rng(agents.seed).uniform(0.0, agents.max_initial_visit, (pairs, pairs))
    maps, tries = (BeliefMap.from_ledger(ledger, initial_visits=start), Audit(ledger)), ledger.tries()
    often = np.argwhere(tries >= min(MIN_UPDATES, tries.max()))[:CHECKED_PAIRS]
    return float(np.mean([distance(*(one.visits(int(s), int(a)) for one in maps)) for s, a in often]))


def _broken_at_first(agents: Agents) -> Seen:
    run = agents.cartpole_q
    off = random_start_error(agents, run, min(EARLY_EPISODES, run.audit.ledger.n_episodes))
    return Seen(bool(MIN_EARLY_ERROR < off < np.inf), off)


def _forgotten(run_of: Callable[[Agents], Run], upto: int) -> Callable[[Agents], Seen]:
    def measure(agents: Agents) -> Seen:
        run = run_of(agents)
        off = random_start_error(agents, run, min(upto, run.audit.ledger.n_episodes))
        return Seen(off < MAX_LATE_ERROR, off)

    return measure


_SAME = f"beliefs times rewards are Q up to {ROUNDING:g} (relative), for {CHECKED_PAIRS} pairs drawn at random"
_OFF = "largest relative difference"
CLAIMS = (
    *(Claim(figure, f"The Q-table is recovered from beliefs: {who}.", _SAME, _OFF, _recovers(run_of), wrong, ALL, "{:.1e}") for figure, who, run_of, wrong in (
        ("S2", "Blackjack, Q-learning", lambda agents: agents.blackjack_q, "beliefs of another policy"),
        ("S3", "Blackjack, Monte Carlo", lambda agents: agents.blackjack_mc, "a shuffled ledger"),
        ("S7", "CartPole, Monte Carlo", lambda agents: agents.cartpole_mc, "a shuffled ledger"),
        ("S8", "CartPole, Q-learning", lambda agents: agents.cartpole_q, "beliefs of another policy"),
        ("T2", "Taxi, Q-learning with a discount of 0.9", lambda agents: agents.taxi, "beliefs without the discount, as in the published code"),
        ("T2", "Taxi, double Q-learning with a discount of 0.9", lambda agents: agents.taxi_double, "beliefs without the discount, as in the published code"),
    )),
    Claim("T2", "A belief map that starts at random does not match at first.", f"after {EARLY_EPISODES} episodes of CartPole its distance from the map that starts at zero is above {MIN_EARLY_ERROR:g}",
          "relative distance", _broken_at_first, "a belief map that starts at zero", ALL),
    *(Claim("T2", f"It converges all the same: {name}.", f"after {when} the distance is below {MAX_LATE_ERROR:g}", "relative distance", _forgotten(run_of, upto), "beliefs with a hundredth of the step size", ALL, "{:.1e}")
      for name, when, run_of, upto in (
          ("Blackjack", f"{BLACKJACK_UPTO:,} episodes", lambda agents: agents.blackjack_q, BLACKJACK_UPTO),
          ("CartPole, trained as in figure 4", "training", lambda agents: agents.cartpole_q, ALL_EPISODES),
      )),
)  # fmt: skip
