"""Short names of state-action pairs, for pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whatfor.labels import Labels
from whatfor.layouts.shapes import Words


def pair_names(labels: Labels, pairs: Sequence[tuple[int, int]], state: int | None = None) -> Words:
    """Words for state-action pairs, without the parts that all of them share with each other and with ``state``.

    >>> from whatfor.worlds.taxi import LABELS
    >>> pair_names(LABELS, [(168, 3), (148, 0)], state=68)
    ('taxi at row 1, column 3: west', 'taxi at row 1, column 2: south')
    """
    asked = [] if state is None else [state]
    parts = [re.split("[;,] ", labels.words(s)) for s in [*(s for s, _ in pairs), *asked]]
    distinct: list[int] = []
    if len({len(part) for part in parts}) == 1:
        distinct = [i for i, values in enumerate(zip(*parts, strict=True)) if len(set(values)) > 1]
    names = []
    for (s, a), part in zip(pairs, parts, strict=False):
        words = ", ".join(part[i] for i in distinct) if distinct else labels.words(s)
        names.append(f"{words}: {labels.actions[a]}")
    return tuple(names)
