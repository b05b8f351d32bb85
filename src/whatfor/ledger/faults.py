"""Find ends of episodes that were recorded wrongly: the values can be right all the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.following import ENDED, FIRST_JUMP, JUMPS, ONWARD, count_jumps
from whatfor.kernels.recursion import NO_BOOTSTRAP, TERMINATED, TIMED_OUT
from whatfor.text import count

if TYPE_CHECKING:
    from whatfor.ledger.ledger import Ledger

#: A state that was bootstrapped from more often than this should have been updated too.
MIN_ARRIVALS = 10
#: A ledger of at least this many updates should contain the end of an episode.
MIN_UPDATES = 1_000
#: And at least this many for each state-action pair: the first episode of a poor agent may be long.
MIN_UPDATES_OF_PAIR = 20
#: Last steps into states that were never updated are a fault if the chance of so many is below this.
MAX_CHANCE = 1e-3
#: A record looks deterministic if so many repeated steps all led where the same pair had led before.
MIN_REPEATS = 100
#: Numbers of experiences with more gaps than this, for each that was replayed, are counted anew.
MAX_GAPS = 8

TERMINATION = (
    "where the environment terminates, record next_state=None: "
    "ledger.record(state, action, reward, None if terminated else next_state, ...)"
)
#: Where an episode that a time limit cut is marked, by the order of the ledger.
TRUNCATION = {
    "forwards": "after an episode that was cut by a time limit, call ledger.new_episode()",
    "backwards": "before the updates of an episode that was cut by a time limit, call ledger.new_episode()",
    "replayed": "before each episode, call ledger.new_episode() with the number of experiences so far",
}


class StepsInOrder(NamedTuple):
    """The steps of episodes, in the order in which they were made, or backwards."""

    cell: NDArray[np.int32]  # (n,) -1: not known, since it was never replayed
    source: NDArray[np.int32]  # (n,)
    starts: NDArray[np.int64]  # (starts,) where an episode starts, besides after an ending
    backwards: bool


def find_faults(ledger: Ledger) -> tuple[str, ...]:
    """What seems to be wrong with the ends of episodes in a ledger, and the line to change; empty if nothing is.

    A state that is bootstrapped from but never updated has ended episodes. Where an update does not continue in the
    state that the one before led to, an episode has ended that the ledger does not know of.
    """
    if len(ledger) == 0:
        return ()
    steps, state = _steps_of(ledger), _states(ledger)
    counts, updated = np.zeros(4, np.int64), np.zeros(ledger.n_states, np.bool_)
    count_jumps(steps.cell, steps.source, state, steps.starts, steps.backwards, counts, updated)
    onward, ended, jumps, first = (int(counts[what]) for what in (ONWARD, ENDED, JUMPS, FIRST_JUMP))
    stops = _stops(steps)
    stops = stops[~updated[state[steps.source[stops]]]]  # a time limit may lead to a new state
    if jumps == 0 and len(stops) == 0 and ended:
        return _contradicted_stop(ledger, steps)
    to = np.where(steps.source >= 0, state[np.maximum(steps.source, 0)], -1)
    left = (steps.cell >= 0) & (to >= 0) & ~updated[np.maximum(to, 0)]
    left[stops[stops != (0 if steps.backwards else len(left) - 1)]] = False
    arrivals = np.bincount(to[left], minlength=ledger.n_states)
    if arrivals.max() >= MIN_ARRIVALS:
        return (f"{_never_updated(arrivals)}: {TERMINATION}.",)
    if len(stops) >= max(MIN_ARRIVALS, ledger.n_episodes - 1) and not ended:
        return (
            f"All episodes stop in states that are never updated, and none is recorded as ended. If they end there: {TERMINATION}.",
        )
    if jumps > max(MIN_ARRIVALS, onward / 2):
        return (
            f"{count(jumps, 'update')} of {onward:,} do not continue where the update before led. If they come from a replay buffer or "
            "from several environments, create the ledger with order='replayed'.",
        )
    if jumps:
        return (_jumps_text(ledger, steps, jumps, first),)
    enough = max(MIN_UPDATES, MIN_UPDATES_OF_PAIR * ledger.n_states * ledger.n_actions)
    if len(ledger) >= enough and ledger.n_episodes == 1 and not ended:
        if len(ledger.breaks):  # its cut is recorded: no update is wrong
            return (
                f"Its one episode was cut after {count(len(ledger), 'update')}, and no end is recorded: check that the environment "
                "returns terminated=True, or set max_steps=.",
            )
        return (
            f"No end of an episode is recorded in {count(len(ledger), 'update')}. If episodes of this task end: {TERMINATION}; {TRUNCATION[ledger.order]}.",
        )
    surely, early, cuts = _early(steps, stops)
    return (
        _repeated_stops(ledger, steps, surely)
        or _unlikely_stops(ledger, steps, early, cuts)
        or _contradicted_stop(ledger, steps)
    )


def _steps_of(ledger: Ledger) -> StepsInOrder:
    """The steps behind the updates; of an experience that was replayed often, one."""
    lines, starts = ledger.lines, ledger.breaks[:, 0]
    if ledger.order != "replayed":
        return StepsInOrder(lines.cell, lines.source, starts, ledger.order == "backwards")
    origins, starts = ledger.origins, ledger._starts()[1]
    if int(origins.max()) >= MAX_GAPS * len(origins):  # numbered with large gaps: each becomes a gap of one
        known, which = np.unique(origins, return_inverse=True)
        place = np.arange(len(known)) + np.cumsum(np.diff(known, prepend=known[0]) > 1)
        starts = place[np.searchsorted(known, starts[starts <= known[-1]])]
        origins = place[which]
    cell = np.full(int(origins.max()) + 1, -1, np.int32)
    source = np.full(len(cell), NO_BOOTSTRAP, np.int32)
    cell[origins], source[origins] = lines.cell, lines.source
    return StepsInOrder(cell, source, starts, False)


def _states(ledger: Ledger) -> NDArray[np.int32]:
    """(cells,) The state of each cell."""
    return np.tile(np.repeat(np.arange(ledger.n_states, dtype=np.int32), ledger.n_actions), ledger.n_tables)


def _stops(steps: StepsInOrder) -> NDArray[np.int64]:
    """The last steps of episodes that bootstrap: the episode is not recorded as ended."""
    n = len(steps.cell)
    last = np.append(steps.starts, 0) if steps.backwards else np.append(steps.starts, n) - 1
    last = np.unique(last[(last >= 0) & (last < n)])
    bootstrapping: NDArray[np.int64] = last[(steps.cell[last] >= 0) & (steps.source[last] >= 0)]
    return bootstrapping


def _episodes(steps: StepsInOrder) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first line of each recorded episode, and the line after its last."""
    ended = np.flatnonzero(steps.source <= TIMED_OUT)
    starts = np.union1d(np.append(steps.starts, 0), ended + (not steps.backwards))
    starts = starts[starts < len(steps.cell)]
    return starts, np.append(starts[1:], len(steps.cell))


