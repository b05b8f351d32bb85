"""Figure 2 and Theorem 1: value ambiguity, on the chain and on an extended one."""

from __future__ import annotations

import numpy as np

from whatfor.paper.agents import CHAIN_TIMES, Agents
from whatfor.paper.evidence import ALL, Claim, Seen
from whatfor.paper.figure import Figure, Picture
from whatfor.question import layout_of
from whatfor.runs import Run

CHAIN_START, UP, DOWN = "the start", "up", "down"
ENTRANCE, NODES = "the entrance", ("the upper node", "the lower node")


def figure_2(agents: Agents) -> Figure:
    """One value, two futures."""
    contrast = agents.chain.contrast(CHAIN_START, UP, DOWN)
    return Figure(
        id="2",
        title="Value ambiguity: the chain",
        claim="Two optimal trajectories have the same value (2), so Q-values do not show which one the agent intends; beliefs do.",
        pictures=(Picture.of("2-contrast", layout_of(contrast), "What it expects after each first action."),),
        answers=(str(contrast),),
    )  # fmt: skip


def figure_t1(agents: Agents) -> Figure:
    """The extended chain: one value that may rest on either of two futures."""
    why = agents.extended_chains[-1].intention(ENTRANCE, UP)
    return Figure(
        id="T1",
        title="Theorem 1 on an extended chain",
        claim="The problem is worse in an extended chain, where two different futures may contribute to the same Q-value: "
        "it does not show which of them it rests on.",
        pictures=(Picture.of("T1-intention", layout_of(why), "What this agent (seed 0) expects at the entrance."),),
        answers=(str(why),),
        note="Here an entrance leads to the start of the chain, whichever action is taken. All agents learn the same Q-table; ties are broken by chance. With a step size "
        "of 1 a value rests on the last future that it was updated from, which is read from the ledger update by update. "
        f"Between {CHAIN_TIMES[0]} and {CHAIN_TIMES[-1]} episodes this future changes again and again, while the Q-table stays the same: whoever reads the table alone can only guess.",
    )  # fmt: skip


def _two_futures(agents: Agents) -> Seen:
    run = agents.chain
    values = run.values[run.labels.index(CHAIN_START)]
    nodes = [run.labels.index(node) for node in NODES]
    own = [run.intention(CHAIN_START, action).visits[nodes].sum(axis=1) for action in (UP, DOWN)]
    right = (values == 2.0).all() and own[0].tolist() == [1.0, 0.0] and own[1].tolist() == [0.0, 1.0]
    return Seen(bool(right), float(values.min()))


def _one_value(agents: Agents) -> Seen:
    runs = agents.extended_chains
    entrance = runs[-1].labels.index(ENTRANCE)
    same = all(np.array_equal(run.values, runs[-1].values) for run in runs)
    named = [_names_its_future(run, action) for run in runs for action in (UP, DOWN)]
    return Seen(bool(same and all(named) and (runs[-1].values[entrance] == 2.0).all()), float(sum(named)))


def _names_its_future(run: Run, action: str) -> bool:
    """Whether the belief at the entrance is the one node that its value rests on."""
    nodes = [run.labels.index(node) for node in NODES]
    last = _last_future(run, run.labels.action(action))
    believed = run.intention(ENTRANCE, action).visits[nodes].sum(axis=1)
    return bool((believed == [last == node for node in nodes]).all())


def _last_future(run: Run, action: int) -> int | None:
    """The node that a value of the entrance rests on, followed update by update from the last one."""
    assert run.ledger is not None
    chosen: int | None = None
    at: tuple[int | None, int | None] = (run.labels.index(ENTRANCE), action)
    for update in reversed(list(run.ledger)):
        if (update.state, update.action) == at:
            chosen, at = update.state, (update.next_state, update.next_action)
    return chosen


CLAIMS = (
    Claim("2", "Both first actions have the value 2, and beliefs tell the two futures apart.",
          "both values are 2; after up it expects the upper node alone, after down the lower one alone", "the smaller value", _two_futures, "a shuffled ledger", ALL),
    Claim("T1", "In an extended chain two futures contribute to one Q-value. A belief shows which; the Q-table cannot.",
          f"at {len(CHAIN_TIMES)} times of training the Q-table is the same, with 2 for both actions at the entrance, and for each of the two the belief names the node that the value was last updated from", f"values whose future is named, of {2 * len(CHAIN_TIMES)}", _one_value, "beliefs read off the Q-table", ALL),
)  # fmt: skip
