"""Figure 2: value ambiguity."""

from __future__ import annotations

import numpy as np

from whatfor.paper.agents import Agents
from whatfor.paper.figure import Check, Figure, Picture
from whatfor.question import layout_of

CHAIN_START, UP, DOWN = "the start", "up", "down"


def figure_2(agents: Agents) -> Figure:
    """One value, two futures."""
    run = agents.chain
    contrast = run.contrast(CHAIN_START, UP, DOWN)
    values = run.values[contrast.state]
    nodes = [int(which.visits[1:].sum(axis=1).argmax()) + 1 for which in (contrast.chosen, contrast.instead)]
    expected = [
        float(which.visits[node].sum()) for which, node in zip((contrast.chosen, contrast.instead), nodes, strict=True)
    ]
    return Figure(
        id="2",
        title="Value ambiguity: the chain",
        claim="Two optimal trajectories have the same value (2), so Q-values do not show which one the agent intends; beliefs do.",
        pictures=(Picture.of("2-contrast", layout_of(contrast), "What it expects after each first action."),),
        checks=(
            Check("value of both first actions", "2, 2", f"{values[0]:g}, {values[1]:g}", bool(np.all(values == 2.0))),
            Check(
                "expected visits of the node that each action leads to",
                "the upper node after up, the lower after down",
                f"{run.labels.words(nodes[0])} {expected[0]:g}, {run.labels.words(nodes[1])} {expected[1]:g}",
                nodes == [1, 2] and expected == [1.0, 1.0],
            ),
            Check("the beliefs differ although the values are equal", "yes", f"tied: {contrast.tied}, different: {contrast.different}",
                  contrast.tied and contrast.different),
        ),
        answers=(str(contrast),),
    )  # fmt: skip