def _jumps_text(ledger: Ledger, steps: StepsInOrder, jumps: int, first: int) -> str:
    """Updates that do not continue where the one before led: ends that are not recorded, where they can be distinguished from missing updates.

    They can be where all come after pairs that ended other episodes, and led to states that were never updated; or where
    all go on in states in which recorded episodes start, which few states are, and where a single step that was not
    recorded does not explain all of them.
    """
    state, (begins, after) = _states(ledger), _episodes(steps)
    opening = steps.cell[after - 1 if steps.backwards else begins]
    starts = np.unique(state[opening[opening >= 0]])
    known = np.unique(state[steps.cell[steps.cell >= 0]])
    lines = np.arange(1, len(steps.cell))  # each with the line before it
    before, behind = (lines, lines - 1) if steps.backwards else (lines - 1, lines)
    apart = (steps.source[before] >= 0) & (steps.cell[behind] >= 0)
    apart &= state[np.maximum(steps.source[before], 0)] != state[np.maximum(steps.cell[behind], 0)]
    apart &= ~np.isin(lines, steps.starts)
    led, there = state[steps.source[before[apart]]], state[steps.cell[behind[apart]]]
    at = "" if ledger.order == "replayed" else f" (first at update {first:,})"
    n_pairs = ledger.n_states * ledger.n_actions
    ended = steps.cell[(steps.cell >= 0) & (steps.source <= TERMINATED)] % n_pairs
    if np.isin(steps.cell[before[apart]] % n_pairs, ended).all() and not np.isin(led, known).any():
        return (
            f"{_ends(jumps)} not recorded: an update bootstrapped from state {int(led[0])}, which was never updated, and its "
            f"state-action pair ended other episodes{at}: {TERMINATION}."
        )
    elsewhere = np.setdiff1d(there, starts)
    if len(elsewhere) == 0 and 2 * len(starts) <= len(known):
        made = (steps.cell >= 0) & (steps.source >= 0)
        steps_made = state[steps.cell[made]].astype(np.int64) * ledger.n_states + state[steps.source[made]]
        if not np.isin(led.astype(np.int64) * ledger.n_states + there, steps_made).all():
            return (
                f"At least {_ends(jumps)} not recorded: the next update starts in another "
                f"state than the one bootstrapped from{at}: {TERMINATION}; {TRUNCATION[ledger.order]}."
            )
    hint = ""
    if len(elsewhere) and 2 * len(starts) <= len(known):
        hint = f" No recorded episode starts in state {int(elsewhere[0])}, where it goes on."
    return (
        f"{count(jumps, 'time')} the next recorded update starts in a state other than the previous next_state{at}: "
        f"an update was not recorded, or an episode ended without next_state=None or new_episode().{hint}"
    )


