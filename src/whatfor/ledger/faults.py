"""Find ends of episodes that were recorded wrongly: the values can be right all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whatfor.text import count

if TYPE_CHECKING:
    from whatfor.ledger.ledger import Ledger

#: A state that was bootstrapped from more often than this should have been updated too.
MIN_ARRIVALS = 10
#: A ledger of at least this many updates should contain the end of an episode.
MIN_UPDATES = 1_000

TERMINATION = (
    "where the environment terminates, record next_state=None: "
    "ledger.record(state, action, reward, None if terminated else next_state, ...)"
)
TRUNCATION = "after an episode that was cut by a time limit, call ledger.new_episode()"


def find_faults(ledger: Ledger) -> tuple[str, ...]:
    """What seems to be wrong with the ends of episodes in a ledger, and the line to change; empty if nothing is.

    A state that is bootstrapped from but never updated has ended episodes. Where an update does not continue in the
    state that the one before led to, an episode has ended that the ledger does not know of.
    """
    if len(ledger) == 0:
        return ()
    state, to = _states(ledger)
    updated = np.zeros(ledger.n_states, bool)
    updated[state] = True
    left = np.flatnonzero((to >= 0) & ~updated[np.maximum(to, 0)])  # led to a state that was never updated
    inside, last = _distinct_steps(ledger, left)
    arrivals = np.bincount(to[left][inside], minlength=ledger.n_states)
    jumps, steps = _jumps(ledger, state, to), int((to >= 0).sum())
    if arrivals.max() >= MIN_ARRIVALS:
        return (f"{_never_updated(arrivals)}: {TERMINATION}.",)
    if len(last) >= max(MIN_ARRIVALS, ledger.n_episodes - 1) and not ledger.ended.any():
        return (
            f"All episodes stop in states that are never updated, and none is recorded as ended. If they end there: {TERMINATION}.",
        )
    if jumps > steps / 2:
        return (
            f"{count(jumps, 'update')} of {steps:,} do not continue where the update before led. If they come from a replay buffer or "
            "from several environments, create the ledger with order='replayed'.",
        )
    if jumps:
        return (
            f"{count(jumps, 'end')} of episodes {'is' if jumps == 1 else 'are'} not recorded: the next update starts in another "
            f"state than the one bootstrapped from: {TERMINATION}; {TRUNCATION}.",
        )
    if len(ledger) >= MIN_UPDATES and ledger.n_episodes == 1 and not ledger.ended.any():
        return (
            f"No end of an episode is recorded in {count(len(ledger), 'update')}. If episodes of this task end: {TERMINATION}; {TRUNCATION}.",
        )
    return ()


def _never_updated(arrivals: NDArray[np.int64]) -> str:
    """The states that ended episodes, in words."""
    states = arrivals >= MIN_ARRIVALS
    others = int(states.sum()) - 1
    more = f" and {count(others, 'other state')} were" if others else " was"
    return (
        f"Ends of episodes are recorded as ordinary steps: state {int(arrivals.argmax())}{more} bootstrapped from "
        f"{count(int(arrivals[states].sum()), 'time')} and never updated"
    )


def _states(ledger: Ledger) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(n,) The state of each update, and the state it bootstrapped from; -1: none."""
    state = np.tile(np.repeat(np.arange(ledger.n_states, dtype=np.int32), ledger.n_actions), ledger.n_tables)  # by cell
    return state[ledger.lines.cell], np.where(ledger.lines.source >= 0, state[np.maximum(ledger.lines.source, 0)], -1)


def _jumps(ledger: Ledger, state: NDArray[np.int32], to: NDArray[np.int32]) -> int:
    """How often an episode goes on elsewhere than in the state that was bootstrapped from; 0 under replay."""
    if ledger.order == "replayed" or len(state) < 2:
        return 0
    starts = np.zeros(len(state), bool)
    starts[ledger.episode_starts] = True
    if ledger.order == "forwards":
        follows, leads = state[1:], to[:-1]
    else:  # the update before is the next step
        follows, leads = state[:-1], to[1:]
    return int(((leads >= 0) & (leads != follows) & ~starts[1:]).sum())


def _distinct_steps(ledger: Ledger, updates: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The updates of different steps inside of episodes, and of last steps; as indices into ``updates``.

    A time limit may be bootstrapped through, so the state after a last step need not have been updated.
    """
    origins, distinct = np.unique(ledger.origins_of(updates), return_index=True)
    starts = ledger._starts()[1]
    at = np.minimum(np.searchsorted(starts, origins + 1), len(starts) - 1)
    last = starts[at] == origins + 1
    return distinct[~last], distinct[last]
