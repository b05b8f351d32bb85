"""What all findings stand on: where episodes lead, how often they visit each state, and the range of the values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.exact import ExactBeliefs
from whatfor.beliefs.transitions import entries_of
from whatfor.explanations.findings.played import Played, play
from whatfor.kernels.recursion import NOT_ENDED, TERMINATED
from whatfor.ledger import Ledger
from whatfor.limits import MAX_EPISODE_STEPS

if TYPE_CHECKING:
    from whatfor.beliefs.audit import Audit
    from whatfor.runs import Run

#: Larger worlds are not solved.
MAX_SOLVED_STATES = 50_000
#: The most states that lead to each other of which it is computed how often an episode comes back to them; about a second.
MAX_RETURNING = 2_000
#: Longer episodes are taken to have no limit: every step of one is a product with the transitions.
MAX_FOLLOWED_STEPS = 2_000
#: The end of training: this share of its episodes, and at most this many.
RECENT_SHARE, MAX_RECENT = 0.1, 1_000
#: States that an episode visits with a smaller probability count as not visited.
MIN_MET = 1e-6


class Followed(NamedTuple):
    """An episode of the greedy policy, as long as the longest."""

    at: NDArray[np.float64]  # (S,) where it is then, if it did not end
    visits: NDArray[np.float64]  # (S,) expected visits


@dataclass(frozen=True)
class Ground:
    """A run, and the future of its greedy policy in the world: in the known one, or in the one that its experiences show."""

    run: Run
    future: ExactBeliefs | None  # None: unknown, or too many states
    exact: bool  # whether the world is known
    ended: NDArray[np.float64]  # the rewards that steps paid which end an episode

    @classmethod
    def of(cls, run: Run) -> Ground:
        """The ground of a run."""
        exact = _exact_future(run)
        if exact is not None:
            return cls(run, exact, True, exact.table.reward[exact.table.ending != NOT_ENDED])
        if run.labels.observed == "bins":  # what follows a bin depends on how it was entered
            return cls(run, None, False, _paid_at_ends(run))
        audit, discounts = (None if run.ledger is None else run.beliefs.evidence), run.playing.discounts
        if audit is None or not len(audit.ledger) or len(discounts) != 1 or run.labels.n_states > MAX_SOLVED_STATES:
            return cls(run, None, False, _paid_at_ends(run))
        world = audit.experienced
        ended = world.tried & (world.table.ending != NOT_ENDED)
        return cls(run, world.future(run.policy, discounts[0]), False, world.table.reward[ended])

    @cached_property
    def evidence(self) -> Audit | None:
        """The audit of the updates; None: there are none."""
        return None if self.run.ledger is None else self.run.beliefs.evidence

    @cached_property
    def played(self) -> Played | None:
        """Greedy episodes in the environment; None: it cannot be played."""
        return play(self.run)

    @property
    def time_limit(self) -> int | None:
        """The time limit of training; None: unknown, or none."""
        limit = self.run.settings.get("max_steps")
        return None if limit is None or limit >= MAX_EPISODE_STEPS else int(limit)

    @cached_property
    def episode_length(self) -> int | None:
        """The time limit of training, or the length of its longest episode; None: unknown."""
        ledger = self.run.ledger
        if self.time_limit is not None:
            return self.time_limit
        if ledger is None or not len(ledger):
            return None
        return int(ledger.episodes_and_steps()[1].max()) + 1

    @cached_property
    def tries(self) -> NDArray[np.int64] | None:
        """(S, A) How often each pair was updated; None: not counted."""
        return self.run.beliefs.tries

    @cached_property
    def learned(self) -> NDArray[np.bool_]:
        """(S,) States in which any action was updated; where updates are not counted, whose values differ."""
        if self.tries is None:
            return np.asarray(np.ptp(self.values, axis=1) > 0.0)
        return np.asarray(self.tries.any(axis=1))

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """(S, A) The agent's values."""
        return self.run.values

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """(S,) The best action; of equal ones, the first."""
        return np.asarray(self.values.argmax(axis=1))

    @cached_property
    def range(self) -> float:
        """The range of the values of the best actions, over the states that episodes visit."""
        met = (self.met > MIN_MET) & self.learned
        best = self.values.max(axis=1)[met]
        every = self.values[met]
        spread = max(float(np.ptp(best)), 0.0) if len(best) else 0.0
        return spread or (float(np.ptp(every)) if every.size else 0.0) or 1.0

    @cached_property
    def start(self) -> NDArray[np.float64] | None:
        """(S,) The distribution of first states; None: unknown."""
        if self.exact and self.future is not None:
            return np.asarray(np.diff(self.future.table.start, prepend=0.0))
        if self.run.ledger is None or not len(self.run.ledger):
            return None
        first, episodes = _recent_pairs(self.run.ledger, first=True)
        return np.bincount(first, minlength=len(self.values)) / max(episodes, 1)

    @cached_property
    def cores(self) -> list[NDArray[np.int64]]:
        """The sets of states that the greedy policy never leaves once it has entered them, and in which no episode ends."""
        if self.future is None:
            return []
        from scipy.sparse.csgraph import connected_components

        states = np.flatnonzero(self.future.cannot_end)
        within = self.future.moving[states][:, states].tocoo()
        n, which = connected_components(within, directed=True, connection="strong")
        left = np.zeros(n, bool)
        left[which[within.row][(which[within.row] != which[within.col]) & (within.data > 0.0)]] = True
        return [states[which == core] for core in np.flatnonzero(~left).tolist()]

    @cached_property
    def entered(self) -> NDArray[np.float64]:
        """(S,) The probability that an episode of the greedy policy visits each state; 0 where nothing is known.

        Within a loop, the probability to get into it within the length of an episode.
        """
        if self.future is None or self.start is None:
            return np.zeros(len(self.values))
        visits = self._first_visits(self.future, self.start)  # of states that cannot end: arrivals
        passing = self.future.cannot_end.copy()
        for core in self.cores:
            passing[core] = False
        if passing.any():
            visits = self._passed_on(visits, np.flatnonzero(passing))
        for core in self.cores:
            visits[core] = visits[core].sum()
        limited = self.followed(self.start) if self.cores else None
        if limited is not None:
            for core in self.cores:
                visits[core] = limited.at[core].sum()
        return np.asarray(np.clip(visits, 0.0, 1.0))

    def followed(self, start: NDArray[np.float64]) -> Followed | None:
        """What follows within the length of an episode; None: its length is unknown, or very large."""
        if self.future is None or self.episode_length is None or self.episode_length > MAX_FOLLOWED_STEPS:
            return None
        at, visits, onward = start, np.zeros(len(start)), self.future.moving.T.tocsr()
        for _ in range(self.episode_length):
            visits += at
            at = onward @ at
        return Followed(at, visits)

    def _first_visits(self, future: ExactBeliefs, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """(S,) Expected visits, divided by those of an episode that begins there; for very many states, expected visits.

        An episode comes back to a state only through states that lead to each other: they are solved by themselves.
        """
        from scipy.sparse.csgraph import connected_components

        visits = future.visits_from(start)
        _, which = connected_components(future.moving, directed=True, connection="strong")
        alone = np.bincount(which)[which] == 1
        once = alone & ~future.cannot_end
        visits[once] *= 1.0 - future.moving.diagonal()[once]
        others = np.flatnonzero(~alone & ~future.cannot_end & (visits > MIN_MET))
        largest_first = which[others[np.argsort(-visits[others], kind="stable")]]
        work = 0
        for group in dict.fromkeys(largest_first.tolist()):
            states = np.flatnonzero(which == group)
            if work + len(states) ** 3 > MAX_RETURNING**3:
                continue
            work += len(states) ** 3
            within = future.moving[states][:, states].toarray()
            visits[states] /= np.diag(np.linalg.inv(np.eye(len(states)) - within))
        return visits

    def _passed_on(self, arrivals: NDArray[np.float64], passing: NDArray[np.int64]) -> NDArray[np.float64]:
        """Visits of states that lead to loops, and arrivals in these."""
        from scipy import sparse
        from scipy.sparse.linalg import spsolve

        assert self.future is not None
        onward = self.future.moving[passing]
        system = sparse.eye_array(len(passing)) - onward[:, passing]
        visits = arrivals.copy()
        visits[passing] = np.atleast_1d(spsolve(sparse.csc_array(system.T), arrivals[passing]))
        arrived = np.asarray(onward.T @ visits[passing]).ravel()
        arrived[passing] = 0.0
        total: NDArray[np.float64] = visits + arrived
        return total

    @cached_property
    def met(self) -> NDArray[np.float64]:
        """(S,) The share of episodes that visit each state: of the greedy policy, or of the end of training if that is larger."""
        if self.run.ledger is None or not len(self.run.ledger):
            return self.entered if self.future is not None else np.ones(len(self.values))
        states, episodes = _recent_pairs(self.run.ledger)
        return np.maximum(self.entered, np.bincount(states, minlength=len(self.values)) / max(episodes, 1))

    @cached_property
    def usual_reward(self) -> float:
        """The median over the state-action pairs of what each pays on average, where it was tried; else over the updates."""
        ledger = self.run.ledger
        if self.future is None:
            return 0.0 if ledger is None or not len(ledger) else float(np.median(ledger.lines.reward))
        rewards = self.future.rewards
        return float(np.median(rewards if self.tries is None else rewards[self.tries > 0]))

    @cached_property
    def real(self) -> NDArray[np.float64] | None:
        """(S, A) The value of every action if the greedy policy follows; NaN where it may be infinite; None: unknown."""
        if self.future is None:
            return None
        mean = self.future.expected(self.future.table.reward).mean
        if self.future.discount < 1.0:
            return mean
        pairs, _ = entries_of(self.future.table)
        to = self.future.table.next_state
        endless = self.future.may_not_end[to] & (self.future.table.ending == NOT_ENDED)
        infinite = np.bincount(pairs, weights=endless, minlength=mean.size).reshape(mean.shape) > 0
        return np.where(infinite, np.nan, mean)

    @property
    def ends_pay(self) -> bool:
        """Whether going on without end is not the task: some end pays more than a usual step, or such a step costs something."""
        return bool(self.usual_reward < 0.0 or (len(self.ended) and self.ended.max() > self.usual_reward))


def _exact_future(run: Run) -> ExactBeliefs | None:
    if run.labels.n_states > MAX_SOLVED_STATES:
        return None
    try:
        return run.playing.player.exact_future()
    except Exception:  # it has no environment, or one from elsewhere that cannot be created here
        return None


def _paid_at_ends(run: Run) -> NDArray[np.float64]:
    """The rewards of updates that ended an episode in the environment."""
    return np.zeros(0) if run.ledger is None else run.ledger.lines.reward[run.ledger.lines.source <= TERMINATED]


def _recent_pairs(ledger: Ledger, *, first: bool = False) -> tuple[NDArray[np.int64], int]:
    """The states that each of the last episodes met, or began in, once for each episode; and the number of episodes."""
    episodes = ledger.n_episodes
    recent = max(1, min(MAX_RECENT, round(RECENT_SHARE * episodes))) if episodes else 0
    if ledger.order == "replayed":
        lines = np.arange(len(ledger))
    else:
        lines = np.arange(ledger.episode_starts[episodes - recent], len(ledger))
    episode, step = ledger.episodes_and_steps(lines)
    kept = (episode >= episodes - recent) & ((step == 0) if first else ledger.applied[lines])
    states = ledger.lines.cell[lines[kept]] // ledger.n_actions % ledger.n_states
    met = np.unique(episode[kept] * ledger.n_states + states) % ledger.n_states
    return met, recent