def _early(steps: StepsInOrder, stops: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """The stops before any time limit: those that are surely so, all that seem so, and how many cut episodes seem so.

    A limit may change during training. So an episode surely was not cut by one if an episode before it and one after it
    were longer, and seems not to be if no other cut episode was as long.
    """
    starts, after = _episodes(steps)
    final, length = starts if steps.backwards else after - 1, after - starts
    surely = length < np.minimum(np.maximum.accumulate(length), np.maximum.accumulate(length[::-1])[::-1])
    cut = (steps.cell[final] >= 0) & (steps.source[final] > TIMED_OUT)
    lengths, times = np.unique(length[cut], return_counts=True)
    seems = surely | ~np.isin(length, np.append(lengths[times > 1], length.max()))
    episode = np.searchsorted(starts, stops, side="right") - 1
    return stops[surely[episode]], stops[seems[episode]], int((cut & seems).sum())


def _repeated_stops(ledger: Ledger, steps: StepsInOrder, early: NDArray[np.int64]) -> tuple[str, ...]:
    """States in which many episodes stop before any time limit, and that no episode ever goes on from."""
    times = np.bincount(_states(ledger)[steps.source[early]], minlength=ledger.n_states)
    if times.max() < MIN_ARRIVALS:
        return ()
    stopped, others = int(times[times >= MIN_ARRIVALS].sum()), int((times >= MIN_ARRIVALS).sum()) - 1
    where = f"state {int(times.argmax())}" + (f" and {count(others, 'other state')}" if others else "")
    return (
        f"{count(stopped, 'episode')} stop in {where} before any time limit, and no episode ever goes on from there. "
        f"If they end there: {TERMINATION}.",
    )


def _unlikely_stops(ledger: Ledger, steps: StepsInOrder, early: NDArray[np.int64], cuts: int) -> tuple[str, ...]:
    """Episodes that stop in a new state before any time limit, after a pair that ended others; if that is no chance.

    As Good and Turing estimate it, a step leads to a new state as often as to one that was seen only once.
    """
    state, known = _states(ledger), steps.cell >= 0
    pairs, n_pairs = steps.cell % (ledger.n_states * ledger.n_actions), ledger.n_states * ledger.n_actions
    ending = np.bincount(pairs[known & (steps.source <= TERMINATED)], minlength=n_pairs) > 0
    early = early[ending[pairs[early]]]
    if len(early) == 0:
        return ()
    once = int((np.bincount(state[steps.cell[known]], minlength=ledger.n_states) == 1).sum())
    expected = cuts * (once + 1) / int(known.sum())
    most = len(early) * math.log(expected) - math.lgamma(len(early) + 1)  # Poisson: of so many, expected^n / n! at most
    if most >= math.log(MAX_CHANCE):
        return ()
    return (
        f"{_ends(len(early))} not recorded: the last update bootstrapped from state "
        f"{int(state[steps.source[early[-1]]])}, which was never updated, and its state-action pair ended other episodes: {TERMINATION}.",
    )


def _contradicted_stop(ledger: Ledger, steps: StepsInOrder) -> tuple[str, ...]:
    """The last step of all, if it bootstraps although its pair always ended episodes, in a record that looks deterministic."""
    final = int(_episodes(steps)[0][-1]) if steps.backwards else len(steps.cell) - 1
    if steps.cell[final] < 0 or steps.source[final] < 0:
        return ()
    pair, state = steps.cell % (ledger.n_states * ledger.n_actions), _states(ledger)
    others = (steps.cell >= 0) & (steps.source != TIMED_OUT)
    others[final] = False
    same = others & (pair == pair[final])
    times = int(same.sum())
    if times == 0 or (steps.source[same] > TERMINATED).any():
        return ()
    following = np.roll(steps.cell, 1 if steps.backwards else -1)  # of a return, which bootstraps from no table
    to = np.where(steps.source == NO_BOOTSTRAP, following, steps.source)
    ended = steps.source <= TERMINATED
    led = np.where(ended, -1, state[np.maximum(to, 0)])[others].astype(np.int64)
    keys = pair[others].astype(np.int64) * (ledger.n_states + 1) + led + 1
    outcomes, pairs = len(np.unique(keys)), len(np.unique(pair[others]))
    repeats = len(keys) - pairs
    if outcomes > pairs or repeats < MIN_REPEATS:
        return ()
    return (
        f"The last update bootstraps from state {int(state[steps.source[final]])}, but its state-action pair ended the episode "
        f"in {'the 1 other step' if times == 1 else f'all {times:,} other steps'} with it, and none of {repeats:,} repeated steps "
        f"ever led elsewhere than before. If the episode ended there: {TERMINATION}.",
    )


def _ends(number: int) -> str:
    """So many ends of episodes are."""
    return "1 end of an episode is" if number == 1 else f"{number:,} ends of episodes are"


def _never_updated(arrivals: NDArray[np.int64]) -> str:
    """The states that ended episodes, in words."""
    states = arrivals >= MIN_ARRIVALS
    others = int(states.sum()) - 1
    more = f" and {count(others, 'other state')} were" if others else " was"
    return (
        f"Ends of episodes are recorded as ordinary steps: state {int(arrivals.argmax())}{more} bootstrapped from "
        f"{count(int(arrivals[states].sum()), 'time')} and never updated"
    )
