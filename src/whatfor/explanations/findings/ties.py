"""Ties, and near-ties whose reasons are opposite: one action earns more and pays more, or ends differently."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.account import Account
from whatfor.beliefs.audit import Audit
from whatfor.explanations.findings.answer import Finding
from whatfor.explanations.findings.ground import MIN_MET, Ground
from whatfor.explanations.phrases import FEW_UPDATES
from whatfor.text import amount, count, percent

#: A near-tie: the gap is below this share of the range of the values.
MAX_GAP = 0.02
#: Its reasons are opposite if what one action earns more and pays more, or the difference of chances, is at least this share.
MIN_OPPOSITE = 0.15
#: The states whose reasons are looked at.
MAX_CHECKED = 64
MAX_FOUND = 3


def find_ties(ground: Ground) -> list[Finding]:
    """Near-ties with different reasons, and one finding for all equal values."""
    labels = ground.run.labels
    if labels.n_actions < 2:
        return []
    ordered = np.sort(ground.values, axis=1)
    gaps = ordered[:, -1] - ordered[:, -2]
    looked = ground.learned & (ground.met > MIN_MET)
    near = np.flatnonzero(looked & (gaps <= MAX_GAP * ground.range))
    near = near[np.argsort(-ground.met[near], kind="stable")][:MAX_CHECKED]
    found = [] if ground.evidence is None else _opposite(ground, ground.evidence, near)
    tied = np.flatnonzero(looked & (gaps == 0.0))
    tied = tied[np.argsort(-ground.met[tied], kind="stable")]
    return found + ([_tie(ground, tied)] if len(tied) else [])


def _tie(ground: Ground, tied: NDArray[np.int64]) -> Finding:
    labels, state = ground.run.labels, int(tied[0])
    best = np.flatnonzero(ground.values[state] == ground.values[state].max())
    names = [repr(labels.actions[action]) for action in best.tolist()]
    more = f"; so are the best actions of {count(len(tied) - 1, 'more state')}" if len(tied) > 1 else ""
    text = f"In {labels.words(state)!r}, {', '.join(names[:-1])} and {names[-1]} are equally good{more}."
    chosen = ground.run.best(state)
    instead = labels.actions[next(int(action) for action in best if action != chosen)]
    return Finding(
        "tie",
        text,
        state,
        float(ground.met[state]),
        0.0,
        "contrast",
        parameters={"instead": instead},
        states=tuple(tied.tolist()),
    )


def _opposite(ground: Ground, audit: Audit, states: NDArray[np.int64]) -> list[Finding]:
    """Near-ties in which one action earns more and pays more than the other, or ends otherwise."""
    run, labels = ground.run, ground.run.labels
    pairs = []
    for state in states.tolist():
        best = run.best(state)
        others = ground.values[state].copy()
        others[best] = -np.inf
        other = int(others.argmax())
        if audit.tries[state, [best, other]].min() >= FEW_UPDATES:  # with fewer, all that it expects is chance
            pairs += [(state, best), (state, other)]
    earned, ends = audit.accounts(pairs), audit.accounts(pairs, discount=1.0)
    found = []
    for at in range(0, len(pairs), 2):
        (state, best), (_, other) = pairs[at : at + 2]
        traded = _traded(earned[at], earned[at + 1])
        chances = np.abs(ends[at].endings - ends[at + 1].endings).sum() / 2.0
        known = max(one.initial_weights.sum() for one in ends[at : at + 2]) < MIN_OPPOSITE
        by_end = float(chances) if known else 0.0
        if max(traded / ground.range, by_end) < MIN_OPPOSITE:
            continue
        values = f"{amount(float(ground.values[state, best]))} and {amount(float(ground.values[state, other]))}"
        text = f"In {labels.words(state)!r}, {labels.actions[best]!r} and {labels.actions[other]!r} have nearly the same value ({values}) for different reasons: "
        if traded / ground.range >= MIN_OPPOSITE:
            more, less = (best, other) if _positive(earned[at]) > _positive(earned[at + 1]) else (other, best)
            text += f"{labels.actions[more]!r} earns {amount(traded)} more than {labels.actions[less]!r} and pays {amount(traded)} more."
        else:
            text += _ends_text(ground, audit, (best, other), (ends[at], ends[at + 1]))
        stake = min(1.0, max(traded / ground.range, by_end))
        found.append(
            Finding(
                "near-tie", text, state, float(ground.met[state]), stake, "contrast", parameters={"instead": labels.actions[other]},
                states=(state,),
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: -one.score)[:MAX_FOUND]


def _positive(account: Account) -> float:
    return float(np.maximum(account.earnings, 0.0).sum())


def _traded(one: Account, other: Account) -> float:
    """What one of them earns more and also pays more; 0 if there is no such trade."""
    earned = _positive(one) - _positive(other)
    paid = float(np.minimum(one.earnings, 0.0).sum() - np.minimum(other.earnings, 0.0).sum())
    return min(abs(earned), abs(paid)) if earned * paid < 0.0 else 0.0


def _ends_text(ground: Ground, audit: Audit, actions: tuple[int, int], ends: tuple[Account, Account]) -> str:
    """The ending whose chance differs most."""
    which = int(np.abs(ends[0].endings - ends[1].endings).argmax())
    name, (one, other) = audit.ledger.endings[which], (ground.run.labels.actions[action] for action in actions)
    chances = [percent(float(account.endings[which])) for account in ends]
    return f"after {one!r} it expects {name!r} with a probability of {chances[0]}, after {other!r} of {chances[1]}."
