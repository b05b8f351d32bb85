"""Where two runs differ: the states whose best action is another, by how often episodes visit them and what is at stake."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from whatfor.checks import whole
from whatfor.explanations.alignment import aligned
from whatfor.explanations.findings.answer import Finding
from whatfor.explanations.findings.ground import Ground
from whatfor.kernels.recursion import TERMINATED
from whatfor.ledger.paid import without_paid_endings
from whatfor.text import amount, count

if TYPE_CHECKING:
    from whatfor.runs import Run


class Flip(NamedTuple):
    """A state in which the best action of one run is not among the best of the other."""

    state: int
    before: int  # the best action of the other run
    after: int
    lost: float  # by how much the other run's action is worse here


def compared(run: Run, since: int | Run) -> tuple[Run, Run]:
    """The run and the one to compare it with, itself at an earlier time or another one, with the same states.

    ``ValueError`` if they cannot be compared.
    """
    if hasattr(since, "as_of"):
        other = cast("Run", since)
    else:
        if isinstance(since, str | os.PathLike):
            raise TypeError(f"since is a number of episodes or a run: pass since=whatfor.load({os.fspath(since)!r})")
        time = whole("since, a number of episodes or a run,", since)
        if run.ledger is not None and run.beliefs.evidence is None:
            source = type(run.beliefs).__name__
            raise ValueError(
                f"{source} does not know what it was at an earlier time: pass since=another run, or ask the run without {source}"
            )
        if run.ledger is not None and time > run.ledger.n_episodes:
            raise ValueError(
                f"since is {time:,}; the run has {count(run.ledger.n_episodes, 'episode')}: pass since=0 to {run.ledger.n_episodes:,}"
            )
        run.need_ledger("change since an episode (since=another run works without one)")
        other = run.as_of(time)
    run, other = aligned(run, other)
    if (other.labels.axes, other.labels.actions) != (run.labels.axes, run.labels.actions):
        raise ValueError("the two runs are not of the same environment: their states or actions have other names")
    return run, _with_endings_of(run, other)


def _with_endings_of(run: Run, other: Run) -> Run:
    """The other run with the names of this run's endings, where they name as many ends of its episodes as its own."""
    if run.ledger is None or other.ledger is None or run.labels.endings == other.labels.endings:
        return other
    renamed = other.derived(labels=replace(other.labels, endings=without_paid_endings(run.labels).endings))
    assert renamed.ledger is not None
    before, after = (int((one.lines.source == TERMINATED).sum()) for one in (other.ledger, renamed.ledger))
    return renamed if after <= before else other


def flips(ground: Ground, other: Run) -> list[Flip]:
    """States that both runs have learned about and in which no best action of one is best in the other.

    First come those that episodes of the run visit most often, times what is at stake.
    """
    run = ground.run
    here, there, rows = run.values, other.values, np.arange(len(run.values))
    after, before = here.argmax(axis=1), there.argmax(axis=1)
    lost = here[rows, after] - np.where(there == there[rows, before][:, None], here, -np.inf).max(axis=1)
    known = np.flatnonzero(ground.learned & Ground.of(other).learned & (lost > 0.0))
    order = known[np.lexsort((-lost[known], -(ground.met * lost)[known]))]
    return [Flip(int(s), int(before[s]), int(after[s]), float(lost[s])) for s in order]


def differences(ground: Ground, other: Run, since: int | Run) -> list[Finding]:
    """A finding for each state whose best action differs."""
    labels, then = ground.run.labels, other.values
    found = []
    for state, before, after, lost in flips(ground, other):
        there = float(then[state, before] - then[state, after])
        if isinstance(since, int | np.integer):
            when, chose, is_now, was = f"after {count(int(since), 'episode')}", "chose", "is now", "was then"
        else:
            when, chose, is_now, was = "in the other run", "chooses", "is here", "is there"
        text = (
            f"In {labels.words(state)!r}, it {labels.action_phrase(after)}; {when}, it {chose} {labels.actions[before]!r}, "
            f"whose estimated return {is_now} {amount(lost)} lower and {was} {amount(there)} higher."
        )
        stake = min(1.0, lost / ground.range)
        more: dict[str, Any] = {"parameters": {"since": since}, "states": (state,)}
        found.append(Finding("difference", text, state, float(ground.met[state]), stake, "change", **more))
    return found
