"""Belief far from reality, decisions that are not the best by play, and decisions that rest on few experiences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whatfor.explanations.findings.answer import Finding
from whatfor.explanations.findings.ground import MIN_MET, Ground
from whatfor.explanations.findings.played import expected_return
from whatfor.explanations.phrases import FEW_UPDATES
from whatfor.learners.named import LEARNERS
from whatfor.text import amount, count, percent

if TYPE_CHECKING:
    from whatfor.runs import Run

#: A difference is a finding from this share of the range of the values on.
MIN_DIFFERENCE = 0.1
#: Where the sampling error of a value is unknown, from this share on.
MIN_LARGE_DIFFERENCE = 0.3
#: A decision costs something from this share on.
MIN_COST = 0.05
#: A difference is beyond sampling error by at least this many standard errors.
MIN_ERRORS = 3.0
#: The states whose sampling error is computed.
MAX_CHECKED = 12


def find_wrong_beliefs(ground: Ground, unexplained: NDArray[np.bool_]) -> list[Finding]:
    """Where values are too high or too low, and where another action would be better: one finding each."""
    if ground.real is None:
        return []
    looked = unexplained & ground.learned & (ground.met > MIN_MET)
    found = [_costly(ground, ground.real, looked)] if ground.exact else []
    rows = np.arange(len(ground.best))
    differences = np.nan_to_num(ground.values[rows, ground.best] - ground.real[rows, ground.best])
    differences[~looked] = 0.0
    found += [_off(ground, differences * sign, sign) for sign in (1, -1)]
    return [one for one in found if one is not None]


def _off(ground: Ground, differences: NDArray[np.float64], sign: int) -> Finding | None:
    """Values that are too high (sign 1) or too low (sign -1)."""
    run, labels, evidence = ground.run, ground.run.labels, ground.evidence
    least = (MIN_LARGE_DIFFERENCE if evidence is None else MIN_DIFFERENCE) * ground.range
    states = np.flatnonzero(differences >= least)
    order = states[np.argsort(-(ground.met * differences)[states], kind="stable")]
    for state in order[:MAX_CHECKED].tolist():
        best = int(ground.best[state])
        error = 0.0 if evidence is None else evidence.reading(state, best).error
        if differences[state] < least + MIN_ERRORS * error:
            continue
        assert ground.real is not None
        value, real = float(ground.values[state, best]), float(ground.real[state, best])
        source = "playing its policy gives" if ground.exact else "the empirical model of its transitions gives"
        others = _elsewhere(len(states), f"values are too {'high' if sign > 0 else 'low'}")
        why = " (its targets follow the actions that it explored)" if _learns_from_exploration(run) and sign < 0 else ""
        believes = expected_return(run, value)
        text = f"In {labels.words(state)!r}, {believes}, and {source} {amount(real)}{why}{others}."
        stake = min(1.0, float(differences[state]) / ground.range)
        more = tuple(order.tolist())
        return Finding("reality", text, state, float(ground.met[state]), stake, "comparison", states=more)
    return None


def _learns_from_exploration(run: Run) -> bool:
    """Whether its values are those of its exploring policy."""
    learner = LEARNERS.get(run.settings.get("learner", {}).get("name", ""))
    return learner is not None and not learner.bootstraps_greedily


def _elsewhere(states: int, what: str) -> str:
    return f"; {what} in {count(states - 1, 'more state')}" if states > 1 else ""


def _costly(ground: Ground, real: NDArray[np.float64], looked: NDArray[np.bool_]) -> Finding | None:
    """The decision whose best alternative would pay most, if its policy is followed afterwards."""
    labels, rows = ground.run.labels, np.arange(len(ground.best))
    known = np.where(np.isnan(real), -np.inf, real)
    tied = ground.values >= ground.values[rows, ground.best][:, None]
    own = np.where(tied, known, np.inf).min(axis=1)  # it may take any of several equal actions
    best, cost = known.max(axis=1), np.zeros(len(own))
    np.subtract(best, own, out=cost, where=np.isfinite(own) & np.isfinite(best) & looked)
    states = np.flatnonzero(cost >= MIN_COST * ground.range)
    if not len(states):
        return None
    order = states[np.argsort(-(ground.met * cost)[states], kind="stable")]
    state = int(order[0])
    chosen, better, tries = ground.run.best(state), int(known[state].argmax()), ground.tries
    takes, instead = f"it {labels.action_phrase(chosen)}", better
    if tied[state].sum() > 1:
        worst = int(np.where(tied[state], known[state], np.inf).argmin())
        takes, instead = (
            f"{labels.actions[worst]!r} is among the actions with the best value",
            worst if better == chosen else better,
        )
    after = "" if tries is None else f" (updated {count(int(tries[state, better]), 'time')})"
    text = (
        f"In {labels.words(state)!r}, {takes}, but playing {labels.actions[better]!r}{after} and then its policy "
        f"gives a return that is {amount(float(cost[state]))} higher{_elsewhere(len(states), 'another action would be better')}."
    )
    stake, more = min(1.0, float(cost[state]) / ground.range), tuple(order.tolist())
    return Finding(
        "reality", text, state, float(ground.met[state]), stake, "contrast", parameters={"instead": labels.actions[instead]},
        states=more,
    )  # fmt: skip


def find_thin_evidence(ground: Ground) -> list[Finding]:
    """Where it has no experience; and, where the world is unknown, decisions against actions that it hardly tried."""
    tries, labels = ground.tries, ground.run.labels
    if tries is None:
        return []
    found = []
    new = np.flatnonzero(~ground.learned & (ground.entered > MIN_MET))
    if len(new):
        order = new[np.argsort(-ground.entered[new], kind="stable")]
        state, met = int(order[0]), float(ground.entered[order[0]])
        text = (
            f"In {labels.words(state)!r}, it has no experience, and {percent(met)} of its episodes get there"
            f"{_elsewhere(len(new), 'it has none')}."
        )
        found.append(Finding("evidence", text, state, met, 1.0, "intention", states=tuple(order.tolist())))
    few = None if ground.exact else _few(ground, tries)
    return found if few is None else [*found, few]


def _few(ground: Ground, tries: NDArray[np.int64]) -> Finding | None:
    """The decision against a hardly tried action that sampling error could turn round."""
    if ground.future is None or ground.real is None:
        return None
    labels, values, rows = ground.run.labels, ground.values, np.arange(len(ground.best))
    expected = ground.future.expected(ground.future.table.reward)
    weight = np.maximum(tries - 1, 0)
    pooled = float((weight * expected.variance).sum() / max(int(weight.sum()), 1))
    error = np.sqrt((expected.variance * tries + pooled) / np.maximum(tries, 1) ** 2)
    gap = values[rows, ground.best][:, None] - values
    open_ = (tries > 0) & (tries < FEW_UPDATES) & (gap > 0.0) & (gap < 2.0 * error) & (error >= MIN_COST * ground.range)
    at_stake = np.where(open_, ground.met[:, None] * error, 0.0)
    states = np.flatnonzero(open_.any(axis=1) & (ground.met > MIN_MET))
    if not len(states):
        return None
    state, other = (int(one) for one in np.unravel_index(at_stake.argmax(), at_stake.shape))
    best = ground.run.best(state)
    text = (
        f"In {labels.words(state)!r}, it takes {labels.actions[best]!r} instead of {labels.actions[other]!r}, which it updated only "
        f"{count(int(tries[state, other]), 'time')}{_elsewhere(len(states), 'the same holds')}."
    )
    stake = min(1.0, float(error[state, other]) / ground.range)
    return Finding(
        "evidence", text, state, float(ground.met[state]), stake, "contrast", parameters={"instead": labels.actions[other]},
        states=tuple(states.tolist()),
    )  # fmt: skip
