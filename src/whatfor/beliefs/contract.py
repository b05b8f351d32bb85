"""The contract of sources of beliefs, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.protocol import CAPABILITIES, Beliefs
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.concepts import Concept

#: Identities hold to this, relative to the sum of |weight * reward|.
EXACT = 1e-12
#: Probabilities of endings sum to 1 to this.
MAX_LOST_PROBABILITY = 1e-6


def check_beliefs(beliefs: Any, n_states: int, n_actions: int, *, tolerance: float | None = EXACT) -> None:
    """Raise ``AssertionError`` unless beliefs keep the contract, for every state and action.

    Earnings and the initial share sum to the value, endings and the unknown share to 1 where ``can`` has "endings", and the
    source agrees with its rows. Where ``can`` has them: depths sum to the visits, arrivals to 1, and payments to the value. ``tolerance``: the largest difference of those sums, relative to the largest value or to 1;
    None for estimates, whose earnings do not sum to their values.

    >>> from whatfor.beliefs import Audit
    >>> from whatfor.ledger import Ledger
    >>> check_beliefs(Audit(Ledger(n_states=2, n_actions=1)), 2, 1)
    """
    assert isinstance(beliefs, Beliefs), "beliefs are a subclass of whatfor.beliefs.Beliefs, with row(at, action)"
    unknown = [name for name in beliefs.can if name not in CAPABILITIES]
    assert not unknown, f"can has {', '.join(map(repr, unknown))}; there are {', '.join(map(repr, CAPABILITIES))}"
    values = np.array([[beliefs.value(s, a) for a in range(n_actions)] for s in range(n_states)])
    assert np.isfinite(values).all(), "a value is not finite"
    for s in range(n_states):
        for a in range(n_actions):
            _check_row(beliefs, beliefs.row(Situation(s), a), f"row({s}, {a})")
            visits, earnings = beliefs.visits(s, a), beliefs.earnings(s, a)
            for name, map_ in (("visits", visits), ("earnings", earnings)):
                assert map_.shape == (n_states, n_actions), (
                    f"{name}({s}, {a}) has shape {map_.shape}, not {(n_states, n_actions)}"
                )
                assert np.isfinite(map_).all(), f"{name}({s}, {a}) is not finite everywhere"
            assert visits.min() >= 0.0, f"visits({s}, {a}) has negative numbers"
            if tolerance is not None:
                initial = beliefs.row(Situation(s), a).initial
                gap = abs(float(earnings.sum()) + initial - values[s, a])
                scale = max(1.0, float(np.abs(values).max()), float(np.abs(earnings).sum()))
                assert gap <= tolerance * scale, (
                    f"earnings({s}, {a}) and the initial share sum to {earnings.sum() + initial:.6g}, the value is {values[s, a]:.6g}"
                )
            _check_futures(beliefs, Situation(s), a, visits, values[s, a], tolerance)
            visits += 1.0
            assert not np.array_equal(beliefs.visits(s, a), visits), (
                "visits() returns its internal array; return a copy"
            )


def _check_futures(
    beliefs: Beliefs, at: Situation, action: int, visits: NDArray[np.float64], value: float, tolerance: float | None
) -> None:
    """What a source tells besides rows, against its row."""
    where = f"({at.index}, {action})"
    if "depths" in beliefs.can:
        depths = beliefs.depths(at, action, 3)
        summed = depths.visits.sum(axis=0) + depths.remainder
        assert np.allclose(summed, visits, rtol=1e-9, atol=1e-9), (
            f"depths{where} and the remainder do not sum to visits{where}"
        )
    if "arrivals" in beliefs.can:
        nowhere = Concept("nowhere", np.zeros(len(visits), bool))
        arrivals = beliefs.arrivals(at, action, [nowhere])
        total = float(arrivals.concepts.sum()) + sum(arrivals.endings.values()) + arrivals.never + arrivals.unknown
        assert abs(total - 1.0) <= MAX_LOST_PROBABILITY, f"the chances of arrivals{where} sum to {total:.6g}, not to 1"
    if "payments" in beliefs.can and tolerance is not None:
        paid = beliefs.payments(at, action)
        total = float(paid.weight @ paid.reward) + paid.initial
        assert abs(total - value) <= max(tolerance, 1e-9) * max(1.0, paid.scale), (
            f"payments{where} sum to {total:.6g}, the value is {value:.6g}"
        )


def _check_row(beliefs: Beliefs, row: Row, name: str) -> None:
    """What a row says of endings, tries and trust, against what its source declares."""
    if "endings" in beliefs.can:
        assert row.endings is not None, f'can has "endings", but {name} has none: leave it out of can, or return them'
        chances = [*row.endings.values(), row.endings_unknown or 0.0]
        assert min(chances) >= 0.0, f"{name} has a negative probability of an ending"
        assert abs(sum(chances) - 1.0) <= MAX_LOST_PROBABILITY, (
            f"the endings of {name} and endings_unknown sum to {sum(chances):.6g}, not to 1"
        )
    assert row.trust == beliefs.trust, f"{name} has another trust than the source: set the source's in every row"
    counted, tries = row.tries, beliefs.tries
    same = counted is tries if counted is None or tries is None else np.array_equal(counted, tries)
    assert same, f"{name} has other tries than the source: they are of all pairs, the same in every row"
