"""Probabilities of reaching a concept: the ledger read as if every episode ended there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whatfor.concepts import Concept
from whatfor.kernels.recursion import NO_BOOTSTRAP, NOT_ENDED, TIMED_OUT, LedgerLines, ending_place
from whatfor.ledger import Ledger
from whatfor.ledger.ends import last_updates


def absorb_concepts(ledger: Ledger, concepts: Sequence[Concept]) -> LedgerLines:
    """The ledger's lines without a discount, with every concept absorbing; of several concepts that fit, the first.

    Reaching a concept is an ending, with a code after those of the ledger. An ending passes no weight on, neither to
    its bootstrap nor to its λ-return, so all weight that reaches a concept stays there, and weights are probabilities.

    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9)
    >>> ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
    >>> absorb_concepts(ledger, [Concept("there", np.array([False, True]))]).source.tolist()
    [-3, -4]
    """
    # The new source for each old one: the cells of all tables.
    cells = np.arange(ledger.n_cells, dtype=np.int32).reshape(ledger.n_tables, ledger.n_states, ledger.n_actions)
    lines, first = ledger.lines, len(ledger.endings)
    last, final_states = last_updates(ledger)
    reached = lines.source[last]
    which = TIMED_OUT - reached  # the place of each ending in the ledger's list
    for place, concept in reversed(list(enumerate(concepts, start=first))):
        if concept.states.shape != (ledger.n_states,):
            raise ValueError(f"{concept.name!r} covers {len(concept.states)} states, the ledger has {ledger.n_states}")
        cells[:, concept.states] = ending_place(place)
        reached[concept.holds_at_end(final_states, ledger.endings, which)] = ending_place(place)
    becomes = cells.ravel()
    source = np.where(lines.source >= NOT_ENDED, becomes[np.maximum(lines.source, 0)], lines.source)
    source[last] = reached
    # A target without a bootstrap names no cell. The state that it reached is the one of the line before.
    trailing = np.flatnonzero(lines.source[1:] == NO_BOOTSTRAP) + 1
    arrived = becomes[lines.cell[trailing - 1]]
    source[trailing] = np.where(arrived < 0, arrived, NO_BOOTSTRAP)
    return lines._replace(source=source, discount=np.ones(1))
