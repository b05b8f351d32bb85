"""How far a belief may be off: the noise of the experiences it averages, and what lags behind the policy.

For any table T and the weights m of an asked value B, B is T at the asked pair plus the sum of m times the
one-step errors c + g T(next) - T(own). Where T is what a policy really leads to, these errors are noise
around 0, except where the update looked ahead along an action that the policy does not take: that part lags.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.recursion import NO_BOOTSTRAP
from whatfor.ledger import Ledger


def ahead(
    ledger: Ledger, used: NDArray[np.int64], table: NDArray[np.float64], discount: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """For the lines ``used``: discount, what their targets found ahead in ``table`` (cells,), and the cell they led to."""
    lines = ledger.lines
    g, trail = (np.broadcast_to(column, len(ledger))[used] for column in (lines.discount, lines.trail))
    source, before = lines.source[used], lines.cell[used - 1]
    g = np.where(source >= NO_BOOTSTRAP, g if discount is None else discount, 0.0)
    to = np.where(source >= 0, source, before).astype(np.int64)
    found = (1.0 - trail) * np.where(source >= 0, table[np.maximum(source, 0)], 0.0) + trail * table[before]
    return g, found, to


def sampling_error(
    ledger: Ledger,
    weights: NDArray[np.float64],  # (n,)
    amount: NDArray[np.float64],  # (n,) what the lines add up
    table: NDArray[np.float64],  # (cells,) what they have added up to
    episodes: NDArray[np.int64],  # (n,) in which the experience behind each line was made
    discount: float | None = None,
) -> tuple[float, float]:
    """The standard error that the spread of the experiences implies, and the degrees of freedom it was estimated with.

    Errors are added up by the episode in which an experience was made: one replayed often is still one experience,
    and the steps of an episode that is learned from as a whole say one thing together.
    """
    used = np.flatnonzero(weights)
    g, found, _ = ahead(ledger, used, table, discount)
    errors = weights[used] * (amount[used] + g * found - table[ledger.lines.cell[used]])
    squares = np.bincount(episodes[used], weights=errors, minlength=1) ** 2
    total = float(squares.sum())
    return float(np.sqrt(total)), total**2 / float((squares**2).sum()) if total else 0.0


def effective(ledger: Ledger, weights: NDArray[np.float64]) -> float:
    """So many equally weighted experiences would be as many: (sum of weights)^2 / sum of squares."""
    used = np.flatnonzero(weights)
    own = weights[used]
    if ledger.order == "replayed":
        _, experience = np.unique(ledger.origins[used], return_inverse=True)
        own = np.bincount(experience, weights=own).astype(np.float64)
    return float(own.sum() ** 2 / (own @ own)) if len(used) else 0.0


def effective_episodes(weights: NDArray[np.float64], episodes: NDArray[np.int64]) -> float:
    """As ``effective``, counting episodes."""
    own = np.bincount(episodes, weights=weights, minlength=1)
    return float(own.sum() ** 2 / (own @ own)) if own.any() else 0.0


def lag(
    ledger: Ledger,
    weights: NDArray[np.float64],  # (n,)
    table: NDArray[np.float64],  # (cells,)
    policy: NDArray[np.float64],  # (S, A) chances
    discount: float | None = None,
) -> float:
    """The part of a belief that comes of looking ahead along actions which ``policy`` does not take."""
    used = np.flatnonzero(weights)
    g, found, to = ahead(ledger, used, table, discount)
    n_actions = ledger.n_actions
    by_state = (table.reshape(ledger.n_tables, *policy.shape) * policy).sum(axis=2).ravel()  # (tables * S,)
    return float((weights[used] * g) @ (found - by_state[to // n_actions]))
