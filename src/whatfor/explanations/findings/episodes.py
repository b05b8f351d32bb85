"""Decisions that rest on one episode: without its updates, another action would be the best."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.explanations.findings.answer import Finding
from whatfor.explanations.findings.ground import MIN_MET, Ground
from whatfor.text import amount, count

#: Values that are asked about in one pass over the ledger, and the products of values and updates in all passes.
VALUES_PER_PASS, MAX_WORK = 48, 500_000_000
#: The most memory of one pass, in numbers.
MAX_NUMBERS = 1 << 24
#: Under replay the updates of an episode are scattered: so many states are looked at, each by itself.
MAX_REPLAYED_STATES = 8
#: The gap before, and after the deletion, is at least this share of the range of the values.
MIN_GAP = 0.01
#: The episode makes at least this share of what all episodes do.
MIN_DOMINANCE = 0.5
#: After the deletion, at most this share of either value rests on its initial value.
MAX_INITIAL = 0.5
MAX_FOUND = 3


class EpisodeFlip(NamedTuple):
    """A decision that the deletion of an episode would flip."""

    state: int
    episode: int
    instead: int  # the best action without it
    effect: float  # by how much it changes the gap
    after: float  # the gap after it, to the action that is best then


def find_decisive_episodes(ground: Ground, known: Container[int | None]) -> tuple[list[Finding], list[str]]:
    """A finding for each episode that decides, besides the known ones; and a note if not all states were looked at."""
    labels, audit = ground.run.labels, ground.evidence
    if audit is None or not len(audit.ledger) or labels.n_actions < 2:
        return [], []
    order = np.argsort(-ground.met, kind="stable")
    states = order[(ground.met[order] > MIN_MET) & ground.learned[order]]
    n_looked = _affordable(audit, len(states), labels.n_actions)
    flips = [
        flip for state in _chunks(states[:n_looked], audit, labels.n_actions) for flip in _flips(ground, audit, state)
    ]
    by_episode: dict[int, list[EpisodeFlip]] = {}
    for flip in flips:
        if flip.episode not in known:
            by_episode.setdefault(flip.episode, []).append(flip)
    found = [_finding(ground, same) for same in by_episode.values()]
    left_out = (
        f"Decisions that rest on one episode were looked for in the {count(n_looked, 'state')} that episodes visit most often, "
        f"of {len(states):,}."
    )
    return sorted(found, key=lambda one: -one.score)[:MAX_FOUND], [left_out] * (n_looked < len(states))


def _finding(ground: Ground, flips: list[EpisodeFlip]) -> Finding:
    labels = ground.run.labels
    first = max(flips, key=lambda flip: ground.met[flip.state] * flip.effect)
    best = int(ground.best[first.state])
    more = f" (and in {len(flips) - 1:,} more state{'s' * (len(flips) > 2)})" if len(flips) > 1 else ""
    text = (
        f"In {labels.words(first.state)!r}, it {labels.action_phrase(best)} because of episode {first.episode:,}: without it, "
        f"{labels.actions[first.instead]!r} would be better by {amount(first.after)}{more}."
    )
    return Finding(
        "episode", text, first.state, float(ground.met[first.state]), min(1.0, first.effect / ground.range), "provenance",
        best, states=tuple(flip.state for flip in flips), episode=first.episode,
    )  # fmt: skip


def _affordable(audit: Audit, states: int, n_actions: int) -> int:
    if audit.ledger.order == "replayed":
        return min(states, MAX_REPLAYED_STATES)
    return min(states, max(1, MAX_WORK // (len(audit.ledger) * n_actions)))


def _chunks(states: NDArray[np.int64], audit: Audit, n_actions: int) -> list[NDArray[np.int64]]:
    per_value = max(audit.ledger.n_cells, audit.ledger.n_episodes)
    at_once = max(1, min(VALUES_PER_PASS, MAX_NUMBERS // per_value) // n_actions)
    return [states[at : at + at_once] for at in range(0, len(states), at_once)]


def _flips(ground: Ground, audit: Audit, states: NDArray[np.int64]) -> list[EpisodeFlip]:
    """The decisions in some states that one episode flips."""
    taken = _deletions(audit, states, ground.values.shape[1])  # (episodes, states, A)
    values, least = ground.values[states], MIN_GAP * ground.range
    found = []
    for at, state in enumerate(states.tolist()):
        best = int(ground.best[state])
        gaps = values[at, best] - values[at]  # now
        gaps[best] = np.inf
        if gaps.min() < least:
            continue
        changes = taken[:, at, best, None] - taken[:, at]  # what each episode adds to each gap
        changes[:, best] = 0.0
        after = gaps - changes
        after[np.isnan(after)] = np.inf
        episode, instead = (int(one) for one in np.unravel_index(after.argmin(), after.shape))
        change = np.abs(np.nan_to_num(changes[:, instead]))
        if after[episode, instead] > -least or change[episode] < MIN_DOMINANCE * change.sum():
            continue
        if all(_rests_on_more(audit, state, action, episode) for action in (best, instead)):
            found.append(EpisodeFlip(state, episode, instead, float(change[episode]), -float(after[episode, instead])))
    return found


def _rests_on_more(audit: Audit, state: int, action: int, episode: int) -> bool:
    """Whether a value would still rest on experience without an episode, and not on its initial value."""
    ledger = audit.ledger
    shares = []
    for table in range(ledger.n_tables):
        own = np.flatnonzero(ledger.lines.cell == (table * ledger.n_states + state) * ledger.n_actions + action)
        kept = own[ledger.episodes_and_steps(own)[0] != episode] if len(own) else own
        shares.append(float(np.prod(1.0 - np.broadcast_to(ledger.lines.step_size, len(ledger))[kept])))
    return float(np.mean(shares)) <= MAX_INITIAL


def _deletions(audit: Audit, states: NDArray[np.int64], n_actions: int) -> NDArray[np.float64]:
    """(episodes, states, A) What deleting each episode takes away from each value; NaN: unknown."""
    pairs = [(int(state), action) for state in states for action in range(n_actions)]
    return audit.episode_deletions(pairs).reshape(-1, len(states), n_actions)
