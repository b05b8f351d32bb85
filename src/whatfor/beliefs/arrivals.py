"""Ever, and before: the ledger read as if every episode ended on arrival in a concept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whatfor.concepts import Concept
from whatfor.kernels.recursion import NO_BOOTSTRAP, LedgerLines, ending_place
from whatfor.ledger import Ledger


def absorbed(ledger: Ledger, concepts: Sequence[Concept]) -> LedgerLines:
    """The lines without a discount, each ending where it arrives in a concept; the first of several that fit.

    Arrival is an ending with a code of its own, after those of the ledger: an ending passes nothing on, neither
    to its bootstrap nor to its λ-return, so all weight that arrives stays there, and the weights are chances.

    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9)
    >>> ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
    >>> absorbed(ledger, [Concept("there", np.array([False, True]))]).source.tolist()
    [-3, -4]
    """
    # What each source becomes: the cells of all tables, and from the back, where negative codes point, the endings.
    codes = np.arange(ending_place(len(ledger.endings) - 1), 0, dtype=np.int32)
    becomes = np.concatenate([np.arange(ledger.n_cells, dtype=np.int32), codes])
    cells = becomes[: ledger.n_cells].reshape(ledger.n_tables, ledger.n_states, ledger.n_actions)
    for place, concept in reversed(list(enumerate(concepts, start=len(ledger.endings)))):
        if concept.states.shape != (ledger.n_states,):
            raise ValueError(
                f"{concept.name!r} speaks of {len(concept.states)} states, the ledger has {ledger.n_states}"
            )
        cells[:, concept.states] = ending_place(place)
        for name in set(concept.endings) & set(ledger.endings):
            becomes[ending_place(ledger.endings.index(name))] = ending_place(place)
    lines = ledger.lines
    source = becomes[lines.source]
    # A target built on the next target alone names no cell: where it arrived, the line before began.
    trailing = np.flatnonzero(lines.source[1:] == NO_BOOTSTRAP) + 1
    arrived = becomes[lines.cell[trailing - 1]]
    source[trailing] = np.where(arrived < 0, arrived, NO_BOOTSTRAP)
    return lines._replace(source=source, discount=np.ones(1))
