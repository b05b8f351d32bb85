"""Maximisation bias: the best of several noisy estimates is too high on average, and a learner bootstraps from it.

The noise of the values that were bootstrapped from is a weighted sum of the one-step errors of earlier experiences. Without
selection the weights do not depend on the errors, and the sum is around 0. Where an action is preferred *because* its
experiences were lucky, lucky experiences get larger weights, and the sum is positive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.noise import ahead, by_experience, led_to
from whatfor.kernels.backwards import scan_bootstraps
from whatfor.ledger import Ledger


class Overestimate(NamedTuple):
    """The noise of the values that some updates bootstrapped from."""

    mean: float  # over these updates, at the time they were made
    error: float  # its standard error, if nothing was selected
    updates: int


def overestimate(
    ledger: Ledger,
    cells: NDArray[np.int64],  # the asked pair in each table
    policy: NDArray[np.float64],  # (S, A)
    values: NDArray[np.float64],  # (S, A) of the policy
    variance: NDArray[np.float64],  # (S, A) of one step
    *,
    centred: bool,
) -> Overestimate | None:
    """How far the states that the asked pair leads to were overestimated, over all updates that bootstrapped from them.

    ``centred``: the values are estimates from the same experiences, so the weights are compared within each pair.
    None: nothing was bootstrapped from, or λ-returns were used, whose targets mix both.
    """
    lines, n_actions, n_states = ledger.lines, ledger.n_actions, ledger.n_states
    bootstraps = lines.source >= 0
    own = bootstraps & np.isin(lines.cell, cells)
    if not own.any() or np.any(lines.lambda_):
        return None
    follows = np.zeros(n_states, bool)
    follows[lines.source[own] // n_actions % n_states] = True
    read = bootstraps & np.tile(np.repeat(follows, n_actions), ledger.n_tables)[np.maximum(lines.source, 0)]
    updates, weights = int(read.sum()), np.empty(len(ledger))
    scan_bootstraps(lines, read, 1.0 / updates, np.zeros(ledger.n_cells), weights)
    used = np.flatnonzero(weights)
    if not len(used):
        return Overestimate(0.0, 0.0, updates)
    g, to = ahead(ledger, used, np.zeros(ledger.n_cells), None)[0], led_to(ledger, used)
    by_state = (values * policy).sum(axis=1)
    combined, which = by_experience(ledger, used, weights[used])
    pairs = lines.cell[used[which]] % values.size
    follow = lines.reward[used[which]] + g[which] * by_state[to[which] // n_actions % n_states]
    if centred:
        number = np.maximum(np.bincount(pairs, minlength=values.size), 1)
        combined = combined - (np.bincount(pairs, weights=combined, minlength=values.size) / number)[pairs]
    mean = float(combined @ (follow - values.ravel()[pairs]))
    return Overestimate(mean, float(np.sqrt(combined**2 @ variance.ravel()[pairs])), updates)
