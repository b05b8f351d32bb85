"""Agents whose episodes nearly all end badly, though some ends pay more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.solved import endings_of
from whatfor.beliefs.transitions import entries_of
from whatfor.explanations.findings.answer import Finding
from whatfor.explanations.findings.ground import Ground
from whatfor.kernels.recursion import NOT_ENDED, ending_place
from whatfor.text import amount, count, percent

#: It is a finding if at least this share of its episodes ends badly, and at most this share reaches the best end.
MIN_BAD, MAX_BEST = 0.9, 0.05
#: Training must have reached the best end in so many episodes, where the world is unknown.
MIN_REACHED = 3


def find_bad_ends(ground: Ground) -> list[Finding]:
    """Whether nearly all episodes of the greedy policy end badly: in an ending that is called bad, or with a negative reward."""
    future, start = ground.future, ground.start
    if future is None or start is None or not len(ground.ended) or np.ptp(ground.ended) == 0.0:
        return []
    table, best = future.table, float(ground.ended.max())
    pairs, chances = entries_of(table)
    visits = future.visits_from(start)
    weight = visits[pairs // future.policy.shape[1]] * future.policy.ravel()[pairs] * chances
    ends = (table.ending != NOT_ENDED) & _known(ground, len(pairs))
    pays_best = ends & (table.reward >= best)
    bad = ends & ~pays_best & ((table.reward < 0.0) | _called_bad(ground, table.ending))
    badly, reached = float(weight[bad].sum()), float(weight[pays_best].sum())
    episodes = _episodes(ground, best)
    if badly < MIN_BAD or reached > MAX_BEST or (episodes is not None and episodes < MIN_REACHED):
        return []
    state, labels = int(start.argmax()), ground.run.labels
    names = _names(ground)
    codes, at = np.unique(table.ending[bad], return_inverse=True)
    most = int(codes[np.bincount(at, weights=weight[bad]).argmax()])
    mostly = labels.ending_phrase(names[ending_place(most)], state) if len(codes) == 1 else "end badly"
    paid = float(weight[bad] @ table.reward[bad]) / badly
    trained = "" if episodes is None else f", which {count(episodes, 'episode')} of training reached"
    text = (
        f"From {labels.words(state)!r}, {percent(min(1.0, badly))} of its episodes {mostly}, and {percent(reached)} reach "
        f"the best end ({amount(best, signed=True)}{trained})."
    )
    stake = min(1.0, (best - paid) / ground.range)
    return [Finding("ending", text, state, min(1.0, badly), stake, "outcomes", states=(state,))]


def _known(ground: Ground, entries: int) -> NDArray[np.bool_]:
    """(entries,) Which transitions are known: where only experience tells, those that were tried."""
    if ground.exact or ground.evidence is None:
        return np.ones(entries, bool)
    return ground.evidence.experienced.tried


def _names(ground: Ground) -> tuple[str, ...]:
    """The names of endings by the place of their code, in the world that is followed."""
    if ground.exact or ground.evidence is None:
        return endings_of(ground.run.labels)
    return tuple(ground.evidence.ledger.endings)


def _called_bad(ground: Ground, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which codes are those of endings that are called bad."""
    named = [ending_place(place) for place, name in enumerate(_names(ground)) if ground.run.labels.ending_is_bad(name)]
    return np.isin(codes, named)


def _episodes(ground: Ground, best: float) -> int | None:
    """How many episodes of training reached the best end; None: unknown."""
    if ground.evidence is None:
        return None
    seen = ground.evidence.experienced.experiences
    return int(seen.times[(seen.ending != NOT_ENDED) & (seen.reward >= best)].sum())
