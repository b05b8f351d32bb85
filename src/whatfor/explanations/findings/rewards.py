"""Surprising rewards: far from what the same step pays otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.noise import led_to
from whatfor.explanations.findings.answer import Finding
from whatfor.explanations.findings.ground import Ground
from whatfor.kernels.recursion import NO_BOOTSTRAP
from whatfor.ledger import Ledger
from whatfor.text import amount, count

#: A step is judged if it was made at least this often.
MIN_TIMES = 5
#: A reward is surprising if it is this many times further from the median of its step than the middle 80 % are wide,
MIN_WIDTHS = 3.0
#: and further than this share of the range of the medians of all steps.
MIN_SHARE = 0.25
#: Where more than this share of all rewards are that far, they are noise of the environment.
MAX_SHARE_OF_REWARDS = 1e-3
MIN_ALLOWED = 3
#: Of the latest updates, so many are looked at.
MAX_LINES = 3_000_000
MAX_FOUND = 3
#: A step that paid surprising rewards in more episodes than this has rewards that vary.
MAX_EPISODES = 2


class Surprise(NamedTuple):
    """An update whose reward is far from what its step usually pays."""

    line: int
    usual: float
    moved: float  # by how much the difference moved the value, when it was learned


def find_surprising_rewards(ground: Ground) -> list[Finding]:
    """The rewards that moved values most, one for each episode."""
    labels = ground.run.labels
    audit = ground.evidence
    if audit is None or not len(audit.ledger):
        return []
    ledger, episodes = audit.ledger, set[int]()
    found: list[Finding] = []
    for one in surprises(ledger):
        episode = int(ledger.episodes_and_steps([one.line])[0][0])
        if episode in episodes or len(found) >= MAX_FOUND:
            continue
        episodes.add(episode)
        state, action = divmod(
            int(ledger.lines.cell[one.line]) % (labels.n_states * labels.n_actions), labels.n_actions
        )
        taken = float(audit.deletion(state, action).episodes[episode])
        reward = float(ledger.lines.reward[one.line])
        now = f"; without this episode, its value would be {amount(abs(taken))} {'lower' if taken > 0 else 'higher'}"
        text = (
            f"In episode {episode:,}, {labels.actions[action]!r} in {labels.words(state)!r} paid {amount(reward, signed=True)}, "
            f"and otherwise {amount(one.usual, signed=True)}{now if abs(taken) >= 1e-3 * ground.range else ''}."
        )
        stake = min(1.0, max(one.moved, abs(taken)) / ground.range)
        found.append(
            Finding(
                "surprise",
                text,
                state,
                float(ground.met[state]),
                stake,
                "provenance",
                action,
                states=(state,),
                episode=episode,
            )
        )
    return found


def merge_loops(
    ground: Ground, surprising: Sequence[Finding], loops: Sequence[Finding]
) -> tuple[list[Finding], list[Finding]]:
    """Findings of surprising rewards with the loops that they cause, and the other loops.

    A loop is caused by an episode if the policy of the agent without this episode leaves it. A reward that is earned again
    and again in the pair of a surprising one is an average with it, and no finding of its own.
    """
    pairs = {(one.state, one.action) for one in surprising}
    again = [one for one in loops if ground.future is None or not ground.future.cannot_end[list(one.states)].all()]
    merged, rest = [], [one for one in loops if one not in again]
    again = [one for one in again if (one.state, one.action) not in pairs]
    for one in surprising:
        without = Ground.of(ground.run.without([one.episode])).future if rest and one.episode is not None else None
        caused = [] if without is None else [loop for loop in rest if not without.cannot_end[list(loop.states)].all()]
        rest = [loop for loop in rest if loop not in caused]
        merged.append(_with_loops(one, caused) if caused else one)
    return merged, [*rest, *again]


def _with_loops(surprising: Finding, loops: Sequence[Finding]) -> Finding:
    states = list(dict.fromkeys(state for loop in loops for state in loop.states))
    met = min(1.0, max(surprising.met, sum(loop.met for loop in loops)))
    does = f"loops over {count(len(states), 'state')}" if len(states) > 1 else "stays in 1 state"
    text = f"{surprising.sentence[:-1]}; because of it, the agent {does} without end."
    return replace(
        surprising, sentence=text, met=met, stake=1.0, states=tuple(dict.fromkeys((*surprising.states, *states)))
    )


def surprises(ledger: Ledger) -> list[Surprise]:
    """Updates with surprising rewards, those that moved their values most first."""
    lines = _distinct(ledger)
    reward, steps = ledger.lines.reward[lines], _steps(ledger, lines)
    order = np.lexsort((reward, steps))
    steps, reward, lines = steps[order], reward[order], lines[order]
    first = np.flatnonzero(np.diff(steps, prepend=-1))
    times = np.diff(np.append(first, len(steps)))
    often = times >= MIN_TIMES
    low, median, high = (reward[first + (share * (times - 1)).astype(np.int64)] for share in (0.1, 0.5, 0.9))
    of = np.repeat(np.arange(len(first)), times)
    spread = float(np.ptp(np.repeat(median, times)))
    width = float(np.median((high - low)[often])) if often.any() else 0.0
    far = np.abs(reward - median[of])
    limit = np.maximum(MIN_WIDTHS * np.maximum(high - low, width)[of], MIN_SHARE * spread)
    surprising = often[of] & (far > np.maximum(limit, 1e-9 * np.abs(median[of])))
    if surprising.sum() > max(MIN_ALLOWED, MAX_SHARE_OF_REWARDS * len(lines)):
        return []
    where = np.flatnonzero(surprising)
    episodes = ledger.episodes_and_steps(lines[where])[0]
    several = np.unique(of[where] * (ledger.n_episodes + 1) + episodes) // (ledger.n_episodes + 1)
    where = where[np.bincount(several, minlength=len(first))[of[where]] <= MAX_EPISODES]
    sizes = np.broadcast_to(ledger.lines.step_size, len(ledger))[lines[where]]
    moved = far[where] * sizes
    return [
        Surprise(int(lines[where[i]]), float(median[of[where[i]]]), float(moved[i]))
        for i in np.argsort(-moved, kind="stable")
    ]


def _distinct(ledger: Ledger) -> NDArray[np.int64]:
    """The latest updates that changed something, one for each experience."""
    start = max(0, len(ledger) - MAX_LINES)
    lines = start + np.flatnonzero(ledger.applied[start:])
    if ledger.order != "replayed":
        return lines
    return lines[np.unique(ledger.origins_of(lines), return_index=True)[1]]


def _steps(ledger: Ledger, lines: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each kind of step: its pair, and the state that it led to, or an end."""
    n_pairs, source = ledger.n_states * ledger.n_actions, ledger.lines.source[lines]
    to = led_to(ledger, lines) // ledger.n_actions % ledger.n_states
    after = np.where(source < NO_BOOTSTRAP, ledger.n_states, to)
    return ledger.lines.cell[lines].astype(np.int64) % n_pairs * (ledger.n_states + 1) + after
